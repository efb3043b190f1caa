"""What the program was told, as one value that is made once and passed down."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["CertificateFiles", "KeptCertificate", "ObjectRef", "Settings"]


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
