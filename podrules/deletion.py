"""What a person should know before a pod is deleted without grace: its siblings, and whether they are asked to confirm.

    force deletion   a grace period of 0, of the option or of the pod's own spec, of a pod that may have processes
    members          the other pods of its StatefulSet that are Ready; a majority of its replicas is more than half
    third way        besides fencing its node and forcing it: the other members, if they are a majority, remove it from
                     the application. What still runs is no member then, and may still write to its volumes

A majority is what most replicated stores need; Kubernetes knows nothing of it, nor of an application's members.

Source: pkg/registry/core/pod/strategy.go (CheckGracefulDelete) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from podrules.model.base import ObjectMeta
from podrules.model.pod import Pod
from podrules.termination import GraceSource, check_graceful_delete

__all__ = ["CONFIRMATION", "Members", "is_confirmed", "is_force_deletion", "members"]

CONFIRMATION: Final = "kubectl-qos.io/confirm-force-delete"
"""Annotation of what is to be force deleted; its value is that object's uid, so that it dies with it."""

_REMOVALS: Final = {
    "cassandra scylla": "nodetool removenode HOST-ID",
    "cockroach cockroachdb": "cockroach node decommission NODE-ID",
    "consul": "consul operator raft remove-peer -id=ID",
    "elasticsearch opensearch": "POST /_cluster/voting_config_exclusions?node_names=NAME",
    "etcd": "etcdctl member remove MEMBER-ID",
    "kafka": "kafka-metadata-quorum.sh remove-controller",
    "mongo mongodb percona-server-mongodb": 'rs.remove("HOST:PORT")',
    "nats": "nats server cluster peer-remove NAME",
    "rabbitmq": "rabbitmqctl forget_cluster_node NODE",
    "vault": "vault operator raft remove-peer NODE-ID",
    "zookeeper": "reconfig -remove SERVER-ID",
}
"""What removes a member, by the names of applications."""


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
    removal: str = ""
    """What removes a member in the application; empty: the pod does not show which that is."""

    @property
    def may_remove(self) -> bool:
        """Whether the others are a majority, without which an application removes none."""
        return self.replicas > 1 and len(self.live) >= self.majority


def members(pod: Pod, replicas: int, siblings: Iterable[Pod]) -> Members | None:
    """The other pods of the pod's StatefulSet, of all of its namespace; None: its controller is none."""
    owner = pod.metadata.controller
    if owner is None or (owner.group, owner.kind) != ("apps", "StatefulSet"):
        return None
    others = sorted(
        (other for other in siblings if other.metadata.controller == owner and other.metadata.uid != pod.metadata.uid),
        key=lambda other: other.metadata.name,
    )
    live = [other for other in others if other.is_ready and other.metadata.deletion_timestamp is None]
    return Members(
        owner.name,
        replicas,
        tuple(other.metadata.name for other in live),
        tuple(other.metadata.name for other in others if other not in live),
        replicas // 2 + 1,
        _removal(pod),
    )


def _removal(pod: Pod) -> str:
    """By the name of what runs in a pod: ``etcd`` of image ``registry.k8s.io/etcd:3.6``."""
    images = (container.image.partition("@")[0].rpartition("/")[2] for container in pod.spec.containers)
    names = {pod.metadata.labels.get("app.kubernetes.io/name"), *(image.partition(":")[0] for image in images)}
    return next((words for known, words in _REMOVALS.items() if not names.isdisjoint(known.split())), "")


def is_force_deletion(pod: Pod, option_seconds: int | None) -> bool:
    """Whether a DELETE with this grace period removes the object of a pod that may still run."""
    grace = check_graceful_delete(pod, option_seconds)
    return grace.seconds == 0 and grace.source not in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}


def is_confirmed(metadata: ObjectMeta) -> bool:
    """Whether somebody confirmed the force deletion of this very object."""
    return metadata.uid != "" and metadata.annotations.get(CONFIRMATION) == metadata.uid
