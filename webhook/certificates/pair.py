"""The webhook's certificates: how a pair is made, and the next step for the stored ones."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct
from msgspec.structs import replace

# Makes an authority and the one certificate that it signs; the authority's key is not stored.

BACKDATED: Final = timedelta(hours=1)
"""The clocks of API servers may be behind ours; client-go's util/cert does the same."""
_MAX_COMMON_NAME: Final = 64


class PairError(ValueError):
    """The input is not a certificate with its key."""


class Pair(Struct, frozen=True):
    """An authority, and a certificate with its key, as PEM."""

    authority: bytes
    certificate: bytes
    key: bytes


class CertificateFacts(Struct, frozen=True):
    """The names and validity of a certificate."""

    names: frozenset[str]
    not_before: datetime
    not_after: datetime
    is_own_kind: bool = True
    """Whether it has no chain, and the key and signature types of `make_pair`, which clients accept."""


def make_pair(names: Sequence[str], *, now: datetime, lifetime: timedelta) -> Pair:
    """Make an authority and a certificate for these DNS names and IP addresses, valid for ``lifetime`` from now.

    The key always has the same type: a running TLS context accepts a new certificate only then.
    """
    validity = (now - BACKDATED, now + lifetime)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    # The time makes the name unique: clients confuse two authorities of the same name in a bundle.
    issuer = _name(f"qos-webhook authority {now:%Y%m%d%H%M%S%f}")
    authority = _unsigned(
        issuer,
        authority_key.public_key(),
        validity,
        (x509.BasicConstraints(ca=True, path_length=0), _usage(signs=True)),
    )
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _unsigned(
        _name(names[0][:_MAX_COMMON_NAME]),
        key.public_key(),
        validity,
        (
            x509.BasicConstraints(ca=False, path_length=None),
            _usage(signs=False),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
            x509.SubjectAlternativeName([_alternative(name) for name in names]),
        ),
    )
    return Pair(
        _signed(authority, issuer, authority_key),
        _signed(certificate, issuer, authority_key),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def inspect(certificate: bytes, key: bytes) -> CertificateFacts:
    """Read a certificate and check that the key belongs to it.

    Raises:
        PairError: one of them cannot be read, or they do not belong together.
    """
    try:
        leaf, *chain = x509.load_pem_x509_certificates(certificate)
        private = serialization.load_pem_private_key(key, password=None)
        alternatives = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        own = private.public_key() == leaf.public_key()
        names = frozenset(str(entry.value) for entry in alternatives)
        validity = leaf.not_valid_before_utc, leaf.not_valid_after_utc
        curve, signed = getattr(leaf.public_key(), "curve", None), leaf.signature_hash_algorithm
    except x509.ExtensionNotFound as error:
        raise PairError("the certificate has no SAN: issue it with the DNS name that clients call as SAN") from error
    except Exception as error:  # cryptography raises a different error for each kind of damage
        raise PairError(f"not a certificate with its key: {error}") from error
    if not own:
        raise PairError("the key belongs to another certificate")
    is_own_kind = not chain and isinstance(curve, ec.SECP256R1) and isinstance(signed, hashes.SHA256)
    return CertificateFacts(names, *validity, is_own_kind)


def is_signed_by(certificate: bytes, authority: bytes) -> bool:
    """Whether an authority signed a certificate; both must be valid PEM."""
    signer = x509.load_pem_x509_certificate(authority)
    try:
        x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(signer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def authorities_in(bundle: bytes, *, now: datetime) -> tuple[bytes, ...]:
    """The certificates of a bundle that have not expired, each as PEM; none if the bundle cannot be read."""
    try:
        found = x509.load_pem_x509_certificates(bundle)
        return tuple(_pem(entry) for entry in found if entry.not_valid_after_utc > now)
    except Exception:  # noqa: BLE001 - as above
        return ()


def canonical_name(name: str) -> str:
    """The one spelling of a name that comparisons use: IP addresses have several."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def earliest_end(bundle: bytes, *, skip: int = 0) -> datetime | None:
    """The earliest expiry of a bundle's certificates after the first ``skip``; None: none can be read."""
    try:
        return min(entry.not_valid_after_utc for entry in x509.load_pem_x509_certificates(bundle)[skip:])
    except Exception:  # noqa: BLE001 - as above
        return None


def _unsigned(
    subject: x509.Name,
    key: ec.EllipticCurvePublicKey,
    validity: tuple[datetime, datetime],
    extensions: Sequence[x509.ExtensionType],
) -> x509.CertificateBuilder:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0])
        .not_valid_after(validity[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    return builder


def _signed(builder: x509.CertificateBuilder, issuer: x509.Name, signer: ec.EllipticCurvePrivateKey) -> bytes:
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return _pem(builder.issuer_name(issuer).add_extension(by, critical=False).sign(signer, hashes.SHA256()))


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


# Decides the next step for the stored certificates, only from their content and the time.
#
#     no usable certificate                  serve the staged one if there is one, else make a pair and serve it at once
#     two thirds of the lifetime are over,   stage the next pair: clients get its authority together with the present
#                                            one
#     or a name is missing
#     a pair is staged, and every client     serve it; clients keep the old authority until it expires, so that they
#                                            still
#     has had it for the settling time       trust a replica that has not loaded the new certificate yet
#     the Secret was deleted or corrupted    store the served certificate again, from memory, and stage the next: a
#                                            user may have wanted a new one, and clients must not notice
#
# A certificate is usable when its key belongs to it, it is valid now, and its authority is stored. So a replica serves
# a certificate with an authority that a client lacks only if there is no other. A published authority stays published
# until it expires, even if it is removed from the Secret.

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
