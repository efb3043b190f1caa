"""Manifests of the pods that die: small parts to put together, and shapes that change the evidence, not the cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from podrules.ending.died.cause import Cause
from tests.controlplane.client import Object
from tests.objects import raw_pod, raw_workload
from tests.real_node.deaths.scenario import Act, Scenario, Test
from tests.real_node.images import IMAGE

OBEYS: Final = "trap 'exit 0' TERM; sleep 100000 & wait"
OBEYS_143: Final = "trap 'exit 143' TERM; sleep 100000 & wait"
STUBBORN: Final = "trap '' TERM; while :; do sleep 1000; done"
SLEEPS: Final = "exec sleep 100000"
"""As PID 1 it ignores SIGTERM, too."""
KEPT: Final = {"finalizers": ["example.com/audit"]}
"""Keeps the object of a deleted pod."""
BESIDE: Final = "proxy"
"""The container beside the one that dies."""


def container(name: str, script: str | Sequence[str], cpu: str = "", memory: str = "", **more: Any) -> Object:
    """A container; ``cpu`` and ``memory`` are ``request/limit``, either may be left out."""
    resources: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for resource, text in (("cpu", cpu), ("memory", memory), ("ephemeral-storage", more.pop("disk", ""))):
        request, _, limit = text.partition("/")
        if request:
            resources["requests"][resource] = request
        if limit:
            resources["limits"][resource] = limit
    # The kubelet takes $$ for a dollar sign.
    command = ["sh", "-c", script.replace("$$", "$$$$")] if isinstance(script, str) else list(script)
    return {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": command,
        "resources": {key: value for key, value in resources.items() if value},
        **more,
    }


def hog(megabytes: int) -> str:
    """Allocates memory once, and ends if it gets it."""
    return f"dd if=/dev/zero of=/dev/null bs={megabytes}M count=1"


def hold(megabytes: int) -> str:
    """Allocates memory and keeps it: the pipe has no reader."""
    return f"dd if=/dev/zero bs={megabytes}M count=1 | sleep 100000"


def spec(*containers: Mapping[str, Any], **more: Any) -> Object:
    """A pod's spec, in the node's network."""
    own = {"hostNetwork": True, "terminationGracePeriodSeconds": 2, "automountServiceAccountToken": False, **more}
    return {"containers": list(containers), **{key: value for key, value in own.items() if value is not None}}


def pod(
    name: str, namespace: str, *containers: Mapping[str, Any], metadata: Mapping[str, Any] | None = None, **more: Any
) -> Object:
    """A pod without an owner."""
    return raw_pod(name, namespace, metadata=metadata, **spec(*containers, **more))


def web(*containers: Mapping[str, Any], metadata: Mapping[str, Any] | None = None, **more: Any) -> Object:
    """A pod without an owner; `one` sets its namespace."""
    return pod("web", "", *containers, metadata=metadata, **more)


def owned(kind: str, template: Mapping[str, Any], **more: Any) -> Object:
    """A workload with one pod; `one` sets its namespace.

    Args:
        kind: Job, ReplicaSet, Deployment, StatefulSet or DaemonSet.
        template: Spec of its pods; those of a Job are not restarted.
        more: Fields of its spec, and ``metadata`` of its pods.
    """
    name = {"Job": "import", "StatefulSet": "db", "DaemonSet": "agent"}.get(kind, "web")
    ends = {"restartPolicy": "Never"} if kind == "Job" else {}
    served = {"serviceName": name} if kind == "StatefulSet" else {}
    metadata = more.pop("metadata", {})
    made = raw_workload(kind, name, pod_spec={**ends, **template}, **more, **served)
    made["spec"]["template"]["metadata"] |= metadata
    return made


def one(
    cause: Cause,
    slug: str,
    variation: str,
    made: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    happened: Test,
    **more: Any,
) -> Scenario:
    """A scenario; one manifest alone is the pod, or what owns it."""
    objects = (dict(made),) if isinstance(made, Mapping) else tuple(dict(entry) for entry in made)
    for entry in objects:
        if entry["kind"] != "PriorityClass":
            entry["metadata"] = {**entry["metadata"], "namespace": f"{slug}-{variation}"}
    first = next((entry for entry in objects if entry["kind"] == "Pod"), None)
    name = more.pop("pod", first["metadata"]["name"] if first else "")
    return Scenario(cause, slug, variation, objects, happened, pod=name, **more)


def several(
    cause: Cause,
    slug: str,
    made: Mapping[str, Any],
    happened: Test,
    *,
    container: str = "",
    containers: Mapping[str, str] | None = None,
    **more: Any,
) -> list[Scenario]:
    """Scenarios that differ in the pod: what is made, by variation; ``containers`` names those that are another."""
    return [
        one(cause, slug, variation, objects, happened, container=(containers or {}).get(variation, container), **more)
        for variation, objects in made.items()
    ]


def shapes(
    cause: Cause,
    slug: str,
    main: Mapping[str, Any],
    happened: Test,
    *,
    act: Act | None = None,
    ready: Test | None = None,
    settle: float = 3.0,
    init: bool = False,
    again: Test | None = None,
    **more: Any,
) -> list[Scenario]:
    """One container in five kinds of pod.

    Args:
        cause: The truth.
        slug: What happens.
        main: The container that dies.
        happened: Seen of any of them.
        act: What is done when it runs.
        ready: When that may begin.
        settle: Seconds until the evidence is complete.
        init: It is an init container.
        again: Seen when the container of a bare pod that restarts it has died several times.
        more: Fields of the spec.
    """
    name = main["name"]
    beside = container(BESIDE, OBEYS, "10m/500m", "16Mi/64Mi")

    def template(*others: Mapping[str, Any], **own: Any) -> Object:
        fields = {**more, **own}
        if not init:
            return spec(main, *others, **fields)
        return spec(*(others or (beside,)), initContainers=[main, *fields.pop("initContainers", ())], **fields)

    probe = {"readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1}}
    tools: dict[str, Any] = {"act": act, "ready": ready, "settle": settle, "container": name}
    made = {
        "never": raw_pod(**template(restartPolicy="Never")),
        "of-two": raw_pod(**template({**beside, **probe}, restartPolicy="OnFailure")),
        "in-job": owned("Job", template(restartPolicy="Never"), backoffLimit=3),
        "in-deployment": owned("Deployment", template(), replicas=1),
    }
    return [
        one(cause, slug, "restarts", raw_pod(**template()), again or happened, **tools),
        *several(cause, slug, made, happened, **tools),
    ]
