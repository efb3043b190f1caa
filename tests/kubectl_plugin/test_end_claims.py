"""Claims that `died` and `node` must not make: pods, nodes and events that resemble another end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data
from tests.kubectl_plugin.ends import (
    EDGE,
    MAIL,
    NODE,
    OTHER,
    SET,
    Case,
    Object,
    at,
    died,
    edge,
    going,
    of_container,
    post_pod,
    said,
    seen,
    stop_of,
)
from tests.objects import raw_condition, raw_container, raw_node, raw_object


def failed(reason: str, message: str, since: float = -7000, *conditions: Object, **more: Any) -> Object:
    """A pod that its kubelet rejected or ended."""
    status = {"phase": "Failed", "reason": reason, "message": message, "conditions": list(conditions)}
    return post_pod(made=since, status=status, **more)


def statuses(end: Object, *, runs: float | None = -10) -> Object:
    """The status of a pod with a container that ended and restarted a moment ago."""
    again = {"running": {"startedAt": at(runs)}} if runs is not None else {"terminated": end}
    last = {"lastState": {"terminated": end}} if runs is not None else {}
    one = {"name": "app", "restartCount": 1, "ready": runs is not None, "image": "i", "state": again, **last}
    return {"phase": "Running", "containerStatuses": [one]}


def exited(code: int, reason: str, ended: float, began: float = -7000) -> Object:
    return {"exitCode": code, "reason": reason, "startedAt": at(began), "finishedAt": at(ended)}


PODS_FAILED: Final = raw_condition("Ready", "False", reason="PodFailed", lastTransitionTime=at(-7300))
TARGET: Final = raw_condition("DisruptionTarget", reason="TerminationByKubelet", lastTransitionTime=at(-7300))
LOW: Final = "The node was low on resource: memory. "


@pytest.mark.parametrize(
    "ended",
    [
        failed("OutOfpods", "Pod was rejected: Node didn't have enough resource: pods", -7300),
        failed("Evicted", LOW, -9000, PODS_FAILED),
        failed("Evicted", LOW, -9000, TARGET),
        failed("Terminated", "Pod was terminated in response to imminent node shutdown.", -9000, TARGET),
    ],
)
def test_old_failure_is_not_in_the_last_hour(ended: Object, tmp_path: Path) -> None:
    assert "Nothing has ended in the last 60 min" in said(tmp_path, [EDGE, ended], "died", "-A")
    assert "Ended in the last hour" not in said(tmp_path, [EDGE, ended], "node", NODE)
    assert "1 pod ended or was deleted in the last 3 h" in said(tmp_path, [EDGE, ended], "died", "-A", "--since", "3h")
    assert "At 09:58:20 UTC (121 min ago)" in died(tmp_path, EDGE, ended)


def test_failed_pod_without_times_is_not_in_the_last_hour(tmp_path: Path) -> None:
    unknown = {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None}
    status = {**statuses(unknown, runs=None), "phase": "Failed", "reason": "Evicted", "message": LOW}
    assert "Nothing has ended in the last 60 min" in said(tmp_path, [post_pod(status=status)], "died", "-A")
    assert "evicted the pod" in died(tmp_path, post_pod(status=status))


LACKS: Final = "Pod was rejected: Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}"


@pytest.mark.parametrize(
    ("reason", "message", "why", "helps"),
    [
        ("SysctlForbidden", "forbidden sysctl", f"{NODE} does not allow a sysctl of the pod", "allowedUnsafeSysctls"),
        ("TopologyAffinityError", "Pod was rejected: x", f"into the NUMA nodes of {NODE}", "topologyManagerPolicy"),
        ("SMTAlignmentError", "Pod was rejected: x", "whole physical CPU cores", "full-pcpus-only"),
        ("AppArmor", "Pod was rejected: x", f"{NODE} cannot enforce its AppArmor profile", "load the profile"),
        ("PodLevelResourcesNotSupported", "x", "a feature that this kubelet does not have", "upgrade the node"),
        ("OutOfcpu", LACKS.format("cpu", 500, 3900, 4000), f"{NODE} had 3.9 of 4 cpu in use", "bypassed"),
        ("OutOfmemory", LACKS.format("memory", 2**31, 3 * 2**30, 2**32), "3Gi of 4Gi memory in use", "bypassed"),
        ("OutOfa.b/c", LACKS.format("a.b/c", 1, 8, 8), "8 of 8 a.b/c in use, and it requests 1", "bypassed"),
    ],
)
def test_each_rejection_has_its_own_remedy(reason: str, message: str, why: str, helps: str, tmp_path: Path) -> None:
    for owner, then in [
        (SET, "ReplicaSet mail-55d does not count it, and makes another"),
        ("", "no controller makes another: delete it and create it again"),
        ("DaemonSet/mail", ""),
    ]:
        page = died(tmp_path, EDGE, failed(reason, message, -200, owner=owner))
        check_texts(page, ("The kubelet rejected the pod: ", why, helps, then))
        assert ("stays Failed" in page) == bool(then)
        assert "the node changed" not in page or reason.startswith("OutOf")


def test_sibling_is_not_replacement_of_rejected_pod(tmp_path: Path) -> None:
    one = failed("OutOfcpu", LACKS.format("cpu", 500, 3900, 4000), -200)
    running = {"conditions": [raw_condition("Ready")]}
    sibling, later = (
        post_pod(f"mail-55d-{name}", made=made, status=running) for name, made in (("sib", -200), ("new", -198))
    )
    everything = {"replicas": 2, "selector": {"matchLabels": {}}}
    known = [EDGE, raw_object("ReplicaSet", "mail-55d", "post", metadata={"uid": "o-mail-55d"}, spec=everything), one]
    assert "replacement mail-55d-new" in died(tmp_path, *known, sibling, later)
    assert "no replacement was found" in died(tmp_path, *known, sibling)


def waits(name: str, reason: str, **more: Any) -> Object:
    state = {"waiting": {"reason": reason, "message": "x"}}
    status = {"name": "app", "ready": False, "restartCount": 0, "image": "i", "state": state, **more}
    return post_pod(name, made=-500, status={"phase": "Pending", "containerStatuses": [status]})


def test_unstarted_containers_have_not_ended(tmp_path: Path) -> None:
    waiting = [
        waits("image", "ImagePullBackOff"),
        waits("key", "CreateContainerConfigError"),
        waits("init", "PodInitializing"),
        waits("path", "CrashLoopBackOff", lastState={"terminated": exited(128, "StartError", -20, -20)}),
    ]
    one = post_pod("crashed", status=statuses(exited(1, "Error", -100)))
    page = said(tmp_path, [EDGE, *waiting, one], "died", "-A")
    summary = "x 1 pod ended or was deleted in the last 60 min: likely its own process."
    check_texts(page, (summary, "Not counted: 3 pods with a container that never began."))
    counted, _, apart = page.partition("Never began WHEN")
    assert "crashed/app" in counted
    check_texts(apart, ("image/app", "key/app", "path/app"), "init/app")
    page = said(tmp_path, [EDGE, *waiting], "died", "-A")
    assert "ok Nothing has ended in the last 60 min, according to pods and events. Not counted: 3 pods" in page
    assert "Ended in the last hour" not in said(tmp_path, [EDGE, *waiting], "node", NODE)
    ends = data("died", "-A", "--snapshot", str(tmp_path / "list.json"))["items"]
    assert {one["name"] for one in ends} == {"image", "key", "path"}


def test_failed_hook_ended_started_container(tmp_path: Path) -> None:
    page = said(tmp_path, [EDGE, waits("hook", "PostStartHookError")], "died", "-A")
    check_texts(page, "x 1 pod ended or was deleted", "Not counted")


CNI: Final = "container runtime network not ready: NetworkReady=false message:cni plugin not initialized"
GOES_DOWN: Final = "node is shutting down"


@pytest.mark.parametrize("message", [CNI, GOES_DOWN])
def test_kubelet_message_explains_unready_node(message: str, tmp_path: Path) -> None:
    unready = raw_condition("Ready", "False", message=message, lastHeartbeatTime=at(0), lastTransitionTime=at(-100))
    objects = [edge(unready), post_pod()]
    assert f"Its kubelet says: {message}." in said(tmp_path, objects, "node", NODE)
    assert f"Its kubelet says: {message}." in said(tmp_path, objects, "explain", f"node/{NODE}")
    assert f"The kubelet says: {message}." in said(tmp_path, objects, "report", "-A")
    report = said(tmp_path, [edge(unready, name=name) for name in ("a1", "a2")], "report", "-A")
    check_texts(report, ("x 2 nodes are not Ready No pod", f"The kubelet says: {message}."))


@pytest.mark.parametrize("status", ["Unknown", "True"])
def test_node_that_is_ready_or_silent_gives_no_reason(status: str, tmp_path: Path) -> None:
    old = raw_condition("Ready", status, message=GOES_DOWN, lastHeartbeatTime=at(0), lastTransitionTime=at(-100))
    assert "shutting down" not in said(tmp_path, [edge(old)], "node", NODE)
    assert "shutting down" not in said(tmp_path, [edge(old)], "report", "-A")


SYSTEM: Final = "System OOM encountered, victim process: fluentbit, pid: 77"
CGROUP: Final = (
    "Memory cgroup out of memory: Killed process 4201 (ruby) total-vm:9000kB, anon-rss:8000kB, oom_score_adj:9"
)


def out_of_memory(*kills: tuple[str, float], limit: str = "2Gi", reason: str = "OOMKilled") -> list[Object]:
    box = raw_container(limits={"memory": limit} if limit else None)
    reasons = {SYSTEM: "SystemOOM"}
    evidence = [seen(f"Node/{NODE}", reasons.get(text, "OOMKilling"), text, when) for text, when in kills]
    return [EDGE, post_pod(containers=[box], status=statuses(exited(137, reason, -100))), *evidence]


@pytest.mark.parametrize("kills", [((SYSTEM, -100), (CGROUP, -100)), ((CGROUP, -106), (SYSTEM, -101))])
def test_both_oom_events_leave_limit_and_node_open(kills: Any, tmp_path: Path) -> None:
    page = died(tmp_path, *out_of_memory(*kills))
    assert "Either the kernel killed container app: it reached its own memory limit" in page
    assert f"or the kernel killed container app: node {NODE} ran out of memory" in page
    assert page.count("(ruby)") == page.count("fluentbit") == 1


def crashed(code: int, reason: str, reboot: float | None = -595, sandbox: float | None = -590) -> list[Object]:
    """A container that ended 600 s ago and restarted 540 s ago."""
    objects = [EDGE, post_pod(status=statuses(exited(code, reason, -600), runs=-540))]
    if reboot is not None:
        objects.append(seen(f"Node/{NODE}", "Rebooted", f"Node {NODE} has been rebooted, boot id: 7f", reboot))
    if sandbox is not None:
        objects.append(seen(f"Pod/{MAIL}", "SandboxChanged", "Pod sandbox changed, it will be killed", sandbox))
    return objects


@pytest.mark.parametrize("reboot", [None, -5000, -300, -30])
def test_another_restart_of_the_node_did_not_end_it(reboot: float | None, tmp_path: Path) -> None:
    assert "restarted" not in died(tmp_path, *crashed(255, "Error", reboot, None)).partition("Proof")[0]
    assert "node restarted" not in died(tmp_path, *crashed(1, "Error", reboot, None))


def stopped(code: int, ended: float, hook: float | None) -> list[Object]:
    """A pod with a grace period of 40 s that its ReplicaSet deleted 300 s ago."""
    box = raw_container("app", lifecycle={"preStop": {"exec": {"command": ["drain"]}}})
    status = statuses(exited(code, "Error" if code else "Completed", ended), runs=None)
    one = post_pod(metadata=going(-260, 40), containers=[box], status=status, terminationGracePeriodSeconds=40)
    evidence = [stop_of(MAIL, -300), seen(SET, "SuccessfulDelete", f"Deleted pod: {MAIL}", -300, "rs")]
    if hook is not None:
        evidence.append(of_container(MAIL, "FailedPreStopHook", "PreStopHook failed", hook))
    return [EDGE, one, *evidence]


def of_job(reason: str, when: float) -> list[Object]:
    deleted = seen("Job/import-3", "SuccessfulDelete", "Deleted pod: import-3-bcdfg", -700, "job-controller")
    return [EDGE, deleted, seen("Job/import-3", reason, "x", when, "job-controller")]


def not_created(message: str) -> list[Object]:
    state = {"waiting": {"reason": "CreateContainerError", "message": message}}
    status = {"phase": "Pending", "containerStatuses": [{"name": "app", "restartCount": 0, "state": state}]}
    return [EDGE, post_pod(status=status)]


def running_late(ends: float) -> Object:
    """A pod that was deleted with a grace period of 30 s, and still runs."""
    state = {"name": "app", "restartCount": 0, "state": {"running": {"startedAt": at(-6000)}}}
    return post_pod(metadata=going(ends, 30), status={"containerStatuses": [state]})


def scaled_down(lead: str) -> list[Object]:
    deleted = seen(SET, "SuccessfulDelete", f"{lead}Deleted pod: {MAIL}", -700, "rs")
    text = f"{lead}Scaled down replica set mail-55d to 4"
    return [EDGE, deleted, seen("Deployment/mail", "ScalingReplicaSet", text, -701, "d")]


KILLING: Final = stop_of(MAIL, -700)
ASSIGNED: Final = seen(f"Pod/{MAIL}", "Scheduled", f"Successfully assigned post/{MAIL} to {NODE}", -5000, "scheduler")
NOT_READY: Final = seen(f"Pod/{MAIL}", "NodeNotReady", "Node is not ready", -860, "node-controller")
NOT_IN_CLOUD: Final = f"Deleting node {NODE} because it does not exist in the cloud provider"
CLOUD: Final = [
    *(raw_node("edge-9"), post_pod("other", made=-100)),
    seen(f"Node/{NODE}", "DeletingNode", NOT_IN_CLOUD, -800, "ccm"),
]
REGISTERED: Final = seen(f"Node/{NODE}", "RegisteredNode", f"Registered Node {NODE} in Controller", -400, "nc")
DOWN: Final = [
    *(*CLOUD[:2], KILLING),
    seen(f"Pod/{MAIL}", "ScaleDown", "deleting pod for node scale down", -702, "cluster-autoscaler"),
]
REMOVING: Final = seen(f"Node/{NODE}", "RemovingNode", f"Node {NODE} event: Removing Node {NODE} from Controller", -60)
VOLCANO: Final = {"component": "volcano", "host": "edge-1"}
EVICTED: Final = seen(f"Pod/{MAIL}", "Evict", "Pod is evicted", -701, "volcano", source=VOLCANO)
FOUND: Final = f"Found failed daemon pod post/logs-zz9xk on node {NODE}, will try to kill it"
DAEMONS: Final = [
    seen("DaemonSet/logs", "FailedDaemonPod", FOUND, -700, "daemonset-controller"),
    seen("DaemonSet/logs", "SuccessfulDelete", "Deleted pod: logs-zz9xk", -700, "daemonset-controller"),
]
UNTOLERATED: Final = raw_condition(
    "DisruptionTarget",
    lastTransitionTime=at(-701),
    reason="DeletionByDeviceTaintManager",
    message="Device Taint manager: deleting due to NoExecute taint",
)
DEVICE: Final = [
    seen(f"Pod/{MAIL}", "DeviceTaintManagerEviction", "Marking for deletion", -701, "controller-manager"),
    post_pod(metadata=going(-660, 40), status={"conditions": [UNTOLERATED]}),
]
STATIC: Final = of_container("proxy-edge-3", "Killing", "Stopping container proxy", -700, "proxy")
MIRROR: Final = {**STATIC, "involvedObject": {**STATIC["involvedObject"], "uid": "0c9e5b1f2a3d4e5f60718293a4b5c6d7"}}
IN_CLOUD: Final = (
    *(f"pod/{MAIL} in namespace post, on {NODE}", "Likely, not certain"),
    "its Node object is gone; its machine no longer exists in the cloud",
)
DRAIN_FIRST: Final = (
    "Its node restarted, and ended container app without the kubelet.",
    "Likely, not certain: also possible:",
    "event of its node, Rebooted",
    "drain a node before it is restarted",
)
HOOK: Final = "app: correct the preStop hook, which failed"
ON_SIGTERM: Final = "app: let it end on SIGTERM"
LATE_KILL: Final = "It has not ended: its grace period of 30 s is over, and these containers run: app."
UNKILLED: Final = seen(f"Pod/{MAIL}", "FailedKillPod", "error killing pod: context deadline exceeded", -10, count=18)


APPARMOR: Final = "apparmor failed to apply profile: write /proc/thread-self/attr/apparmor/exec"
CASES: Final[Mapping[str, Case]] = {
    "OOM event of the same second comes first": Case(
        out_of_memory((SYSTEM, -108), (CGROUP, -100)),
        (
            "app: it reached its own memory limit of 2Gi",
            "Likely, not certain: also possible: node out of memory",
            *("(ruby)", "fluentbit"),
        ),
    ),
    **{
        f"cgroup OOM without a limit is not the machine, {reason}": Case(
            out_of_memory((CGROUP, -100), limit="", reason=reason),
            (f"node {NODE}, or the cgroup of all its pods, ran out of memory", "(ruby)"),
        )
        for reason in ("OOMKilled", "Error")
    },
    "system OOM is not the cgroup": Case(out_of_memory((SYSTEM, -100), limit=""), (), "cgroup of all its pods"),
    "two likely causes are not all": Case(
        out_of_memory(("Killed process 4 (ruby) total-vm:9kB", -100), reason="Error"),
        "Both fit the remaining evidence. Also possible: node out of memory",
    ),
    **{
        f"a restart of the node ended it: {code}, sandbox {sandbox}": Case(
            crashed(code, "Error" if code else "Completed", sandbox=sandbox),
            (*DRAIN_FIRST, *([] if sandbox is None else ["event SandboxChanged"])),
            ("read the log", *(["event SandboxChanged"] if sandbox is None else [])),
        )
        for code, sandbox in ((255, -590), (255, None), (137, -590), (0, -580), (143, -560))
    },
    **{
        f"the runtime lost the container of a node that restarted, {reboot}": Case(
            crashed(255, "Unknown", reboot),
            (
                f"Node {NODE} restarted: the runtime lost container app: unknown how it ended.",
                "event of its node, Rebooted",
            ),
            "check whether the node",
        )
        for reboot in (-595, -602)
    },
    "the runtime lost the container": Case(crashed(255, "Unknown", None), "check whether the node"),
    **{
        f"no stop on a node that the cloud removed, {len(events)} events": Case(
            [*CLOUD, *events], IN_CLOUD, ("Perhaps", "kubectl get nodes")
        )
        for events in ((ASSIGNED, NOT_READY), (ASSIGNED,))
    },
    **{
        f"the node registered again, {len(events)} events": Case(
            [*CLOUD, REGISTERED, *events], "The remaining evidence does not show what ended it"
        )
        for events in ((ASSIGNED, NOT_READY), (ASSIGNED,))
    },
    "the node of a deleted pod without its object": Case(
        DOWN, (f"on {NODE} ", f"to remove node {NODE}", "kubectl get nodes")
    ),
    "the removal of the node is known": Case([*DOWN, REMOVING], (), "kubectl get nodes"),
    "the kubelet's stop names the node": Case([EDGE, EVICTED, KILLING], f"in namespace post, on {NODE}"),
    "the host of another program is not the node": Case([EDGE, EVICTED], (), "on edge-1"),
    "a DaemonSet that deletes a failed pod names the node": Case(
        [EDGE, *DAEMONS],
        (f"pod/logs-zz9xk in namespace post, on {NODE}", "Its controller deleted the pod, which had ended"),
        ("The kubelet stopped the pod", "node gone", "Node object is unknown"),
        "logs-zz9xk",
    ),
    "the preStop hook took all of the grace period": Case(
        stopped(137, -258, -258),
        (
            "its preStop hook took all of the grace period of 40 s (FailedPreStopHook)",
            "app: let the preStop hook end sooner",
            "raise terminationGracePeriodSeconds above 40 s",
        ),
        ("let it end on SIGTERM", "nothing: "),
    ),
    "the preStop hook failed at once": Case(
        stopped(0, -298, -299), ("its preStop hook failed after 1 s (FailedPreStopHook)", HOOK)
    ),
    "the preStop hook failed, and it ignored SIGTERM": Case(stopped(137, -259, -299), (HOOK, ON_SIGTERM)),
    "it ignored SIGTERM": Case(stopped(137, -259, None), ON_SIGTERM, "preStop hook failed"),
    **{
        f"a taint of a device is none of the node, {one['kind']}": Case(
            [EDGE, one, KILLING],
            (
                "its ResourceClaim does not tolerate a taint of its device",
                "in the request of its ResourceClaim or template",
            ),
            "taint of its node",
        )
        for one in DEVICE
    },
    **{
        f"the Job's event explains the deletion, {reason}": Case(
            of_job(reason, -699), f"Job import-3 removed the pod: {why}.", "Either", "import-3-bcdfg"
        )
        for reason, why in (
            ("DeadlineExceeded", "the Job had ended (DeadlineExceeded)"),
            ("BackoffLimitExceeded", "the Job had ended (BackoffLimitExceeded)"),
            ("Suspended", "the Job was suspended"),
        )
    },
    **{
        f"an early event of the Job does not, {reason}": Case(
            of_job(reason, -1500), "because fewer may run at once", name="import-3-bcdfg"
        )
        for reason in ("DeadlineExceeded", "BackoffLimitExceeded", "Suspended")
    },
    **{
        f"an eviction for an unknown resource, {message!r}": Case(
            [failed("Evicted", message, -200, TARGET)],
            "The kubelet evicted the pod; the resource is unknown. At 09:58:20 UTC",
            "Unknown what ended it",
        )
        for message in ("", "The node was low on resource: example.com/x.")
    },
    "the kubelet evicts no static pod": Case(
        [EDGE, OTHER, MIRROR], "stopped the static pod: its manifest", "evicted:", "proxy-edge-3"
    ),
    **{
        f"a ReplicaSet deletes only pods that run, {lead!r}": Case(
            scaled_down(lead), "ReplicaSet mail-55d removed the pod: it was scaled down to 4. At", "also possible"
        )
        for lead in ("", "(combined from similar events): ")
    },
    "a deleted pod that runs has not ended": Case(
        [EDGE, running_late(-2370), UNKILLED], (LATE_KILL, "event FailedKillPod")
    ),
    "a deleted pod has time": Case([EDGE, running_late(10), UNKILLED], "event FailedKillPod", LATE_KILL),
    **{
        f"its node is silent, {ends}": Case(
            [edge(raw_condition("Ready", "Unknown")), running_late(ends)], (), "It has not ended"
        )
        for ends in (-2370, 10)
    },
    **{
        f"the runtime could not start it: {what}": Case(
            not_created(message), (f"Container app could not start: {what} (CreateContainerError).", "What helps")
        )
        for message, what in (
            (f"{APPARMOR}: no such file or directory", "its AppArmor profile is not loaded on the node"),
            ('failed to stat "/srv/blobs": no such file or directory', 'path "/srv/blobs" does not exist on the node'),
            ("failed to apply OCI options: no command specified", "it has no command"),
        )
    },
    "the runtime reports another error": Case(
        not_created("some other error"),
        "Container app could not start: the runtime reports an error (CreateContainerError).",
        "What helps",
    ),
    **{
        f"a name that an event has is not mistyped, {event['reason']}": Case(
            [event, post_pod(f"{MAIL[:-1]}f", made=-100), raw_node(NODE)], (), "Did you mean"
        )
        for event in (ASSIGNED, seen(f"Pod/{MAIL}", "FailedScheduling", "0/3 nodes", -500))
    },
    "a name that nothing has may be mistyped": Case(
        [post_pod(f"{MAIL[:-1]}f", made=-100), raw_node(NODE)], "Did you mean"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_page_claims_no_other_end(case: Case, tmp_path: Path) -> None:
    check_texts(died(tmp_path, *case.objects, name=case.name), case.has, case.lacks)


@pytest.mark.parametrize(
    ("reason", "message", "by"),
    [("Evict", "Pod is evicted, because of preempt", "volcano"), ("Evicted", "Evicted by team robot", "robot")],
)
@pytest.mark.parametrize("gone", [True, False])
def test_stop_that_another_program_announces_has_its_event(
    reason: str, message: str, by: str, gone: bool, tmp_path: Path
) -> None:
    there = [] if gone else [post_pod(metadata=going(-661, 40))]
    page = died(tmp_path, EDGE, *there, KILLING, seen(f"Pod/{MAIL}", reason, message, -701, by))
    assert page.count(f"event {reason} at") == 1
    assert message in page
    assert message not in died(tmp_path, EDGE, *there, KILLING, seen(f"Pod/{MAIL}", reason, message, -4000, by))


def test_similar_names_are_searched_only_when_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_names: object) -> None:
        raise AssertionError

    monkeypatch.setattr("cluster_io.in_memory.near_names", fail)
    assert "1 pod" in said(tmp_path, [EDGE, OTHER, KILLING], "died", "-A")


def test_disk_pressure_shows_recent_kubelet_events(tmp_path: Path) -> None:
    pressed = edge(raw_condition("DiskPressure", lastHeartbeatTime=at(0), lastTransitionTime=at(-700)))
    short = "Attempting to reclaim ephemeral-storage"
    freed = "Failed to garbage collect required amount of images, only found 0 bytes eligible to free"
    for when in (-60, -2000):
        evidence = [seen(f"Node/{NODE}", "EvictionThresholdMet", short, when, count=40)]
        evidence.append(seen(f"Node/{NODE}", "FreeDiskSpaceFailed", freed, when))
        page = said(tmp_path, [pressed, post_pod(), *evidence], "node", NODE)
        assert (f"EvictionThresholdMet 60 s ago: {short}." in page) == (when == -60)
        assert ("FreeDiskSpaceFailed 60 s ago: Failed to garbage collect" in page) == (when == -60)
