"""Encodes the objects of one kind for a snapshot's file, as MessagePack.

A cluster has many pods from few templates, and its nodes have the same images: what models share is stored once, as
their form, and each model's own texts are stored with it.

A form is a model's MessagePack with placeholders for its own texts: in some fields, and where a pattern finds them,
such as times. A pattern may match inside another text by chance. So the first model of a form is rebuilt from its own
texts; if the result differs from the model, all models of this form are stored whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import Annotated, Any, Final, Generic, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from cluster_io.kinds import NODES, PODS, Kind
from cluster_io.wire.recipe import Fill, TextPlace, recipe
from podrules.api.model.base import KubeObject, ObjectMeta
from podrules.api.model.decode import dec_hook
from podrules.api.model.node import ContainerImage, Node
from podrules.api.model.pod import Pod, PodSpec, PodStatus

S = TypeVar("S", bound=Struct)

Own = tuple[str, ...]
"""A model's own texts: first those of fields, then those that the pattern found."""
_MAX_OWN: Final = 1 << 10
_PLACEHOLDER_SIZE: Final = 20
"""Bytes of a placeholder."""
_PLACEHOLDERS: Final = tuple(f"\0{index:0{_PLACEHOLDER_SIZE - 1}}" for index in range(_MAX_OWN))


class Form(Struct, frozen=True, array_like=True, gc=False):
    """The part that similar models share."""

    raw: bytes
    """MessagePack with placeholders."""
    own: Annotated[int, msgspec.Meta(ge=0, le=_MAX_OWN)]
    """How many own texts each model has."""

    def fill(self, model: type[Struct]) -> Fill:
        """A function that makes models of this form from their own texts.

        Raises:
            ValueError: the bytes are not a form of such models.
        """
        template = msgspec.msgpack.decode(self.raw, type=model, dec_hook=dec_hook)
        return recipe(template, {text: TextPlace(index) for index, text in enumerate(_PLACEHOLDERS[: self.own])})


class Column(Struct, frozen=True, array_like=True, gc=False):
    """Models of one type, in their order, split into forms and own texts."""

    forms: tuple[Form, ...]
    places: tuple[int, ...]
    """For each model, the index of its form."""
    own: tuple[Own, ...]

    def models(self, model: type[S]) -> list[S]:
        """Make all models.

        Raises:
            ValueError, IndexError: the column does not hold such models.
        """
        fills = [form.fill(model) for form in self.forms]
        return [fills[place](own) for place, own in zip(self.places, self.own, strict=True)]


class Forms(Generic[S]):
    """Splits models of one type into forms and own texts, for a `Column`."""

    def __init__(self, own: Sequence[str], found: re.Pattern[bytes] | None = None) -> None:
        """Begin without models.

        Args:
            own: Fields with own texts.
            found: Matches other own texts in MessagePack; see `texts`. A repeated text of a model is stored once.
        """
        self._own_fields = own
        self._found = found
        self._encode = msgspec.msgpack.Encoder(enc_hook=str).encode
        self._forms: list[Form] = []
        self._models: list[int] = []
        self._texts: list[Own] = []
        self._places: dict[tuple[object, ...], int | None] = {}
        """Indexes of forms by what models share; None: such models are stored whole."""
        self._whole: dict[bytes, int] = {}

    def column(self) -> Column:
        """All models that were added."""
        return Column(tuple(self._forms), tuple(self._models), tuple(self._texts))

    def add(self, model: S) -> None:
        """Append a model."""
        own = {name: value for name in self._own_fields if (value := getattr(model, name)) is not None}
        raw = self._encode(replace(model, **dict(zip(own, _PLACEHOLDERS, strict=False))))
        pieces = self._found.split(raw) if self._found else [raw]
        kinds: dict[bytes, int] = {}
        order = [kinds.setdefault(piece, len(kinds)) for piece in pieces[1::2]]
        texts = (*own.values(), *(piece[1:].decode() for piece in kinds))
        key = (*order, *pieces[::2])
        if key not in self._places:
            self._places[key] = self._new(model, pieces, [len(own) + kind for kind in order], texts)
        place = self._places[key]
        self._models.append(self._place_of_whole(model) if place is None else place)
        self._texts.append(() if place is None else texts)

    def _new(self, model: S, pieces: list[bytes], order: Sequence[int], texts: Own) -> int | None:
        if len(texts) > _MAX_OWN or not set(_PLACEHOLDERS).isdisjoint(texts):
            return None
        pieces[1::2] = (b"%c%b" % (0xA0 | _PLACEHOLDER_SIZE, _PLACEHOLDERS[index].encode()) for index in order)
        form = Form(b"".join(pieces), len(texts))
        try:
            return self._added(form) if form.fill(type(model))(texts) == model else None
        except ValueError:
            return None

    def _place_of_whole(self, model: S) -> int:
        raw = self._encode(model)
        if raw not in self._whole:
            self._whole[raw] = self._added(Form(raw, 0))
        return self._whole[raw]

    def _added(self, form: Form) -> int:
        self._forms.append(form)
        return len(self._forms) - 1


def texts(pattern: bytes, size: int) -> re.Pattern[bytes]:
    """A pattern that matches texts in MessagePack.

    Args:
        pattern: Matches a whole text.
        size: Bytes of every text that it matches, below 32.
    """
    return re.compile(b"(\\x%02x%b)" % (0xA0 | size, pattern))


T = TypeVar("T", bound=KubeObject)

_TIME: Final = texts(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", 20)
_TOKEN_VOLUME: Final = texts(rb"kube-api-access-[a-z0-9]{5}", 21)
"""The volume that the API server adds to pods; plugin/pkg/admission/serviceaccount/admission.go at v1.36.3."""


class _Pods(Struct, frozen=True, array_like=True, gc=False):
    metadata: Column
    specs: Column
    statuses: Column


class _Nodes(Struct, frozen=True, array_like=True, gc=False):
    images: tuple[ContainerImage, ...]
    nodes: tuple[Node, ...]
    """The nodes without their images."""
    places: tuple[tuple[int, ...], ...]
    """For each node, the indexes of its images."""


def block_of(kind: Kind[Any], objects: Iterable[Any]) -> bytes:
    """Encode all objects of a kind."""
    encode = msgspec.msgpack.Encoder(enc_hook=str).encode
    if kind is PODS:
        metadata = Forms[ObjectMeta](("name", "uid", "resource_version", "creation_timestamp"))
        specs = Forms[PodSpec](("node_name",), _TOKEN_VOLUME)
        statuses = Forms[PodStatus]((), _TIME)
        for pod in objects:
            metadata.add(pod.metadata)
            specs.add(pod.spec)
            statuses.add(pod.status)
        return encode(_Pods(metadata.column(), specs.column(), statuses.column()))
    if kind is NODES:
        images: dict[ContainerImage, int] = {}
        bare, places = [], []
        for node in objects:
            places.append(tuple(images.setdefault(image, len(images)) for image in node.status.images))
            bare.append(replace(node, status=replace(node.status, images=())))
        return encode(_Nodes(tuple(images), tuple(bare), tuple(places)))
    return encode(tuple(objects))


def read_block(raw: bytes, kind: Kind[T]) -> Sequence[T]:
    """Decode the objects of a kind.

    Raises:
        ValueError, IndexError: the bytes are not such a block.
    """
    if cast("Any", kind) is PODS:
        pods = msgspec.msgpack.decode(raw, type=_Pods)
        parts = pods.metadata.models(ObjectMeta), pods.specs.models(PodSpec), pods.statuses.models(PodStatus)
        return cast("Sequence[T]", tuple(starmap(Pod, zip(*parts, strict=True))))
    if cast("Any", kind) is NODES:
        block = msgspec.msgpack.decode(raw, type=_Nodes, dec_hook=dec_hook)
        nodes = (
            replace(node, status=replace(node.status, images=tuple(block.images[place] for place in places)))
            for node, places in zip(block.nodes, block.places, strict=True)
        )
        return cast("Sequence[T]", tuple(nodes))
    return msgspec.msgpack.decode(raw, type=tuple[kind.model, ...], dec_hook=dec_hook)  # type: ignore[name-defined]
