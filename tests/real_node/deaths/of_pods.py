"""Deaths of whole pods that disturb no other: deleted, evicted by a request, preempted by the scheduler, refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podrules.ending.died.cause import Cause
from tests.controlplane.client import Object
from tests.real_node.deaths.pods import (
    KEPT,
    OBEYS,
    OBEYS_143,
    SLEEPS,
    STUBBORN,
    container,
    one,
    owned,
    pod,
    several,
    spec,
    web,
)
from tests.real_node.deaths.scenario import (
    Act,
    Made,
    Scenario,
    Test,
    both,
    gone,
    gone_or_stopped,
    phase,
    running,
    said,
    stopped,
)
from tests.waiting import wait_for

DONGLES: Final = tuple(f"example.com/dongle-{number}" for number in range(8))
"""Exclusive resources of the node: two pods that need the same one cannot run together."""
IMPORTANT: Final = "shop-critical"


def of_pods() -> list[Scenario]:
    """All scenarios of pods."""
    return [
        *removals(Cause.DELETED, "deleted", act=_delete),
        *_slow_deletions(),
        *removals(Cause.FORCE_DELETED, "force-deleted", act=_force, kept=_ended_after_all),
        *removals(Cause.API_EVICTION, "api-eviction", act=_evict),
        *_preemptions(),
        *_deadlines(),
        *_jobs(),
        *_owners(),
        *_rejected(),
        *_storage(),
    ]


def removals(
    cause: Cause, slug: str, *, act: Act | None, kept: Test = stopped, removed: Test = gone, **more: Any
) -> list[Scenario]:
    """A pod that is removed, in five variations: its reaction to SIGTERM, its owner, whether the object stays.

    Args:
        cause: The truth.
        slug: What happens.
        act: Removes it.
        kept: Seen where a finalizer keeps the object.
        removed: Seen where nothing keeps it.
        more: Fields of the spec.
    """
    tools: dict[str, Any] = {"ready": running, "act": act}
    app = container("app", OBEYS, "10m/100m", "16Mi/64Mi")
    plain, stubborn = container("app", OBEYS_143), container("app", STUBBORN)
    beside = container("proxy", OBEYS_143)
    return [
        one(cause, slug, "gone", web(app, **more), removed, **tools),
        one(cause, slug, "object-kept", web(app, metadata=KEPT, **more), kept, container="app", **tools),
        one(cause, slug, "ignores-sigterm", web(stubborn, metadata=KEPT, **more), kept, container="app", **tools),
        one(cause, slug, "of-two", web(app, beside, metadata=KEPT, **more), kept, **tools),
        one(cause, slug, "in-deployment", owned("Deployment", spec(app, **more)), removed, **tools),
        one(cause, slug, "exit-143", web(plain, metadata=KEPT, **more), kept, container="app", **tools),
    ]


def _delete(made: Made) -> None:
    made.api.delete(made.last)


def _force(made: Made) -> None:
    made.api.delete(made.last, grace_period_seconds=0)


def _ended_after_all(made: Made) -> bool:
    """A finalizer keeps the object even of a pod that is deleted without grace."""
    return phase("Failed", "Succeeded")(made) or gone(made)


def _evict(made: Made) -> None:
    made.api.evict(made.last)


def _slow_deletions() -> list[Scenario]:
    cause = Cause.DELETED
    tools: dict[str, Any] = {"ready": running, "act": _delete, "container": "app"}
    hook: dict[str, Any] = {"lifecycle": {"preStop": {"exec": {"command": ["sleep", "100"]}}}}
    sleeps: dict[str, Any] = {"lifecycle": {"preStop": {"sleep": {"seconds": 3}}}}
    short: dict[str, Any] = {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "exit 1"]}}}}
    mesh = container("mesh", STUBBORN, restartPolicy="Always")

    def kept(name: str, slug: str, main: Mapping[str, Any], **more: Any) -> Scenario:
        return one(cause, slug, name, web(main, metadata=KEPT, **more), stopped, **tools)

    return [
        kept("pid-1", "deleted-sigkill", container("app", SLEEPS)),
        kept("stubborn", "deleted-sigkill", container("app", STUBBORN, memory="8Mi/32Mi")),
        kept("grace-5", "deleted-sigkill", container("app", STUBBORN), terminationGracePeriodSeconds=5),
        kept("sidecar", "deleted-sigkill", container("app", STUBBORN), initContainers=[mesh]),
        kept("never", "deleted-sigkill", container("app", STUBBORN), restartPolicy="Never"),
        kept("exec", "deleted-pre-stop", container("app", OBEYS, **hook)),
        kept("exec-ignores-sigterm", "deleted-pre-stop", container("app", STUBBORN, **hook)),
        kept("sleep", "deleted-pre-stop", container("app", OBEYS, **sleeps), terminationGracePeriodSeconds=4),
        kept("fails", "deleted-pre-stop", container("app", OBEYS, **short)),
        kept("grace-5", "deleted-pre-stop", container("app", OBEYS, **hook), terminationGracePeriodSeconds=5),
    ]


def _preemptions() -> list[Scenario]:
    """Each with a resource of its own, so that they can be made side by side."""
    found = []
    for scenario, dongle in zip(removals(Cause.PREEMPTION, "preemption", act=None), DONGLES, strict=False):
        one_of_it = {"limits": {dongle: "1"}, "requests": {dongle: "1"}}
        for obj in scenario.objects:
            main = _spec(obj)["containers"][0]
            main["resources"] = {key: {**main["resources"].get(key, {}), **one_of_it[key]} for key in one_of_it}
        found.append(scenario._replace(act=_more_important(one_of_it), settle=5))
    return found


def _more_important(resources: Mapping[str, Any]) -> Act:
    def act(made: Made) -> None:
        main = {**container("app", OBEYS), "resources": dict(resources)}
        made.create(pod("checkout", made.namespace, main, priorityClassName=IMPORTANT))

    return act


def _spec(obj: Object) -> Object:
    found: Object = obj["spec"]["template"]["spec"] if "template" in obj["spec"] else obj["spec"]
    return found


def _deadlines() -> list[Scenario]:
    cause, slug = Cause.ACTIVE_DEADLINE, "active-deadline"
    obeys, stubborn = container("app", OBEYS), container("app", STUBBORN)
    init = container("migrate", "sleep 1000")
    over = both(phase("Failed", "Succeeded"), said("DeadlineExceeded"))
    more: dict[str, Any] = {"activeDeadlineSeconds": 4}
    made = {
        "alone": web(obeys, **more),
        "ignores-sigterm": web(stubborn, **more),
        "of-two": web(obeys, {**stubborn, "name": "db"}, restartPolicy="Never", **more),
        "in-init": web(obeys, initContainers=[init], **more),
        "in-job": owned("Job", spec(obeys, restartPolicy="Never", **more), backoffLimit=0),
    }
    return several(cause, slug, made, over, settle=8)


def _jobs() -> list[Scenario]:
    """The target pod ran, and the Job controller removed it."""
    cause, slug = Cause.JOB_ENDED, "job-ended"
    # The first index fails, or succeeds; the second runs on until it is removed.
    fails = 'case "$JOB_COMPLETION_INDEX" in 0) sleep 6; exit 42;; esac; trap "exit 0" TERM; sleep 100000 & wait'
    works = fails.replace("exit 42", "exit 0")
    parallel = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    policy = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
    enough = {"rules": [{"succeededIndexes": "0"}]}
    never: dict[str, Any] = {"restartPolicy": "Never"}

    def job(script: str, **more: Any) -> Object:
        return owned("Job", spec(container("app", script), **never), **more)

    def kept(script: str, **more: Any) -> Object:
        return owned("Job", spec(container("app", script), **never), metadata=KEPT, **more)

    second = {
        "backoff-limit": job(fails, backoffLimit=0, **parallel),
        "pod-failure-policy": kept(fails, podFailurePolicy=policy, **parallel),
        "success-policy": kept(works, successPolicy=enough, **parallel),
    }
    deadline = kept(OBEYS, activeDeadlineSeconds=8)
    suspended = {"suspended": job(OBEYS), "suspended-kept": kept(OBEYS)}
    # Its Job has not ended: it is removed, or makes fewer at once.
    fewer = kept(OBEYS)
    tools: dict[str, Any] = {"ready": running, "settle": 5}
    return [
        *several(cause, slug, second, gone_or_stopped, act=_take_index_1, settle=5),
        one(cause, slug, "deadline", deadline, gone_or_stopped, **tools),
        *several(cause, slug, suspended, gone_or_stopped, act=_suspend, **tools),
        one(Cause.OWNER, slug, "deleted", job(OBEYS), gone, act=_delete_owner, **tools),
        one(Cause.OWNER, slug, "fewer-at-once", fewer, gone_or_stopped, act=_no_parallelism, **tools),
    ]


def _take_index_1(made: Made) -> None:
    """The target pod is the second."""

    def second() -> Object | None:
        pods = made.api.list_items("v1", "Pod", made.namespace)
        mark = "batch.kubernetes.io/job-completion-index"
        return next((pod for pod in pods if pod["metadata"].get("annotations", {}).get(mark) == "1"), None)

    made.last = wait_for(second, "the second pod", timeout=60)


def _suspend(made: Made) -> None:
    made.api.patch(made.owner("Job"), {"spec": {"suspend": True}})


def _no_parallelism(made: Made) -> None:
    made.api.patch(made.owner("Job"), {"spec": {"parallelism": 0}})


def _delete_owner(made: Made) -> None:
    owner = made.scenario.objects[-1]
    path = made.api.path(owner["apiVersion"], owner["kind"], made.namespace, owner["metadata"]["name"])
    made.api.request("DELETE", path, query={"propagationPolicy": "Background"})


def _owners() -> list[Scenario]:
    cause, slug = Cause.OWNER, "owner"
    template = spec(container("app", OBEYS, memory="16Mi/64Mi"))
    tools: dict[str, Any] = {"ready": running, "settle": 5}
    daemon: dict[str, Any] = {**template, "nodeSelector": {"kubernetes.io/os": "linux"}}
    return [
        one(cause, slug, "scaled-down", owned("ReplicaSet", template), gone, act=_scale, **tools),
        one(cause, slug, "deployment-scaled", owned("Deployment", template), gone, act=_scale, **tools),
        one(cause, slug, "rollout", owned("Deployment", template), gone, act=_roll_out, **tools),
        one(cause, slug, "scaled-kept", owned("ReplicaSet", template, metadata=KEPT), stopped, act=_scale, **tools),
        one(cause, slug, "stateful-set", owned("StatefulSet", template), gone, act=_scale, **tools),
        one(cause, slug, "stateful-set-rollout", owned("StatefulSet", template), gone, act=_roll_out, **tools),
        one(cause, slug, "daemon-set", owned("DaemonSet", daemon), gone, act=_elsewhere, **tools),
        one(cause, slug, "owner-deleted", owned("Deployment", template), gone, act=_delete_owner, **tools),
    ]


def _scale(made: Made) -> None:
    made.api.patch(made.scenario.objects[-1], {"spec": {"replicas": 0}})


def _roll_out(made: Made) -> None:
    again = {"metadata": {"annotations": {"example.com/again": "1"}}}
    made.api.patch(made.scenario.objects[-1], {"spec": {"template": again}})


def _elsewhere(made: Made) -> None:
    patch = {"spec": {"template": {"spec": {"nodeSelector": {"example.com/nowhere": "1"}}}}}
    made.api.patch(made.scenario.objects[-1], patch)


def _rejected() -> list[Scenario]:
    cause, slug = Cause.REJECTED, "rejected"
    here: dict[str, Any] = {"nodeName": "real"}
    app = container("app", OBEYS)
    sysctl: dict[str, Any] = {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "65536"}]}}
    made = {
        "cpu": web(container("app", OBEYS, cpu="64"), **here),
        "memory": web(container("app", OBEYS, memory="900Gi"), **here),
        "node-affinity": web(app, nodeSelector={"disk": "ssd"}, **here),
        "sysctl": web(app, **sysctl, **here),
        "storage": web(container("app", OBEYS, disk="900Gi"), **here),
        "in-job": owned("Job", spec(container("app", OBEYS, cpu="64"), restartPolicy="Never", **here), backoffLimit=0),
    }
    return several(cause, slug, made, phase("Failed"))


# Local storage


def _storage() -> list[Scenario]:
    # The runtime measures what a container has written every 10 s, the kubelet its volumes, too.
    writes = "dd if=/dev/zero of=/tmp/x bs=1M count=30; trap 'exit 0' TERM; sleep 100000 & wait"
    volume = writes.replace("/tmp/x", "/cache/x")
    prints = "head -c 30000000 /dev/zero | cat; trap 'exit 0' TERM; sleep 100000 & wait"
    mount: dict[str, Any] = {"volumeMounts": [{"name": "cache", "mountPath": "/cache"}]}
    own, beside = container("app", writes, disk="1Mi/10Mi"), container("proxy", OBEYS, disk="1Mi/200Mi")
    logs = container("app", prints, disk="1Mi/10Mi")
    small: dict[str, Any] = {"volumes": [{"name": "cache", "emptyDir": {"sizeLimit": "5Mi"}}]}
    free: dict[str, Any] = {"volumes": [{"name": "cache", "emptyDir": {}}]}
    into = container("app", volume, **mount)
    limited = container("app", volume, disk="1Mi/10Mi", **mount)
    half = container("proxy", OBEYS, disk="1Mi/10Mi")
    stubborn = "trap '' TERM; dd if=/dev/zero of={} bs=1M count=30; while :; do sleep 1000; done"
    # If the process obeys and exits with 0, the pod has succeeded.
    loud = container("app", f"head -c 30000000 /dev/zero | cat; {STUBBORN}", disk="1Mi/10Mi")
    heedless = container("app", stubborn.format("/tmp/x"), disk="/10Mi")
    evicted = both(phase("Failed", "Succeeded"), said("Evicted"))
    never: dict[str, Any] = {"restartPolicy": "Never"}
    # A single container's limit is also the pod's, which is checked first. If the images have a separate disk, as here,
    # only logs count against the limit of a container.
    by_container = {
        "of-two": web(logs, beside),
        "never": web(logs, beside, **never),
        "ignores-sigterm": web(loud, beside),
        "in-job": owned("Job", spec(logs, beside, **never), backoffLimit=0),
        "in-deployment": owned("Deployment", spec(logs, beside)),
    }
    by_pod = {
        "one-limit": web(own),
        "one-limit-of-two": web(own, container("proxy", OBEYS)),
        "logs": web(logs),
        "ignores-sigterm": web(heedless),
        "alone": web(limited, **free),
        "of-two": web(limited, half, **free),
        "never": web(limited, half, **free, **never),
        "in-job": owned("Job", spec(limited, **free, **never), backoffLimit=0),
        "in-deployment": owned("Deployment", spec(limited, **free)),
    }
    by_volume = {
        "alone": web(into, **small),
        "of-two": web(into, beside, **small),
        "ignores-sigterm": web(container("app", stubborn.format("/cache/x"), **mount), **small),
        "in-job": owned("Job", spec(into, **small, **never), backoffLimit=0),
        "in-deployment": owned("Deployment", spec(into, **small)),
    }
    return [
        *several(Cause.CONTAINER_STORAGE_LIMIT, "container-storage", by_container, evicted, settle=6),
        *several(Cause.POD_STORAGE_LIMIT, "pod-storage", by_pod, evicted, settle=6),
        *several(Cause.EMPTY_DIR_LIMIT, "empty-dir", by_volume, evicted, settle=6),
    ]
