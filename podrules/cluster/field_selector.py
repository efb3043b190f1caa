"""Field selectors: which fields the API server knows, and the terms over objects that are here, raw or as models.

Source: AddFieldLabelConversionsForPod and its like in pkg/apis/core/v1, apps/v1 and batch/v1 conversion.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from podrules.cluster.errors import UsageError

if TYPE_CHECKING:
    from podrules.cluster.kinds import Kind

__all__ = ["FieldTerm", "check_fields"]

_ALWAYS: Final = ("metadata.name", "metadata.namespace")
_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "Node": ("spec.unschedulable",),
    "ReplicaSet": ("status.replicas",),
    "ReplicationController": ("status.replicas",),
    "Job": ("status.successful",),
}
_OF_THE_SERVER: Final = frozenset(
    {"spec.serviceAccountName", "status.podIP", "status.podIPs", "status.replicas", "status.successful"}
)
"""Fields that no rule reads, so that only the API server has them."""
_UNSET: Final = {"spec.hostNetwork": "false", "spec.unschedulable": "false"}
"""What a field that is not set counts as; others count as empty."""


def check_fields(text: str, kind: Kind[Any], *, live: bool) -> None:
    """See that a field selector can be answered: the API server refuses others, and here they would match nothing.

    Args:
        text: As it was typed.
        kind: What is listed.
        live: Whether an API server lists it.

    Raises:
        UsageError: a term has no operator, or its field is not known of the kind.
    """
    known = (*(_ALWAYS if kind.namespaced else _ALWAYS[:1]), *_KNOWN.get(kind.kind, ()))
    known = tuple(name for name in known if live or name not in _OF_THE_SERVER)
    for term in filter(None, text.split(",")):
        path, equals, _ = term.partition("=")
        path = path.removesuffix("!")
        if not equals:
            raise UsageError(f'--field-selector "{term}": no field and value', advice="Write e.g. status.phase=Pending")
        if path not in known:
            raise UsageError(
                f'--field-selector "{path}": no field that {kind.plural} are chosen by',
                advice=f"Use one of these: {', '.join(known)}",
            )


class FieldTerm:
    """One term of a field selector: ``path=value``, ``path==value`` or ``path!=value`` (fields.ParseSelector)."""

    def __init__(self, text: str) -> None:
        path, unequal, value = text.partition("!=")
        if not unequal:
            path, _, value = text.partition("=")
        self._path = path.split(".")
        self._unset = _UNSET.get(path, "")
        self._value = value if unequal else value.removeprefix("=")
        self._equal = not unequal

    def matches(self, raw: Mapping[str, Any]) -> bool:
        """Whether an object has the value, or has another; a field that is not set is empty."""
        value: Any = raw
        for name in self._path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return self._holds(value)

    def matches_model(self, model: Struct) -> bool:
        """The same of a model; a field that it does not hold is empty."""
        value: Any = model
        for name in self._path:
            value = getattr(value, _attributes(type(value)).get(name, ""), None) if isinstance(value, Struct) else None
        return self._holds(value)

    def _holds(self, value: Any) -> bool:
        text = ("true" if value is True else value) if value else self._unset
        return (text == self._value) is self._equal


@lru_cache
def _attributes(model: type[Struct]) -> Mapping[str, str]:
    """Attributes by the names that JSON has."""
    return dict(zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True))
