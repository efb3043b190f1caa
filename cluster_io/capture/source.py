"""Serves the objects of a snapshot's file, and distinguishes a kind that was not captured from one without objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn, TypeVar, cast

from cluster_io.capture.file import NOT_SERVED, SnapshotFile, in_namespace
from cluster_io.errors import KubeletUnavailable, NotCaptured, NotFound, NotServed
from cluster_io.field_selector import FieldIndex, FieldTerm
from cluster_io.kinds import ALL_KINDS, Kind
from cluster_io.kubelet import KubeletEndpoint
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.selectors import Selector
from podrules.api.names import near_names
from podrules.pod.versions import NOTHING_STATED, StatedFacts

Captured = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)
_Index = dict[tuple[str, str], KubeObject]


class SnapshotSource:
    """Serves the objects of a file. It decodes a kind at its first use."""

    side_by_side: Final = False
    stated: StatedFacts = NOTHING_STATED
    is_plain_list: Final = False

    def __init__(self, file: SnapshotFile, *, namespace: str | None) -> None:
        """Take a file; nothing is decoded yet.

        Args:
            file: The snapshot.
            namespace: The namespace that the user named; None: the namespace of the snapshot.
        """
        header = file.header
        self._file = file
        self._objects: dict[Kind[Any], Sequence[Any]] = {}
        self._choices: dict[Kind[Any], FieldIndex[Any]] = {}
        self._indexed: dict[Kind[Any], _Index] = {}
        self.description = f"snapshot {file.path}"
        self.namespace = namespace or header.namespace
        self.git_version = header.server_version
        self.emulates = header.emulates
        self.schedulers = header.schedulers
        self.now = header.captured_at

    @property
    def warning(self) -> str:
        """A warning for the user about the file; empty: none."""
        others = self._file.other_shapes(ALL_KINDS)
        if not others:
            return ""
        by = self._file.header.captured_by
        return (
            f"{self._file.path} was captured by version {by}, which kept other fields of {', '.join(others)}: "
            "what it did not keep counts as not set"
        )

    def get(self, kind: Kind[Captured], name: str, namespace: str | None = None) -> Captured:
        """One object; see `Source.get`."""
        place = namespace or "" if kind.namespaced else ""
        index = self._index(kind, place)
        if (place, name) not in index:
            raise NotFound(kind, name, namespace, lambda: near_names(name, self.names(kind, place)))
        return cast("T", index[place, name])

    def list(
        self, kind: Kind[Captured], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[Captured]:
        """All objects of a kind; see `Source.list`."""
        objects = self._all(kind, namespace)
        if kind not in self._choices:
            self._choices[kind] = FieldIndex(objects, FieldTerm.read_model)
        found: Sequence[Captured] = self._choices[kind].of(field_selector)
        if namespace is not None and kind.namespaced:
            found = [entry for entry in found if entry.metadata.namespace == namespace]
        return found if selector is None else [entry for entry in found if selector.matches(entry.metadata.labels)]

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """The names of a kind's objects; see `Source.names`."""
        place = namespace if kind.namespaced else None
        return [name for space, name in self._index(kind, place) if place is None or space == place]

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> NoReturn:
        """Kubelets are not captured; see `Source.kubelet`."""
        del node, endpoint
        raise KubeletUnavailable(f"not in {self.description}")

    def _all(self, kind: Kind[Captured], namespace: str | None) -> Sequence[Captured]:
        """The captured objects of a kind, where they hold all of a namespace; None: of all namespaces."""
        captured = self._file.captured(kind)
        if captured.not_captured == NOT_SERVED:
            raise NotServed(kind)
        if captured.not_captured and (namespace is None or captured.only != in_namespace(namespace)):
            raise NotCaptured(kind, self.description, captured.not_captured)
        if kind not in self._objects:
            self._objects[kind] = self._file.objects(kind)
        return self._objects[kind]

    def _index(self, kind: Kind[Any], namespace: str | None) -> _Index:
        objects = self._all(kind, namespace)
        if kind not in self._indexed:
            self._indexed[kind] = {(entry.metadata.namespace, entry.metadata.name): entry for entry in objects}
        return self._indexed[kind]
