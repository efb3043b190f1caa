"""Deaths that affect a whole node: memory, disk, inodes or process ids run out; restarts; taints; a lost node."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from podrules.ending.died.cause import Cause
from tests.controlplane.client import ApiError, Object
from tests.objects import raw_node
from tests.real_node.deaths.of_pods import removals
from tests.real_node.deaths.pods import (
    KEPT,
    OBEYS,
    OBEYS_143,
    STUBBORN,
    container,
    hog,
    hold,
    one,
    owned,
    pod,
    several,
    spec,
    web,
)
from tests.real_node.deaths.scenario import (
    Made,
    Phase,
    Scenario,
    World,
    any_killed,
    await_test,
    both,
    either,
    ended,
    gone,
    leaving,
    phase,
    restarted,
    running,
    said,
    stopped,
    write_file,
)
from tests.real_node.deaths.shutdown_bus import ShutdownBus
from tests.waiting import wait_for

_MIB: Final = 1 << 20
_QUICK: Final = {"evictionPressureTransitionPeriod": "5s", "volumeStatsAggPeriod": "10s"}
"""The node recovers from pressure at once, and volumes are measured often."""
_NO_EVICTION: Final = {"memory.available": "1Mi", "nodefs.available": "1%", "imagefs.available": "1%"}
_CRITICAL: Final = "system-node-critical"
_SYSTEM: Final = "kube-system"
_FILLER: Final = "filler"


def phases_of_nodes() -> Iterator[Phase]:
    """One after the other; those that lose the node come last."""
    yield from _pressures()
    yield _out_of_memory()
    yield _kubelet_preemption()
    yield _taint()
    yield _lost_containers()
    yield _while_kubelet_is_away()
    yield _shutdown()
    yield from _node_lost()


# Evictions


def _pressures() -> Iterator[Phase]:
    hard = [*_evicted(Cause.EVICTED_MEMORY, "evicted-memory"), _refused_under_pressure()]
    soft = _evicted(Cause.EVICTED_MEMORY, "evicted-memory-soft")
    disk = _evicted(Cause.EVICTED_DISK, "evicted-disk")
    inodes = _evicted(Cause.EVICTED_INODES, "evicted-inodes")
    pids = _evicted(Cause.EVICTED_PIDS, "evicted-pids")
    for name, scenarios, before, trigger, after in (
        ("memory pressure", hard, _little_memory, _take_memory, make_plain),
        ("memory pressure, soft", soft, _little_memory_softly, _take_more_memory, make_plain),
        ("disk pressure", disk, _evicting({"nodefs.available": "100Mi"}), _take_disk, _give_back),
        ("inode pressure", inodes, _evicting({"nodefs.inodesFree": "5000"}), _take_inodes, _give_back),
        ("pid pressure", pids, _few_pids, _take_pids, _give_back),
    ):
        yield Phase(name, scenarios, before=before, trigger=trigger, after=after, seconds=300)


def _evicted(cause: Cause, slug: str) -> list[Scenario]:
    """No pod alone causes the pressure: it continues until the last is evicted."""
    mount: dict[str, Any] = {"volumeMounts": [{"name": "cache", "mountPath": "/cache"}]}
    volume: dict[str, Any] = {"volumes": [{"name": "cache", "emptyDir": {}}]}
    uses = f"dd if=/dev/zero of=/cache/x bs=1M count=20; {hold(40)} & {OBEYS}"
    app = container("app", uses, **mount)
    burstable = container("app", uses, "10m", "100Mi/200Mi", **mount)
    guaranteed = container("app", OBEYS, "10m/10m", "32Mi/32Mi")
    stubborn = container("app", STUBBORN, memory="8Mi")
    happened = both(either(phase("Failed", "Succeeded"), gone), said("Evicted"))
    made = {
        "best-effort": web(app, **volume),
        "burstable-of-two": web(burstable, container("proxy", OBEYS_143), restartPolicy="Never", **volume),
        "guaranteed": web(guaranteed),
        "ignores-sigterm": web(stubborn),
        "in-deployment": owned("Deployment", spec(app, **volume)),
        "in-job": owned("Job", spec(app, restartPolicy="Never", **volume), backoffLimit=0),
    }
    return several(cause, slug, made, happened, ready=running, settle=6)


def _evicting(thresholds: Mapping[str, str]) -> Callable[[World], None]:
    def before(world: World) -> None:
        world.node.restart_kubelet(evictionHard={**_NO_EVICTION, **thresholds}, **_QUICK)

    return before


def _little_memory(world: World) -> None:
    """All pods together get 2000Mi, and are evicted where less than 900Mi of them is left."""
    _limit_pods(world, 2000, {"memory.available": "900Mi"})


def _little_memory_softly(world: World) -> None:
    """A soft threshold is judged by the whole machine's memory alone: it lies a little below what is free now."""
    free = world.node.ask_kubelet("stats/summary")["node"]["memory"]["availableBytes"]
    soft = {"memory.available": str(free - 1500 * _MIB)}
    grace = {"memory.available": "3s"}
    world.node.restart_kubelet(evictionSoft=soft, evictionSoftGracePeriod=grace, evictionMaxPodGracePeriod=4, **_QUICK)


def _take_more_memory(world: World) -> None:
    _fill(world, hold(2500))


def _refused_under_pressure() -> Scenario:
    """A pod arrives when the node is already under pressure."""

    def create(made: Made) -> None:
        await_test(made, _under_pressure, "under pressure")
        made.create(pod("web", made.namespace, container("app", OBEYS), nodeName="real"))

    return one(Cause.REJECTED, "rejected", "memory-pressure", (), phase("Failed"), pod="web", act=create)


def _under_pressure(made: Made) -> bool:
    node = made.api.get("v1", "Node", made.node.name)
    return any(
        entry["type"] == "MemoryPressure" and entry["status"] == "True" for entry in node["status"]["conditions"]
    )


def _limit_pods(world: World, mebibytes: int, thresholds: Mapping[str, str]) -> None:
    node = world.plane.api.get("v1", "Node", world.node.name)
    capacity = int(node["status"]["capacity"]["memory"].removesuffix("Ki")) << 10
    world.node.restart_kubelet(
        evictionHard={**_NO_EVICTION, **thresholds},
        systemReserved={"memory": str(capacity - mebibytes * _MIB)},
        **_QUICK,
    )


def _take_memory(world: World) -> None:
    """A pod that the kubelet never evicts keeps the pressure up."""
    _fill(world, hold(1150))


def _fill(world: World, script: str) -> None:
    api, main = world.plane.api, container("filler", script)
    api.create(pod(_FILLER, _SYSTEM, main, priorityClassName=_CRITICAL, nodeName="real"))
    status = partial(api.get, "v1", "Pod", _FILLER, _SYSTEM)
    wait_for(lambda: status()["status"].get("phase") == "Running", "the filler runs", timeout=60)


def _take_disk(world: World) -> None:
    write_file(world.node.kubelet_folder / _FILLER, 290 * _MIB)


def _take_inodes(world: World) -> None:
    folder = world.node.kubelet_folder / f"{_FILLER}s"
    folder.mkdir()
    for number in range(16500):
        (folder / str(number)).touch()


_END_THREADS = threading.Event()
_THREADS: Final[list[threading.Thread]] = []


def _few_pids(world: World) -> None:
    most = min(int(Path("/proc/sys/kernel", name).read_text()) for name in ("pid_max", "threads-max"))
    now = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    # The pods' own needs come first.
    _evicting({"pid.available": str(most - now - 600)})(world)


def _take_pids(world: World) -> None:
    _END_THREADS.clear()
    size = threading.stack_size(64 << 10)
    for _ in range(1500):
        thread = threading.Thread(target=_END_THREADS.wait, daemon=True)
        thread.start()
        _THREADS.append(thread)
    threading.stack_size(size)


def _give_back(world: World) -> None:
    (world.node.kubelet_folder / _FILLER).unlink(missing_ok=True)
    shutil.rmtree(world.node.kubelet_folder / f"{_FILLER}s", ignore_errors=True)
    _END_THREADS.set()
    while _THREADS:
        _THREADS.pop().join()
    make_plain(world)


def make_plain(world: World) -> None:
    """The node as it was, without a trace of pressure."""
    _remove_filler(world)
    world.node.restart_kubelet(**_QUICK)
    wait_for(lambda: _is_calm(world), "the node recovers", timeout=90)


def _is_calm(world: World) -> bool:
    node = world.plane.api.get("v1", "Node", world.node.name)
    pressures = [entry for entry in node["status"]["conditions"] if entry["type"].endswith("Pressure")]
    return all(entry["status"] == "False" for entry in pressures) and not node["spec"].get("taints")


def _remove_filler(world: World) -> None:
    world.plane.api.delete(pod(_FILLER, _SYSTEM, container("filler", "true")), grace_period_seconds=1)
    left = partial(world.plane.api.list_items, "v1", "Pod", _SYSTEM, fieldSelector=f"metadata.name={_FILLER}")
    wait_for(lambda: not left(), "the filler is gone", timeout=60)


# The kernel


def _out_of_memory() -> Phase:
    """All pods together get 700Mi; the filler is spared, for its score is far lower."""
    cause, slug = Cause.NODE_OUT_OF_MEMORY, "node-out-of-memory"
    grows = f"sleep 2; exec {hog(600)}"
    child = f"sleep 2; {hog(600)}; exit $?"
    tools: dict[str, Any] = {"find_container": True, "settle": 4}
    # The first process itself keeps the memory.
    waits = "mkfifo /tmp/p; sleep 100000 < /tmp/p & exec dd if=/dev/zero of=/tmp/p bs=150M count=1"
    sits = container("app", waits)

    def crowd(made: Made) -> None:
        small = {"resources": {"requests": {"memory": "300Mi"}}}
        main = {**container("crowd", f"{hog(520)}; {OBEYS}"), **small}
        made.create(pod("crowd", made.namespace, main, priorityClassName=_CRITICAL, nodeName="real"))

    made = {
        "restarts": web(container("app", grows)),
        "never": web(container("app", grows), restartPolicy="Never"),
        "limit-above": web(container("app", grows, memory="16Mi/1Gi")),
        "child": web(container("app", child, memory="16Mi")),
        "of-two": web(container("app", grows), container("proxy", OBEYS, memory="16Mi/64Mi")),
        "in-job": owned("Job", spec(container("app", grows), restartPolicy="Never")),
    }
    return Phase(
        "node out of memory",
        [
            *several(cause, slug, made, any_killed, **tools),
            one(cause, slug, "bystander", web(sits), any_killed, ready=running, act=crowd, **tools),
            *_out_of_memory_earlier(),
        ],
        at_once=1,
        before=_crowded,
        after=make_plain,
    )


def _out_of_memory_earlier() -> list[Scenario]:
    """The kernel chose a container of another pod; this one lived on, and ended later."""
    slug = "node-out-of-memory-earlier"
    loses = container("loses", f"sleep 1; exec {hog(600)}")

    def crowd(made: Made) -> None:
        made.create(pod("batch", made.namespace, loses, restartPolicy="Never"))
        other = made.api.path("v1", "Pod", made.namespace, "batch")
        await_test(made, lambda _: made.api.request("GET", other)["status"].get("phase") == "Failed", "crowded")

    def delete(made: Made) -> None:
        crowd(made)
        made.api.delete(made.last)

    limited: dict[str, Any] = {"memory": "16Mi/64Mi"}
    tools: dict[str, Any] = {"ready": running, "container": "app"}
    exits = {
        "exit-0": web(container("app", "sleep 25; exit 0")),
        "exit-1": web(container("app", "sleep 25; exit 1", **limited)),
        "exit-137": web(container("app", "sleep 25; exit 137", **limited)),
    }
    deleted = {
        "deleted": web(container("app", OBEYS_143, **limited), metadata=KEPT),
        "deleted-137": web(container("app", STUBBORN), metadata=KEPT),
    }
    return [
        *several(Cause.APPLICATION, slug, exits, ended(), act=crowd, **tools),
        *several(Cause.DELETED, slug, deleted, stopped, act=delete, **tools),
    ]


def _crowded(world: World) -> None:
    _limit_pods(world, 700, {})
    _fill(world, hold(150))


# The kubelet makes room


def _kubelet_preemption() -> Phase:
    cause, slug = Cause.KUBELET_PREEMPTION, "kubelet-preemption"
    app = container("app", OBEYS, "1200m/1200m", "32Mi/32Mi")
    burstable = container("app", OBEYS, "1200m")
    stubborn = container("app", STUBBORN, "1200m")
    preempted = either(phase("Failed", "Succeeded"), gone)
    tools: dict[str, Any] = {"ready": running, "settle": 6}
    made = {
        "guaranteed": web(app),
        "of-two": web(burstable, container("proxy", OBEYS), restartPolicy="Never"),
        "ignores-sigterm": web(stubborn),
        "in-deployment": owned("Deployment", spec(burstable)),
    }
    scenarios = several(cause, slug, made, preempted, act=_critical_pod, **tools)
    scenarios.append(one(cause, slug, "static-pod", web(burstable), preempted, act=_static_pod, **tools))
    return Phase("preempted by the kubelet", scenarios, at_once=1, after=_no_static_pods)


def _critical_pod(made: Made) -> None:
    main = container("agent", OBEYS, "1500m")
    made.create(pod("agent", made.namespace, main, priorityClassName=_CRITICAL, nodeName="real"))


def _static_pod(made: Made) -> None:
    manifest = pod("agent", made.namespace, container("agent", OBEYS, "1500m"), priorityClassName=_CRITICAL)
    (made.node.static_pods / "agent.yaml").write_text(yaml.safe_dump(manifest))


def _no_static_pods(world: World) -> None:
    for file in world.node.static_pods.iterdir():
        file.unlink()


# Taints


def _taint() -> Phase:
    tolerates = [{"key": "example.com/away", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}]
    app = container("app", OBEYS)
    slug, cause = "taint-eviction", Cause.TAINT_EVICTION
    later = one(cause, slug, "tolerates-2-s", web(app, tolerations=tolerates), gone, ready=running)
    return Phase("NoExecute taint", [*removals(cause, slug, act=None), later], trigger=_set_taint, after=_remove_taint)


def _set_taint(world: World) -> None:
    taints = [{"key": "example.com/away", "value": "yes", "effect": "NoExecute"}]
    world.plane.api.patch(raw_node(world.node.name), {"spec": {"taints": taints}})


def _remove_taint(world: World) -> None:
    world.plane.api.patch(raw_node(world.node.name), {"spec": {"taints": None}})


# Restarts


def _lost_containers() -> Phase:
    """A container vanishes while the kubelet and the runtime are stopped."""
    cause, slug = Cause.CONTAINER_LOST, "container-lost"
    app = container("app", OBEYS)
    beside = container("proxy", OBEYS, memory="16Mi/64Mi")
    never: dict[str, Any] = {"restartPolicy": "Never"}
    seen = either(restarted(), ended(), phase("Failed"))
    made = {
        "restarts": web(app),
        "never": web(app, **never),
        "of-two": web(app, beside),
        "in-job": owned("Job", spec(app, **never), backoffLimit=2),
        "in-deployment": owned("Deployment", spec(app)),
    }
    scenarios = several(cause, slug, made, seen, container="app", ready=running, settle=10)
    return Phase("lost containers", scenarios, trigger=_lose)


def _lose(world: World) -> None:
    every = world.plane.api.list_items("v1", "Pod")
    pods = [entry for entry in every if entry["metadata"]["namespace"].startswith("container-lost-")]
    world.node.stop_kubelet()
    for entry in pods:
        identity = world.node.containers(entry)["app"]
        world.node.ctr("tasks", "kill", "--signal", "SIGKILL", identity)
        wait_for(partial(_forgotten, world, identity), f"{identity} is forgotten", timeout=30)
    world.node.restart_containerd()
    world.node.start_kubelet(**_QUICK)


def _forgotten(world: World, identity: str) -> bool:
    """Remove a container; the runtime itself removes the task of one that ended, a little later."""
    with contextlib.suppress(subprocess.CalledProcessError):
        world.node.ctr("containers", "delete", identity)
    return identity not in world.node.ctr("containers", "list", "--quiet").split()


def _while_kubelet_is_away() -> Phase:
    """Containers end while the kubelet is stopped; it reads their status afterwards."""
    slug, script = "kubelet-away", "while ! test -e /cache/end; do sleep 1; done; "
    mount: dict[str, Any] = {"volumeMounts": [{"name": "cache", "mountPath": "/cache"}]}
    volume: dict[str, Any] = {"volumes": [{"name": "cache", "emptyDir": {}}]}
    memory: dict[str, Any] = {"memory": "16Mi/32Mi"}

    def scenario(cause: Cause, name: str, end: str, **more: Any) -> Scenario:
        made = web(container("app", script + end, **more, **mount), **volume)
        return one(cause, slug, name, made, ended(), container="app", ready=running, settle=6)

    scenarios = [
        scenario(Cause.APPLICATION, "exit-0", "exit 0"),
        scenario(Cause.APPLICATION, "exit-1", "exit 1"),
        scenario(Cause.OWN_MEMORY_LIMIT, "own-memory-limit", f"exec {hog(100)}", **memory),
        scenario(Cause.OWN_MEMORY_LIMIT, "child-memory-limit", f"{hog(100)}; exit $?", **memory),
        scenario(Cause.APPLICATION, "segfault", "sh -c 'kill -SEGV $$'; exit $?"),
    ]
    return Phase("kubelet away", scenarios, trigger=_end_behind_its_back)


def _end_behind_its_back(world: World) -> None:
    world.node.stop_kubelet()
    for entry in world.plane.api.list_items("v1", "Pod"):
        if entry["metadata"]["namespace"].startswith("kubelet-away-"):
            volumes = world.node.kubelet_folder / "pods" / entry["metadata"]["uid"] / "volumes"
            (volumes / "kubernetes.io~empty-dir" / "cache" / "end").touch()
    time.sleep(4)
    world.node.start_kubelet(**_QUICK)


# The end of the node


_BUS: Final[list[ShutdownBus]] = []


def _shutdown() -> Phase:
    cause, slug = Cause.NODE_SHUTDOWN, "node-shutdown"
    app = container("app", OBEYS, memory="16Mi/64Mi")
    over = phase("Failed", "Succeeded")
    never: dict[str, Any] = {"restartPolicy": "Never"}
    made = {
        "alone": web(app),
        "ignores-sigterm": web(container("app", STUBBORN)),
        "of-two": web(app, container("proxy", STUBBORN), **never),
        "exit-0": web(app, **never),
        "critical": web(app, priorityClassName=_CRITICAL),
        "in-deployment": owned("Deployment", spec(app)),
        "in-job": owned("Job", spec(app, **never), backoffLimit=2),
    }
    return Phase(
        "graceful shutdown",
        several(cause, slug, made, over, ready=running, settle=8),
        before=_on_a_bus,
        trigger=lambda _: _BUS[-1].shut_down(),
        after=_off_the_bus,
    )


def _on_a_bus(world: World) -> None:
    bus = ShutdownBus(world.node.folder / "bus.sock")
    _BUS.append(bus)
    with bus.named():
        world.node.restart_kubelet(shutdownGracePeriod="8s", shutdownGracePeriodCriticalPods="3s", **_QUICK)


def _off_the_bus(world: World) -> None:
    make_plain(world)
    _BUS.pop().close()


def _node_lost() -> Iterator[Phase]:
    """The kubelet is silent: its pods are evicted, and once its Node object is deleted they are collected."""
    soon = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}
        for key in ("unreachable", "not-ready")
    ]
    yield Phase(
        "silent node",
        removals(Cause.TAINT_EVICTION, "unreachable", act=None, kept=leaving, removed=leaving, tolerations=soon),
        before=_second_node,
        trigger=lambda world: world.node.stop_kubelet(),
        after=_one_node,
        seconds=150,
    )
    yield Phase(
        "node deleted",
        removals(Cause.NODE_REMOVED, "node-gone", act=None, kept=_leaving_or_failed, removed=gone),
        before=_second_node,
        trigger=_delete_node,
        after=_one_node,
        seconds=240,
    )


def _leaving_or_failed(made: Made) -> bool:
    return leaving(made) or gone(made)


_SECOND: Final = "control-plane"
_END_OF_SECOND: Final = threading.Event()


def _second_node(world: World) -> None:
    """A ready node without pods: if no node is ready, the controller manager evicts no pod."""
    _END_OF_SECOND.clear()
    taints = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    node = world.plane.create_node(_SECOND, taints=taints)
    threading.Thread(target=_heartbeats, args=(world, node), daemon=True).start()
    wait_for(lambda: _is_calm(world), "the node recovers", timeout=90)


def _heartbeats(world: World, node: Object) -> None:
    while not _END_OF_SECOND.wait(4):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        conditions = [{**entry, "lastHeartbeatTime": now} for entry in node["status"]["conditions"]]
        with contextlib.suppress(ApiError):
            world.plane.api.patch(node, {"status": {"conditions": conditions}}, subresource="status")


def _one_node(world: World) -> None:
    _END_OF_SECOND.set()
    world.plane.api.delete(raw_node(_SECOND))
    world.node.start_kubelet(**_QUICK)


def _delete_node(world: World) -> None:
    world.node.stop_kubelet()
    with contextlib.suppress(LookupError):
        world.plane.api.delete(raw_node(world.node.name))
