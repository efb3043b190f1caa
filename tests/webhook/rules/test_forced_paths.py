"""Every path to force a deletion, in every mode, by kubectl on a real API server behind the chart."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_workload
from tests.waiting import wait_for
from tests.webhook.forcing import (
    ADMIN,
    CONFIRMATION,
    MODE,
    PATHS,
    STRICTNESS,
    Cluster,
    make_pod,
    serving,
    strictest,
    thinned,
    warnings,
)

pytestmark = pytest.mark.controlplane

CONFIGURED = {f"qos-forced-{mode}-{number}": mode for mode in STRICTNESS for number in range(30)}
"""Namespaces with a configured mode."""
NO_GRACE = (
    "terminationGracePeriodSeconds: 0, so every deletion is a force deletion: the object is removed at once, "
    "and its processes may run on next to a replacement; 1 or more waits for them"
)
_NUMBERS = itertools.count(1)
_UNUSED = {mode: [name for name, configured in CONFIGURED.items() if configured == mode] for mode in STRICTNESS}


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The chart with the modes of some namespaces in its values, and an exempt administrator."""
    folder = tmp_path_factory.mktemp("helm")
    settings = {"namespaces": CONFIGURED, "exemptUsers": [ADMIN]}
    with serving(control_plane, helm, folder, namespace="qos-forced", force_deletion=settings) as running:
        yield running


@pytest.fixture
def space(control_plane: ControlPlane) -> Iterator[Callable[..., str]]:
    """Makes a namespace with a configured mode, and optionally one by label; it has no pods after the test."""
    made = []

    def space(mode: str = "", *, label: str | None = None) -> str:
        made.append(_UNUSED[mode].pop() if mode else f"forced-{next(_NUMBERS)}")
        control_plane.create_namespace(made[-1], {} if label is None else {MODE: label})
        return made[-1]

    yield space
    for name in made:
        control_plane.leave_namespace(name)


@pytest.fixture
def make(
    control_plane: ControlPlane, space: Callable[..., str], make_node: Callable[..., Object]
) -> Callable[..., Object]:
    """Makes a bare pod on its own node, in a namespace with a mode."""

    def make(mode: str = "", *, label: str | None = None, node: bool = True, **spec: object) -> Object:
        # Cordoned, because the scheduler also runs, and other pods would cause warnings.
        bound = make_node(unschedulable=True)["metadata"]["name"] if node else ""
        return control_plane.api.create(make_pod("db", space(mode, label=label), bound, **spec))

    return make


KEEP = (
    "To keep its pods, restart its kubelet within 40 s: that registers the Node again; "
    "check now: kubectl qos died node/{}"
)


def lines(path: str, pod: Object, *, dry_run: bool = False) -> list[str]:
    """The text about a bare pod on a node that answers, for a client without a certificate."""
    node, namespace = pod["spec"]["nodeName"], pod["metadata"]["namespace"]
    if path == "node":
        risk = "without the Node, pod garbage collection force deletes 1 pod that may still run"
        return [f"{node}: {risk}", KEEP.format(node)]
    # The review of an eviction does not contain its pod.
    place, check = f"db on {node}", f"container app still runs on {node}: {{}}; kubectl qos node {node}"
    if path in {"eviction", "drain"}:
        place, check = "db", "it still runs: {}"
    check = f"Check now whether {check.format(f'kubectl qos died pod/db -n {namespace}')}"
    first = f"Check first: kubectl qos explain pod/db -n {namespace}"
    return [f"{place}: its processes may run on, and no controller replaces it", first if dry_run else check]


# Warn


@pytest.mark.parametrize("path", PATHS)
def test_F1_every_path_warns_once(cluster: Cluster, make: Callable[..., Object], path: str) -> None:
    pod = make()
    done = cluster.force(path, pod)
    assert done.returncode == 0, done.stderr
    assert warnings(done) == lines(path, pod)
    assert cluster.is_deleted(path, pod)


@pytest.mark.parametrize("path", ["delete", "collection", "eviction"])
def test_F1_forcing_a_stopping_pod_warns_once(cluster: Cluster, make: Callable[..., Object], path: str) -> None:
    pod = make()
    cluster.control_plane.api.delete(pod)
    said = warnings(cluster.force(path, pod))
    assert len(said) == 2
    assert "is already stopping and may run until" in said[0]
    assert cluster.pod(pod) is None


def test_F1_collection_warns_for_each_pod(cluster: Cluster, make: Callable[..., Object]) -> None:
    pod = make()
    node, namespace = pod["spec"]["nodeName"], pod["metadata"]["namespace"]
    cluster.control_plane.api.create(make_pod("web", namespace, node))
    said = warnings(cluster.force("collection", pod))
    expected = [line.replace("db", name) for name in ("db", "web") for line in lines("collection", pod)]
    assert sorted(said) == sorted(expected)


def test_F1_zero_grace_pod_or_workload_warns_when_it_is_created(cluster: Cluster, space: Callable[..., str]) -> None:
    pod = make_pod("db", space(), "", terminationGracePeriodSeconds=0)
    workload = raw_workload("Deployment", "db", pod["metadata"]["namespace"], pod_spec=pod["spec"])
    for entry, path in ((pod, "spec"), (workload, "spec.template.spec")):
        done = cluster.kubectl("create", "-f", "-", body=entry)
        assert (done.returncode, warnings(done)) == (0, [f"{path}.{NO_GRACE}"])


@pytest.mark.parametrize("mode", ["", "confirm", "deny"])
def test_F1_plain_deletion_of_zero_grace_pod_only_warns(
    cluster: Cluster, make: Callable[..., Object], mode: str
) -> None:
    pod = make(mode, terminationGracePeriodSeconds=0)
    done = cluster.kubectl("delete", "pod", "db", "-n", pod["metadata"]["namespace"], "--wait=false")
    assert done.returncode == 0, done.stderr
    assert warnings(done) == lines("delete", pod)
    assert cluster.pod(pod) is None


@pytest.mark.parametrize("mode", ["", "deny"])
def test_F1_plain_collection_only_warns_for_zero_grace_pods(
    cluster: Cluster, make: Callable[..., Object], mode: str
) -> None:
    pod = make(mode, terminationGracePeriodSeconds=0)
    namespace = pod["metadata"]["namespace"]
    graceful = cluster.control_plane.api.create(make_pod("web", namespace, pod["spec"]["nodeName"]))
    done = cluster.kubectl("delete", "--raw", f"/api/v1/namespaces/{namespace}/pods")
    assert done.returncode == 0, done.stderr
    assert warnings(done) == lines("collection", pod)
    assert cluster.pod(pod) is None
    stopping = cluster.pod(graceful)
    assert stopping is not None
    assert stopping["metadata"]["deletionGracePeriodSeconds"] == 30


def test_F1_earlier_force_deletion_causes_no_warning(cluster: Cluster, make: Callable[..., Object]) -> None:
    """A finalizer keeps the object, which has no grace left."""
    pod = make("deny")
    keep = {"metadata": {"finalizers": ["example.com/keep"]}}
    pod = cluster.control_plane.api.patch(pod, keep)
    assert cluster.force("delete", pod, user=ADMIN).returncode == 0
    stored = cluster.pod(pod)
    assert stored is not None
    assert stored["metadata"]["deletionGracePeriodSeconds"] == 0
    try:
        for path in ("delete", "collection", "eviction"):
            assert warnings(cluster.force(path, pod)) == [], path
    finally:
        cluster.control_plane.api.patch(pod, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("mode", ["", "confirm", "deny"])
def test_F1_graceful_deletions_cause_no_warning(cluster: Cluster, make: Callable[..., Object], mode: str) -> None:
    pod = make(mode)
    namespace, node = pod["metadata"]["namespace"], pod["spec"]["nodeName"]
    done = cluster.kubectl("delete", "pod", "db", "-n", namespace, "--wait=false", "--dry-run=server")
    assert (done.returncode, done.stderr) == (0, "")
    drained = cluster.kubectl("drain", node, "--force", "--dry-run=server")
    assert drained.returncode == 0
    assert warnings(drained) == []
    done = cluster.kubectl("delete", "pod", "db", "-n", namespace, "--wait=false")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("flags", "seconds"), [((), 30), (("--grace-period=0",), 1)], ids=["alone", "without grace"])
def test_F1_forced_replacement_is_graceful(
    cluster: Cluster, make: Callable[..., Object], tmp_path: Path, flags: Sequence[str], seconds: int
) -> None:
    """``kubectl replace --force`` deletes with grace, waits for the kubelet, and creates the pod then."""
    pod = make("deny")
    file = tmp_path / "pod.json"
    file.write_text(json.dumps({**pod, "metadata": {"name": "db", "namespace": pod["metadata"]["namespace"]}}))

    done = cluster.kubectl("replace", "--force", *flags, "-f", str(file), "--timeout=1s")

    stored = cluster.pod(pod)
    assert done.returncode == 1
    assert warnings(done) == []
    assert stored is not None
    assert stored["metadata"]["uid"] == pod["metadata"]["uid"]
    assert stored["metadata"]["deletionGracePeriodSeconds"] == seconds


@pytest.mark.parametrize("mode", ["", "deny"])
def test_F2_debug_copy_that_replaces_its_pod_forces_its_deletion(
    cluster: Cluster, make: Callable[..., Object], mode: str
) -> None:
    """``kubectl debug --copy-to --replace`` creates the copy, and deletes the pod without grace."""
    pod = make(mode)
    namespace = pod["metadata"]["namespace"]
    replacing = ("--copy-to=copy", "--replace", "--image=debug", "--attach=false")

    done = cluster.kubectl("debug", "db", "-n", namespace, *replacing)

    if mode:
        assert f"namespace {namespace} forbids force deletions" in done.stderr
        assert cluster.is_untouched(pod)
    else:
        assert warnings(done) == lines("delete", pod)
        assert cluster.pod(pod) is None
    assert cluster.pod({"metadata": {"name": "copy", "namespace": namespace}}) is not None


# Confirm


@pytest.mark.parametrize("path", PATHS)
def test_F2_confirm_refuses_until_its_own_command_was_typed(
    cluster: Cluster, make: Callable[..., Object], path: str
) -> None:
    pod = make("confirm")
    refused = cluster.force(path, pod)
    assert refused.returncode == 1
    assert lines(path, pod)[0] in refused.stderr
    assert warnings(refused) == []
    assert cluster.is_untouched(pod)

    cluster.run(refused.stderr)
    done = cluster.force(path, pod)
    assert done.returncode == 0, done.stderr
    assert warnings(done) == lines(path, pod)
    assert cluster.is_deleted(path, pod)


def test_F2_confirmation_dies_with_its_pod(cluster: Cluster, make: Callable[..., Object]) -> None:
    pod = make("confirm")
    annotated = make_pod("db", pod["metadata"]["namespace"], pod["spec"]["nodeName"])
    annotated["metadata"]["annotations"] = {CONFIRMATION: pod["metadata"]["uid"]}
    cluster.control_plane.api.delete(pod, grace_period_seconds=0)
    again = cluster.control_plane.api.create(annotated)
    assert cluster.force("delete", again).returncode == 1
    assert cluster.is_untouched(again)


# Deny


@pytest.mark.parametrize("path", PATHS)
def test_F2_deny_refuses_and_names_the_alternative(cluster: Cluster, make: Callable[..., Object], path: str) -> None:
    pod = make("deny")
    cluster.control_plane.api.patch(pod, {"metadata": {"annotations": {CONFIRMATION: pod["metadata"]["uid"]}}})
    namespace, node = pod["metadata"]["namespace"], pod["spec"]["nodeName"]
    refused = cluster.force(path, pod)
    assert refused.returncode == 1
    assert lines(path, pod)[0] in refused.stderr
    if path == "node":
        assert f"forbidden for the namespace of some of them; drain it first: kubectl drain {node} " in refused.stderr
    else:
        remedy = f"delete it with grace: kubectl delete pod db -n {namespace}"
        if path in {"eviction", "drain"}:
            # Not a deletion: that bypasses PodDisruptionBudgets.
            remedy = "evict it with grace: drain again without --grace-period=0, or leave deleteOptions.gracePeriod"
            again = cluster.kubectl("drain", node, "--force", "--dry-run=server")
            assert again.returncode == 0, again.stderr
        assert f"namespace {namespace} forbids force deletions; {remedy}" in refused.stderr
    assert cluster.is_untouched(pod)


# Labels of the Namespace


@pytest.mark.parametrize(
    ("configured", "label"),
    thinned(
        STRICTNESS,
        ("deny", "confirm", "warn", "denny"),
        held_by="the other cases, test_F2_label_may_only_tighten_the_configuration of the handler",
    ),
)
def test_F2_label_may_only_tighten_the_configuration(
    cluster: Cluster, make: Callable[..., Object], configured: str, label: str
) -> None:
    pod = make(configured, label=label)
    namespace = pod["metadata"]["namespace"]
    mode = strictest(configured, label)
    for path in ("delete", "collection", "eviction"):
        done = cluster.force(path, pod, dry_run=True)
        if mode == "warn":
            assert warnings(done)[:2] == lines(path, pod, dry_run=True)
        else:
            rule = {"confirm": "requires a confirmation", "deny": "forbids force deletions"}[mode]
            assert f"namespace {namespace} {rule}" in done.stderr
        assert (done.returncode == 0) == (mode == "warn")


def test_F2_label_that_changes_is_seen(cluster: Cluster, make: Callable[..., Object]) -> None:
    pod = make()
    namespace = pod["metadata"]["namespace"]

    def refused() -> bool:
        return cluster.force("delete", pod, dry_run=True).returncode != 0

    assert not refused()
    cluster.kubectl("label", "namespace", namespace, f"{MODE}=confirm")
    wait_for(refused, "it is to be confirmed")
    cluster.kubectl("label", "namespace", namespace, f"{MODE}-")
    wait_for(lambda: not refused(), "it is only warned of")


def test_F2_label_that_is_no_mode_is_said(cluster: Cluster, make: Callable[..., Object]) -> None:
    pod = make(label="denny")
    done = cluster.force("delete", pod)
    assert done.returncode == 0
    wrong = f"Namespace {pod['metadata']['namespace']}: label {MODE}=denny is none of warn, confirm, deny"
    assert warnings(done) == [*lines("delete", pod), f"{wrong}: the configured mode counts, warn"]


@pytest.mark.parametrize("label", ["confirm", "deny"])
def test_F2_label_does_not_protect_a_node(cluster: Cluster, make: Callable[..., Object], label: str) -> None:
    """Otherwise a tenant that may label its Namespace could keep all Nodes with its pods."""
    pod = make(label=label)
    assert cluster.force("delete", pod, dry_run=True).returncode == 1
    done = cluster.force("node", pod)
    assert done.returncode == 0, done.stderr
    assert warnings(done) == lines("node", pod)
    assert cluster.is_deleted("node", pod)


# Dry run


@pytest.mark.parametrize(
    ("path", "mode"),
    thinned(
        ("delete", "collection", "eviction", "node"),
        ("confirm", "deny", ""),
        held_by="the other cases, test_F2_deny_refuses_and_names_the_alternative",
    ),
)
def test_F2_dry_run_is_answered_as_the_real_one_and_does_nothing(
    cluster: Cluster, make: Callable[..., Object], path: str, mode: str
) -> None:
    pod = make(mode)
    tried = cluster.force(path, pod, dry_run=True)
    assert cluster.is_untouched(pod)
    assert cluster.pod(pod) == cluster.control_plane.api.get("v1", "Pod", "db", pod["metadata"]["namespace"])
    done = cluster.force(path, pod)
    # The advice to check differs once it has happened.
    assert (tried.returncode, warnings(tried)[:1]) == (done.returncode, warnings(done)[:1])
    if mode:
        assert tried.stderr == done.stderr
