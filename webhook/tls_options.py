"""The served TLS versions and cipher suites, with the names that Kubernetes components use.

The default is Python's: TLS 1.2 and 1.3, with suites that have forward secrecy. As in Go, the suites of TLS 1.3 cannot
be chosen: all three are always on.

Source: k8s.io/component-base/cli/flag/ciphersuites_flag.go at v0.36.3, crypto/tls of Go, ciphers(1ssl).
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct


class TlsVersion(Enum):
    """The oldest version that is served."""

    TLS12 = "VersionTLS12"
    TLS13 = "VersionTLS13"


_MINIMA: Final = {TlsVersion.TLS12: ssl.TLSVersion.TLSv1_2, TlsVersion.TLS13: ssl.TLSVersion.TLSv1_3}

CIPHER_SUITES: Final[Mapping[str, str]] = {
    f"TLS_ECDHE_{key}_WITH_{name}": f"ECDHE-{key}-{openssl}"
    for key in ("ECDSA", "RSA")
    for name, openssl in (
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
    )
}
"""OpenSSL's names of the TLS 1.2 suites that may be chosen: with forward secrecy and authenticated encryption."""
_OF_TLS13: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})


class TlsError(ValueError):
    """The chosen options cannot be served; the message says why, and which can."""


class TlsOptions(Struct, frozen=True):
    """The TLS options of the server."""

    min_version: TlsVersion = TlsVersion.TLS12
    cipher_suites: tuple[str, ...] = ()
    """TLS 1.2 suites, as keys of `CIPHER_SUITES`; empty: Python's default."""

    def check(self) -> None:
        """Check that the options do not conflict.

        Raises:
            TlsError: they conflict.
        """
        if self.cipher_suites and self.min_version is TlsVersion.TLS13:
            raise TlsError(
                "--tls-cipher-suites chooses among the suites of TLS 1.2, which --tls-min-version=VersionTLS13 "
                "disables: omit one of them"
            )

    def apply(self, context: ssl.SSLContext) -> None:
        """Restrict a context to these options, with key exchange on P-256.

        All clients support it, also in FIPS mode, and Python can choose only one group. OpenSSL's defaults include
        finite fields of up to 8,192 bits: each handshake, which costs the client nothing, would take 0.14 s of CPU.
        """
        context.set_ecdh_curve("prime256v1")
        context.minimum_version = _MINIMA[self.min_version]
        if self.cipher_suites:
            context.set_ciphers(":".join(CIPHER_SUITES[name] for name in self.cipher_suites))


def read_cipher_suites(text: str) -> Sequence[str]:
    """Read names of cipher suites, separated by commas.

    Raises:
        TlsError: a name is unknown, or the text is empty.
    """
    names = text.split(",")
    for name in names:
        if name in _OF_TLS13:
            raise TlsError(f"{name!r} is a suite of TLS 1.3; these are always on: omit it")
        if name not in CIPHER_SUITES:
            raise TlsError(f"{name!r} is none of {', '.join(CIPHER_SUITES)}")
    return names
