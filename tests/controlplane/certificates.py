"""The certificates of a throw-away cluster: one authority, which signs servers and clients."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = dt.timedelta(days=1)
# A machine's clock may be set back a little between making a certificate and using it.
_BACKDATED = dt.timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority that lives as long as the object; its key is never written to disk."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject("test-control-plane", ())
        self._certificate = self._sign(
            self._name,
            self._key.public_key(),
            (x509.BasicConstraints(ca=True, path_length=0), _key_usage(signs_certificates=True)),
        )

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def client(self, common_name: str, organizations: Iterable[str] = ()) -> Credential:
        """A client certificate: to Kubernetes the common name is the user, the organizations are its groups."""
        return self._issue(_subject(common_name, organizations), ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def server(self, names: Iterable[str]) -> Credential:
        """A serving certificate for loopback and these DNS names."""
        loopback = x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))
        alternatives = x509.SubjectAlternativeName([loopback, *(x509.DNSName(name) for name in names)])
        return self._issue(_subject("server", ()), ExtendedKeyUsageOID.SERVER_AUTH, (alternatives,))

    def _issue(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, extensions: tuple[x509.ExtensionType, ...]
    ) -> Credential:
        key = ec.generate_private_key(ec.SECP256R1())
        common = (
            x509.BasicConstraints(ca=False, path_length=None),
            _key_usage(signs_certificates=False),
            x509.ExtendedKeyUsage([usage]),
        )
        certificate = self._sign(subject, key.public_key(), (*common, *extensions))
        return Credential(certificate=certificate.public_bytes(serialization.Encoding.PEM), key=_pem(key))

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, extensions: Iterable[x509.ExtensionType]
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATED)
            .not_valid_after(now + _LIFETIME)
            # Python's own TLS refuses a chain without key identifiers since 3.13.
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self._key, hashes.SHA256())


def new_signing_key() -> Credential:
    """A key pair for service account tokens; its ``certificate`` is the bare public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Credential(certificate=public, key=_pem(key))


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # Kubernetes reads EC keys for service accounts in their traditional form only.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _subject(common_name: str, organizations: Iterable[str]) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
