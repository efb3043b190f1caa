"""A kubelet configuration from a file replaces the answer of its node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import said, write_list
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_object, raw_pod
from tests.tree import ROOT

FIELD: Final = ROOT / "tests" / "testdata" / "cases" / "field"
GRACE: Final = str(FIELD / "grace.json")
EVICT: Final = str(FIELD / "evict.json")
HEAD: Final = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SOFT: Final = (
    "evictionHard: {memory.available: 200Mi}\nevictionSoft: {memory.available: 800Mi}\n"
    "evictionSoftGracePeriod: {memory.available: 1m30s}\n"
)


def config(folder: Path, text: str, head: str = HEAD) -> str:
    file = folder / "kubelet.yaml"
    file.write_text(head + text)
    return str(file)


def report(*asked: str) -> Any:
    ran = run(*asked, "-o", "json")
    assert ran.code in {0, 11}, ran.err
    return json.loads(ran.out)


def thresholds(file: str) -> list[tuple[str, str, int]]:
    found = report("node", "n1", "--snapshot", EVICT, "--kubelet-config", file)
    assert found["thresholdSource"] == "File"
    return [(one["signal"], one["quantity"], one["gracePeriodSeconds"]) for one in found["thresholds"]]


def test_node_has_the_thresholds_of_the_file(tmp_path: Path) -> None:
    file = config(tmp_path, SOFT)
    assert thresholds(file) == [("memory.available", "200Mi", 0), ("memory.available", "800Mi", 90)]
    page = said("node", "n1", "--snapshot", EVICT, "--kubelet-config", file)
    assert "(memory.available < 800Mi for 90 s: from --kubelet-config)" in page
    assert f"Kubelet configuration: {file}, for every node of this answer." in page


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ('{"kubeletconfig": {"evictionHard": {"memory.available": "300Mi"}, "ofANewerKubelet": 1}}', "300Mi"),
        ('{"enableServer": true, "evictionHard": {"memory.available": "5%"}}', "858993472"),
        (f"{HEAD}evictionHard: {{nodefs.available: 7%}}\nmergeDefaultEvictionSettings: true", "100Mi"),
        (f"{HEAD}evictionHard:", "100Mi"),
    ],
)
def test_configz_and_defaults(tmp_path: Path, text: str, quantity: str) -> None:
    file = config(tmp_path, text, head="")
    assert [one[:2] for one in thresholds(file)] == [("memory.available", quantity)]
    assert not run("node", "n1", "--snapshot", EVICT, "--kubelet-config", file).err


@pytest.mark.parametrize(("most", "killed", "gives_up"), [(0, 2, 10), (20, 20, 30), (500, 30, 45)])
def test_soft_eviction_gives_the_smaller_period(tmp_path: Path, most: int, killed: int, gives_up: int) -> None:
    file = config(tmp_path, f"{SOFT}evictionMaxPodGracePeriod: {most}\n")
    asked = ("explain", "pod/g1", "--snapshot", GRACE, "--kubelet-config", file)
    (way,) = report(*asked, "--timeline=evict-soft")["timeline"]["ways"]
    latest = {one["what"]: one["latest"] for one in way["events"]}
    assert (latest["SIGKILL"], latest["KillTimeout"]) == (killed, gives_up)
    assert "its kubelet's thresholds: memory.available < 800Mi for 90 s" in said(*asked, "--timeline=evict-soft")
    assert f"evicted at a soft threshold: SIGKILL after {killed} s" in said(*asked, "-o", "wide")


def test_kubelet_without_soft_thresholds_has_no_soft_eviction(tmp_path: Path) -> None:
    file = config(tmp_path, "evictionHard: {memory.available: 0%}\n")
    asked = ("explain", "pod/g1", "--snapshot", GRACE, "--kubelet-config", file)
    for field, way in (("evictionSoft", "evict-soft"), ("evictionHard", "evict-hard")):
        never = f"its kubelet never does this: {field} sets no threshold"
        assert never in said(*asked, f"--timeline={way}")
    assert "soft threshold" not in said(*asked, "-o", "wide")


def test_shutdown_by_priority_and_a_manifest(tmp_path: Path) -> None:
    groups = "- {priority: 0, shutdownGracePeriodSeconds: 12}\n- {priority: 1000, shutdownGracePeriodSeconds: 5}\n"
    file = config(tmp_path, f"shutdownGracePeriodByPodPriority:\n{groups}")
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(raw_pod("p", "shop", requests={"cpu": "1"}, terminationGracePeriodSeconds=40)))
    for asked in (("pod/g1", "--snapshot", GRACE), ("-f", str(manifest), "--offline")):
        (way,) = report("explain", *asked, "--timeline=shutdown", "--kubelet-config", file)["timeline"]["ways"]
        latest = {one["what"]: one["latest"] for one in way["events"]}
        assert (latest["SIGKILL"], latest["MachineOff"]) == (12, 17)


LOGGED = 'unknown field "evictionSotf": the kubelet logs it and passes it over; did you mean'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("evictionSotf: {}", f"line 3: {LOGGED}"),
        ("memorySwap: {behaviour: x}", 'unknown field "memorySwap.behaviour"'),
        ("maxPods: 3\nmaxPods: 4", "line 4: maxPods is a duplicate of line 3; the last one counts"),
    ],
)
def test_strict_decoding_errors_are_warnings(tmp_path: Path, text: str, says: str) -> None:
    ran = run("node", "n1", "--snapshot", EVICT, "--kubelet-config", config(tmp_path, text))
    assert ran.code in {0, 11}
    assert says in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("evictionHard: {memory.free: 5%}", "line 3: evictionHard[memory.free]: no such eviction signal"),
        ("evictionHard: {memory.available: 120%}", "120% is not between 0% and 100%"),
        ("evictionHard: {memory.available: 0.5}", "evictionHard.memory.available: 0.5 is a number; write a string"),
        ("evictionSoft: {memory.available: 5%}", "evictionSoftGracePeriod[memory.available] is missing"),
        ("evictionMinimumReclaim: {memory.available: -1}", "-1 is a number"),
        ("shutdownGracePeriod: 30", "line 3: shutdownGracePeriod: 30 is a number; write a string"),
        ("shutdownGracePeriod: 30x", "'30x' is not a duration"),
        ("syncFrequency: 99999999h", "99999999h is too long"),
        ("shutdownGracePeriod: 500ms", "write 0s, or 1s or more"),
        ("shutdownGracePeriod: 5s\nshutdownGracePeriodCriticalPods: 6s", "6s is more than shutdownGracePeriod, 5s"),
        (
            "shutdownGracePeriod: 5s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 1}]",
            "keep one of the two",
        ),
        ("evictionMaxPodGracePeriod: 99999999999", "is out of range"),
        ("oomScoreAdj: -1001", "write -1000 to 1000"),
        ("enforceNodeAllocatable: [pods, kube-reserved]", "kube-reserved needs kubeReservedCgroup; set that"),
        ("enforceNodeAllocatable: [system-reserved-compressible]", "needs systemReservedCgroup; set that"),
        ("cgroupsPerQOS: false", "cgroupsPerQOS: false needs enforceNodeAllocatable: [none]"),
        ("memoryThrottlingFactor: 1.5", "1.5 is out of range"),
        ("memoryReservationPolicy: Some", "write None or TieredReservation"),
        ("enforceNodeAllocatable: [pod]", "'pod' is not known"),
        ("enforceNodeAllocatable: [none, pods]", "keep one"),
        ("enforceNodeAllocatable: [pods, pods]", "keep one"),
        ("memorySwap: {swapBehavior: UnlimitedSwap}", "'UnlimitedSwap' is not known; write NoSwap or LimitedSwap"),
        ("evictionHard:\n  memory.available:\n", "line 4: evictionHard[memory.available]: nothing stands here"),
        ("kubeReserved: {memory: 12x}", "'12x' is not a quantity"),
        ("kubeReserved: {memory: 512}", "512 is a number"),
        ("systemReserved: {gpu: '1'}", "1 cannot be reserved; write 0 or more of cpu"),
        ("systemReserved: {cpu: -1m}", "-1m cannot be reserved; write 0 or more"),
        ("maxPods: many", "write a whole number"),
    ],
)
def test_invalid_kubelet_configuration_is_refused(tmp_path: Path, text: str, says: str) -> None:
    ran = run("node", "n1", "--snapshot", EVICT, "--kubelet-config", config(tmp_path, text))
    assert ran.code == 6
    assert not ran.out
    assert says in ran.err
    assert "The kubelet does not start with it" in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is no KubeletConfiguration"),
        ("- 1", "it is no KubeletConfiguration"),
        ("evictionHard: {}", "kind is missing, apiVersion is missing"),
        ("apiVersion: v1\nkind: Pod", "kind is Pod, apiVersion is v1"),
        ("apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration", "apiVersion is kubelet.config.k8s.io/v1"),
        (f"{HEAD}---\n{HEAD}", "it holds 2 documents, and one counts"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, says: str) -> None:
    ran = run("died", "-A", "--snapshot", EVICT, "--kubelet-config", config(tmp_path, text, head=""))
    assert ran.code == 6
    assert says in ran.err
    assert "configz" in ran.err


def _evicted(name: str, threshold: str, resource: str = "memory", **spec: Any) -> dict[str, Any]:
    low = f"The node was low on resource: {resource}. Threshold quantity: {threshold}, available: 3Mi. "
    status = {"phase": "Failed", "reason": "Evicted", "message": low, "startTime": "2026-01-01T00:00:00Z"}
    return raw_pod(name, "shop", uid=name, status=status, nodeName="n", **spec)


@pytest.mark.parametrize(
    ("pod", "says"),
    [
        (_evicted("a", "800Mi"), "threshold 800Mi of evictionSoft, which gave it up to 20 s)"),
        (_evicted("a", "800Mi", terminationGracePeriodSeconds=7), "of evictionSoft, which gave it up to 7 s)"),
        (_evicted("a", "1717986944"), "threshold 1717986944 of evictionHard)"),
        (_evicted("a", "123Mi"), "threshold 123Mi)"),
        (_evicted("a", "5Gi", "ephemeral-storage"), "threshold 5Gi of evictionHard)"),
        (_evicted("a", "6Gi", "ephemeral-storage"), "threshold 6Gi)"),
        (_evicted("a", "800Mi", "pids"), "threshold 800Mi)"),
    ],
)
def test_died_names_the_kind_of_the_threshold(tmp_path: Path, pod: dict[str, Any], says: str) -> None:
    text = (
        "evictionHard: {memory.available: 10%, nodefs.available: 5Gi}\n"
        "evictionSoft: {memory.available: 800Mi, imagefs.available: 6%}\n"
        "evictionSoftGracePeriod: {memory.available: 30s, imagefs.available: 1m}\nevictionMaxPodGracePeriod: 20"
    )
    snapshot = write_list(tmp_path / "pods.json", [raw_node("n", capacity={"memory": "16Gi"}), pod])
    asked = ("died", "pod/a", "-n", "shop", "--snapshot", snapshot)
    assert says in said(*asked, "--kubelet-config", config(tmp_path, text))
    assert "evictionSoft" not in run(*asked).out


@pytest.mark.parametrize(
    ("version", "text", "whole"),
    [
        ("v1.36.3", "", True),
        ("v1.36.3", "singleProcessOOMKill: true", False),
        ("v1.34.4", "", None),
        ("v1.34.4", "failCgroupV1: true", True),
    ],
)
def test_kill_takes_the_container(tmp_path: Path, version: str, text: str, *, whole: bool | None) -> None:
    """This applies to cgroup v2 only, which a kubelet before 1.35 does not require by default."""
    node = raw_node("n", capacity={"memory": "1Gi"}, status={"nodeInfo": {"kubeletVersion": version}})
    snapshot = write_list(tmp_path / "nodes.json", [node])
    found = report("node", "n", "--snapshot", snapshot, "--kubelet-config", config(tmp_path, text))
    assert found["oomGroup"] is whole


def test_ten_unknown_fields_are_named(tmp_path: Path) -> None:
    text = "".join(f"x{number}: 1\n" for number in range(3000))
    ran = run("node", "n1", "--snapshot", EVICT, "--kubelet-config", config(tmp_path, text))
    assert ran.err.count("unknown field") == 10


def test_field_twice_in_json(tmp_path: Path) -> None:
    head = '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", '
    file = config(tmp_path, '"evictionHard": {"memory.available": "1Gi", "memory.available": "2Gi"}}', head)
    assert thresholds(file) == [("memory.available", "2Gi", 0)]
    ran = run("node", "n1", "--snapshot", EVICT, "--kubelet-config", file)
    assert "memory.available is repeated in one mapping; the last one counts" in ran.err


def test_suggested_commands_keep_the_file(tmp_path: Path) -> None:
    file = config(tmp_path, "")
    page = said("died", "pod/g1", "--snapshot", GRACE, "--kubelet-config", file)
    assert f"kubectl qos explain pod/g1 -n default --snapshot={GRACE} --kubelet-config={file}" in page
    page = said("explain", "pods", "-o", "wide", "--snapshot", GRACE, "--kubelet-config", file)
    assert page.count("Kubelet configuration:") == 1


ONLY_NODEFS = "No eviction threshold is set for memory, only for nodefs.available (not measured)."
NONE = "No eviction threshold is set: the kubelet evicts no pod."


@pytest.mark.parametrize(
    ("text", "says", "first", "headroom"),
    [
        ("evictionHard: {memory.available: 0%, nodefs.available: 5%}", ONLY_NODEFS, "unknown", "unknown"),
        ("evictionHard: {}", NONE, "none", "no threshold"),
        ("evictionHard: {memory.available: 1Gi}", "if usage grows slowly, the kubelet evicts", "/", "Gi"),
    ],
)
def test_no_memory_threshold_means_no_memory_eviction(
    tmp_path: Path, text: str, says: str, first: str, headroom: str
) -> None:
    """A threshold of an unmeasured signal counts, too."""
    asked = ("--snapshot", measured(tmp_path, "5Gi"), "--kubelet-config", config(tmp_path, text))
    verdict = said("node", "n1", *asked).partition("Kernel OOM")[0]
    assert says in verdict
    assert ("the kubelet evicts that pod before that" in verdict) is (first == "/")
    row = next(line for line in run("node", "n1", "n2", *asked).out.splitlines() if line[3:].startswith("n1"))
    assert headroom in row
    assert first in row


def measured(folder: Path, used: str) -> str:
    """A node with 8Gi and one pod; only memory usage is measured."""
    metrics = raw_object("NodeMetrics", "n1", usage={"memory": used})
    memory = {"memory": "8Gi", "cpu": "4", "pods": "9"}
    pod = raw_pod("web", "default", requests={"memory": "1Gi"}, nodeName="n1", status={"phase": "Running"})
    nodes = [raw_node(name, capacity=memory, conditions=[raw_condition("Ready")]) for name in ("n1", "n2")]
    return write_cluster(folder / "measured.json", [*nodes, metrics, pod])


AT_ONCE = "2.8Gi (35%) until the kubelet evicts at once (memory.available < 200Mi"


@pytest.mark.parametrize(
    ("text", "until"),
    [(SOFT.replace("800Mi", "50%"), AT_ONCE), (SOFT.replace("200Mi", "70%").replace("800Mi", "10%"), "")],
)
def test_met_threshold_shows_no_first_eviction(tmp_path: Path, text: str, until: str) -> None:
    file = config(tmp_path, text)
    verdict = said("node", "n1", "--snapshot", measured(tmp_path, "5Gi"), "--kubelet-config", file)
    assert "Under pressure: memory.available is 3Gi" in verdict
    assert "first eviction" not in verdict
    assert until in verdict
    assert ("Headroom:" in verdict) is bool(until)


def test_kubelet_without_qos_cgroups_has_no_pod_cgroup(tmp_path: Path) -> None:
    text = "cgroupsPerQOS: {}\nenforceNodeAllocatable: [{}]\n"
    snapshot = measured(tmp_path, "5Gi")
    for per_class, enforced in (("true", "pods"), ("false", "none"), ("false", "")):
        file = config(tmp_path, text.format(per_class, enforced))
        asked = ("--snapshot", snapshot, "--kubelet-config", file, "-o", "wide")
        assert ("of all pods" in said("node", "n1", *asked)) is (per_class == "true")
        assert ("memory.max" in said("explain", "pod/web", *asked)) is (per_class == "true")
