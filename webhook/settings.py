"""What the program was told, as one value that is made once and passed down."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from webhook.namespace_rules import NamespaceRules
from webhook.tls_options import TlsOptions

__all__ = [
    "CertificateFiles",
    "ForceDeletion",
    "ForceDeletionMode",
    "KeptCertificate",
    "LogFormat",
    "LogLevel",
    "ObjectRef",
    "Options",
    "Release",
    "Settings",
    "Verdict",
]


class ObjectRef(Struct, frozen=True):
    """An object of a known kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class CertificateFiles(Struct, frozen=True):
    """A certificate that somebody else makes."""

    certificate: str
    """Path of the chain, PEM."""
    key: str
    """Path of the private key, PEM."""


class KeptCertificate(Struct, frozen=True, kw_only=True):
    """A certificate that the program makes, keeps in a Secret, renews, and names in its webhook configurations."""

    secret: ObjectRef
    names: tuple[str, ...]
    """DNS names and IP addresses by which the API server calls the webhook."""
    configuration: str
    """The name of the Mutating- and of the ValidatingWebhookConfiguration."""
    lifetime: float
    """Seconds; renewed when two thirds are over."""


class Release(Struct, frozen=True, kw_only=True):
    """What all replicas of one installation share."""

    configuration: str
    """The name of the MutatingWebhookConfiguration by which the API server asks them."""
    lease: ObjectRef
    """Whose holder does what one of them does for all."""


class Verdict(Enum):
    """What a request meets that a rule objects to."""

    WARN = "warn"
    DENY = "deny"


class Options(Struct, frozen=True, kw_only=True):
    """What is done about new pods and what makes them."""

    rules: NamespaceRules = NamespaceRules()
    """Of namespaces."""
    disallowed_class: Verdict = Verdict.DENY
    """For pods of a PriorityClass that their namespace does not allow."""
    template_class: Verdict = Verdict.WARN
    """For workloads whose pods would be refused for their class."""
    verbose: bool = False
    """Whether people are told which defaults were filled in."""
    default_constraints: bool = True
    """Whether pods may get default constraints. Without, what their selectors are built from is not read, and a
    Namespace's annotation does not count."""
    leave_out_template_hash: bool = False
    """Whether default constraints select the pods of all revisions of a Deployment together."""
    lint_selectors: bool = True
    """Whether people are told of a constraint whose selector does not match the pod itself."""
    lint_topology_keys: bool = False
    """Whether people are told of a topologyKey that no node has: nodes' labels are then kept in memory."""


class ForceDeletionMode(Enum):
    """What a force deletion meets; each is stricter than the one before."""

    WARN = "warn"
    CONFIRM = "confirm"
    """Refused until the object carries a confirmation."""
    DENY = "deny"


class ForceDeletion(Struct, frozen=True, kw_only=True):
    """What is done about force deletions."""

    mode: ForceDeletionMode = ForceDeletionMode.WARN
    """Of namespaces that are not named below."""
    namespaces: Mapping[str, ForceDeletionMode] = {}
    """By namespace."""
    exempt_users: frozenset[str] = frozenset()
    """Usernames that are neither warned nor refused, beside Kubernetes' own."""
    exempt_node_controllers: frozenset[str] = frozenset()
    """Usernames that are neither warned nor refused when they delete a Node, which is their work."""

    def of(self, namespace: str) -> ForceDeletionMode:
        """What the configuration says for a namespace."""
        return self.namespaces.get(namespace, self.mode)


class LogFormat(Enum):
    """How lines of the log are written."""

    TEXT = "text"
    JSON = "json"


class LogLevel(Enum):
    """The least that is logged."""

    DEBUG = "debug"
    """Each review, too."""
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Settings(Struct, frozen=True, kw_only=True):
    """All of them."""

    address: str
    """``host:port`` to listen on."""
    drain: float
    """Seconds between SIGTERM and the end of listening, in which the Service learns that this replica goes."""
    certificate: CertificateFiles | KeptCertificate | None
    """None: one that nobody knows, for the demo cluster."""
    kubeconfig: str | None
    """Path; when not given KUBECONFIG, else the pod's service account."""
    demo: bool
    """The built-in cluster in place of a live one."""
    scheduler_config: ObjectRef | None
    """ConfigMap with the cluster's KubeSchedulerConfiguration."""
    write_system_defaults: bool
    """Whether default constraints of type System are written into pods, which the scheduler applies by itself."""
    force_deletion: ForceDeletion = ForceDeletion()
    """Who meets what at a force deletion."""
    options: Options = Options()
    """What is done about new pods and what makes them."""
    force_delete_events: bool = False
    """Whether there are Events of refused force deletions."""
    client_ca: str | None = None
    """Path of the authorities of clients that may send reviews, PEM; when not given, anybody may."""
    client_names: frozenset[str] = frozenset()
    """Common names of those clients; empty: all that the authorities have signed."""
    metrics_address: str | None = None
    """``host:port`` of the metrics, over plain HTTP; when not given there are none."""
    log_format: LogFormat = LogFormat.TEXT
    """How lines of the log are written."""
    log_level: LogLevel = LogLevel.INFO
    """The least that is logged."""
    tls: TlsOptions = TlsOptions()
    """Versions and cipher suites that clients are served."""
    release: Release | None = None
    """None: not known, and no pods are looked for."""
    audit: float = 3600.0
    """Seconds from one look for pods that were stored without an answer of ours to the next; 0: never."""
