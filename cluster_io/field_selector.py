"""Checks field selectors, and finds the objects in memory that match one.

Source: AddFieldLabelConversionsForPod and its like in pkg/apis/core/v1, apps/v1 and batch/v1 conversion.go at v1.36.3;
k8s.io/apimachinery/pkg/fields/selector.go (EscapeValue, splitTerms) at v0.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Struct

from cluster_io.errors import UsageError

if TYPE_CHECKING:
    from cluster_io.kinds import Kind

E = TypeVar("E")

_METADATA_FIELDS: Final = ("metadata.name", "metadata.namespace")
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
_SERVER_ONLY: Final = frozenset(
    {"spec.serviceAccountName", "status.podIP", "status.podIPs", "status.replicas", "status.successful"}
)
"""Fields that only the API server can select by: no model holds them."""
_VALUES: Final = {
    "spec.restartPolicy": ("Always", "OnFailure", "Never"),
    "spec.hostNetwork": ("true", "false"),
    "spec.unschedulable": ("true", "false"),
    "status.phase": ("Pending", "Running", "Succeeded", "Failed", "Unknown"),
}
"""The only values of some fields, apart from the empty one (PodPhase and RestartPolicy in core/v1 types.go)."""
_UNSET: Final = {"spec.hostNetwork": "false", "spec.unschedulable": "false"}
"""The value of a field that is not set; other unset fields count as empty."""
_OPERATORS: Final = r"[\\,=]"
_ESCAPED: Final = r"\\(.)"
_TERMS: Final = r"(?:\\.|[^\\,])+"


def equal_fields(*terms: tuple[str, str]) -> str:
    """A field selector of paths and values; no value adds a term, whatever it holds."""
    return ",".join(f"{path}=" + re.sub(_OPERATORS, r"\\\g<0>", value) for path, value in terms)


def check_fields(text: str, kind: Kind[Any], *, live: bool) -> None:
    """Check that a kind can be selected by a field selector.

    The API server rejects any other selector; objects in memory would silently match nothing.

    Args:
        text: The selector as typed.
        kind: The kind to list.
        live: Whether an API server lists it.

    Raises:
        UsageError: a term has no operator, the kind cannot be selected by the field, or the field has no such value.
    """
    known = (*(_METADATA_FIELDS if kind.namespaced else _METADATA_FIELDS[:1]), *_KNOWN.get(kind.kind, ()))
    known = tuple(name for name in known if live or name not in _SERVER_ONLY)
    for term in re.findall(_TERMS, text, flags=re.DOTALL):
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
        self.value = re.sub(_ESCAPED, r"\1", value if unequal else value.removeprefix("="), flags=re.DOTALL)
        self.equal = not unequal
        self._names = path.split(".")
        self._unset = _UNSET.get(path, "")

    def read(self, raw: Mapping[str, Any]) -> Any:
        """The field's value in a plain object, to compare with `value`; an unset field is empty."""
        value: Any = raw
        for name in self._names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return self._text(value)

    def read_model(self, model: Struct) -> Any:
        """The field's value in a model, to compare with `value`; a field that the model lacks is empty."""
        value: Any = model
        for name in self._names:
            value = getattr(value, _attributes(type(value)).get(name, ""), None) if isinstance(value, Struct) else None
        return self._text(value)

    def _text(self, value: Any) -> Any:
        return ("true" if value is True else value) if value else self._unset


class FieldIndex(Generic[E]):
    """Entries that field selectors select from.

    The first selector for a field's value groups all entries by that field. Callers ask for the pods of each of many
    nodes, and a scan of all pods for each node would take nodes times pods steps.
    """

    def __init__(self, entries: Sequence[E], read: Callable[[FieldTerm, E], Any]) -> None:
        """Take all entries, and a function that gives the value that an entry has in a term's field."""
        self._entries, self._read = entries, read
        self._sorted: dict[str, Mapping[str, Sequence[E]]] = {}

    def of(self, selector: str) -> Sequence[E]:
        """The entries that match every term of a selector, in their order."""
        found = self._entries
        for term in map(FieldTerm, re.findall(_TERMS, selector, flags=re.DOTALL)):
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
                # Nobody can type a value that is not a string.
                if isinstance(value, str):
                    groups.setdefault(value, []).append(entry)
            self._sorted[term.path] = groups
        return self._sorted[term.path]


@lru_cache
def _attributes(model: type[Struct]) -> Mapping[str, str]:
    """A model's attributes by their JSON names."""
    return dict(zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True))
