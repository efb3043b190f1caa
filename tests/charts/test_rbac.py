"""The permissions are those that the program uses, and the README gives the reason for each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.charts.chart import CHART, EVENTS, Chart, of_kind
from tests.charts.grants import Grant, granted

CACHED = ("list", "watch")
READ = ("get", "list", "watch")
EXISTING = {"clusterDefaultConstraints": {"existingConfigMap": {"namespace": "kube-system", "name": "sched"}}}
PLACES = {"": "", "kube-node-lease": "kube-node-lease", "the release's": "qos-system"}


ALWAYS = {
    Grant("", "namespaces", (), READ),
    Grant("", "pods", (), ("get", "list")),
    Grant("", "services", (), CACHED),
    Grant("", "nodes", (), READ),
    Grant("", "replicationcontrollers", (), READ),
    Grant("", "replicasets.apps", (), READ),
    Grant("", "statefulsets.apps", (), READ),
    Grant("", "priorityclasses.scheduling.k8s.io", (), READ),
    Grant("", "persistentvolumeclaims", (), ("get",)),
    Grant("", "persistentvolumes", (), ("get",)),
    Grant("", "volumeattachments.storage.k8s.io", (), ("get",)),
    *(
        Grant("", f"{kind}.admissionregistration.k8s.io", ("qos-webhook.qos-system",), (*CACHED, "patch"))
        for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    ),
    Grant("kube-node-lease", "leases.coordination.k8s.io", (), ("get",)),
    Grant("qos-system", "secrets", ("qos-webhook-tls",), (*READ, "patch")),
    Grant("qos-system", "secrets", (), ("create",)),
    Grant("qos-system", "leases.coordination.k8s.io", ("qos-webhook-tls",), ("get", "patch")),
    Grant("qos-system", "leases.coordination.k8s.io", (), ("create",)),
}


def test_permissions(chart: Chart) -> None:
    found = list(granted(chart.objects()))
    assert len(found) == len(set(found))
    assert set(found) == ALWAYS


@pytest.mark.parametrize(
    ("values", "namespace", "name"),
    [
        pytest.param(EXISTING, "kube-system", "sched", id="that exists"),
        pytest.param(
            {
                "clusterDefaultConstraints": {
                    "schedulerConfiguration": {
                        "apiVersion": "kubescheduler.config.k8s.io/v1",
                        "kind": "KubeSchedulerConfiguration",
                    }
                }
            },
            "qos-system",
            "qos-webhook-scheduler",
            id="of the chart",
        ),
    ],
)
def test_permissions_with_a_scheduler_configuration(
    chart: Chart, values: Mapping[str, Any], namespace: str, name: str
) -> None:
    assert set(granted(chart.objects(values))) - ALWAYS == {Grant(namespace, "configmaps", (name,), CACHED)}


def test_permissions_with_events(chart: Chart) -> None:
    assert set(granted(chart.objects(EVENTS))) - ALWAYS == {Grant("", "events.events.k8s.io", (), ("create",))}


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
