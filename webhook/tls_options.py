"""Which versions and cipher suites of TLS are served, by the names that Kubernetes components use for them.

What is not chosen is Python's default: TLS 1.2 and 1.3, with suites that have forward secrecy. The suites of TLS 1.3
cannot be chosen, here as in Go: all three are always on.

Source: k8s.io/component-base/cli/flag/ciphersuites_flag.go at v0.36.3, crypto/tls of Go, ciphers(1ssl).
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

__all__ = ["CIPHER_SUITES", "TlsError", "TlsOptions", "TlsVersion", "read_cipher_suites"]


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
"""OpenSSL's names of the suites of TLS 1.2 that may be chosen: with forward secrecy and authenticated encryption."""
_OF_TLS13: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})


class TlsError(ValueError):
    """What was asked for cannot be served; says why and what can."""


class TlsOptions(Struct, frozen=True):
    """What is served to clients."""

    min_version: TlsVersion = TlsVersion.TLS12
    cipher_suites: tuple[str, ...] = ()
    """Of TLS 1.2, keys of `CIPHER_SUITES`; empty: Python's default."""

    def check(self) -> None:
        """See that the choices go together.

        Raises:
            TlsError: they do not.
        """
        if self.cipher_suites and self.min_version is TlsVersion.TLS13:
            raise TlsError(
                "--tls-cipher-suites chooses among the suites of TLS 1.2, which --tls-min-version=VersionTLS13 turns "
                "off: leave one of them out"
            )

    def apply(self, context: ssl.SSLContext) -> None:
        """Have a context serve only this, with keys agreed on P-256.

        All clients have it, also in FIPS mode, and Python can choose one group only. OpenSSL's defaults have finite
        fields of up to 8,192 bits: each handshake, which costs its client nothing, would take 0.14 s of CPU.
        """
        context.set_ecdh_curve("prime256v1")
        context.minimum_version = _MINIMA[self.min_version]
        if self.cipher_suites:
            context.set_ciphers(":".join(CIPHER_SUITES[name] for name in self.cipher_suites))


def read_cipher_suites(text: str) -> Sequence[str]:
    """Names of cipher suites, separated by commas.

    Raises:
        TlsError: one of them is unknown, or there is none.
    """
    names = text.split(",")
    for name in names:
        if name in _OF_TLS13:
            raise TlsError(f"{name!r} is a suite of TLS 1.3, whose suites are always on: leave it out")
        if name not in CIPHER_SUITES:
            raise TlsError(f"{name!r} is none of {', '.join(CIPHER_SUITES)}")
    return names
