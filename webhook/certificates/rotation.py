"""What is to be done with the kept certificates, from what is kept and the time alone.

    none that can be used                  serve the staged one if there is one, else make a pair and serve it at once
    two thirds of the lifetime are over,   stage the next pair: clients are told its authority beside the present one
    or a name is missing
    staged, and every client has been      serve it; the old authority stays known until it expires, so that a replica
    told for the settling time             that has not loaded the new certificate yet is still trusted
    lost: the Secret was deleted or        keep again what is served, from memory, and stage the next: whoever deleted
    spoilt                                 it may have wanted a new one, and nobody else is to notice

A certificate can be used when its key is its own, it is valid now, and its authority is kept. So at no time does any
replica serve a certificate that a client has not been told of, unless there is no other. An authority that was told
once stays told until it expires, also when somebody takes it out of the Secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from webhook.certificates.pair import (
    BACKDATED,
    Inspected,
    Pair,
    PairError,
    authorities_in,
    canonical_name,
    inspect,
    is_signed_by,
    make_pair,
)

__all__ = ["Kept", "Step", "next_step", "to_serve"]

_RENEW_AFTER: Final = 2 / 3
"""Of the lifetime."""
_SETTLE: Final = 1 / 12
"""Of the lifetime, at most a minute: API servers learn of a changed webhook configuration within milliseconds."""
_MAX_SETTLE: Final = timedelta(minutes=1)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


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


def next_step(
    kept: Kept,
    names: Sequence[str],
    *,
    now: datetime,
    lifetime: timedelta,
    told_since: datetime | None,
    served: Kept | None = None,
) -> Step:
    """What to keep now.

    Args:
        kept: What is kept.
        names: By which clients call. Names that a kept certificate has beside them stay, so that two versions of a
            deployment with different names do not take turns.
        now: The time.
        lifetime: Of new certificates.
        told_since: Since when every client has been told all kept authorities; None: they have not.
        served: What is served, with the authorities that were kept beside it last.
    """
    wanted = {canonical_name(name) for name in names}
    served = served or Kept()
    authorities = authorities_in(kept.authorities, now=now)
    lost = tuple(entry for entry in authorities_in(served.authorities, now=now) if entry not in authorities)
    kept = replace(kept, authorities=b"".join(authorities + lost))
    told_since = None if lost else told_since
    present = _usable(kept, now)
    spoilt = present is None and _usable(replace(served, authorities=kept.authorities), now) is not None
    if spoilt:
        kept = replace(kept, certificate=served.certificate, key=served.key)
        present = _usable(kept, now)
    staged = _usable(Kept(kept.next_certificate, kept.next_key, authorities=kept.authorities), now)
    if present is None:
        return Step(_promoted(kept), now) if staged is not None else _fresh(kept, names, now, lifetime)
    settle = _settling_time(lifetime)
    if staged is not None and staged.names >= wanted:
        if told_since is None or now < told_since + settle:
            return Step(kept, now + settle / 4 if told_since is None else told_since + settle)
        return Step(_promoted(kept), _renewal(staged))
    if staged is None and not spoilt and present.names >= wanted and now < _renewal(present):
        return Step(replace(kept, next_certificate=b"", next_key=b""), _renewal(present))
    others = present.names | (staged.names if staged is not None else set())
    pair = make_pair((*names, *sorted(others - wanted)), now=now, lifetime=lifetime)
    return Step(_staged(kept, pair), now + settle)


def to_serve(
    kept: Kept, served: Kept, *, now: datetime, lifetime: timedelta, told_since: datetime | None
) -> tuple[Kept, datetime]:
    """What a replica serves now, and when to look again at the latest.

    That is what is kept, as soon as clients know it for the settling time, or at once when what is served is no good.
    Usually it was staged, and they do; not so when somebody else wrote the Secret.

    Args:
        kept: What is kept.
        served: What is served, with the authorities that were kept beside it last.
        now: The time.
        lifetime: Of new certificates.
        told_since: Since when every client has been told all kept authorities; None: they have not.
    """
    if _usable(kept, now) is None:
        return served, _NEVER
    found = replace(kept, next_certificate=b"", next_key=b"")
    settled = told_since + _settling_time(lifetime) if told_since is not None else _NEVER
    same = (kept.certificate, kept.key) == (served.certificate, served.key)
    if same or now >= settled or _usable(served, now) is None:
        return found, _NEVER
    return served, settled


def _settling_time(lifetime: timedelta) -> timedelta:
    return min(_SETTLE * lifetime, _MAX_SETTLE)


def _usable(kept: Kept, now: datetime) -> Inspected | None:
    """What the kept certificate says, if it can be served now."""
    try:
        found = inspect(kept.certificate, kept.key)
    except PairError:
        return None
    signed = any(is_signed_by(kept.certificate, entry) for entry in authorities_in(kept.authorities, now=now))
    return found if signed and found.not_before <= now < found.not_after else None


def _fresh(kept: Kept, names: Sequence[str], now: datetime, lifetime: timedelta) -> Step:
    pair = make_pair(names, now=now, lifetime=lifetime)
    fresh = Kept(pair.certificate, pair.key, authorities=pair.authority + kept.authorities)
    return Step(fresh, now + _RENEW_AFTER * lifetime)


def _staged(kept: Kept, pair: Pair) -> Kept:
    authorities = pair.authority + kept.authorities
    return replace(kept, next_certificate=pair.certificate, next_key=pair.key, authorities=authorities)


def _promoted(kept: Kept) -> Kept:
    return Kept(kept.next_certificate, kept.next_key, authorities=kept.authorities)


def _renewal(certificate: Inspected) -> datetime:
    made = certificate.not_before + BACKDATED
    return made + _RENEW_AFTER * (certificate.not_after - made)
