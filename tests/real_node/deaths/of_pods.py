"""Deaths of whole pods that disturb no other: deleted, evicted by a request, preempted by the scheduler, refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podrules.ending.died.cause import Cause
from tests.controlplane.client import Object
from tests.real_node.deaths.pods import KEPT, OBEYS, OBEYS_143, SLEEPS, STUBBORN, container, one, owned, pod, spec
from tests.real_node.deaths.scenario import (
    Act,
    Made,
    Scenario,
    Test,
    both,
    either,
    gone,
    gone_or_stopped,
    phase,
    running,
    said,
    stopped,
)

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
    plain = container("app", OBEYS_143)
    beside = container("proxy", OBEYS_143)
    return [
        one(cause, slug, "gone", pod("web", "", app, **more), removed, **tools),
        one(cause, slug, "object-kept", pod("web", "", app, metadata=KEPT, **more), kept, container="app", **tools),
        one(
            cause,
            slug,
            "ignores-sigterm",
            pod("web", "", container("app", STUBBORN), metadata=KEPT, **more),
            kept,
            container="app",
            **tools,
        ),
        one(cause, slug, "of-two", pod("web", "", app, beside, metadata=KEPT, **more), kept, **tools),
        one(cause, slug, "in-deployment", owned("Deployment", "web", "", spec(app, **more)), removed, **tools),
        one(cause, slug, "exit-143", pod("web", "", plain, metadata=KEPT, **more), kept, container="app", **tools),
    ]


def _delete(made: Made) -> None:
    made.api.delete(made.last)


def _force(made: Made) -> None:
    made.api.delete(made.last, grace_period_seconds=0)


def _ended_after_all(made: Made) -> bool:
    """A finalizer keeps the object even of a pod that is deleted without grace."""
    return phase("Failed", "Succeeded")(made) or gone(made)


def _evict(made: Made) -> None:
    name = made.last["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": made.namespace}}
    made.api.request("POST", made.api.path("v1", "Pod", made.namespace, name, "eviction"), body)


def _slow_deletions() -> list[Scenario]:
    cause = Cause.DELETED
    tools: dict[str, Any] = {"ready": running, "act": _delete, "container": "app"}
    hook: dict[str, Any] = {"lifecycle": {"preStop": {"exec": {"command": ["sleep", "100"]}}}}
    sleeps: dict[str, Any] = {"lifecycle": {"preStop": {"sleep": {"seconds": 3}}}}
    short: dict[str, Any] = {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "exit 1"]}}}}
    mesh = container("mesh", STUBBORN, restartPolicy="Always")

    def kept(name: str, slug: str, main: Mapping[str, Any], **more: Any) -> Scenario:
        return one(cause, slug, name, pod("web", "", main, metadata=KEPT, **more), stopped, **tools)

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
    for scenario, dongle in zip(
        removals(Cause.PREEMPTION, "preemption", act=None, kept=stopped), DONGLES, strict=False
    ):
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
    template = spec(obeys, restartPolicy="Never", **more)
    return [
        one(cause, slug, name, made, over, settle=8)
        for name, made in (
            ("alone", pod("web", "", obeys, **more)),
            ("ignores-sigterm", pod("web", "", stubborn, **more)),
            ("of-two", pod("web", "", obeys, {**stubborn, "name": "db"}, restartPolicy="Never", **more)),
            ("in-init", pod("web", "", obeys, initContainers=[init], **more)),
            ("in-job", owned("Job", "import", "", template, backoffLimit=0)),
        )
    ]


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
        return owned("Job", "import", "", spec(container("app", script), **never), **more)

    def kept(script: str, **more: Any) -> Object:
        return owned("Job", "import", "", spec(container("app", script), **never), metadata=KEPT, **more)

    tools: dict[str, Any] = {"settle": 5}
    index_1 = either(gone_or_stopped, _index_1_left)
    return [
        one(cause, slug, "backoff-limit", job(fails, backoffLimit=0, **parallel), index_1, **tools, act=_take_index_1),
        one(
            cause,
            slug,
            "pod-failure-policy",
            kept(fails, podFailurePolicy=policy, **parallel),
            index_1,
            **tools,
            act=_take_index_1,
        ),
        one(
            cause,
            slug,
            "success-policy",
            kept(works, successPolicy=enough, **parallel),
            index_1,
            **tools,
            act=_take_index_1,
        ),
        one(cause, slug, "deadline", kept(OBEYS, activeDeadlineSeconds=8), gone_or_stopped, ready=running, **tools),
        one(cause, slug, "suspended", job(OBEYS), gone_or_stopped, ready=running, act=_suspend, **tools),
        one(cause, slug, "suspended-kept", kept(OBEYS), gone_or_stopped, ready=running, act=_suspend, **tools),
        # The Job is removed, or makes fewer at once: it has not ended.
        one(Cause.OWNER, slug, "deleted", job(OBEYS), gone, ready=running, act=_delete_owner, **tools),
        one(
            Cause.OWNER,
            slug,
            "fewer-at-once",
            kept(OBEYS),
            gone_or_stopped,
            ready=running,
            act=_no_parallelism,
            **tools,
        ),
    ]


def _take_index_1(made: Made) -> None:
    """The target pod is the second."""
    from tests.waiting import wait_for

    def second() -> Object | None:
        pods = made.api.list_items("v1", "Pod", made.namespace)
        mark = "batch.kubernetes.io/job-completion-index"
        return next((pod for pod in pods if pod["metadata"].get("annotations", {}).get(mark) == "1"), None)

    made.last = wait_for(second, "the second pod", timeout=60)


def _index_1_left(made: Made) -> bool:
    return gone_or_stopped(made)


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
        one(cause, slug, "scaled-down", owned("ReplicaSet", "web", "", template), gone, act=_scale, **tools),
        one(cause, slug, "deployment-scaled", owned("Deployment", "web", "", template), gone, act=_scale, **tools),
        one(cause, slug, "rollout", owned("Deployment", "web", "", template), gone, act=_roll_out, **tools),
        one(
            cause,
            slug,
            "scaled-kept",
            owned("ReplicaSet", "web", "", template, metadata=KEPT),
            stopped,
            act=_scale,
            **tools,
        ),
        one(cause, slug, "stateful-set", owned("StatefulSet", "db", "", template), gone, act=_scale, **tools),
        one(
            cause, slug, "stateful-set-rollout", owned("StatefulSet", "db", "", template), gone, act=_roll_out, **tools
        ),
        one(cause, slug, "daemon-set", owned("DaemonSet", "agent", "", daemon), gone, act=_elsewhere, **tools),
        one(cause, slug, "owner-deleted", owned("Deployment", "web", "", template), gone, act=_delete_owner, **tools),
    ]


def _scale(made: Made) -> None:
    made.api.patch(made.scenario.objects[-1], {"spec": {"replicas": 0}})


def _roll_out(made: Made) -> None:
    made.api.patch(
        made.scenario.objects[-1], {"spec": {"template": {"metadata": {"annotations": {"example.com/again": "1"}}}}}
    )


def _elsewhere(made: Made) -> None:
    patch = {"spec": {"template": {"spec": {"nodeSelector": {"example.com/nowhere": "1"}}}}}
    made.api.patch(made.scenario.objects[-1], patch)


def _rejected() -> list[Scenario]:
    cause, slug = Cause.REJECTED, "rejected"
    here: dict[str, Any] = {"nodeName": "real"}
    app = container("app", OBEYS)
    sysctl: dict[str, Any] = {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "65536"}]}}
    return [
        one(cause, slug, name, made, phase("Failed"))
        for name, made in (
            ("cpu", pod("web", "", container("app", OBEYS, cpu="64"), **here)),
            ("memory", pod("web", "", container("app", OBEYS, memory="900Gi"), **here)),
            ("node-affinity", pod("web", "", app, nodeSelector={"disk": "ssd"}, **here)),
            ("sysctl", pod("web", "", app, **sysctl, **here)),
            ("storage", pod("web", "", container("app", OBEYS, disk="900Gi"), **here)),
            (
                "in-job",
                owned(
                    "Job",
                    "import",
                    "",
                    spec(container("app", OBEYS, cpu="64"), restartPolicy="Never", **here),
                    backoffLimit=0,
                ),
            ),
        )
    ]


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
    job = owned("Job", "import", "", spec(logs, beside, restartPolicy="Never"), backoffLimit=0)
    heedless = container("app", stubborn.format("/tmp/x"), disk="/10Mi")
    evicted = both(phase("Failed", "Succeeded"), said("Evicted"))
    never: dict[str, Any] = {"restartPolicy": "Never"}
    container_limit, pod_limit, empty_dir = (
        Cause.CONTAINER_STORAGE_LIMIT,
        Cause.POD_STORAGE_LIMIT,
        Cause.EMPTY_DIR_LIMIT,
    )
    table = (
        # A single container's limit is also the pod's, which is checked first. If the images have a separate disk, as
        # here, only logs count against the limit of a container.
        (container_limit, "container-storage", "of-two", pod("web", "", logs, beside)),
        (container_limit, "container-storage", "never", pod("web", "", logs, beside, **never)),
        (container_limit, "container-storage", "ignores-sigterm", pod("web", "", loud, beside)),
        (container_limit, "container-storage", "in-job", job),
        (container_limit, "container-storage", "in-deployment", owned("Deployment", "web", "", spec(logs, beside))),
        (pod_limit, "pod-storage", "one-limit", pod("web", "", own)),
        (pod_limit, "pod-storage", "one-limit-of-two", pod("web", "", own, container("proxy", OBEYS))),
        (pod_limit, "pod-storage", "logs", pod("web", "", logs)),
        (pod_limit, "pod-storage", "ignores-sigterm", pod("web", "", heedless)),
        (pod_limit, "pod-storage", "alone", pod("web", "", limited, **free)),
        (pod_limit, "pod-storage", "of-two", pod("web", "", limited, half, **free)),
        (pod_limit, "pod-storage", "never", pod("web", "", limited, half, **free, **never)),
        (
            pod_limit,
            "pod-storage",
            "in-job",
            owned("Job", "import", "", spec(limited, **free, **never), backoffLimit=0),
        ),
        (pod_limit, "pod-storage", "in-deployment", owned("Deployment", "web", "", spec(limited, **free))),
        (empty_dir, "empty-dir", "alone", pod("web", "", into, **small)),
        (empty_dir, "empty-dir", "of-two", pod("web", "", into, beside, **small)),
        (
            empty_dir,
            "empty-dir",
            "ignores-sigterm",
            pod("web", "", container("app", stubborn.format("/cache/x"), **mount), **small),
        ),
        (empty_dir, "empty-dir", "in-job", owned("Job", "import", "", spec(into, **small, **never), backoffLimit=0)),
        (empty_dir, "empty-dir", "in-deployment", owned("Deployment", "web", "", spec(into, **small))),
    )
    return [one(cause, slug, name, made, evicted, settle=6) for cause, slug, name, made in table]
