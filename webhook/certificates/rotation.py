"""What is to be done with the kept certificates, from what is kept and the time alone.

    none that can be used                a new pair, served at once
    two thirds of the lifetime over      stage the next pair: clients are told its authority beside the present one
    staged, told to every client for     serve it; the old authority stays known until it expires, so that a replica
    the settling time                    that has not loaded the new certificate yet is still trusted

So at no time does any replica serve a certificate that a client has not been told of.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from webhook.certificates.pair import BACKDATED, Inspected, Pair, PairError, authorities_in, inspect, make_pair

__all__ = ["Kept", "Step", "next_step"]

_RENEW_AFTER: Final = 2 / 3
"""Of the lifetime."""
_SETTLE: Final = 1 / 12
"""Of the lifetime, at most a minute: API servers learn of a changed webhook configuration within milliseconds."""
_MOST_SETTLE: Final = timedelta(minutes=1)


class Kept(Struct, frozen=True):
    """What the Secret holds, PEM; empty where it holds nothing."""

    certificate: bytes = b""
    key: bytes = b""
    next_certificate: bytes = b""
    next_key: bytes = b""
    authorities: bytes = b""
    """Those that clients must trust, the newest first."""


class Step(Struct, frozen=True):
    """What to keep from now on, and when to look again at the latest."""

    kept: Kept
    look_again: datetime


def next_step(kept: Kept, names: Sequence[str], *, now: datetime, lifetime: timedelta, told: bool) -> Step:
    """What to keep now.

    Args:
        kept: What is kept.
        names: By which clients call; a certificate that has more of them will do, so that two versions of a
            deployment with different names do not take turns.
        now: The time.
        lifetime: Of new certificates.
        told: Whether every client has been told all kept authorities.
    """
    settle = min(_SETTLE * lifetime, _MOST_SETTLE)
    kept = replace(kept, authorities=b"".join(authorities_in(kept.authorities, now=now)))
    present = _usable(kept.certificate, kept.key, names, now)
    if present is None:
        pair = make_pair(names, now=now, lifetime=lifetime)
        fresh = Kept(pair.certificate, pair.key, authorities=pair.authority + kept.authorities)
        return Step(fresh, now + _RENEW_AFTER * lifetime)
    staged = _usable(kept.next_certificate, kept.next_key, names, now)
    if staged is not None:
        ready = staged.not_before + BACKDATED + settle
        if not told or now < ready:
            return Step(kept, max(ready, now + settle / 4))
        promoted = Kept(kept.next_certificate, kept.next_key, authorities=kept.authorities)
        return Step(promoted, _renewal(staged))
    if now < _renewal(present):
        return Step(replace(kept, next_certificate=b"", next_key=b""), _renewal(present))
    every_name = (*names, *sorted(present.names - set(names)))
    return Step(_stage(kept, make_pair(every_name, now=now, lifetime=lifetime)), now + settle)


def _stage(kept: Kept, pair: Pair) -> Kept:
    return replace(
        kept,
        next_certificate=pair.certificate,
        next_key=pair.key,
        authorities=pair.authority + kept.authorities,
    )


def _usable(certificate: bytes, key: bytes, names: Sequence[str], now: datetime) -> Inspected | None:
    """The certificate if it can be served now under all names."""
    try:
        found = inspect(certificate, key)
    except PairError:
        return None
    return found if found.names >= set(names) and found.not_before <= now < found.not_after else None


def _renewal(certificate: Inspected) -> datetime:
    made = certificate.not_before + BACKDATED
    return made + _RENEW_AFTER * (certificate.not_after - made)
