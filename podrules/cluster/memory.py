"""A source over objects that are already here: a snapshot, manifests, the demo cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from podrules.cluster.errors import BadObject, NotFound
from podrules.cluster.kinds import ALL_KINDS, Kind
from podrules.model.base import KubeObject
from podrules.model.decode import DecodeError, from_object
from podrules.model.pod import Pod
from podrules.model.selectors import Selector

__all__ = ["MemorySource", "NothingSource"]

T = TypeVar("T", bound=KubeObject)


class MemorySource:
    """Objects in memory. Each is decoded when it is first asked for."""

    def __init__(
        self,
        objects: Iterable[Mapping[str, Any]],
        *,
        description: str,
        now: datetime | None = None,
        git_version: str | None = None,
        namespace: str = "default",
    ) -> None:
        """Index plain API objects by kind, namespace and name; objects of other kinds are passed over."""
        self.description = description
        self.namespace = namespace
        self.git_version = git_version
        self.now = now
        self._raw: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {kind.kind: {} for kind in ALL_KINDS}
        self._decoded: dict[tuple[str, str, str], KubeObject] = {}
        for entry in objects:
            self._index(entry)

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object; see `Source.get`."""
        place = namespace or "" if kind.namespaced else ""
        if (place, name) not in self._raw[kind.kind]:
            from difflib import get_close_matches

            names = [other for space, other in self._raw[kind.kind] if space == place]
            raise NotFound(kind, name, namespace, get_close_matches(name, names, n=3))
        return self._decode(kind, place, name)

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """All objects of a kind; see `Source.list`."""
        found = [
            self._decode(kind, space, name)
            for space, name in self._raw[kind.kind]
            if namespace is None or not kind.namespaced or space == namespace
        ]
        found = [entry for entry in found if selector is None or selector.matches(entry.metadata.labels)]
        field, _, value = field_selector.partition("=")
        if field == "spec.nodeName":
            return [entry for entry in found if isinstance(entry, Pod) and entry.spec.node_name == value]
        return found

    def _index(self, entry: Mapping[str, Any]) -> None:
        kind = next((known for known in ALL_KINDS if _is_of(entry, known)), None)
        meta = entry.get("metadata")
        if kind is None or not isinstance(meta, Mapping):
            return
        # An object without a namespace is read as in kubectl: it belongs to the default one.
        space = (meta.get("namespace") or self.namespace) if kind.namespaced else ""
        self._raw[kind.kind][space, str(meta.get("name", ""))] = entry

    def _decode(self, kind: Kind[T], namespace: str, name: str) -> T:
        key = (kind.kind, namespace, name)
        if key not in self._decoded:
            try:
                self._decoded[key] = from_object(self._raw[kind.kind][namespace, name], kind.model)
            except DecodeError as error:
                raise BadObject(f"{kind.singular}/{name} in {self.description}: {error}") from error
        return cast("T", self._decoded[key])


def _is_of(entry: Mapping[str, Any], kind: Kind[Any]) -> bool:
    return entry.get("kind") == kind.kind and entry.get("apiVersion") == kind.api_version


class NothingSource:
    """No cluster at all, for manifests: everything that is asked for is noted as unread."""

    description = "manifest only"
    git_version = None
    now = None

    def __init__(self, namespace: str) -> None:
        """Take the namespace of manifests that name none."""
        self.namespace = namespace

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """See `Source.get`."""
        del kind, name, namespace
        raise BadObject("no cluster was asked")

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """See `Source.list`."""
        del kind, namespace, selector, field_selector
        raise BadObject("no cluster was asked")
