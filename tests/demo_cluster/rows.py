"""The vocabulary of the tables: one row for a workload, one for each of its containers and unusual replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tests.demo_cluster.base import Obj, suffix

State = Callable[[Obj], None]
"""What befell a pod: changes a healthy running pod in place."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

# Fields that rows of several teams share.
SIDECAR: Final = {"restartPolicy": "Always"}
TOLERATE_MEMORY: Final = {"effect": "NoSchedule", "key": "example.com/memory", "operator": "Exists"}
ON_MEMORY: Final = {"tolerations": [TOLERATE_MEMORY], "nodeSelector": {"example.com/pool": "memory"}}
ON_SPOT: Final = {
    "tolerations": [{"effect": "NoSchedule", "key": "example.com/spot", "operator": "Exists"}],
    "nodeSelector": {"example.com/pool": "spot"},
}


def spread(app: str, when: str) -> Mapping[str, Any]:
    """The pods of an app are spread over zones."""
    constraint = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": when}
    return {"topologySpreadConstraints": [{"labelSelector": {"matchLabels": {"app": app}}, **constraint}]}


class Container(NamedTuple):
    """One container. Missing requests are filled from limits when the pod is built, as API defaulting does."""

    name: str
    image: str
    """Without the registry: ``shop/cart:2.9.1``."""
    asks: str = ""
    """Requests: ``cpu memory``, ``-`` for none."""
    caps: str = ""
    """Limits, written likewise."""
    more: Mapping[str, Any] = _NOTHING
    """Further fields, as in the API."""


class Replica(NamedTuple):
    """One pod that differs from its siblings."""

    node: str = ""
    """Empty while it is not scheduled."""
    name: str = ""
    """The last part of a generated name; derived when empty."""
    age: str = ""
    state: State | None = None


class Workload(NamedTuple):
    """A controller and its pods, or a pod without one."""

    kind: str
    """The API's kind; ``Pod`` for a bare pod, ``Node`` for a static one."""
    namespace: str
    name: str
    containers: tuple[Container, ...]
    on: str = ""
    """Nodes of the ordinary replicas, one word each."""
    odd: tuple[Replica, ...] = ()
    """The other replicas, after the ordinary ones."""
    init: tuple[Container, ...] = ()
    qos: str = "Burstable"
    """What the API server wrote to status.qosClass; the tests hold it against the rule."""
    priority_class: str = "shop-default"
    age: str = "21d"
    spec: Mapping[str, Any] = _NOTHING
    """Further fields of the pod's spec, as in the API."""
    port: int = 0
    """A Service is made for a workload with a port."""
    claim: str = ""
    """``class size``: a StatefulSet's volume claim template."""
    settings: Mapping[str, Any] = _NOTHING
    """Further fields of the controller's spec."""

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """Ordinary and other replicas in the order in which they are numbered."""
        return (*(Replica(node) for node in self.on.split()), *self.odd)


def workload(what: str, *containers: Container, **more: Any) -> Workload:
    """The row of ``KIND NAMESPACE/NAME``."""
    kind, _, place = what.partition(" ")
    namespace, _, name = place.partition("/")
    return Workload(kind, namespace, name, containers, **more)


def node_name(short: str) -> str:
    """``a1`` is node-a1; the control plane's node is written out."""
    return short if "-" in short else f"node-{short}"


def pod_template_hash(workload: Workload) -> str:
    """The hash that a Deployment appends to the names of its ReplicaSet."""
    return suffix(f"template/{workload.namespace}/{workload.name}", 9)
