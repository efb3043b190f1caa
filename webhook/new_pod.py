"""A new pod as the handlers see it that fill something in: in its review, or later in an audit of what was stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from podrules.model.pod import Pod
from webhook.admission_review import Request, author_wrote
from webhook.cached import CachedNamespace
from webhook.cluster import Cluster
from webhook.partial_objects import Seen

__all__ = ["NewPod", "as_new"]


class NewPod(NamedTuple):
    """A pod, where it is made, and what of it is its author's."""

    pod: Pod
    namespace: CachedNamespace
    wrote: Callable[[str], bool]
    """Whether the pod's author wrote a field of its spec, such as ``priorityClassName``; costs a look at the review."""
    left_out: frozenset[str]
    """See `Seen.left_out`."""


def as_new(seen: Seen[Pod], request: Request, cluster: Cluster) -> NewPod:
    """A pod of a request, which holds it with managedFields."""
    namespace = cluster.namespace(seen.object.metadata.namespace)
    return NewPod(seen.object, namespace, partial(author_wrote, request), seen.left_out)
