"""The input of handlers that fill in defaults: a new pod, from its review or a later audit of stored pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from podrules.api.model.pod import Pod
from webhook.cluster.cached import CachedNamespace
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import Request, fields_of_author
from webhook.reviews.partial_objects import PartialObject


class NewPod(NamedTuple):
    """A pod, its namespace, and the fields that its author wrote."""

    pod: Pod
    namespace: CachedNamespace
    wrote: Callable[[str], bool]
    """Whether the pod's author wrote a field of its spec, such as ``priorityClassName``; reads the review."""
    left_out: frozenset[str]
    """See `PartialObject.left_out`."""


def as_new(seen: PartialObject[Pod], request: Request, cluster: Cluster) -> NewPod:
    """Make the new pod of a request; the request's object must include managedFields."""
    namespace = cluster.namespace(seen.object.metadata.namespace)
    return NewPod(seen.object, namespace, fields_of_author(request), seen.left_out)
