"""The settings of the program: one value that is read once from the configuration file and flags, and passed down."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from podrules.api.model.base import Model
from podrules.qos_webhook.rules import NAMESPACE_OR_PREFIX, ObjectRef, PodRules

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
_LEAST_AUDIT: Final = 10.0
_MAX_PORT: Final = 65535
_ADDRESS: Final = re.compile(r"(?:\[(?=[^]]*:)[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|[\w.-]+):([0-9]{1,5})", re.ASCII)
_TLS_NAME: Final = re.compile(r"[0-9A-Za-z:.*-]{1,253}", re.ASCII)


class TlsOptions(Model, frozen=True, forbid_unknown_fields=True):
    """The TLS options of the server."""

    min_version: TlsVersion = TlsVersion.TLS12
    cipher_suites: tuple[str, ...] = ()
    """TLS 1.2 suites, as keys of `CIPHER_SUITES`; empty: Python's default."""

    def problem(self) -> str:
        """Why the options cannot be served; empty: they can."""
        for name in self.cipher_suites:
            if name in _OF_TLS13:
                return f"tls.cipherSuites: {name!r} is a suite of TLS 1.3; these are always on: omit it"
            if name not in CIPHER_SUITES:
                return f"tls.cipherSuites: {name!r} is none of {', '.join(CIPHER_SUITES)}"
        if self.cipher_suites and self.min_version is TlsVersion.TLS13:
            return (
                "tls.cipherSuites chooses among the suites of TLS 1.2, which tls.minVersion VersionTLS13 disables: "
                "omit one of them"
            )
        return ""

    def apply(self, context: ssl.SSLContext) -> None:
        """Restrict a context to these options, with key exchange on P-256.

        All clients support it, also in FIPS mode, and Python can choose only one group. OpenSSL's defaults include
        finite fields of up to 8,192 bits: each handshake, which costs the client nothing, would take 0.14 s of CPU.
        """
        context.set_ecdh_curve("prime256v1")
        context.minimum_version = _MINIMA[self.min_version]
        if self.cipher_suites:
            context.set_ciphers(":".join(CIPHER_SUITES[name] for name in self.cipher_suites))


class CertificateFiles(Model, frozen=True, forbid_unknown_fields=True):
    """Paths of a certificate that another program makes."""

    certificate: str
    """Path of the chain, PEM."""
    key: str
    """Path of the private key, PEM."""


class KeptCertificate(Model, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A certificate that the program makes, stores in a Secret, renews, and publishes in its configurations."""

    secret: ObjectRef
    """The Secret; it and a Lease of the same name must exist."""
    names: Annotated[tuple[str, ...], Meta(min_length=1)]
    """DNS names and IP addresses that the API server uses to call the webhook."""
    configuration: Annotated[str, Meta(min_length=1)]
    """The name of both the Mutating- and the ValidatingWebhookConfiguration."""
    lifetime_seconds: Annotated[float, Meta(ge=12, le=3650 * 86400)] = 90 * 86400.0
    """It is renewed when two thirds have passed."""


class CertificateOptions(Model, frozen=True, forbid_unknown_fields=True):
    """The serving certificate: one of these; without both, a temporary one, for the demo cluster."""

    files: CertificateFiles | None = None
    kept: KeptCertificate | None = None


class AuditOptions(Model, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The audit for pods that were stored without the webhook's defaults."""

    interval_seconds: Annotated[float, Meta(ge=0, le=86400)] = 3600.0
    """0: no audit; else at least 10."""
    configuration: str | None = None
    """The MutatingWebhookConfiguration that selects the counted pods; that of a kept certificate when not given."""
    lease: ObjectRef | None = None
    """The Lease; its holder counts for all replicas. That of a kept certificate when not given."""


class ClientOptions(Model, frozen=True, forbid_unknown_fields=True):
    """The clients that may send reviews."""

    ca_file: str | None = None
    """Path of their authorities, PEM; when not given, any client may."""
    names: frozenset[str] = frozenset()
    """Their common names; empty: every client with a certificate from the authorities."""


class ForceDeletionMode(Enum):
    """What happens to a force deletion; each mode is stricter than the one before."""

    WARN = "warn"
    CONFIRM = "confirm"
    """Refused until the object has a confirmation."""
    DENY = "deny"


class ForceDeletion(Model, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules for force deletions."""

    mode: ForceDeletionMode = ForceDeletionMode.WARN
    """The mode of namespaces that are not named below."""
    namespaces: dict[str, ForceDeletionMode] = {}
    """The mode by namespace."""
    exempt_users: frozenset[str] = frozenset()
    """Usernames that are neither warned nor refused, in addition to Kubernetes' own."""
    exempt_node_controllers: frozenset[str] = frozenset()
    """Usernames that are neither warned nor refused when they delete a Node as part of their work."""
    events: bool = False
    """Whether to create an Event of each force deletion, refused or not."""

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


class Settings(PodRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of the program: the content of its configuration file.

    The rules for new pods stand beside them, so `kubectl qos explain` reads the same file as `PodRules`.
    """

    address: str = "0.0.0.0:8443"
    """``host:port`` to listen on."""
    metrics_address: str | None = None
    """``host:port`` of the metrics, over plain HTTP; when not given, they are not served."""
    drain_seconds: Annotated[float, Meta(ge=0, le=3600)] = 10.0
    """Time between SIGTERM and the end of listening, so that the Service stops using this replica."""
    kubeconfig: str | None = None
    """Path; when not given, KUBECONFIG, else the pod's service account."""
    demo: bool = False
    """Whether to use the built-in cluster in place of a live one."""
    log_format: LogFormat = LogFormat.TEXT
    log_level: LogLevel = LogLevel.INFO
    certificate: CertificateOptions = CertificateOptions()
    tls: TlsOptions = TlsOptions()
    clients: ClientOptions = ClientOptions()
    audit: AuditOptions = AuditOptions()
    force_deletion: ForceDeletion = ForceDeletion()

    @property
    def audited(self) -> tuple[str, ObjectRef] | None:
        """The configuration that selects the counted pods, and the Lease of the replica that counts; None: no audit."""
        kept, configuration, lease = self.certificate.kept, self.audit.configuration, self.audit.lease
        if kept is not None:
            configuration, lease = configuration or kept.configuration, kept.secret
        if not self.audit.interval_seconds or configuration is None or lease is None:
            return None
        return configuration, lease

    def problems(self) -> Iterator[str]:
        """What is wrong in the combination of fields; each message names them."""
        kept, files = self.certificate.kept, self.certificate.files
        if kept is not None and files is not None:
            yield "certificate.kept makes a certificate, certificate.files provide one: give one or the other"
        if not (kept or files or self.demo):
            yield "certificate is missing: give certificate.kept, or certificate.files (--tls-cert and --tls-key)"
        if kept is not None and self.audit.lease is not None:
            yield "audit.lease goes with certificate.files: with certificate.kept it is the Lease of the Secret's name"
        if kept is None and bool(self.audit.configuration) != bool(self.audit.lease):
            yield "audit.configuration and audit.lease belong together: the pods, and the replica that counts them"
        if self.demo and (kept or self.audit.lease):
            yield "--demo has no cluster for a Secret or a Lease: omit certificate.kept and audit.lease"
        if self.clients.names and not self.clients.ca_file:
            yield "clients.names also need clients.caFile: the authorities that signed the clients' certificates"
        if self.force_deletion.events and (self.demo or not self.clients.names):
            yield (
                "forceDeletion.events need a cluster, clients.caFile and clients.names: without them every client "
                "that reaches the port could create Events"
            )
        for place, address in (("address", self.address), ("metricsAddress", self.metrics_address)):
            if address is not None and not _is_address(address):
                yield f"{place}: {address!r} is not HOST:PORT, such as 0.0.0.0:8443 or [::]:8443"
        if 0 != self.audit.interval_seconds < _LEAST_AUDIT:
            too_often = f"audit.intervalSeconds: {self.audit.interval_seconds:g} is too often"
            yield f"{too_often}; at least {_LEAST_AUDIT:g}, or 0 for never"
        if kept is not None:
            for name in kept.names:
                if not _TLS_NAME.fullmatch(name):
                    yield f"certificate.kept.names: {name!r} is neither a DNS name nor an IP address"
        if problem := self.tls.problem():
            yield problem
        for key in self.force_deletion.namespaces:
            if not NAMESPACE_OR_PREFIX.fullmatch(key) or key.endswith("*"):
                yield f"forceDeletion.namespaces: {key!r} is not a namespace; wildcards are not supported here"
        for place, users in (
            ("exemptUsers", self.force_deletion.exempt_users),
            ("exemptNodeControllers", self.force_deletion.exempt_node_controllers),
        ):
            for user in sorted(users):
                if not user.strip() or "*" in user:
                    yield f"forceDeletion.{place}: {user!r} is not a username; wildcards are not supported"
        paths = {"clients.caFile": self.clients.ca_file, "kubeconfig": self.kubeconfig}
        if files is not None:
            paths |= {"certificate.files.certificate": files.certificate, "certificate.files.key": files.key}
        for place, path in paths.items():
            try:
                if path is not None and not Path(path).is_file():
                    yield f"{place}: {path} is not a file"
            except OSError as error:
                yield f"{place}: {path}: {error.strerror}"


def _is_address(text: str) -> bool:
    """Whether gunicorn reads it as a host and a port; it would misread an IPv6 address without brackets."""
    found = _ADDRESS.fullmatch(text)
    return found is not None and int(found[1]) <= _MAX_PORT
