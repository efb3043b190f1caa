"""Field selectors: the fields that the API server knows, and the objects in memory that match.

Source: AddFieldLabelConversionsForPod and its like in pkg/apis/core/v1, apps/v1 and batch/v1 conversion.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Struct

from podrules.cluster.errors import UsageError

if TYPE_CHECKING:
    from podrules.cluster.kinds import Kind

__all__ = ["Choice", "FieldTerm", "check_fields"]

E = TypeVar("E")

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
_VALUES: Final = {
    "spec.restartPolicy": ("Always", "OnFailure", "Never"),
    "spec.hostNetwork": ("true", "false"),
    "spec.unschedulable": ("true", "false"),
    "status.phase": ("Pending", "Running", "Succeeded", "Failed", "Unknown"),
}
"""Of fields that have no others, but for none at all (PodPhase and RestartPolicy in core/v1 types.go)."""
_UNSET: Final = {"spec.hostNetwork": "false", "spec.unschedulable": "false"}
"""What a field that is not set counts as; others count as empty."""


def check_fields(text: str, kind: Kind[Any], *, live: bool) -> None:
    """See that a field selector can be answered: the API server refuses others, and here they would match nothing.

    Args:
        text: As it was typed.
        kind: What is listed.
        live: Whether an API server lists it.

    Raises:
        UsageError: a term has no operator, its field is not known of the kind, or has no such value.
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
        value, values = FieldTerm(term).value, _VALUES.get(path, ())
        if value and values and value not in values:
            raise UsageError(
                f'--field-selector "{term}": {path} is never "{value}"',
                advice=f"Its values, as they are written: {', '.join(values)}",
            )


class FieldTerm:
    """One term of a field selector: ``path=value``, ``path==value`` or ``path!=value`` (fields.ParseSelector)."""

    def __init__(self, text: str) -> None:
        path, unequal, value = text.partition("!=")
        if not unequal:
            path, _, value = text.partition("=")
        self.path = path
        self.value = value if unequal else value.removeprefix("=")
        self.equal = not unequal
        self._names = path.split(".")
        self._unset = _UNSET.get(path, "")

    def read(self, raw: Mapping[str, Any]) -> Any:
        """What an object has there, to compare with `value`; a field that is not set is empty."""
        value: Any = raw
        for name in self._names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return self._text(value)

    def read_model(self, model: Struct) -> Any:
        """The same of a model; a field that it does not hold is empty."""
        value: Any = model
        for name in self._names:
            value = getattr(value, _attributes(type(value)).get(name, ""), None) if isinstance(value, Struct) else None
        return self._text(value)

    def _text(self, value: Any) -> Any:
        return ("true" if value is True else value) if value else self._unset


class Choice(Generic[E]):
    """Entries that field selectors choose among.

    They are sorted by a field when its value is first asked for: the pods of each of many nodes are asked for, and
    a look at all pods for each node would take their product.
    """

    def __init__(self, entries: Sequence[E], read: Callable[[FieldTerm, E], Any]) -> None:
        """Take what there is.

        Args:
            entries: All.
            read: What one has in the field of a term.
        """
        self._entries, self._read = entries, read
        self._sorted: dict[str, Mapping[str, Sequence[E]]] = {}

    def of(self, selector: str) -> Sequence[E]:
        """The entries for which each term of a selector holds, in their order."""
        found = self._entries
        for term in map(FieldTerm, filter(None, selector.split(","))):
            if found is self._entries and term.equal:
                found = self._by(term).get(term.value, ())
            else:
                found = [entry for entry in found if (self._read(term, entry) == term.value) is term.equal]
        return found

    def _by(self, term: FieldTerm) -> Mapping[str, Sequence[E]]:
        if term.path not in self._sorted:
            groups: dict[str, list[E]] = {}
            for entry in self._entries:
                value = self._read(term, entry)
                # What is no text equals no value that can be typed.
                if isinstance(value, str):
                    groups.setdefault(value, []).append(entry)
            self._sorted[term.path] = groups
        return self._sorted[term.path]


@lru_cache
def _attributes(model: type[Struct]) -> Mapping[str, str]:
    """Attributes by the names that JSON has."""
    return dict(zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True))
