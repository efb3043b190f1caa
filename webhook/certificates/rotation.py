"""Decides the next step for the stored certificates, only from their content and the time.

    no usable certificate                  serve the staged one if there is one, else make a pair and serve it at once
    two thirds of the lifetime are over,   stage the next pair: clients get its authority together with the present one
    or a name is missing
    a pair is staged, and every client     serve it; clients keep the old authority until it expires, so that they still
    has had it for the settling time       trust a replica that has not loaded the new certificate yet
    the Secret was deleted or corrupted    store the served certificate again, from memory, and stage the next: a
                                           user may have wanted a new one, and clients must not notice

A certificate is usable when its key belongs to it, it is valid now, and its authority is stored. So a replica serves a
certificate with an authority that a client lacks only if there is no other. A published authority stays published until
it expires, even if it is removed from the Secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from webhook.certificates.pair import (
    BACKDATED,
    CertificateFacts,
    Pair,
    PairError,
    authorities_in,
    canonical_name,
    inspect,
    is_signed_by,
    make_pair,
)

_RENEW_AFTER: Final = 2 / 3
"""The fraction of the lifetime."""
_SETTLE: Final = 1 / 12
"""The fraction of the lifetime, at most a minute: API servers see a changed webhook configuration in milliseconds."""
_MAX_SETTLE: Final = timedelta(minutes=1)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class StoredCertificates(Struct, frozen=True):
    """The certificates that the Secret stores, as PEM; empty where it stores none."""

    certificate: bytes = b""
    key: bytes = b""
    next_certificate: bytes = b""
    next_key: bytes = b""
    authorities: bytes = b""
    """Authorities that clients must trust, the newest first."""


class RotationStep(Struct, frozen=True):
    """What to store from now on, and the latest time of the next decision."""

    kept: StoredCertificates
    next_decision: datetime


def next_step(
    kept: StoredCertificates,
    names: Sequence[str],
    *,
    now: datetime,
    lifetime: timedelta,
    announced_since: datetime | None,
    served: StoredCertificates | None = None,
) -> RotationStep:
    """Decide what to store now.

    Args:
        kept: The stored certificates.
        names: The names that clients call. Other names of a stored certificate stay, so that two versions of a
            Deployment with different names do not replace each other's certificate in turn.
        now: The time.
        lifetime: The lifetime of new certificates.
        announced_since: The time since which every client has all stored authorities; None: some client lacks one.
        served: The served certificate, with the authorities that were last stored with it.
    """
    wanted = {canonical_name(name) for name in names}
    served = served or StoredCertificates()
    authorities = authorities_in(kept.authorities, now=now)
    lost = tuple(entry for entry in authorities_in(served.authorities, now=now) if entry not in authorities)
    kept = replace(kept, authorities=b"".join(authorities + lost))
    announced_since = None if lost else announced_since
    present = _usable(kept, now)
    spoilt = present is None and _usable(replace(served, authorities=kept.authorities), now) is not None
    if spoilt:
        kept = replace(kept, certificate=served.certificate, key=served.key)
        present = _usable(kept, now)
    staged = _usable(StoredCertificates(kept.next_certificate, kept.next_key, authorities=kept.authorities), now)
    if present is None:
        return RotationStep(_promoted(kept), now) if staged is not None else _fresh(kept, names, now, lifetime)
    settle = _settling_time(lifetime)
    if staged is not None and staged.names >= wanted:
        if announced_since is None or now < announced_since + settle:
            return RotationStep(kept, now + settle / 4 if announced_since is None else announced_since + settle)
        return RotationStep(_promoted(kept), _renewal(staged, lifetime))
    if staged is None and not spoilt and present.names >= wanted and now < _renewal(present, lifetime):
        return RotationStep(replace(kept, next_certificate=b"", next_key=b""), _renewal(present, lifetime))
    others = present.names | (staged.names if staged is not None else set())
    pair = make_pair((*names, *sorted(others - wanted)), now=now, lifetime=lifetime)
    return RotationStep(_staged(kept, pair), now + settle)


def to_serve(
    kept: StoredCertificates,
    served: StoredCertificates,
    *,
    now: datetime,
    lifetime: timedelta,
    announced_since: datetime | None,
) -> tuple[StoredCertificates, datetime]:
    """Decide what a replica serves now, and the latest time of the next decision.

    It serves the stored certificate once clients have had its authority for the settling time, or at once when the
    served one is not usable. A staged certificate needs no further wait; one that another client wrote to the Secret
    does.

    Args:
        kept: The stored certificates.
        served: The served certificate, with the authorities that were last stored with it.
        now: The time.
        lifetime: The lifetime of new certificates.
        announced_since: The time since which every client has all stored authorities; None: some client lacks one.
    """
    if _usable(kept, now) is None:
        return served, _NEVER
    found = replace(kept, next_certificate=b"", next_key=b"")
    settled = announced_since + _settling_time(lifetime) if announced_since is not None else _NEVER
    same = (kept.certificate, kept.key) == (served.certificate, served.key)
    if same or now >= settled or _usable(served, now) is None:
        return found, _NEVER
    return served, settled


def _settling_time(lifetime: timedelta) -> timedelta:
    return min(_SETTLE * lifetime, _MAX_SETTLE)


def _usable(kept: StoredCertificates, now: datetime) -> CertificateFacts | None:
    """The content of the stored certificate, if it is usable now.

    A stolen token may store one with a key that no client accepts: replicas would serve it forever.
    """
    try:
        found = inspect(kept.certificate, kept.key)
    except PairError:
        return None
    signed = any(is_signed_by(kept.certificate, entry) for entry in authorities_in(kept.authorities, now=now))
    return found if signed and found.is_own_kind and found.not_before <= now < found.not_after else None


def _fresh(kept: StoredCertificates, names: Sequence[str], now: datetime, lifetime: timedelta) -> RotationStep:
    pair = make_pair(names, now=now, lifetime=lifetime)
    fresh = StoredCertificates(pair.certificate, pair.key, authorities=pair.authority + kept.authorities)
    return RotationStep(fresh, now + _RENEW_AFTER * lifetime)


def _staged(kept: StoredCertificates, pair: Pair) -> StoredCertificates:
    authorities = pair.authority + kept.authorities
    return replace(kept, next_certificate=pair.certificate, next_key=pair.key, authorities=authorities)


def _promoted(kept: StoredCertificates) -> StoredCertificates:
    return StoredCertificates(kept.next_certificate, kept.next_key, authorities=kept.authorities)


def _renewal(certificate: CertificateFacts, lifetime: timedelta) -> datetime:
    """Two thirds of its lifetime after it was made, or two thirds of the configured lifetime if that is less."""
    made = certificate.not_before + BACKDATED
    return made + _RENEW_AFTER * min(certificate.not_after - made, lifetime)
