"""The permissions are those that the program uses, and the README gives the reason for each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from operator import eq
from typing import Any

import pytest

from cluster_io.live.client import ClientTransport
from tests.charts.chart import CHART, EVENTS, FULL_VALUES, Chart, of_kind
from tests.charts.grants import GRANTED_TO_ALL, Grant, granted, granted_to_token
from tests.controlplane.control_plane import ControlPlane
from tests.waiting import answer_in_the_end

CACHED = ("list", "watch")
READ = ("get", "list", "watch")
EXISTING = {"clusterDefaultConstraints": {"existingConfigMap": {"namespace": "kube-system", "name": "sched"}}}
PLACES = {"": "", "kube-node-lease": "kube-node-lease", "the release's": "qos-system"}


LEAST: Mapping[str, Any] = {
    "auditInterval": "0s",
    "certificate": {"mode": "cert-manager"},
    "forceDeletion": {"nodes": False},
}
"""Values that give the program only the permissions for its rules of classes and force deletions."""
ALWAYS = {
    Grant("", "namespaces", (), READ),
    Grant("", "pods", (), ("get",)),
    Grant("", "nodes", (), READ),
    Grant("", "priorityclasses.scheduling.k8s.io", (), READ),
    Grant("", "persistentvolumeclaims", (), ("get",)),
    Grant("", "persistentvolumes", (), ("get",)),
    Grant("", "volumeattachments.storage.k8s.io", (), ("get",)),
    Grant("kube-node-lease", "leases.coordination.k8s.io", (), ("get",)),
}
PODS = Grant("", "pods", (), ("get", "list"))
SELECTORS = {
    Grant("", "services", (), CACHED),
    Grant("", "replicationcontrollers", (), READ),
    Grant("", "replicasets.apps", (), READ),
    Grant("", "statefulsets.apps", (), READ),
}
OWN_CERTIFICATE = {
    *(
        Grant("", f"{kind}.admissionregistration.k8s.io", ("qos-webhook.qos-system",), (*CACHED, "patch"))
        for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    ),
    Grant("qos-system", "secrets", ("qos-webhook-tls",), (*READ, "patch")),
    Grant("qos-system", "leases.coordination.k8s.io", ("qos-webhook-tls",), ("get", "patch")),
}
OTHERS_CERTIFICATE = {
    Grant("", "mutatingwebhookconfigurations.admissionregistration.k8s.io", ("qos-webhook.qos-system",), ("list",)),
    Grant("qos-system", "leases.coordination.k8s.io", ("qos-webhook-audit",), ("get", "patch")),
}
"""The permissions for the audit if the program keeps no certificate."""
MAKES_EVENTS = Grant("", "events.events.k8s.io", (), ("create",))
RBAC = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
CONFIGURATION = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def read_from(where: str, name: str) -> set[Grant]:
    """The permissions for a KubeSchedulerConfiguration."""
    return {Grant(where, "configmaps", (name,), CACHED), *SELECTORS}


def with_constraints(**values: Any) -> Mapping[str, Any]:
    return {**LEAST, "clusterDefaultConstraints": values}


TABLE = pytest.mark.parametrize(
    ("values", "more"),
    [
        pytest.param(LEAST, set(), id="none"),
        pytest.param({**LEAST, "mode": "both"}, set(), id="none, mode both"),
        pytest.param({**LEAST, "certificate": {"mode": "self"}}, OWN_CERTIFICATE, id="own certificate"),
        pytest.param({**LEAST, "forceDeletion": {"nodes": True}}, {PODS}, id="nodes"),
        pytest.param(
            {**LEAST, "auditInterval": "10m", "certificate": {"mode": "self"}}, {PODS, *OWN_CERTIFICATE}, id="audit"
        ),
        pytest.param({**LEAST, "auditInterval": "10m"}, {PODS, *OTHERS_CERTIFICATE}, id="audit, another's certificate"),
        pytest.param({}, {PODS, *OWN_CERTIFICATE}, id="default"),
        pytest.param(
            with_constraints(existingConfigMap=EXISTING["clusterDefaultConstraints"]["existingConfigMap"]),
            read_from("kube-system", "sched"),
            id="configuration that exists",
        ),
        pytest.param(
            with_constraints(schedulerConfiguration=CONFIGURATION),
            read_from("qos-system", "qos-webhook-scheduler"),
            id="configuration of the chart",
        ),
        pytest.param(with_constraints(writeSystemDefaults=True), SELECTORS, id="system defaults"),
        pytest.param(
            with_constraints(namespaces=FULL_VALUES["clusterDefaultConstraints"]["namespaces"]),
            SELECTORS,
            id="constraints of a namespace",
        ),
        pytest.param(with_constraints(namespaces={"shop": []}), set(), id="no constraints of a namespace"),
        pytest.param(with_constraints(annotations=True), SELECTORS, id="annotations"),
        pytest.param(EVENTS, {PODS, *OWN_CERTIFICATE, MAKES_EVENTS}, id="events"),
        pytest.param({"mode": "policy"}, None, id="policy"),
    ],
)
"""Values, and the permissions that they need in addition to `ALWAYS`; None: none at all."""


def expected(more: set[Grant] | None) -> set[Grant]:
    """All granted permissions."""
    if more is None:
        return set()
    return {grant for grant in ALWAYS if not (grant.resource == "pods" and PODS in more)} | more


@TABLE
def test_A_each_permission_is_granted_where_a_value_needs_it(
    chart: Chart, values: Mapping[str, Any], more: set[Grant] | None
) -> None:
    found = list(granted(chart.objects(values)))
    assert len(found) == len(set(found))
    assert set(found) == expected(more)


@pytest.mark.controlplane
@TABLE
def test_A_the_token_has_these_permissions_and_no_others(
    control_plane: ControlPlane, chart: Chart, namespace: str, values: Mapping[str, Any], more: set[Grant] | None
) -> None:
    """As the API server lists them for the program's token, in each namespace that the release uses."""
    objects = [entry for entry in chart.objects(values, namespace=namespace) if entry["kind"] in RBAC]
    table = {
        Grant(
            where.replace("qos-system", namespace),
            resource,
            tuple(name.replace("qos-system", namespace) for name in names),
            verbs,
        )
        for where, resource, names, verbs in expected(more)
    }
    with control_plane.holding(objects):
        kubeconfig = control_plane.kubeconfig_for_service_account("qos-webhook", namespace)
        transport = ClientTransport(kubeconfig=str(kubeconfig), request_timeout=60)
        for place in (namespace, "default", "kube-system", "kube-public", "kube-node-lease"):
            here = {grant._replace(where=place) for grant in table | GRANTED_TO_ALL if grant.where in {"", place}}
            assert answer_in_the_end(partial(granted_to_token, transport, place), partial(eq, here)) == here
        transport.close()


def test_A_node_deletions_are_reviewed_if_pods_may_be_listed(chart: Chart) -> None:
    for mode in ("webhook", "both", "policy"):
        for nodes in (True, False):
            values = {"mode": mode, "forceDeletion": {"mode": "confirm", "nodes": nodes}}
            asked = [
                rule
                for entry in chart.objects(values)
                for hook in (*entry.get("webhooks", ()), entry.get("spec", {}).get("matchConstraints", {}))
                for rule in (*hook.get("rules", ()), *hook.get("resourceRules", ()))
                if "nodes" in rule["resources"]
            ]
            assert bool(asked) == nodes


def test_no_wildcards(chart: Chart) -> None:
    assert not [grant for grant in granted(chart.objects(EXISTING)) if "*" in f"{grant}"]


@pytest.mark.parametrize("create", [True, False])
def test_every_role_is_bound_to_the_account_of_the_pods(chart: Chart, create: bool) -> None:
    objects = chart.objects(EXISTING | {"serviceAccount": {"create": create, "name": "porter"}})
    (deployment,) = of_kind("Deployment", objects)
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == "porter"
    assert len(of_kind("ServiceAccount", objects)) == int(create)
    for kind in ("ClusterRole", "Role"):
        roles = [(entry["metadata"].get("namespace"), entry["metadata"]["name"]) for entry in of_kind(kind, objects)]
        bindings = of_kind(f"{kind}Binding", objects)
        assert [(entry["metadata"].get("namespace"), entry["roleRef"]["name"]) for entry in bindings] == roles
        assert all(entry["roleRef"]["kind"] == kind for entry in bindings)
        for binding in bindings:
            assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "porter", "namespace": "qos-system"}]


def test_readme_gives_every_reason(chart: Chart) -> None:
    page = (CHART / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z0-9.]+) \| ([a-z, ]+) \|(.*?)\|(.*?)\| (.+) \|$", page, re.MULTILINE)
    described = {
        (
            PLACES.get(where.strip(), "kube-system"),
            resource,
            only.strip().strip("`").replace("<name>", "qos-webhook").replace("<namespace>", "qos-system"),
            tuple(verbs.split(", ")),
        )
        for resource, verbs, only, where, reason in rows
        if reason.strip() and verbs != "verbs"
    }
    assert described == {
        (where, resource, names[0].replace("sched", "the one") if names else "", verbs)
        for where, resource, names, verbs in granted(chart.objects({**EXISTING, **EVENTS}))
    }
