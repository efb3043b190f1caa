"""Mode both: the webhook warns, policies enforce refusals while it is unavailable; and changes between modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.charts.policies import KINDS, dry_run, in_effect, installed, messages, scoped
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.objects import raw_priority_class as make_class
from tests.waiting import wait_for
from tests.webhook.asking import Asked, make_pod, make_service, make_workload, priority_of, with_labels
from tests.webhook.balancer import Balancer
from tests.webhook.forcing import CONFIRMATION, MODE, People, away
from tests.webhook.forcing import make_pod as make_bound_pod
from tests.webhook.installation import ZONE, Installation, Replica, chart_values

pytestmark = pytest.mark.controlplane

NAME = "both-modes"
RULES = {
    "defaults": {f"{NAME}-shop*": "both-low"},
    "allowed": {f"{NAME}-shop*": ["both-low"]},
    "templates": "deny",
}


class Both(NamedTuple):
    """A release of both, and its users."""

    asked: Asked
    people: People
    balancer: Balancer
    replica: Replica
    probe: Object
    """A pod that only the webhook warns about."""

    def is_called(self) -> bool:
        """Whether the webhook answers."""
        return bool(dry_run(self.people.control_plane, self.probe))

    def bound(self, suffix: str, mode: str, node: Object) -> Object:
        """A bare pod on a node, in a namespace of a mode."""
        namespace = self.asked.namespace(suffix, labels={MODE: mode})
        return self.people.control_plane.api.create(make_bound_pod("db", namespace, node["metadata"]["name"]))


@pytest.fixture(scope="module")
def classes(control_plane: ControlPlane) -> Iterator[None]:
    """Two classes."""
    made = make_class("both-low", 10), make_class("both-high", 1000)
    with control_plane.holding(made):
        yield


@pytest.fixture(scope="module")
def both(
    control_plane: ControlPlane, helm: Path, classes: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    """Policies in effect, and a replica that answers."""
    with Balancer() as balancer:
        values = chart_values(balancer.port, ZONE, priorityClasses=RULES, warnings="verbose")
        values |= {"mode": "both", "webhook": values["webhook"] | scoped(NAME)["webhook"]}
        with installed(control_plane, helm, tmp_path_factory.mktemp("helm"), NAME, values) as installation:
            replica = installation.start_replica()
            try:
                balancer.add(replica.port)
                asked = Asked(control_plane, NAME)
                probe = make_pod(asked.namespace("probe"), terminationGracePeriodSeconds=0)
                running = Both(asked, People(control_plane), balancer, replica, probe)
                wait_for(running.is_called, "the webhook is called")
                yield running
            finally:
                stop_all([replica.process], timeout=2)


def test_A_defaults_are_set_and_reported_once(both: Both) -> None:
    """The class comes from a policy, the constraints from the webhook, which can read Services."""
    namespace = both.asked.namespace("shop-defaults")
    both.asked.create(make_service(namespace))
    pod = make_pod(namespace)
    pod["metadata"]["labels"] |= {"more": "than-the-service-selects"}
    wait_for(lambda: len(dry_run(both.people.control_plane, pod)) > 1, "the webhook knows the Service")
    filled_in = "both-low (priority 10, PreemptLowerPriority) is filled in"
    assert sorted(messages(both.asked.create(pod))) == [
        "Warning: spec.topologySpreadConstraints: 1 constraint is filled in, the cluster's defaults",
        f"spec.priorityClassName: {filled_in}, the default of {namespace}",
    ]
    stored = both.asked.stored(pod)
    assert priority_of(stored) == ("both-low", 10, "PreemptLowerPriority")
    assert stored["topologySpreadConstraints"] == [with_labels(ZONE, {"app": "web"})]


def test_A_each_warning_comes_once_from_the_webhook(both: Both) -> None:
    constraint = with_labels(ZONE, {"app": "wbe"})
    pod = make_pod("both-modes-probe", terminationGracePeriodSeconds=0, topologySpreadConstraints=[constraint])
    said = dry_run(both.people.control_plane, pod)
    assert [line.split(":")[0] for line in said] == [
        "spec.topologySpreadConstraints[0].labelSelector",
        "spec.terminationGracePeriodSeconds",
    ]


def test_P1_refusal_comes_once_from_a_policy(both: Both) -> None:
    namespace = both.asked.namespace("shop-limited")
    for entry in (make_pod(namespace), make_workload("Deployment", namespace)):
        spec = entry["spec"] if entry["kind"] == "Pod" else entry["spec"]["template"]["spec"]
        spec["priorityClassName"] = "both-high"
        (said,) = dry_run(both.people.control_plane, entry)
        assert said.count("PriorityClass both-high is not allowed") == 1
        assert "ValidatingAdmissionPolicy" in said


def test_F1_force_deletion_warning_comes_once_from_the_webhook(both: Both, make_node: Callable[..., Object]) -> None:
    for path in ("delete", "eviction"):
        pod = both.bound(f"warned-{path}", "warn", make_node())
        done = both.people.force(path, pod)
        namespace, node = pod["metadata"]["namespace"], pod["spec"]["nodeName"]
        # The review of an eviction does not contain its pod, and the client shows no certificate.
        place = f"db on {node}" if path == "delete" else "db"
        died = f"kubectl qos died pod/db -n {namespace}"
        known = f"container app still runs on {node}: {died}; kubectl qos node {node}"
        check = known if path == "delete" else f"it still runs: {died}"
        assert messages(done.stderr) == [
            f"Warning: {place}: its processes may run on, and no controller replaces it",
            f"Warning: Check now whether {check}",
        ]
    node = make_node()["metadata"]["name"]
    assert messages(both.people.kubectl("delete", "node", node).stderr) == []


@pytest.mark.parametrize("path", ["delete", "eviction"])
def test_F2_confirmation_counts_for_both(both: Both, make_node: Callable[..., Object], path: str) -> None:
    """An eviction gets the advice to evict with grace; a deletion can be confirmed."""
    pod = both.bound(f"confirmed-{path}", "confirm", make_node())
    refused = both.people.force(path, pod)
    assert refused.returncode == 1
    assert "ValidatingAdmissionPolicy" in refused.stderr
    if path == "eviction":
        assert "evict it with grace: drain again without --grace-period=0" in refused.stderr
        assert "kubectl delete" not in refused.stderr
        path = "delete"
        refused = both.people.force(path, pod)
    both.people.run(refused.stderr)
    done = both.people.force(path, pod)
    assert done.returncode == 0, done.stderr
    assert len(messages(done.stderr)) == 2
    assert both.people.pod(pod) is None


def test_F2_confirmed_pod_is_not_force_evicted_without_webhook(both: Both, make_node: Callable[..., Object]) -> None:
    pod = both.bound("confirmed-away", "confirm", make_node())
    api = both.people.control_plane.api
    api.patch(pod, {"metadata": {"annotations": {CONFIRMATION: pod["metadata"]["uid"]}}})
    with away(both.balancer, both.replica):
        assert both.people.force("eviction", pod).returncode == 1
        assert both.people.is_untouched(pod)
        assert both.people.force("delete", pod).returncode == 0
    wait_for(both.is_called, "the webhook is called again")


def test_F4_missing_constraints_warn_without_the_webhook(both: Both) -> None:
    """For pods with a controller that keeps a number of them; constraints that the webhook writes are not missing."""
    namespace = both.asked.namespace("missing")
    workload = make_workload("ReplicaSet", namespace)
    workload["spec"]["replicas"] = 0
    api = both.people.control_plane.api
    owner = api.create(workload)
    pod = make_pod(namespace)
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
    reference |= {name: owner["metadata"][name] for name in ("name", "uid")}
    owned = {**pod, "metadata": {**pod["metadata"], "ownerReferences": [reference]}}
    filled_in = "spec.topologySpreadConstraints: 1 constraint is filled in, the cluster's defaults"
    assert dry_run(both.people.control_plane, owned) == [filled_in]
    missing = f"spec.topologySpreadConstraints: the defaults of namespace {namespace} are missing: the webhook did not"
    # Policies ignore pods if the Namespace has an annotation, and pods with their own constraints.
    annotated = both.asked.namespace("annotated")
    annotation = {"kubectl-qos.io/default-topology-spread-constraints": "[]"}
    api.patch(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": annotated}},
        {"metadata": {"annotations": annotation}},
    )
    own = make_pod(namespace, topologySpreadConstraints=[with_labels(ZONE, {"app": "web"})])
    own["metadata"]["ownerReferences"] = [reference]
    elsewhere = {**owned, "metadata": {**owned["metadata"], "namespace": annotated}}
    with away(both.balancer, both.replica):
        (said,) = wait_for(
            lambda: [line for line in dry_run(both.people.control_plane, owned) if "filled" not in line],
            "the webhook is unreachable",
        )
        assert said.startswith(missing)
        assert "only a new pod in its place can get them" in said
        for entry in (pod, own, elsewhere):
            assert dry_run(both.people.control_plane, entry) == []
    wait_for(both.is_called, "the webhook is called again")


def test_A_limits_hold_while_the_webhook_is_away(both: Both, make_node: Callable[..., Object]) -> None:
    node = make_node()
    pods = {mode: both.bound(f"away-{mode}", mode, node) for mode in ("warn", "confirm", "deny")}
    namespace = both.asked.namespace("shop-away")
    with away(both.balancer, both.replica):
        # An answer may be under way.
        wait_for(
            lambda: not messages(both.people.force("delete", pods["warn"], dry_run=True).stderr),
            "the webhook is unreachable",
        )
        assert both.people.force("delete", pods["warn"]).returncode == 0
        for mode in ("confirm", "deny"):
            assert both.people.force("delete", pods[mode]).returncode == 1
            assert both.people.is_untouched(pods[mode])
        assert both.people.force("eviction", pods["deny"]).returncode == 1

        assert "is not allowed" in "".join(
            dry_run(both.people.control_plane, make_pod(namespace, priorityClassName="both-high"))
        )
        both.asked.create(make_pod(namespace))
        assert priority_of(both.asked.stored(make_pod(namespace)))[0] == "both-low"
    wait_for(both.is_called, "the webhook is called again")


# Changes between modes


def test_A_modes_leave_no_objects_of_another_mode(
    control_plane: ControlPlane, helm: Path, classes: None, tmp_path: Path
) -> None:
    """The stored objects match the manifest, and none remain after the last mode."""
    name = "moving-modes"
    installation = Installation(control_plane, helm, tmp_path, namespace=f"{name}-system", release=name)
    control_plane.create_namespace(installation.namespace)
    asked = Asked(control_plane, name)
    pod = make_pod(asked.namespace("limited"), priorityClassName="both-high")
    values = scoped(name, priorityClasses={"allowed": {f"{name}-limited": []}})
    values["webhook"] |= {"url": "https://127.0.0.1:1"}
    kinds: set[tuple[str, str]] = set()

    def manifest() -> set[tuple[str, str, str]]:
        objects = list(yaml.safe_load_all(installation.helm("get", "manifest", name)))
        kinds.update((entry["apiVersion"], entry["kind"]) for entry in objects)
        return {(entry["kind"], entry["metadata"].get("namespace", ""), entry["metadata"]["name"]) for entry in objects}

    def stored() -> set[tuple[str, str, str]]:
        return {
            (kind, entry["metadata"].get("namespace", ""), entry["metadata"]["name"])
            for version, kind in kinds
            for entry in control_plane.api.list_items(
                version, kind, labelSelector=f"app.kubernetes.io/instance={name},app.kubernetes.io/managed-by=Helm"
            )
        }

    installation.install(values | {"mode": "webhook"})
    manifest()
    for mode in ("policy", "webhook"):
        installation.upgrade(values | {"mode": mode})
        rendered = manifest()
        assert stored() == rendered, mode
        policies = {entry for kind, _, entry in rendered if kind in KINDS}
        assert (policies == {f"{name}-qos-webhook.{name}-system.own-objects"}) == (mode == "webhook")
        assert ("Deployment" in {kind for kind, _, _ in rendered}) == (mode != "policy")
        in_effect(control_plane)
        assert ("is not allowed in namespace" in "".join(dry_run(control_plane, pod))) == (mode == "policy")
    installation.uninstall()
    assert stored() == set()
