"""Encodes the objects of one kind for a snapshot's file, as MessagePack.

A cluster has many pods from few templates, and its nodes have the same images: what objects share is stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from cluster_io.capture.forms import Column, Forms, texts
from cluster_io.kinds import NODES, PODS, Kind
from podrules.api.model.base import KubeObject, ObjectMeta
from podrules.api.model.decode import dec_hook
from podrules.api.model.node import ContainerImage, Node
from podrules.api.model.pod import Pod, PodSpec, PodStatus

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
        return encode(_block_of_pods(objects))
    return encode(_block_of_nodes(objects) if kind is NODES else tuple(objects))


def read_block(raw: bytes, kind: Kind[T]) -> Sequence[T]:
    """Decode the objects of a kind.

    Raises:
        ValueError, IndexError: the bytes are not such a block.
    """
    if cast("Any", kind) is PODS:
        return cast("Sequence[T]", _pods(msgspec.msgpack.decode(raw, type=_Pods)))
    if cast("Any", kind) is NODES:
        return cast("Sequence[T]", _nodes(msgspec.msgpack.decode(raw, type=_Nodes, dec_hook=dec_hook)))
    return msgspec.msgpack.decode(raw, type=tuple[kind.model, ...], dec_hook=dec_hook)  # type: ignore[name-defined]


def _block_of_pods(pods: Iterable[Pod]) -> _Pods:
    metadata = Forms[ObjectMeta](("name", "uid", "resource_version", "creation_timestamp"))
    specs = Forms[PodSpec](("node_name",), _TOKEN_VOLUME)
    statuses = Forms[PodStatus]((), _TIME)
    for pod in pods:
        metadata.add(pod.metadata)
        specs.add(pod.spec)
        statuses.add(pod.status)
    return _Pods(metadata.column(), specs.column(), statuses.column())


def _pods(block: _Pods) -> Sequence[Pod]:
    parts = block.metadata.models(ObjectMeta), block.specs.models(PodSpec), block.statuses.models(PodStatus)
    return tuple(starmap(Pod, zip(*parts, strict=True)))


def _block_of_nodes(nodes: Iterable[Node]) -> _Nodes:
    images: dict[ContainerImage, int] = {}
    bare, places = [], []
    for node in nodes:
        places.append(tuple(images.setdefault(image, len(images)) for image in node.status.images))
        bare.append(replace(node, status=replace(node.status, images=())))
    return _Nodes(tuple(images), tuple(bare), tuple(places))


def _nodes(block: _Nodes) -> Sequence[Node]:
    return tuple(
        replace(node, status=replace(node.status, images=tuple(block.images[place] for place in places)))
        for node, places in zip(block.nodes, block.places, strict=True)
    )
