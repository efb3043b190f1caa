"""Facts for a force deletion of a pod: the other members of its StatefulSet, and whether it needs a confirmation.

    force deletion   grace period 0, from the option or from the pod's own spec, for a pod that may have processes
    members          the other pods of its StatefulSet that are Ready; a majority is more than half of its replicas.
                     On a node that does not respond the state of a member is unknown: its status is old
    third way        besides fencing its node and forcing it: the other members, if they are a majority, remove it from
                     the application. The old process is then no longer a member, but may still write to its volumes.
                     The next pod with its name starts with its data, and most applications reject a removed member
                     with such data

Many replicated stores need a majority; Kubernetes knows neither that nor an application's members.

Source: pkg/registry/core/pod/strategy.go (CheckGracefulDelete) at v1.36.3; documentation of etcd, RabbitMQ, Elastic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod
from podrules.pod.termination import GraceSource, check_graceful_delete

CONFIRMATION: Final = "kubectl-qos.io/confirm-force-delete"
"""The annotation of an object that may be force deleted; its value is the object's uid: it is valid for this object
only."""

_APPLICATIONS: Final = {
    "etcd": (True, "etcdctl member remove MEMBER-ID", "etcdctl member add and an empty data directory"),
    "rabbitmq": (True, "rabbitmqctl forget_cluster_node NODE", "an empty data directory"),
    # There is no majority, or a lost member is removed automatically.
    "alertmanager elasticsearch minio opensearch postgres postgresql prometheus redis valkey": (
        False,
        "",
        "",
    ),
}
"""Members' `votes`, `removal` and `joining` by the names of applications; the commands are valid for each version."""


class Members(Struct, frozen=True, rename="camel"):
    """The other pods of a StatefulSet, and how many make a majority."""

    stateful_set: str
    replicas: int
    """The replicas in its spec."""
    live: tuple[str, ...]
    """Other members that are Ready."""
    down: tuple[str, ...]
    """Other members that are not Ready, or are being deleted."""

    majority: int
    """More than half of the replicas."""
    unknown: tuple[str, ...] = ()
    """Other members that were Ready in the last report of their nodes."""
    votes: bool | None = None
    """Whether a majority of the application can remove a member; None: the pod does not show its application."""
    removal: str = ""
    """The command that removes a member; empty: not known."""
    joining: str = ""
    """What the next member with the same name needs to join."""

    @property
    def may_remove(self) -> bool:
        """Whether the others are a majority, which an application requires to remove a member."""
        return self.votes is not False and self.replicas > 1 and len(self.live) >= self.majority


def members(pod: Pod, replicas: int, siblings: Iterable[Pod], answers: Callable[[str], bool]) -> Members | None:
    """The other pods of the pod's StatefulSet, by their nodes' responses; None: its controller is not a StatefulSet."""
    owner = pod.metadata.controller
    if owner is None or (owner.group, owner.kind) != ("apps", "StatefulSet"):
        return None
    others = sorted(
        (other for other in siblings if other.metadata.controller == owner and other.metadata.uid != pod.metadata.uid),
        key=lambda other: other.metadata.name,
    )
    alive = [other for other in others if other.is_ready and other.metadata.deletion_timestamp is None]
    ready = {other.metadata.name: answers(other.spec.node_name) for other in alive}
    # ``etcd`` for image ``registry.k8s.io/etcd:3.6``.
    images = (container.image.partition("@")[0].rpartition("/")[2] for container in pod.spec.containers)
    names = {pod.metadata.labels.get("app.kubernetes.io/name"), *(image.partition(":")[0] for image in images)}
    known = (entry for keys, entry in _APPLICATIONS.items() if not names.isdisjoint(keys.split()))
    application = next(known, (None, "", ""))
    return Members(
        owner.name,
        replicas,
        tuple(name for name, live in ready.items() if live),
        tuple(other.metadata.name for other in others if other.metadata.name not in ready),
        replicas // 2 + 1,
        tuple(name for name, live in ready.items() if not live),
        *application,
    )


def is_force_deletion(pod: Pod, option_seconds: int | None) -> bool:
    """Whether a DELETE with this grace period removes the object of a pod that may still run."""
    grace = check_graceful_delete(pod, option_seconds)
    return grace.seconds == 0 and grace.source not in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}


def is_confirmed(metadata: ObjectMeta) -> bool:
    """Whether the force deletion of this very object is confirmed."""
    return metadata.uid != "" and metadata.annotations.get(CONFIRMATION) == metadata.uid
