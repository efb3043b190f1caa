"""The pods of a spec, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelectorRequirement
from podrules.workload.made_pod import replica
from tests.objects import make_pod

SELECTOR = {"matchLabels": {"app": "web"}}
OWN = LabelSelectorRequirement("app", "In", ("web",))
OTHERS = LabelSelectorRequirement("tier", "NotIn", ("front",))


def web(labels: Mapping[str, str], **spec: Any) -> Pod:
    return make_pod("web", "shop", labels=labels, **spec)


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("deployment", {"pod-template-hash": "planned-web"}),
        (
            "statefulset",
            {
                "statefulset.kubernetes.io/pod-name": "web-3",
                "apps.kubernetes.io/pod-index": "3",
                "controller-revision-hash": "planned-web",
            },
        ),
        (
            "job",
            {
                "batch.kubernetes.io/job-name": "web",
                "job-name": "web",
                "batch.kubernetes.io/controller-uid": "planned-web",
                "controller-uid": "planned-web",
            },
        ),
        ("replicaset", {}),
        ("pod", {}),
    ],
)
def test_controllers_label_their_pods(kind: str, labels: Mapping[str, str]) -> None:
    pod = replica(web({"app": "web"}), kind, 3, uid="u3")
    assert (pod.metadata.name, pod.metadata.uid) == ("web-3", "u3")
    assert pod.metadata.labels == {"app": "web", **labels}


def test_pod_keeps_its_name_and_labels() -> None:
    """A pod of a drained node keeps them."""
    labels = {"pod-template-hash": "5f6c"}
    pod = replica(web(labels), "pod", 0, uid="u")
    assert (pod.metadata.name, pod.metadata.labels) == ("web", labels)


def test_label_keys_of_affinity_become_requirements() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": SELECTOR,
        "matchLabelKeys": ["app", "absent"],
        "mismatchLabelKeys": ["tier"],
    }
    affinity = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]
        },
    }
    found = replica(web({"app": "web", "tier": "front"}, affinity=affinity), "job", 0, uid="u").spec.affinity
    assert found is not None
    assert found.pod_affinity is not None
    assert found.pod_anti_affinity is not None
    near = found.pod_affinity.required_during_scheduling_ignored_during_execution[0]
    apart = found.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution[0].pod_affinity_term
    for merged in (near, apart):
        assert merged.label_selector is not None
        assert merged.label_selector.match_expressions == (OWN, OTHERS)


def test_merge_of_nothing_changes_nothing() -> None:
    """Nothing changes without keys, or in a term that matches nothing."""
    without_keys = {"topologyKey": "zone", "labelSelector": SELECTOR}
    without_selector = {"topologyKey": "zone", "matchLabelKeys": ["app"]}
    for term in (without_keys, without_selector):
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        pod = web({"app": "web"}, affinity=affinity)
        assert replica(pod, "deployment", 0, uid="u").spec == pod.spec
