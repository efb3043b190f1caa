"""The models that all API objects share: metadata, owner references, conditions.

Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct, field

from podrules.api.model.quantity import Quantity

_DATE: Final = (
    "(?!0000)(?:[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
    "|(?:0[13578]|1[02])-31)|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_PLACEHOLDER: Final = "\0[0-9]{19}"
"""A snapshot's placeholder for a time; its forms are decoded with the same types."""
Time = Annotated[str, Meta(pattern=rf"^(?:{_DATE}T{_CLOCK}|{_PLACEHOLDER})$(?!\n)")]
"""A valid RFC 3339 time, as Go accepts it (Time.UnmarshalJSON, MicroTime.UnmarshalJSON).

JSON Schema uses the pattern too. Its ``$`` matches only at the end; Python's also matches before a final line break.
"""

ResourceList = dict[str, Quantity]
"""Resource name (``cpu``, ``memory``, ``example.com/gpu``) to amount."""


class Model(Struct, frozen=True, gc=False, rename="camel"):
    """Base of all models. ``gc=False``: they hold no cycles, and a large cluster has millions of them."""


class OwnerReference(Model, frozen=True):
    """``metadata.ownerReferences[]``."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False

    @property
    def group(self) -> str:
        """The API group: ``apps``, empty for the core group."""
        return self.api_version.rpartition("/")[0]


class ObjectMeta(Model, frozen=True):
    """``metadata``."""

    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """Namespace and name, which are unique within a kind."""
        return self.namespace, self.name

    @property
    def written_name(self) -> str:
        """Its name; ``web-…`` where the API server is to end it (generateName)."""
        return self.name or (f"{self.generate_name}…" if self.generate_name else "")

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object, if any (metav1.GetControllerOf)."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class KubeObject(Model, frozen=True):
    """An API object with metadata."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Condition(Model, frozen=True):
    """``status.conditions[]`` of pods and nodes."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    last_heartbeat_time: Time | None = None
