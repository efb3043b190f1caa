"""Limits of pods in their namespace: LimitRanges, quotas and Pod Security, of files, snapshots and the demo."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_io.capture.contents import contents
from cluster_io.capture.file import CapturedKind, Header, snapshot_parts
from cluster_io.demo import DEMO_NOW
from cluster_io.in_memory import MemorySource
from tests.kubectl_plugin.answers import data, said, write_list
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_container, raw_node, raw_object, raw_pod, raw_workload

Json = dict[str, Any]


def quota(hard: Json, used: Json | None = None, name: str = "compute", **spec: Any) -> Json:
    status = {} if used is None else {"hard": hard, "used": used}
    return raw_object("ResourceQuota", name, "shop", spec={"hard": hard, **spec}, status=status)


def limit_range(**item: Any) -> Json:
    return raw_object("LimitRange", "limits", "shop", spec={"limits": [{"type": "Container", **item}]})


def space(**labels: str) -> Json:
    named = {f"pod-security.kubernetes.io/{key}": value for key, value in labels.items()}
    return raw_object("Namespace", "shop", metadata={"labels": named})


def pod(name: str = "new", cpu: str = "500m", **spec: Any) -> Json:
    return raw_pod(name, "shop", requests={"cpu": cpu}, **spec)


def deployment(replicas: int, cpu: str = "500m", name: str = "web") -> Json:
    return raw_workload("Deployment", name, "shop", pod_spec=pod(cpu=cpu)["spec"], replicas=replicas)


def asked(command: str, *documents: Json, source: tuple[str, ...] = ("--demo",), code: int = 0) -> Json:
    ran = run(command, *source, "-f", "-", "-o", "json", stdin=yaml.safe_dump_all(documents))
    assert (ran.code, ran.err) == (code, ""), ran
    found: Json = json.loads(ran.out)
    return found


def with_node(*objects: Json) -> list[Json]:
    return [raw_node("node-1", allocatable={"cpu": "16", "memory": "64Gi", "pods": "110"}), *objects]


def whole(folder: Path, *objects: Json) -> tuple[str, ...]:
    """A cluster that has only a node and these objects."""
    return "--snapshot", write_cluster(folder / "cluster.qos", with_node(*objects))


def listed(folder: Path, *objects: Json) -> tuple[str, ...]:
    """A List of the same: the cluster may have others."""
    return "--snapshot", write_list(folder / "cluster.json", with_node(*objects))


def captured(folder: Path, *objects: Json) -> tuple[str, ...]:
    """A snapshot of the same, in namespace shop."""
    now = datetime.fromisoformat(DEMO_NOW)
    found = contents(MemorySource(with_node(*objects), description="it", now=now, namespace="shop"))
    kinds = tuple(CapturedKind(one.kind.captured_as, not_captured=one.not_captured, only=one.only) for one in found)
    header = Header(now, "1.2.3", "v1.36.3", "shop", anonymised=False, kinds=kinds)
    file = folder / "cluster.qos"
    parts = snapshot_parts(header, {entry.kind.captured_as: (entry.kind, entry.objects) for entry in found})
    file.write_bytes(b"".join(parts))
    return "--snapshot", str(file)


USED_UP = quota({"requests.cpu": "2"}, {"requests.cpu": "1800m"})
EXCEEDED = (
    'pods "new" is forbidden: exceeded quota: compute, requested: requests.cpu=500m, used: requests.cpu=1800m, '
    "limited: requests.cpu=2"
)


@pytest.mark.parametrize("written", [listed, whole, captured])
def test_quota_of_the_cluster_refuses_a_pod(tmp_path: Path, written: Callable[..., tuple[str, ...]]) -> None:
    source = written(tmp_path, USED_UP)
    report = asked("explain", pod(), source=source, code=6)
    of_quota = {"quota": "compute", "resources": ["requests.cpu"], "limitRange": None}
    assert report["refusal"] == {"by": "ResourceQuota", "message": EXCEEDED, **of_quota}
    assert report["verdict"]["code"] == "AdmissionRefused"
    assert report["verdict"]["text"] == f"Refused: {EXCEEDED}. Request less, or have quota compute raised."
    assert report["placement"] is None

    plan = asked("place", pod(), source=source, code=7)
    assert [entry["reason"] for entry in plan["refused"]] == [EXCEEDED]


def test_anonymised_snapshot_gives_the_same_answers(tmp_path: Path) -> None:
    scoped = quota({"requests.cpu": "2"}, {"requests.cpu": "1800m"}, scopes=["NotBestEffort"])
    plain = captured(tmp_path, scoped, space(enforce="baseline", **{"enforce-version": "v1.30"}))
    hidden = tmp_path / "hidden.qos"
    assert run("snapshot", *plain, "--anonymise", "-o", str(hidden)).code == 0
    for source in (plain, ("--snapshot", str(hidden))):
        counted, hostile = pod(), pod(hostNetwork=True)
        for written in (counted, hostile):
            # The namespace of the snapshot, whatever its name.
            del written["metadata"]["namespace"]
        refused = asked("explain", counted, source=source, code=6)["refusal"]
        assert (refused["by"], refused["resources"]) == ("ResourceQuota", ["requests.cpu"])
        assert "used: requests.cpu=1800m, limited: requests.cpu=2" in refused["message"]
        refused = asked("explain", hostile, source=source, code=6)["refusal"]
        assert refused["message"].endswith('violates PodSecurity "baseline:v1.30": host namespaces (hostNetwork=true)')
    assert b"compute" not in hidden.read_bytes()


def test_place_fills_quota_and_names_what_stops_the_rest(tmp_path: Path) -> None:
    source = whole(tmp_path, quota({"requests.cpu": "3", "pods": "10"}, {"requests.cpu": "1", "pods": "4"}))
    both = deployment(3), deployment(5, name="later")
    first, second = asked("place", *both, source=source, code=7)["specs"]
    assert (first["placed"], first["wanted"], first["quota"]) == (3, 3, None)
    assert (second["placed"], second["wanted"], second["quota"]["pods"]) == (1, 5, 1)
    assert second["quota"]["shares"] == [{"resource": "requests.cpu", "used": "3", "hard": "3"}]

    page = said("place", *source, "-f", "-", stdin=yaml.safe_dump_all(both))
    assert page.startswith(
        "x Quota compute admits 1 of 5 replicas of deployment/later: requests.cpu is then 3 of 3. "
        "All 4 new pods fit: 4 on node-1."
    )
    assert "deployment/later 1 of 5" in page


@pytest.mark.parametrize(
    ("replicas", "code", "first"),
    [
        (
            "max",
            0,
            "ok Quota compute admits 2 more pods of Deployment web: pods is then 3 of 3. 2 more pods of Deployment ",
        ),
        ("5", 7, "x No: quota compute admits 2 of 5 more pods of Deployment web: pods is then 3 of 3."),
    ],
)
def test_maximum_replicas_are_limited_by_quota(tmp_path: Path, replicas: str, code: int, first: str) -> None:
    source = whole(tmp_path, quota({"pods": "3"}, {"pods": "1"}), deployment(1))
    ran = run("place", *source, "deployment/web", "-n", "shop", "--replicas", replicas)
    assert ran.code == code
    assert _flat(ran).startswith(first)


def test_replicas_within_quota_may_not_fit(tmp_path: Path) -> None:
    source = whole(tmp_path, quota({"requests.cpu": "27"}, {"requests.cpu": "0"}))
    ran = run("place", *source, "-f", "-", stdin=yaml.safe_dump(deployment(6, cpu="9")))
    assert ran.code == 7
    assert _flat(ran).startswith(
        "x Quota compute admits 3 of 6 replicas of deployment/web: requests.cpu is then 27 of 27. "
        "2 of 3 replicas of deployment/web stay pending."
    )


FORBIDDEN = 'pods "new" is forbidden:'
LARGE = pod(cpu="2", containers=[raw_container(limits={"cpu": "2"})])
BOUNDS = {
    'Pod "new" is invalid: spec.containers[0].resources.requests: Invalid value: "500m": must be less than or equal to '
    "cpu limit of 200m": ("validation", limit_range(default={"cpu": "200m"}), pod()),
    f"{FORBIDDEN} maximum cpu usage per Container is 1, but limit is 2": (
        "LimitRanger",
        limit_range(max={"cpu": "1"}),
        LARGE,
    ),
    f'{FORBIDDEN} violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)': (
        "PodSecurity",
        space(enforce="baseline"),
        pod(hostNetwork=True),
    ),
    f"{FORBIDDEN} failed quota: compute: must specify limits.memory for: app": (
        "ResourceQuota",
        quota({"limits.memory": "1Gi"}),
        pod(),
    ),
}


@pytest.mark.parametrize("words", BOUNDS)
def test_objects_of_the_file_count_for_its_pods(words: str) -> None:
    by, bounds, written = BOUNDS[words]
    refused = asked("explain", bounds, written, code=6)["refusal"]
    assert (refused["by"], refused["message"]) == (by, words)
    plan = asked("place", bounds, written, code=7)
    assert [entry["reason"] for entry in plan["refused"]] == [words]


def test_quota_of_file_starts_with_cluster_usage(tmp_path: Path) -> None:
    source = whole(tmp_path, quota({"pods": "9"}, {"pods": "4"}))
    refused = asked("explain", quota({"pods": "4"}), pod(), source=source, code=6)["refusal"]
    assert "used: pods=4, limited: pods=4" in refused["message"]
    report = asked("explain", quota({"pods": "4"}, name="more"), pod(), source=source)
    reasons = [entry["reason"] for entry in report["unread"]]
    assert "quota more is only in the file: it counts from 0" in reasons


def test_pod_security_warns_in_a_line_of_the_page() -> None:
    ran = run("explain", "--demo", "-f", "-", stdin=yaml.safe_dump_all([space(warn="baseline"), pod(hostPID=True)]))
    assert ran.code == 0
    warns = 'Pod Security warns: would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    assert warns in _flat(ran)


def test_pod_security_judges_pods_not_workloads() -> None:
    made = raw_workload("Deployment", "web", "shop", pod_spec=pod(hostIPC=True)["spec"], replicas=1)
    report = asked("explain", space(enforce="baseline"), made, code=6)
    assert report["refusal"]["by"] == "PodSecurity"
    report = asked("explain", space(enforce="baseline"), deployment(1))
    assert (report["refusal"], report["warning"]) == (None, "")


def test_existing_pod_is_not_counted_twice(tmp_path: Path) -> None:
    source = whole(tmp_path, quota({"pods": "1"}, {"pods": "1"}), pod())
    assert asked("explain", pod(), source=source)["refusal"] is None
    assert asked("explain", pod("other"), source=source, code=6)["refusal"]["by"] == "ResourceQuota"


def test_next_pod_of_a_workload(tmp_path: Path) -> None:
    source = whole(tmp_path, USED_UP, deployment(1))
    ran = run("explain", *source, "deployment/web", "-n", "shop")
    assert ran.code == 0
    assert 'The API server will refuse one more pod: pods "web" is forbidden: exceeded quota: compute' in _flat(ran)


def test_only_first_refusal_is_named(tmp_path: Path) -> None:
    """The plugins have the order of AllOrderedPlugins: LimitRanger, PodSecurity, ResourceQuota."""
    bounds = [limit_range(min={"cpu": "600m"}), space(enforce="baseline"), quota({"pods": "0"})]
    order = []
    while bounds:
        order.append(asked("explain", *bounds, pod(hostNetwork=True), code=6)["refusal"]["by"])
        bounds.pop(0)
    assert order == ["LimitRanger", "PodSecurity", "ResourceQuota"]


def _flat(ran: Ran) -> str:
    return " ".join(ran.out.split())


def of_namespace(name: str, kind: str = "Deployment") -> Json:
    return raw_workload(kind, "api", name, pod_spec=pod()["spec"])


@pytest.mark.parametrize("kind", ["Deployment", "Job", "StatefulSet"])
@pytest.mark.parametrize("written", [whole, captured])
def test_manifest_in_missing_namespace_is_refused(
    tmp_path: Path, written: Callable[..., tuple[str, ...]], kind: str
) -> None:
    """NamespaceLifecycle is the first plugin: before values, classes and quotas."""
    source = written(tmp_path, space(), USED_UP)
    wanted = of_namespace("shop2", kind)
    refused = asked("explain", wanted, source=source, code=6)
    assert refused["refusal"]["by"] == "NamespaceLifecycle"
    assert refused["refusal"]["message"] == 'namespaces "shop2" not found'
    page = said("explain", *source, "-f", "-", stdin=yaml.safe_dump(wanted))
    assert 'Refused: namespaces "shop2" not found. Create namespace shop2, or name another.' in page
    template = {"metadata": {}, "spec": pod(restartPolicy="So")["spec"]}
    wrong = {**wanted, "spec": {**wanted["spec"], "template": template}}
    found = asked("explain", wrong, source=source, code=6)
    assert found["refusal"]["by"] == "NamespaceLifecycle"
    assert found["refusals"]
    for manifest in (wanted, wrong):
        [entry] = asked("place", manifest, source=source, code=6)["refused"]
        assert entry["reason"] == 'namespaces "shop2" not found'


@pytest.mark.parametrize(("written", "generated"), [(whole, False), (captured, True), (listed, False)])
def test_manifest_in_terminating_namespace_is_refused(
    tmp_path: Path, written: Callable[..., tuple[str, ...]], generated: bool
) -> None:
    ends = raw_object("Namespace", "shop2", metadata={"deletionTimestamp": "2026-10-01T12:00:00Z"})
    source = written(tmp_path, ends)
    wanted = of_namespace("shop2")
    if generated:
        wanted["metadata"]["generateName"] = f"{wanted['metadata'].pop('name')}-"
    name = "api-" if generated else "api"
    message = (
        f'deployments.apps "{name}" is forbidden: unable to create new content in namespace shop2 because it is '
        "being terminated"
    )
    assert asked("explain", wanted, source=source, code=6)["refusal"]["message"] == message
    assert [entry["reason"] for entry in asked("place", wanted, source=source, code=6)["refused"]] == [message]
    text = run("explain", *source, "-f", "-", stdin=yaml.safe_dump(wanted)).out
    assert "Namespace shop2 is being deleted, and accepts no new objects." in text
    assert "kubectl qos why 'namespace is being terminated'" in text


@pytest.mark.parametrize(
    ("written", "objects", "files"),
    [
        # The files have it, the cluster has it, a List may lack it, and none was read.
        (whole, [space()], [raw_object("Namespace", "shop2")]),
        (whole, [raw_object("Namespace", "shop2")], []),
        (listed, [space()], []),
        (whole, [], []),
    ],
)
def test_namespace_that_exists_or_is_unknown_refuses_nothing(
    tmp_path: Path, written: Callable[..., tuple[str, ...]], objects: list[Json], files: list[Json]
) -> None:
    source = written(tmp_path, *objects)
    text = yaml.safe_dump_all([*files, of_namespace("shop2")])
    assert data("explain", *source, "-f", "-", stdin=text)["refusal"] is None
    assert data("place", *source, "-f", "-", stdin=text)["refused"] == []
