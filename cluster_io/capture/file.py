r"""Reads and writes the file of a snapshot: the objects of each kind, or the reason why a kind is missing.

A `SnapshotSource` serves them, and distinguishes a kind that was not captured from one without objects.

    kubectl-qos snapshot 1\n       the format and its version
    length                        the header's length, 4 bytes, most significant first
    header                        JSON (`Header`): when, from which server, and where each kind's block is
    blocks                        one for each kind (`blocks`), compressed (zlib)

A kind is decoded at its first use. Models are stored by the names of their fields, so a version with other fields can
read the file too; `CapturedKind.shape` shows the difference.

A file is untrusted: its sizes are limited, also after decompression.
"""

from __future__ import annotations

import zlib
from binascii import crc32
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace

from cluster_io.capture.blocks import block_of, read_block
from cluster_io.errors import KubeletUnavailable, ManifestError, NotCaptured, NotFound, NotServed
from cluster_io.field_selector import FieldIndex, FieldTerm
from cluster_io.kinds import ALL_KINDS, Kind
from cluster_io.kubelet import KubeletEndpoint
from cluster_io.live.many_reads import without_collection
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.decode import DecodeError
from podrules.api.model.selectors import Selector
from podrules.api.names import near_names
from podrules.pod.versions import NOTHING_STATED, Release, StatedFacts

T = TypeVar("T", bound=KubeObject)

NOT_SERVED: Final = "not served"
"""Why a kind is missing that the cluster does not have."""
_MAGIC: Final = b"kubectl-qos snapshot "
_FORMAT: Final = 1
_MAX_HEADER: Final = 1 << 20
_MAX_FILE: Final = 1 << 30
_MAX_BLOCK: Final = 1 << 30
"""Bytes of a block after decompression."""
_LEVEL: Final = 6
_BYTES_OF_LENGTH: Final = 4


class CapturedKind(Struct, frozen=True, rename="camel"):
    """Describes what a file holds of one kind."""

    resource: str
    """``pods``, ``deployments.apps``."""
    count: int = 0
    not_captured: str = ""
    """Why the kind is missing, or with `only` all that is not of that namespace; empty: it was captured."""
    only: str = ""
    """The field selector of the captured objects; empty: all."""
    shape: str = ""
    """Changes with the model's fields; see `shape_of`."""
    offset: int = 0
    """Bytes from the end of the header to the kind's block."""
    length: int = 0
    size: int = 0
    """Bytes of the block after decompression."""


class Header(Struct, frozen=True, rename="camel"):
    """Describes a file: its cluster, its time and its kinds."""

    captured_at: Annotated[datetime, msgspec.Meta(tz=True)]
    """UTC."""
    captured_by: str
    """The version of the program that captured it."""
    server_version: str | None
    namespace: str
    """The namespace of requests that name none."""
    anonymised: bool
    kinds: tuple[CapturedKind, ...]
    emulates: str = ""
    """The version that the API server emulates; empty: its own, or not known."""
    schedulers: tuple[Release, ...] | None = None
    """The versions of the schedulers, as far as they are known; None in a file of a version that did not keep them."""


def in_namespace(namespace: str) -> str:
    """The field selector of the objects of a namespace."""
    return f"metadata.namespace={namespace}"


def is_snapshot(path: str) -> bool:
    """Whether a file begins as a snapshot does; false for a file that cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - asked of every --snapshot, also of "-"
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def shape_of(model: type[Struct]) -> str:
    """Eight hexadecimal digits that change with the fields of a model or of the models in it."""
    return f"{crc32(_shape(model).encode()):08x}"


@cache
def _shape(annotation: Any) -> str:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        inside = ",".join(f"{entry.encode_name}:{_shape(entry.type)}" for entry in fields(annotation))
        return f"{{{inside}}}"
    arguments = getattr(annotation, "__args__", ())
    return f"[{','.join(map(_shape, arguments))}]" if arguments else str(annotation)


def snapshot_parts(header: Header, objects: Mapping[str, tuple[Kind[Any], Sequence[KubeObject]]]) -> Sequence[bytes]:
    """The file's content, part by part.

    Args:
        header: The header; its kinds have no offsets yet.
        objects: The objects of the captured kinds, by resource.
    """
    blocks: list[bytes] = []
    kinds: list[CapturedKind] = []
    for entry in header.kinds:
        if entry.not_captured and not entry.only:
            kinds.append(entry)
            continue
        kind, found = objects[entry.resource]
        raw = block_of(kind, found)
        blocks.append(zlib.compress(raw, _LEVEL))
        place = sum(map(len, blocks[:-1]))
        kinds.append(
            replace(
                entry,
                count=len(found),
                shape=shape_of(kind.model),
                offset=place,
                length=len(blocks[-1]),
                size=len(raw),
            )
        )
    head = msgspec.json.encode(replace(header, kinds=tuple(kinds)))
    return [_MAGIC + b"%d\n" % _FORMAT, len(head).to_bytes(_BYTES_OF_LENGTH, "big"), head, *blocks]


class SnapshotFile:
    """A snapshot's file in memory; it decodes a block at its first use."""

    def __init__(self, path: str) -> None:
        """Read the file.

        Raises:
            ManifestError: it cannot be read, or this program does not know its version.
        """
        self.path = path
        try:
            if Path(path).stat().st_size > _MAX_FILE:
                raise ManifestError(f"{path}: larger than {_MAX_FILE >> 20} MiB")
            content = Path(path).read_bytes()
        except OSError as error:
            raise ManifestError(f"{path}: {error.strerror or error}") from error
        version, _, rest = content.removeprefix(_MAGIC).partition(b"\n")
        if not content.startswith(_MAGIC) or version != b"%d" % _FORMAT:
            shown = version[:20].decode(errors="replace")
            raise ManifestError(f"{path}: format {shown!r} is not known here, {_FORMAT} is; try a newer kubectl-qos")
        length = int.from_bytes(rest[:_BYTES_OF_LENGTH], "big")
        head, self._blocks = rest[_BYTES_OF_LENGTH:][:length], memoryview(rest)[_BYTES_OF_LENGTH + length :]
        try:
            if not len(head) == length <= _MAX_HEADER:
                raise ValueError("the header has another length")
            self.header = msgspec.json.decode(head, type=Header)
        except ValueError as error:
            raise self._broken(error) from error
        self._kinds = {entry.resource: entry for entry in self.header.kinds}

    def captured(self, kind: Kind[Any]) -> CapturedKind:
        """What the file holds of a kind; nothing of a kind that it does not name."""
        return self._kinds.get(kind.captured_as) or CapturedKind(kind.captured_as, not_captured="it does not name them")

    def other_shapes(self, kinds: Iterable[Kind[Any]]) -> list[str]:
        """The resources with models that had other fields when they were captured."""
        found = (kind for kind in kinds if self.captured(kind).shape not in {"", shape_of(kind.model)})
        return [kind.captured_as for kind in found]

    def objects(self, kind: Kind[T]) -> Sequence[T]:
        """The objects of a captured kind.

        Raises:
            ManifestError: the file is broken.
        """
        entry = self.captured(kind)
        block = self._blocks[entry.offset : entry.offset + entry.length]
        try:
            if not 0 <= entry.size <= _MAX_BLOCK or len(block) != entry.length:
                raise ValueError(f"{kind.plural} have no whole block")
            inflater = zlib.decompressobj()
            raw = inflater.decompress(block, entry.size + 1)
            if len(raw) != entry.size or not inflater.eof:
                raise ValueError(f"the block of {kind.plural} has another size")
            with without_collection():
                return read_block(raw, kind)
        except (ValueError, IndexError, RecursionError, zlib.error) as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> ManifestError:
        # The internal errors of decoders do not help the owner of a broken file.
        _, _, field = str(error).partition(" - at `$.")
        hint = (
            f": its {field.rstrip('`')}" if field else f": {error}" if type(error) in (ValueError, DecodeError) else ""
        )
        return ManifestError(f"{self.path}: it is not whole, or was changed{hint}", advice="Capture that cluster again")


M = TypeVar("M", bound=Model)
_Index = dict[tuple[str, str], KubeObject]


class SnapshotSource:
    """Serves the objects of a file. It decodes a kind at its first use."""

    side_by_side: Final = False
    stated: StatedFacts = NOTHING_STATED
    is_plain_list: Final = False

    def __init__(self, file: SnapshotFile, *, namespace: str | None) -> None:
        """Take a file and the namespace that the user named (None: the snapshot's); nothing is decoded yet."""
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

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object; see `Source.get`."""
        place = namespace or "" if kind.namespaced else ""
        index = self._index(kind, place)
        if (place, name) not in index:
            raise NotFound(kind, name, namespace, lambda: near_names(name, self.names(kind, place)))
        return cast("T", index[place, name])

    def list(
        self,
        kind: Kind[T],
        namespace: str | None = None,
        *,
        selector: Selector | None = None,
        field_selector: str = "",
    ) -> Sequence[T]:
        """All objects of a kind; see `Source.list`."""
        objects = self._all(kind, namespace)
        if kind not in self._choices:
            self._choices[kind] = FieldIndex(objects, FieldTerm.read_model)
        found: Sequence[T] = self._choices[kind].of(field_selector)
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

    def _all(self, kind: Kind[T], namespace: str | None) -> Sequence[T]:
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
