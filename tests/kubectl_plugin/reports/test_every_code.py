"""Every verdict code has an answer that shows it: of the demo, a file, or a cluster built here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from cluster_io.kinds import PODS
from kubectl_plugin.reports.verdict import VerdictCode
from tests.kubectl_plugin.answers import write_list
from tests.kubectl_plugin.gather import test_related as related
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.kubectl_plugin.scripted import TAKEN, Given, change
from tests.objects import raw_condition, raw_container, raw_node, raw_object, raw_pod, raw_workload

Object = Mapping[str, Any]
Asked = Callable[[Path], Ran]

CASES: Final = "tests/testdata/cases"
NOW: Final = "2026-10-01T12:00:00Z"
"""The present of the clusters here: the newest heartbeat of the node."""
SIZE: Final = {"cpu": "4", "memory": "8Gi", "pods": "110"}
RUNNING: Final = {"name": "app", "ready": True, "state": {"running": {"startedAt": "2026-10-01T09:00:00Z"}}}
SIGKILLED: Final = {**RUNNING, "lastState": {"terminated": {"exitCode": 137, "reason": "Error"}}}
OUT_OF_SERVICE: Final = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}


def demo(*words: str) -> Asked:
    return lambda _: run(*words, "--demo", "-o", "json")


def of(*words: str) -> Asked:
    return lambda _: run(*words, "-o", "json")


def states(name: str) -> Asked:
    return of("explain", f"pod/{name}", "--snapshot", f"{CASES}/cli/states.json")


def as_cluster(file: str, *words: str) -> Asked:
    """Asks about a cluster that has only the objects of a List."""
    return on(json.loads(Path(file).read_text())["items"], *words)


def on(objects: Sequence[Object], *words: str) -> Asked:
    """Asks about a cluster of these objects."""
    return lambda folder: run(*words, "--snapshot", write_cluster(folder / "cluster.json", objects), "-o", "json")


def in_list(objects: Sequence[Object], *words: str) -> Asked:
    """Asks about a List of these objects: the cluster may have others."""
    return lambda folder: run(*words, "--snapshot", write_list(folder / "list.json", objects), "-o", "json")


def demo_with(change_of: Callable[[dict[str, Any]], None], *words: str) -> Asked:
    """Asks about the demo cluster with a change."""
    objects = demo_objects()
    for entry in objects:
        change_of(entry)
    return on(objects, *words)


def changed(*words: str, answer: Given = TAKEN, method: str = "DELETE") -> Asked:
    """Makes a change with these answers of the API server."""
    return lambda _: change(*words, "-o", "json", given={method: [answer]})


def _with(ready: Object, conditions: Sequence[Object]) -> list[Object]:
    """The conditions, with the given one added if none has its type."""
    return [*conditions, *([] if any(entry["type"] == ready["type"] for entry in conditions) else [ready])]


def node(*conditions: Object, **spec: Any) -> Object:
    """``n1``, Ready unless conditions differ."""
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime="2026-09-01T12:00:00Z")
    return raw_node("n1", capacity=SIZE, allocatable=SIZE, conditions=_with(ready, conditions), **spec)


def pod(
    *conditions: Object,
    containers: Sequence[Object] = (RUNNING,),
    phase: str = "Running",
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """``web`` of namespace ``shop``, which runs on ``n1`` unless the arguments differ."""
    defaults = {"phase": phase, "conditions": _with(raw_condition("Ready"), conditions)}
    status = {**defaults, "containerStatuses": containers, **(status or {})}
    own = {"uid": "u", "labels": {"app": "web"}, "creationTimestamp": "2026-10-01T09:00:00Z", **(metadata or {})}
    amounts = {"cpu": "1", "memory": "1Gi"}
    spec = {"nodeName": "n1", "terminationGracePeriodSeconds": 30, **spec}
    return raw_pod("web", "shop", metadata=own, requests=amounts, limits=amounts, status=status, **spec)


def explained(*objects: Object) -> Asked:
    """The answer about the pod among these objects."""
    return on([node(), *objects], "explain", "pod/web", "-n", "shop")


def of_node(*objects: Object) -> Asked:
    return on(objects, "explain", "node/n1")


def controlled(kind: str, status: Mapping[str, Any], *pods: Object, **spec: Any) -> Asked:
    """A workload and its pods."""
    made = raw_workload(kind, "web", "shop", **spec)
    workload = {**made, "metadata": {**made["metadata"], "uid": "w", "generation": 2}, "status": status}
    return on([node(), workload, *pods], "explain", f"{kind.lower()}/web", "-n", "shop")


def _silent_lease_renewed(entry: dict[str, Any]) -> None:
    if entry["kind"] == "Lease" and entry["metadata"]["name"] == "node-c3":
        entry["spec"]["renewTime"] = "2026-10-17T03:10:58.318442Z"


def _out_of_service(entry: dict[str, Any]) -> None:
    if entry["kind"] == "Node" and entry["metadata"]["name"] == "node-c3":
        entry["spec"]["taints"].append(OUT_OF_SERVICE)


def _fenced_and_back(entry: dict[str, Any]) -> None:
    _silent_lease_renewed(entry)
    _out_of_service(entry)


METRICS: Final = raw_object("NodeMetrics", "n1", usage={"memory": "8150Mi"})
PREEMPTED: Final = raw_condition(
    "DisruptionTarget", reason="PreemptionByScheduler", message="default-scheduler: preempting to accommodate a pod"
)
EVICTED: Final = raw_condition(
    "DisruptionTarget", reason="EvictionByEvictionAPI", message="Eviction API: evicting", lastTransitionTime=NOW
)
UNREADY: Final = raw_condition("Ready", "False", lastTransitionTime="2026-10-01T11:59:00Z")
SEEN: Final = {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1}
NO_QUOTA: Final = raw_condition("ReplicaFailure", reason="FailedCreate", message="exceeded quota: q")
STALLED: Final = raw_condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="timed out.")
CLAIMING: Final = raw_pod("db", "shop", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
TOO_LARGE: Final = raw_pod("web", "shop", nodeName="node-c1", requests={"memory": "1Ti"})
PODS_OF_JOB: Final = {"selector": {"matchLabels": {"app": "web"}}}
PARTITION: Final = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
C: Final = VerdictCode
BY_CODE: Final[dict[VerdictCode, Asked]] = {
    C.RUNNING: demo("explain", "-n", "shop", "pod/db-0"),
    C.STARTING: states("creating"),
    C.INITIALIZING: explained(
        pod(
            phase="Pending",
            containers=[{"name": "app", "state": {"waiting": {"reason": "PodInitializing"}}}],
            initContainers=[raw_container("migrate")],
            status={"initContainerStatuses": [{**RUNNING, "name": "migrate", "ready": False}]},
        )
    ),
    C.STUCK: of("explain", "pod/cm", "--snapshot", f"{CASES}/field/L-cm.json"),
    C.WAITING_FOR_VOLUME: of("explain", "pod/pod2", "--snapshot", f"{CASES}/s3c.json"),
    C.NOT_READY: states("notready"),
    C.CONTAINER_WAITING: states("crash"),
    C.CONTAINER_ENDED: explained(
        pod(UNREADY, containers=[{"name": "app", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}])
    ),
    C.OOM_KILLED: demo("explain", "-n", "shop", "pod/image-resizer-t7fpjd79c-t6pxj"),
    C.RESTARTED: states("sigkill"),
    C.PHASE_UNKNOWN: states("unknownphase"),
    C.RESIZE_PENDING: demo("explain", "-n", "ml", "pod/feature-store-0"),
    C.NO_GRACE_PERIOD: demo("explain", "-n", "shop", "pod/price-feed"),
    C.NEAR_MEMORY_LIMIT: demo("explain", "-n", "data", "pod/postgres-0"),
    C.NODE_NOT_READY: of_node(node(raw_condition("Ready", "False", lastHeartbeatTime=NOW))),
    C.NODE_TAINT_EVICTS: of_node(node(taints=[{"key": "example.com/leave", "effect": "NoExecute"}]), pod()),
    C.NODE_PRESSURE: of_node(node(raw_condition("MemoryPressure", lastTransitionTime=NOW))),
    C.NODE_OOM_KILL: of("node", "worker-1", "--snapshot", f"{CASES}/field/P3-systemoom-oomkilled.json"),
    C.NODE_SILENT: demo("explain", "node/node-c3"),
    C.NODE_OUT_OF_SERVICE: demo_with(_out_of_service, "explain", "node/node-c3"),
    C.NODE_REMOVED: as_cluster(f"{CASES}/cli/states.json", "explain", "pod/nonode"),
    C.NODE_REFUSES: lambda _: run("explain", "--demo", "-f", "-", "-o", "json", stdin=json.dumps(TOO_LARGE)),
    C.READY: demo("explain", "node/cp-a1"),
    C.NODE_GOING: of_node(node(taints=[{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}])),
    C.CORDONED: demo("explain", "node/node-c1"),
    C.NODE_BACK: demo_with(_fenced_and_back, "explain", "node/node-c3"),
    C.NODE_RETURNING: demo_with(_silent_lease_renewed, "explain", "node/node-c3"),
    C.NODE_FULL: of("explain", "node/n1", "--snapshot", f"{CASES}/seeds/s2a.json"),
    C.REQUESTS_OVER_ALLOCATABLE: demo("explain", "node/node-a3"),
    C.EVICTING: on([node(), pod(), METRICS], "node", "n1"),
    C.NEAR_EVICTION: demo("node", "node-a1"),
    C.PODS_UNREAD: lambda _: change("explain", "node/node-b1", "-o", "json", given={}, unread=(PODS,)),
    C.PLANNED: demo("explain", "-f", f"{CASES}/cli/nomem.yaml"),
    C.ADMISSION_REFUSED: of("explain", "--offline", "-f", f"{CASES}/mis.yaml"),
    C.SCHEDULING_GATED: demo("explain", "-n", "ml", "pod/evaluate-j3xhf"),
    C.UNSCHEDULABLE: demo("explain", "-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p"),
    C.AWAITING_PREEMPTION: demo("explain", "-n", "payments", "pod/fraud-score-w88lqz7hx-c8z2n"),
    C.NO_SCHEDULER: of("explain", "pod/fresh", "--snapshot", f"{CASES}/field/c26.json"),
    C.NOT_YET_BOUND: states("nostatus"),
    C.PLACEMENT_NOT_MODELLED: states("daemonsched"),
    C.TERMINATING: demo("explain", "-n", "batch", "pod/nightly-index-w5k9d"),
    C.TERMINATING_LATE: explained(
        pod(metadata={"deletionTimestamp": "2026-10-01T11:50:00Z", "deletionGracePeriodSeconds": 30})
    ),
    C.TERMINATING_STUCK: demo("explain", "-n", "shop", "pod/db-1"),
    C.DISRUPTED: explained(pod(EVICTED)),
    C.PREEMPTED: explained(pod(PREEMPTED)),
    C.FAILED: states("failed"),
    C.SUCCEEDED: states("succeeded"),
    C.ALL_READY: demo("explain", "-n", "shop", "deployment/cart"),
    C.PODS_STARTING: controlled(
        "Deployment",
        SEEN,
        pod(phase="Pending", containers=[{"name": "app", "state": {"waiting": {"reason": "ContainerCreating"}}}]),
    ),
    C.PODS_NOT_READY: controlled("Deployment", SEEN, pod(UNREADY, containers=[{**RUNNING, "ready": False}])),
    C.PODS_MISSING: controlled("Deployment", SEEN, pod(), replicas=2),
    C.PODS_PENDING: demo("explain", "-n", "ml", "job/evaluate"),
    C.PODS_UNSCHEDULABLE: demo("explain", "-n", "shop", "deployment/checkout"),
    C.PODS_BROKEN: demo("explain", "-n", "shop", "deployment/image-resizer"),
    C.PODS_UNREACHABLE: demo("explain", "-n", "monitoring", "daemonset/log-agent"),
    C.PODS_STUCK: demo("explain", "-n", "shop", "statefulset/db"),
    C.PODS_REFUSED: controlled("Deployment", {**SEEN, "conditions": [NO_QUOTA]}, pod(), replicas=2),
    C.ROLLOUT_STUCK: controlled("Deployment", {**SEEN, "conditions": [STALLED]}, pod()),
    C.ROLLOUT_PAUSED: controlled("Deployment", SEEN, pod(), paused=True),
    C.ROLLOUT_PARTIAL: controlled(
        "StatefulSet",
        {**SEEN, "updatedReplicas": 0, "currentRevision": "web-1", "updateRevision": "web-2"},
        pod(),
        updateStrategy=PARTITION,
    ),
    C.SPEC_NOT_OBSERVED: controlled("Deployment", {**SEEN, "observedGeneration": 1}, pod()),
    C.SCHEDULED: demo("explain", "-n", "batch", "cronjob/nightly-report"),
    C.SUSPENDED: controlled("Job", {}, suspend=True, **PODS_OF_JOB),
    C.JOB_RUNNING: demo("explain", "-n", "batch", "job/video-encode"),
    C.JOB_COMPLETE: demo("explain", "-n", "batch", "job/nightly-report-29870100"),
    C.JOB_FAILED: controlled(
        "Job", {"conditions": [raw_condition("Failed", reason="BackoffLimitExceeded")]}, **PODS_OF_JOB
    ),
    **{C(code): on(objects, "explain", name) for name, code, _, objects in related.CASES},
    C.FITS: demo("place", "-f", f"{CASES}/cli/nomem.yaml"),
    C.DOES_NOT_FIT: demo("place", "-f", f"{CASES}/cli/huge30.yaml"),
    C.FIT_UNKNOWN: in_list([node(), CLAIMING], "place", "pod/db", "-n", "shop"),
    C.END_CERTAIN: demo("died", "-n", "shop", "pod/db-1"),
    C.END_LIKELY: demo("died", "-n", "shop", "pod/image-resizer-t7fpjd79c-t6pxj"),
    C.END_SEVERAL: on([node(), pod(containers=[SIGKILLED])], "died", "pod/web", "-n", "shop"),
    C.END_UNKNOWN: in_list([node(), pod()], "died", "-n", "shop", "pod/missing"),
    C.NOTHING_ENDED: demo("died", "-n", "shop", "pod/db-0"),
    C.ALL_NODES_ANSWER: of("partitions", "--snapshot", f"{CASES}/s3c.json"),
    C.NODES_LOST: demo("partitions"),
    C.NODES_UNREAD: of("partitions", "--snapshot", f"{CASES}/d6svc.yaml"),
    C.NOT_CONFIRMED: demo("fence", "node/node-c3"),
    C.NOT_POSSIBLE: demo("fence", "node/node-a1"),
    C.REFUSED: demo("delete", "-n", "shop", "pod/db-0"),
    C.NOTHING_AT_STAKE: demo("delete", "-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p", "--grace-period=0"),
    C.DRY_RUN: changed("delete", "-n", "shop", "pod/db-0", "--dry-run=server"),
    C.DONE: demo("unfence", "node/node-c3"),
    C.UNDER_WAY: changed("delete", "-n", "shop", "pod/db-1"),
    C.INTERRUPTED: changed("delete", "-n", "shop", "pod/db-0", answer=KeyboardInterrupt()),
    C.VERSIONS_LISTED: demo("versions"),
    C.NOTHING_CHANGES: demo("versions", "--to", "1.37"),
    C.ANSWERS_CHANGE: demo("versions", "--to", "1.33"),
    C.NOTHING_FOUND: of("lint", "-f", f"{CASES}/seeds/nopre.yaml"),
    C.FINDINGS: of("lint", "-f", "tests/testdata/manifests/checkout.yaml"),
    C.UNREADABLE: of("lint", "-f", f"{CASES}/cli/helm.yaml"),
}


def test_every_code_has_an_answer() -> None:
    assert set(BY_CODE) == set(VerdictCode)


SEVERITIES: Final = {
    "fine": (C.RUNNING, C.ALL_READY, C.JOB_RUNNING, C.PLANNED, C.FITS, C.DONE),
    "notice": (
        *(C.NEAR_MEMORY_LIMIT, C.NEAR_EVICTION, C.REQUESTS_OVER_ALLOCATABLE, C.PODS_PENDING, C.FINDINGS),
        *(C.NOT_CONFIRMED, C.NODE_RETURNING),
    ),
    "trouble": (
        *(C.NODE_SILENT, C.NODES_LOST, C.PODS_UNSCHEDULABLE, C.PODS_BROKEN, C.PODS_STUCK, C.PODS_UNREACHABLE),
        *(C.DOES_NOT_FIT, C.NODE_BACK),
    ),
}
"""How severe these answers are; other tests know others."""


@pytest.mark.parametrize("code", BY_CODE, ids=lambda code: code.value)
def test_answer_has_the_code(code: VerdictCode, tmp_path: Path) -> None:
    ran = BY_CODE[code](tmp_path)
    verdict = json.loads(ran.out)["verdict"]
    assert verdict["code"] == code.value, ran
    assert verdict["severity"] in ([one for one, codes in SEVERITIES.items() if code in codes] or SEVERITIES)
