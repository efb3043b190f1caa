"""A tenant with every permission in some namespaces and none outside, and a release with rules for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.charts.chart import only_in
from tests.charts.policies import dry_run, installed
from tests.cluster_io.protobuf import message
from tests.controlplane.client import ApiClient, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.waiting import wait_for
from tests.webhook.asking import make_pod
from tests.webhook.balancer import Balancer
from tests.webhook.forcing import ADMIN
from tests.webhook.installation import ZONE, chart_values

LOW, HIGH = "siege-low", "siege-high"
"""Classes: the rules allow the first one."""
CLASSES: Mapping[str, int] = {LOW: 10, HIGH: 1000}
SIDES = ("webhook", "policy")
"""The program or the policies that apply the rules."""
PODS = ("v1", "Pod")
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
_OWNER: Object = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "controller": True}
_NUMBERS = itertools.count(1)


class Tenant:
    """A user with all permissions in its namespaces.

    limited    only the class `LOW` is allowed, also in templates, and is the default; force deletions are forbidden
    asking     force deletions require a confirmation
    free       no rule
    """

    def __init__(self, control_plane: ControlPlane, side: str) -> None:
        """Create its namespaces and its roles."""
        self.control_plane = control_plane
        self.user = f"tenant-{side}"
        self.limited, self.asking, self.free = (f"siege-{side}-{name}" for name in ("limited", "asking", "free"))
        for namespace in (self.limited, self.asking, self.free):
            control_plane.create_namespace(namespace)
            for entry in _every_right(self.user, namespace):
                control_plane.api.create(entry)
        self.node: str = control_plane.create_node(f"siege-{side}", unschedulable=True)["metadata"]["name"]
        self.api: ApiClient = control_plane.client_for(self.user)

    @property
    def values(self) -> Object:
        """The values of a release with these rules."""
        return {
            "priorityClasses": {
                "allowed": {self.limited: [LOW]},
                "defaults": {self.limited: LOW},
                "templates": "deny",
            },
            "clusterDefaultConstraints": chart_values(0, ZONE)["clusterDefaultConstraints"],
            "forceDeletion": {"namespaces": {self.limited: "deny", self.asking: "confirm"}, "exemptUsers": [ADMIN]},
        }

    def running_pod(self, namespace: str, **metadata: Any) -> Object:
        """A pod on its node, as its kubelet has started it."""
        # Labels that no controller of these tests selects.
        pod = make_pod(namespace, f"db-{next(_NUMBERS)}", nodeName=self.node)
        pod["metadata"] |= {"labels": {"app": "db"}, **metadata}
        stored = self.api.create(pod)
        return self.control_plane.set_pod_status(stored, {"phase": "Running"})

    def stored(self, pod: Mapping[str, Any]) -> Object | None:
        """The current pod; None if it does not exist."""
        _, namespace, name = identity(pod)
        found = self.control_plane.api.list_items("v1", "Pod", namespace, fieldSelector=f"metadata.name={name}")
        return found[0] if found else None

    def leave(self) -> None:
        """End all pods and the node."""
        for namespace in (self.limited, self.asking, self.free):
            for kind in ("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "ReplicationController"):
                path = self.control_plane.api.path(*kind, namespace)
                self.control_plane.api.request("DELETE", path)
            self.control_plane.leave_namespace(namespace)
        self.control_plane.api.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.node}})
        self.api.close()


def identity(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    return entry["kind"], entry["metadata"]["namespace"], entry["metadata"]["name"]


def in_protobuf(api_version: str, kind: str, content: bytes) -> bytes:
    """An object as the API server reads it in protobuf."""
    return b"k8s\0" + message((1, message((1, api_version), (2, kind))), (2, content))


def some_owner(tenant: Tenant) -> Object:
    """A reference to an existing object that is not a controller."""
    found = tenant.api.get("v1", "ConfigMap", str(_OWNER["name"]), tenant.limited)
    return {**_OWNER, "uid": found["metadata"]["uid"]}


@contextmanager
def besieged(control_plane: ControlPlane, helm: Path, folder: Path, side: str) -> Iterator[Tenant]:
    """A tenant that is subject to the rules of one side until the block ends."""
    tenant = Tenant(control_plane, side)
    with ExitStack() as stack:
        stack.callback(tenant.leave)
        _apply_rules(stack, tenant, helm, folder, side)
        yield tenant


def _apply_rules(stack: ExitStack, tenant: Tenant, helm: Path, folder: Path, side: str) -> None:
    name = f"siege-{side}"
    values = {**tenant.values, "mode": side}
    # The label with a namespace's name cannot be changed.
    expressions = [{**only_in("")[0], "values": [tenant.limited, tenant.asking, tenant.free]}]
    scope = {"namespaceMatchExpressions": expressions}
    if side == "policy":
        values["webhook"] = scope
        stack.enter_context(installed(tenant.control_plane, helm, folder, name, values))
        return
    balancer = stack.enter_context(Balancer())
    values |= {"webhook": {**chart_values(balancer.port)["webhook"], **scope}}
    installation = stack.enter_context(installed(tenant.control_plane, helm, folder, name, values))
    replica = installation.start_replica()
    stack.callback(stop_all, [replica.process], timeout=2)
    balancer.add(replica.port)
    probe = make_pod(tenant.free, terminationGracePeriodSeconds=0)
    wait_for(lambda: dry_run(tenant.control_plane, probe), "the webhook is called")


def _every_right(user: str, namespace: str) -> tuple[Object, Object]:
    rbac = "rbac.authorization.k8s.io"
    metadata = {"name": "tenant", "namespace": namespace}
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    return (
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": [everything]},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "subjects": [{"kind": "User", "apiGroup": rbac, "name": user}],
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "tenant"},
        },
    )
