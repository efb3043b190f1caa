"""The additions of admission to a pod, and their authors."""

from __future__ import annotations

import pytest

from podrules.admission.added_at_admission import AdmissionPlugin, added_at_admission
from podrules.admission.mutating_webhooks import WebhookConfiguration, asked_about_pods
from podrules.api.model.decode import from_object
from tests.objects import raw_container, raw_pod

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def test_api_defaults_are_no_additions() -> None:
    sent = raw_pod(limits={"cpu": "1"})
    stored = raw_pod(limits={"cpu": "1"}, requests={"cpu": "1"}, dnsPolicy="ClusterFirst", schedulerName="default")
    stored["spec"]["containers"][0] |= {"imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log"}
    assert added_at_admission(sent, stored) == ()


def test_additions_are_named_with_the_plugin_that_makes_them() -> None:
    toleration = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "tolerationSeconds": 300}
    stored = raw_pod(
        containers=[raw_container(env=[{"name": "A", "value": "b"}]), raw_container("side")],
        serviceAccountName="default",
        priority=1000,
        tolerations=[toleration],
        volumes=[{"name": "kube-api-access-x7k2p", "projected": {}}],
        metadata={"annotations": {"a": "b"}},
    )
    found = {one.what: one.by for one in added_at_admission(raw_pod(), stored)}
    assert found == {
        "annotation a": None,
        "variable A of container app": None,
        "container side": None,
        "volume kube-api-access-x7k2p": AdmissionPlugin.SERVICE_ACCOUNT,
        "toleration node.kubernetes.io/not-ready:NoExecute for 300 s": AdmissionPlugin.DEFAULT_TOLERATION_SECONDS,
        "serviceAccountName default": AdmissionPlugin.SERVICE_ACCOUNT,
        "priority 1000": AdmissionPlugin.PRIORITY,
    }


def test_replaced_values_are_changes() -> None:
    sent = raw_pod(containers=[raw_container(image="a")])
    (found,) = added_at_admission(sent, raw_pod(containers=[raw_container(image="mirror/a")]))
    assert (found.what, found.changed) == ("image mirror/a of container app", True)


def test_limit_range_amounts_are_attributed_to_its_plugin() -> None:
    marked = {"annotations": {"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container app"}}
    stored = raw_pod(requests={"cpu": "100m"}, metadata=marked)
    assert {one.by for one in added_at_admission(raw_pod(), stored)} == {AdmissionPlugin.LIMIT_RANGER}


@pytest.mark.parametrize(
    ("webhook", "asked"),
    [
        ({"rules": [RULE]}, True),
        ({"rules": [{**RULE, "operations": ["*"], "resources": ["*/*"]}]}, True),
        ({"rules": [{**RULE, "operations": ["UPDATE"]}]}, False),
        ({"rules": [{**RULE, "resources": ["deployments"]}]}, False),
        ({"rules": [{**RULE, "scope": "Cluster"}]}, False),
        ({"rules": [RULE], "namespaceSelector": {"matchLabels": {"inject": "no"}}}, False),
        ({"rules": [RULE], "objectSelector": {"matchLabels": {"app": "web"}}}, True),
    ],
)
def test_webhooks_that_are_called(webhook: dict[str, object], asked: bool) -> None:
    content = {"metadata": {"name": "c"}, "webhooks": [{"name": "w", **webhook}]}
    configuration = from_object(content, WebhookConfiguration)
    assert bool([*asked_about_pods([configuration], {"inject": "yes"}, {"app": "web"})]) is asked
