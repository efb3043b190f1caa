"""ImageLocality: nodes that have the pod's images score higher, by size.

    an image    trunc(size * nodes that have it / all nodes); counted for each container, init container and image
                volume that names it. Names without a tag or digest have ``:latest``
    the node    100 * (sum - 23 MiB) / (1000 MiB * containers and init containers - 23 MiB), whole numbers, the sum held
                between the two bounds; not normalised. Since 1.37 image volumes count like containers

The size is that of the first node with the image; kube-scheduler takes it from the first it heard of.

Source: pkg/scheduler/framework/plugins/imagelocality/image_locality.go and pkg/scheduler/backend/cache/cache.go
(addNodeImageStates) at v1.36.3 and v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.interface import MAX_NODE_SCORE, CycleContext
from podrules.scheduling.scheduler.framework.node_table import Nodes

_MIB: Final = 1024 * 1024
_MIN_THRESHOLD: Final = 23 * _MIB
_MAX_CONTAINER_THRESHOLD: Final = 1000 * _MIB


class ImageState(Struct, frozen=True):
    """An image and the nodes that have it (ImageStateSummary)."""

    size: int
    rows: NDArray[np.int32]

    def scaled_score(self, total_nodes: int) -> int:
        """The size by the share of nodes that have the image."""
        return int(float(self.size) * (len(self.rows) / total_nodes))


class PresentImage(Struct, frozen=True):
    """An image of the pod that a node has."""

    image: str
    size: int
    nodes: int
    """How many nodes have it."""
    score: int
    """Its size by their share."""


class ImagesFound(Struct, frozen=True):
    """Where a node's score comes from."""

    present: tuple[PresentImage, ...]
    """One entry for each use."""
    total_nodes: int
    sum: int
    least: int
    """The sum that scores 0."""
    most: int
    """The sum that scores 100."""


class ImageLocality:
    """Scores by ``status.images``."""

    name = "ImageLocality"

    def score(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:  # noqa: ARG002
        """Larger images that are there already are better."""
        total = len(context.table)
        states = context.table.nodes.derived(image_states)
        sums = np.zeros(total, np.int64)
        for image in _images(context.pod):
            if image in states:
                sums[states[image].rows] += states[image].scaled_score(total)
        most = _max_threshold(context.pod, context.features)
        held = np.where(sums < _MIN_THRESHOLD, _MIN_THRESHOLD, np.minimum(sums, most))[feasible]
        scores: NDArray[np.int64] = MAX_NODE_SCORE * (held - _MIN_THRESHOLD) // (most - _MIN_THRESHOLD)
        return scores

    def explain(self, context: CycleContext, state: Any, row: int) -> ImagesFound:  # noqa: ARG002 - needs none
        """The pod's images on a row's node."""
        total = len(context.table)
        states = context.table.nodes.derived(image_states)
        present = tuple(
            PresentImage(image, states[image].size, len(states[image].rows), states[image].scaled_score(total))
            for image in _images(context.pod)
            if image in states and row in states[image].rows
        )
        total_score = sum(image.score for image in present)
        return ImagesFound(present, total, total_score, _MIN_THRESHOLD, _max_threshold(context.pod, context.features))


def normalized_image_name(name: str) -> str:
    """The name as nodes report it: with a tag (normalizedImageName)."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def image_states(nodes: Nodes) -> Mapping[str, ImageState]:
    """The images of nodes by name: a column (`Nodes.derived`)."""
    sizes: dict[str, int] = {}
    rows: dict[str, list[int]] = {}
    for row, node in enumerate(nodes):
        for image in node.status.images:
            for name in image.names:
                sizes.setdefault(name, image.size_bytes)
                having = rows.setdefault(name, [])
                if not having or having[-1] != row:
                    having.append(row)
    return {name: ImageState(size, np.array(rows[name], np.int32)) for name, size in sizes.items()}


def _images(pod: Pod) -> Iterator[str]:
    """The images that a pod uses, once for each use."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield normalized_image_name(container.image)
    for volume in pod.spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def _max_threshold(pod: Pod, features: Features) -> int:
    volumes = sum(volume.image is not None for volume in pod.spec.volumes) if features.image_volumes_count else 0
    return _MAX_CONTAINER_THRESHOLD * (len(pod.spec.init_containers) + len(pod.spec.containers) + volumes)
