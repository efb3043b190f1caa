"""The settings of the program: one value that is built once from the command line and passed down."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.qos_webhook.arguments import ObjectRef, RuleOptions

# The served TLS versions and cipher suites, with the names that Kubernetes components use.
#
# The default is Python's: TLS 1.2 and 1.3, with suites that have forward secrecy. As in Go, the suites of TLS 1.3
# cannot be chosen: all three are always on.
#
# Source: k8s.io/component-base/cli/flag/ciphersuites_flag.go at v0.36.3, crypto/tls of Go, ciphers(1ssl).


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


class CertificateFiles(Struct, frozen=True):
    """Paths of a certificate that another program makes."""

    certificate: str
    """Path of the chain, PEM."""
    key: str
    """Path of the private key, PEM."""


class KeptCertificate(Struct, frozen=True, kw_only=True):
    """A certificate that the program makes, stores in a Secret, renews, and publishes in its configurations."""

    secret: ObjectRef
    names: tuple[str, ...]
    """DNS names and IP addresses that the API server uses to call the webhook."""
    configuration: str
    """The name of both the Mutating- and the ValidatingWebhookConfiguration."""
    lifetime: float
    """Seconds; it is renewed when two thirds have passed."""


class SharedObjects(Struct, frozen=True, kw_only=True):
    """The objects that all replicas of one installation share."""

    configuration: str
    """The name of the MutatingWebhookConfiguration that calls the replicas."""
    lease: ObjectRef
    """The Lease; its holder does the work that one replica does for all."""


class ForceDeletionMode(Enum):
    """What happens to a force deletion; each mode is stricter than the one before."""

    WARN = "warn"
    CONFIRM = "confirm"
    """Refused until the object has a confirmation."""
    DENY = "deny"


class ForceDeletion(Struct, frozen=True, kw_only=True):
    """The rules for force deletions."""

    mode: ForceDeletionMode = ForceDeletionMode.WARN
    """The mode of namespaces that are not named below."""
    namespaces: Mapping[str, ForceDeletionMode] = {}
    """The mode by namespace."""
    exempt_users: frozenset[str] = frozenset()
    """Usernames that are neither warned nor refused, in addition to Kubernetes' own."""
    exempt_node_controllers: frozenset[str] = frozenset()
    """Usernames that are neither warned nor refused when they delete a Node as part of their work."""

    @property
    def modes(self) -> frozenset[ForceDeletionMode]:
        """The modes that the configuration has for any namespace."""
        return frozenset({self.mode, *self.namespaces.values()})

    def of(self, namespace: str) -> ForceDeletionMode:
        """The configured mode of a namespace."""
        return self.namespaces.get(namespace, self.mode)


class LogFormat(Enum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


class LogLevel(Enum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    """Logs each review, too."""
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Settings(Struct, frozen=True, kw_only=True):
    """All settings of the program."""

    address: str
    """``host:port`` to listen on."""
    drain: float
    """Seconds between SIGTERM and the end of listening, so that the Service stops using this replica."""
    certificate: CertificateFiles | KeptCertificate | None
    """None: a temporary one, for the demo cluster."""
    kubeconfig: str | None
    """Path; when not given, KUBECONFIG, else the pod's service account."""
    demo: bool
    """Whether to use the built-in cluster in place of a live one."""
    scheduler_config: ObjectRef | None
    """ConfigMap with the cluster's KubeSchedulerConfiguration."""
    write_system_defaults: bool
    """Whether to write default constraints of type System into pods; the scheduler applies them by itself."""
    force_deletion: ForceDeletion = ForceDeletion()
    """The rules for force deletions."""
    options: RuleOptions = RuleOptions()
    """The rules for new pods and the workloads that create them."""
    force_delete_events: bool = False
    """Whether to create Events of force deletions."""
    client_ca: str | None = None
    """Path of the authorities of clients that may send reviews, PEM; when not given, any client may."""
    client_names: frozenset[str] = frozenset()
    """Common names of those clients; empty: every client with a certificate from the authorities."""
    metrics_address: str | None = None
    """``host:port`` of the metrics, over plain HTTP; when not given, they are not served."""
    log_format: LogFormat = LogFormat.TEXT
    """The format of log lines."""
    log_level: LogLevel = LogLevel.INFO
    """The lowest level that is logged."""
    tls: TlsOptions = TlsOptions()
    """The served TLS versions and cipher suites."""
    release: SharedObjects | None = None
    """None: unknown, so there is no audit."""
    audit: float = 3600.0
    """Seconds between audits for pods that were stored without the webhook's defaults; 0: no audit."""
