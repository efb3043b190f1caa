"""What a person should know before a pod is deleted without grace: its siblings, and whether they are asked to confirm.

    force deletion   a grace period of 0, of the option or of the pod's own spec, of a pod that may have processes
    members          the other pods of its StatefulSet that are Ready; a majority of its replicas is more than half.
                     Whether one lives on a node that does not answer is unknown: its status is old
    third way        besides fencing its node and forcing it: the other members, if they are a majority, remove it from
                     the application. What still runs is no member then, and may still write to its volumes. The next
                     pod of its name starts on its data, with which most applications let no removed member join again

A majority is what many replicated stores need; Kubernetes knows nothing of it, nor of an application's members.

Source: pkg/registry/core/pod/strategy.go (CheckGracefulDelete) at v1.36.3; documentation of etcd, RabbitMQ, Elastic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod
from podrules.pod.termination import GraceSource, check_graceful_delete

__all__ = ["CONFIRMATION", "Members", "is_confirmed", "is_force_deletion", "members"]

CONFIRMATION: Final = "kubectl-qos.io/confirm-force-delete"
"""Annotation of what is to be force deleted; its value is that object's uid, so that it dies with it."""

_APPLICATIONS: Final = {
    "etcd": (True, "etcdctl member remove MEMBER-ID", "etcdctl member add and an empty data directory"),
    "rabbitmq": (True, "rabbitmqctl forget_cluster_node NODE", "an empty data directory"),
    # There is no majority, or a lost member leaves by itself.
    "alertmanager elasticsearch minio opensearch postgres postgresql prometheus redis valkey": (
        False,
        "",
        "",
    ),
}
"""Members' `votes`, `removal` and `joining` by the names of applications; commands that are right for each version."""


class Members(Struct, frozen=True, rename="camel"):
    """The other pods of a StatefulSet, and how many make a majority."""

    stateful_set: str
    replicas: int
    """What its spec asks for."""
    live: tuple[str, ...]
    """Other members that are Ready."""
    down: tuple[str, ...]
    """Other members that are not, or are being deleted."""

    majority: int
    """More than half of the replicas."""
    unknown: tuple[str, ...] = ()
    """Other members that were Ready when their nodes answered last."""
    votes: bool | None = None
    """Whether a majority of the application removes a member; None: the pod does not show which application that is."""
    removal: str = ""
    """What removes a member; empty: not known."""
    joining: str = ""
    """What the next member of the same name needs to join."""

    @property
    def may_remove(self) -> bool:
        """Whether the others are a majority, without which an application removes none."""
        return self.votes is not False and self.replicas > 1 and len(self.live) >= self.majority


def members(pod: Pod, replicas: int, siblings: Iterable[Pod], answers: Callable[[str], bool]) -> Members | None:
    """The other pods of the pod's StatefulSet, by which nodes are known to answer; None: its controller is none."""
    owner = pod.metadata.controller
    if owner is None or (owner.group, owner.kind) != ("apps", "StatefulSet"):
        return None
    others = sorted(
        (other for other in siblings if other.metadata.controller == owner and other.metadata.uid != pod.metadata.uid),
        key=lambda other: other.metadata.name,
    )
    alive = [other for other in others if other.is_ready and other.metadata.deletion_timestamp is None]
    ready = {other.metadata.name: answers(other.spec.node_name) for other in alive}
    return Members(
        owner.name,
        replicas,
        tuple(name for name, live in ready.items() if live),
        tuple(other.metadata.name for other in others if other.metadata.name not in ready),
        replicas // 2 + 1,
        tuple(name for name, live in ready.items() if not live),
        *_application(pod),
    )


def _application(pod: Pod) -> tuple[bool | None, str, str]:
    """By the name of what runs in a pod: ``etcd`` of image ``registry.k8s.io/etcd:3.6``."""
    images = (container.image.partition("@")[0].rpartition("/")[2] for container in pod.spec.containers)
    names = {pod.metadata.labels.get("app.kubernetes.io/name"), *(image.partition(":")[0] for image in images)}
    return next((told for known, told in _APPLICATIONS.items() if not names.isdisjoint(known.split())), (None, "", ""))


def is_force_deletion(pod: Pod, option_seconds: int | None) -> bool:
    """Whether a DELETE with this grace period removes the object of a pod that may still run."""
    grace = check_graceful_delete(pod, option_seconds)
    return grace.seconds == 0 and grace.source not in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}


def is_confirmed(metadata: ObjectMeta) -> bool:
    """Whether somebody confirmed the force deletion of this very object."""
    return metadata.uid != "" and metadata.annotations.get(CONFIRMATION) == metadata.uid
