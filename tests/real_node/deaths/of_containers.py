"""Deaths of containers: the application itself, memory limits, probes and hooks, and containers that never run."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from typing import Any, Final

from podrules.ending.died.cause import Cause
from tests.real_node.deaths.pods import (
    KEPT,
    OBEYS,
    OBEYS_143,
    SLEEPS,
    STUBBORN,
    container,
    hog,
    hold,
    one,
    owned,
    several,
    shapes,
    spec,
    web,
)
from tests.real_node.deaths.scenario import (
    Made,
    Scenario,
    any_killed,
    either,
    ended,
    phase,
    restarted,
    running,
    said,
    stopped,
    waiting,
)
from tests.real_node.images import IMAGE, OTHER_IMAGE

_ALWAYS: Final[dict[str, Any]] = {"restartPolicy": "Always"}
_NOWHERE: Final = "127.0.0.1:9/shop/web:1"
"""No registry listens there."""
_TMP: Final = {"name": "tmp", "mountPath": "/cache"}


def of_containers() -> list[Scenario]:
    """All scenarios of containers; they do not disturb others."""
    return [
        *_application(),
        *_own_memory_limit(),
        *_pod_memory_limit(),
        *_probes(),
        *_never_ran(),
        *_changed_in_place(),
        *_sandboxes(),
        *_sidecars(),
    ]


# The application


def _application() -> list[Scenario]:
    fails = container("app", "sleep 1; exit 1", memory="8Mi/32Mi")
    exits: Mapping[str, tuple[str, int, dict[str, Any]]] = {
        "application-exit-137": ("sleep 1; exit 137", 137, {}),
        "application-exit-143": ("sleep 1; exit 143", 143, {}),
        # In one process namespace the container's first process is not PID 1, which ignores its own signals.
        "application-segfault": ("sleep 1; kill -SEGV $$", 139, {"shareProcessNamespace": True}),
        "application-abort": ("sleep 1; sh -c 'kill -ABRT $$'; exit $?", 134, {}),
        "application-exit-0": ("sleep 1", 0, {}),
    }
    found = shapes(Cause.APPLICATION, "application-exit-1", fails, ended(), again=ended(3))
    for slug, (script, code, more) in exits.items():
        found += shapes(Cause.APPLICATION, slug, container("app", script), ended(exitCode=code), **more)
    cause, main = Cause.APPLICATION, container("app", OBEYS, memory="16Mi/64Mi")
    migrate = container("migrate", "sleep 1; exit 3")
    meshed = web(container("app", OBEYS), initContainers=[container("mesh", "sleep 3; exit 2", **_ALWAYS)])
    return [
        *found,
        *shapes(cause, "application-killed-on-node", main, ended(), ready=running, act=_kill),
        *shapes(cause, "init-fails", migrate, ended(), init=True, again=ended(2)),
        one(cause, "sidecar-fails", "restarts", meshed, ended(), container="mesh"),
    ]


def _kill(made: Made) -> None:
    made.kill("app", signal.SIGKILL)


# Memory


def _own_memory_limit() -> list[Scenario]:
    cause = Cause.OWN_MEMORY_LIMIT
    limit: dict[str, Any] = {"memory": "16Mi/32Mi"}
    first = container("app", f"sleep 1; exec {hog(100)}", **limit)
    wrapper = container("app", f"sleep 1; {hog(100)}; exit $?", **limit)
    hides = container("app", f"sleep 1; {hog(100)} || exit 1", "10m/100m", **limit)
    init = container("migrate", f"sleep 1; exec {hog(100)}", **limit)
    cache = container("app", "sleep 1; exec dd if=/dev/zero of=/cache/x bs=1M count=100", volumeMounts=[_TMP], **limit)
    memory: dict[str, Any] = {"volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}]}
    return [
        *shapes(cause, "own-memory-limit", first, ended(), again=ended(3)),
        *shapes(cause, "own-memory-limit-of-child", wrapper, ended(exitCode=137)),
        *shapes(cause, "own-memory-limit-hidden", hides, ended(exitCode=1)),
        *shapes(cause, "own-memory-limit-init", init, ended(), init=True),
        *shapes(cause, "own-memory-limit-tmpfs", cache, ended(), **memory),
        *_own_memory_limit_of_sidecar(),
        *_child_killed_earlier(),
    ]


def _own_memory_limit_of_sidecar() -> list[Scenario]:
    cause, slug = Cause.OWN_MEMORY_LIMIT, "own-memory-limit-sidecar"
    sidecar = container("mesh", f"sleep 3; exec {hog(100)}", memory="16Mi/32Mi", **_ALWAYS)
    probed = {**sidecar, "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1}}
    app = container("app", OBEYS)
    limited = container("app", OBEYS, "10m/100m", "64Mi/64Mi")
    once = container("app", "sleep 20")
    made = {
        "restarts": web(app, initContainers=[sidecar]),
        "never": web(limited, initContainers=[sidecar], restartPolicy="Never"),
        "probed": web(app, limited | {"name": "db"}, initContainers=[probed]),
        "in-job": owned("Job", spec(once, initContainers=[sidecar], restartPolicy="Never")),
        "in-deployment": owned("Deployment", spec(app, initContainers=[sidecar])),
    }
    return several(cause, slug, made, ended(), container="mesh")


def _child_killed_earlier() -> list[Scenario]:
    """A child came to the limit, PID 1 lived on, and something else ended it later."""
    slug = "child-killed-earlier"
    limit: dict[str, Any] = {"memory": "16Mi/32Mi"}
    kills = f"{hog(100)}; "
    waits = "sleep 100000 & wait"
    dead = {"exec": {"command": ["sh", "-c", "test -e /tmp/dead && exit 1; exit 0"]}}
    liveness = {"livenessProbe": {**dead, "periodSeconds": 1, "failureThreshold": 1}}
    cases: tuple[tuple[Any, ...], ...] = (
        ("exit-0", f"{kills} sleep 12; exit 0", Cause.APPLICATION, ended(exitCode=0), None, {}),
        ("exit-1", f"{kills} sleep 12; exit 1", Cause.APPLICATION, ended(exitCode=1), None, {}),
        ("deleted", f"trap 'exit 143' TERM; {kills} touch /tmp/d; {waits}", Cause.DELETED, stopped, _delete_later, {}),
        (
            "liveness",
            f"trap 'exit 143' TERM; {kills} sleep 8; touch /tmp/dead; {waits}",
            Cause.LIVENESS_PROBE,
            ended(),
            None,
            liveness,
        ),
        ("killed", f"{kills} {waits}", Cause.APPLICATION, ended(), _kill_later, {}),
    )
    return [
        one(
            cause,
            slug,
            variation,
            web(container("app", script, **limit, **more), metadata=KEPT if cause is Cause.DELETED else None),
            happened,
            container="app",
            ready=running,
            act=act,
        )
        for variation, script, cause, happened, act, more in cases
    ]


def _delete_later(made: Made) -> None:
    time.sleep(8)
    made.api.delete(made.last)


def _kill_later(made: Made) -> None:
    time.sleep(8)
    _kill(made)


def _pod_memory_limit() -> list[Scenario]:
    """Two containers, each under any limit of its own, and together over the pod's."""
    cause, slug = Cause.POD_MEMORY_LIMIT, "pod-memory-limit"
    small: dict[str, Any] = {"resources": {"limits": {"memory": "80Mi"}, "requests": {"memory": "80Mi"}}}
    loose: dict[str, Any] = {"resources": {"limits": {"memory": "80Mi"}, "requests": {"memory": "16Mi", "cpu": "10m"}}}
    # The larger one is chosen.
    first = container("app", hold(20))
    later = container("cache", f"sleep 4; exec {hog(75)}")
    own = container("cache", f"sleep 4; exec {hog(75)}", memory="8Mi/79Mi")
    child = container("cache", f"sleep 4; {hog(75)}; exit $?")
    sidecar = container("mesh", hold(20), **_ALWAYS)
    made = {
        "restarts": web(first, later, **small),
        "never": web(first, later, restartPolicy="Never", **loose),
        "own-limit-above": web(first, own, **small),
        "sidecar": web(later, initContainers=[sidecar], **loose),
        "child": web(first, child, **small),
        "in-deployment": owned("Deployment", spec(first, later, **small)),
    }
    return [*several(cause, slug, made, any_killed, find_container=True), *_beside_the_victim()]


def _beside_the_victim() -> list[Scenario]:
    """The pod came to its limit, the kernel chose the other container, and this one ended later by itself."""
    small = {"resources": {"limits": {"memory": "80Mi"}, "requests": {"memory": "80Mi"}}}
    victim = container("cache", f"sleep 1; exec {hog(120)}")
    return [
        one(
            Cause.APPLICATION,
            "pod-memory-limit-earlier",
            name,
            web(container("app", f"sleep 15; {end}"), victim, restartPolicy="Never", **small),
            ended(),
            container="app",
        )
        for name, end in (("exit-0", "exit 0"), ("exit-1", "exit 1"), ("exit-137", "exit 137"))
    ]


# Probes and hooks


def _probes() -> list[Scenario]:
    no: dict[str, Any] = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    obeys = container("app", OBEYS, livenessProbe={**no, "initialDelaySeconds": 2})
    starts = container("app", OBEYS_143, startupProbe={**no, "failureThreshold": 3})
    hook = container("app", OBEYS, lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "sleep 1; exit 1"]}}})
    twice: dict[str, Any] = {"periodSeconds": 1, "failureThreshold": 2}
    tcp = {"tcpSocket": {"port": 9, "host": "127.0.0.1"}, **twice}
    http = {"httpGet": {"port": 9, "path": "/", "host": "127.0.0.1"}, **twice}
    slow = {"exec": {"command": ["sleep", "30"]}, "timeoutSeconds": 1, **twice}
    liveness, startup = Cause.LIVENESS_PROBE, Cause.STARTUP_PROBE
    mesh = container("mesh", OBEYS, livenessProbe=tcp, **_ALWAYS)
    made = {
        "tcp-ignores-sigterm": web(container("app", STUBBORN, livenessProbe=tcp)),
        "http-exit-143": web(container("app", OBEYS_143, livenessProbe=http)),
        "timeout-pid-1": web(container("app", SLEEPS, livenessProbe=slow)),
        "sidecar": web(container("app", OBEYS), initContainers=[mesh]),
        "own-grace-period": web(container("app", STUBBORN, livenessProbe={**tcp, "terminationGracePeriodSeconds": 1})),
    }
    other = {"sidecar": "mesh"}
    fails = container("app", STUBBORN, lifecycle={"postStart": {"httpGet": http["httpGet"]}})
    return [
        *shapes(liveness, "liveness", obeys, ended(), again=restarted(3)),
        *several(liveness, "liveness", made, ended(), container="app", containers=other, settle=5),
        *shapes(startup, "startup", starts, ended(), again=restarted(2)),
        one(startup, "startup", "tcp-137", web(container("app", STUBBORN, startupProbe=tcp)), ended()),
        *shapes(Cause.POST_START_HOOK, "post-start", hook, either(ended(), said("FailedPostStartHook")), settle=5),
        one(Cause.POST_START_HOOK, "post-start", "http-137", web(fails), ended(), container="app"),
    ]


# Never ran


def _never_ran() -> list[Scenario]:
    return [*_images(), *_configuration(), *_runtime()]


def _images() -> list[Scenario]:
    main = container("app", OBEYS)
    pulled = {**main, "image": _NOWHERE, "imagePullPolicy": "IfNotPresent"}
    fails = waiting("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName")
    cause = Cause.IMAGE
    made = {
        "never-pull": web({**main, "image": "local.test/absent:1"}),
        "invalid-name": web({**main, "image": "local.test/Shop/Web:1"}),
        "init": web(main, initContainers=[{**pulled, "name": "migrate"}]),
        "always-pull": web({**main, "image": f"127.0.0.1:9/{IMAGE}", "imagePullPolicy": "Always"}),
    }
    return [
        *shapes(cause, "image", pulled, fails, again=waiting("ImagePullBackOff"), settle=6),
        *several(cause, "image", made, fails, container="app", containers={"init": "migrate"}, settle=5),
    ]


def _configuration() -> list[Scenario]:
    cause, slug = Cause.CONFIGURATION, "configuration"
    config = {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "mode"}}}
    secret = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "token", "key": "key"}}}
    empty = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}}
    fails = waiting("CreateContainerConfigError", "CreateContainerError")
    mount = [{"name": "settings", "mountPath": "/settings"}]
    volume = [{"name": "settings", "configMap": {"name": "settings"}}]
    root: dict[str, Any] = {"securityContext": {"runAsNonRoot": True}}
    made = {
        "secret-key": [empty, web(container("app", OBEYS, env=[secret]))],
        "env-from": web(container("app", OBEYS, envFrom=[{"secretRef": {"name": "token"}}])),
        "non-root": web(container("app", OBEYS, **root)),
        "init": web(container("app", OBEYS), initContainers=[container("migrate", "true", env=[config])]),
    }
    mounts = web(container("app", OBEYS, volumeMounts=mount), volumes=volume)
    return [
        *shapes(cause, slug, container("app", OBEYS, env=[config]), fails, settle=6),
        *several(cause, slug, made, fails, container="app", containers={"init": "migrate"}, settle=5),
        one(cause, slug, "volume", mounts, said("FailedMount"), container="app"),
    ]


def _runtime() -> list[Scenario]:
    cause, slug = Cause.RUNTIME, "runtime"
    fails = either(waiting("RunContainerError", "CreateContainerError", "CrashLoopBackOff"), ended())
    absent = container("app", ["/shop/server", "--port=80"])
    mounts = container("app", OBEYS, volumeMounts=[{"name": "tmp", "mountPath": "/bin/busybox"}])
    made = {
        "user": web(container("app", OBEYS, workingDir="/bin/busybox")),
        "not-executable": web(container("app", ["/tmp"])),
        "mount-on-file": web(mounts, volumes=[{"name": "tmp", "emptyDir": {}}]),
    }
    return [
        *shapes(cause, slug, absent, fails, again=waiting("CrashLoopBackOff"), settle=5),
        *several(cause, slug, made, fails, container="app", settle=5),
    ]


# Changed while it runs


def _changed_in_place() -> list[Scenario]:
    restart = [{"resourceName": name, "restartPolicy": "RestartContainer"} for name in ("cpu", "memory")]
    resized = container("app", OBEYS, "10m/100m", "16Mi/64Mi", resizePolicy=restart)
    stubborn = {**resized, "command": ["sh", "-c", STUBBORN]}
    plain = container("app", OBEYS_143)
    beside = container("proxy", OBEYS)
    resize: dict[str, Any] = {"ready": running, "act": _resize, "container": "app"}
    image: dict[str, Any] = {"ready": running, "act": _other_image, "container": "app"}
    both_kinds: list[Scenario] = []
    for slug, cause, main, tools in (
        ("resize", Cause.RESIZE, resized, resize),
        ("definition-changed", Cause.DEFINITION_CHANGED, plain, image),
    ):
        slow = {**main, "command": ["sh", "-c", STUBBORN]}
        made = {
            "restarts": web(main),
            "ignores-sigterm": web(slow),
            "of-two": web(main, beside),
            "on-failure": web(main, restartPolicy="OnFailure" if main is plain else None),
            "in-deployment": owned("Deployment", spec(main)),
        }
        both_kinds += several(cause, slug, made, restarted(), **tools)
    return [
        *both_kinds,
        *_restart_all(),
        one(Cause.RESIZE, "resize", "cpu", web(stubborn), restarted(), ready=running, act=_resize_cpu, container="app"),
    ]


def _resize(made: Made) -> None:
    new = {"limits": {"memory": "96Mi", "cpu": "100m"}, "requests": {"memory": "24Mi", "cpu": "10m"}}
    _set_resources(made, new)


def _resize_cpu(made: Made) -> None:
    _set_resources(made, {"limits": {"memory": "64Mi", "cpu": "200m"}, "requests": {"memory": "16Mi", "cpu": "20m"}})


def _set_resources(made: Made, new: Mapping[str, Any]) -> None:
    path = made.api.path("v1", "Pod", made.namespace, made.last["metadata"]["name"], "resize")
    body = {"spec": {"containers": [{"name": "app", "resources": new}]}}
    made.api.request("PATCH", path, body, content_type="application/strategic-merge-patch+json")


def _other_image(made: Made) -> None:
    path = made.api.path("v1", "Pod", made.namespace, made.last["metadata"]["name"])
    body = {"spec": {"containers": [{"name": "app", "image": OTHER_IMAGE}]}}
    made.api.request("PATCH", path, body, content_type="application/strategic-merge-patch+json")


def _restart_all() -> list[Scenario]:
    """The watcher ends, and all others have to start again."""
    cause, slug = Cause.RESTART_ALL, "restart-all"
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}
    watcher = container("watcher", "sleep 5; exit 88", restartPolicy="Never", restartPolicyRules=[rule])
    victim = container("app", OBEYS)
    stubborn = container("app", STUBBORN)
    init = container("migrate", "sleep 1")
    mesh = container("mesh", OBEYS, **_ALWAYS)
    happened = either(restarted(), said("Killing", "app"))
    made = {
        "restarts": web(victim, watcher),
        "ignores-sigterm": web(stubborn, watcher),
        "never": web(victim, watcher, restartPolicy="Never"),
        "with-init": web(victim, watcher, initContainers=[init]),
        "sidecar": web(victim, watcher, initContainers=[mesh]),
    }
    return several(cause, slug, made, happened, container="app", containers={"sidecar": "mesh"}, settle=6)


# The sandbox


def _sandboxes() -> list[Scenario]:
    main = container("app", OBEYS)
    return shapes(
        Cause.SANDBOX_CHANGED,
        "sandbox-changed",
        main,
        either(restarted(), phase("Failed", "Succeeded"), said("SandboxChanged")),
        ready=running,
        act=_kill_sandbox,
        settle=8,
    )


def _kill_sandbox(made: Made) -> None:
    made.node.ctr("tasks", "kill", "--signal", "SIGKILL", made.sandbox())


def _sidecars() -> list[Scenario]:
    """The main container is done, and the kubelet stops the sidecar."""
    never: dict[str, Any] = {"restartPolicy": "Never"}
    done, fails = container("app", "sleep 2"), container("app", "sleep 2; exit 3")
    obeys, stubborn, leaves = (container("mesh", script, **_ALWAYS) for script in (OBEYS_143, STUBBORN, OBEYS))
    probed = {**obeys, "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1}}
    made = {
        "exit-143": web(done, initContainers=[obeys], **never),
        "exit-0": web(done, initContainers=[leaves], **never),
        "killed": web(done, initContainers=[stubborn], terminationGracePeriodSeconds=2, **never),
        "main-fails": web(fails, initContainers=[obeys], **never),
        "probed": web(done, initContainers=[probed], **never),
        "in-job": owned("Job", spec(done, initContainers=[obeys], **never)),
    }
    return several(Cause.SIDECAR_STOPPED, "sidecar-stopped", made, ended(), container="mesh")
