"""How the API server validates a pod's containers: the regular ones, the init containers and the ephemeral ones.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateContainers, validateInitContainers,
validateEphemeralContainers, validateContainerCommon, validateContainerOnlyForPod).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from podrules.admission.validation.env import validate_env, validate_env_from
from podrules.admission.validation.errors import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    too_long,
    too_many,
    unsupported,
    validate_format,
)
from podrules.admission.validation.formats import dns_label, http_header_name, is_padded, port_name, port_number
from podrules.admission.validation.resources import validate_container_resources
from podrules.admission.validation.security import validate_security_context
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.admission.validation.volumes import validate_volume_devices, validate_volume_mounts
from podrules.api.model.misfit import FieldError

_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_SIDECARS_ONLY: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_BEFORE_RESTARTS: Final = ("ports", "resources", "resizePolicy")
_RESTARTS: Final = ("restartPolicy", "restartPolicyRules")
"""What is dropped where their gate is off."""
_REQUIREMENTS: Final = ("limits", "requests", "claims")


def validate_containers(pod: PodContext) -> Iterator[FieldError]:
    """Hold the regular containers against their rules: there is at least one, and their names differ."""
    containers = pod.spec.structs("containers")
    if not containers:
        yield required(pod.spec.at("containers"))
        return
    names: set[str] = set()
    on_host = _on_host(pod)
    for container in containers:
        yield from _container(container, pod, on_host=on_host)
        name = container.text("name")
        if name in names:
            yield duplicate(container.at("name"), name)
        names.add(name)
        yield from validate_lifecycle(container, pod.grace_seconds)
        yield from validate_probes(container)
        yield from validate_restart_policy(container, pod.rules)
    yield from validate_host_ports(containers, on_host=on_host)


def validate_init_containers(pod: PodContext) -> Iterator[FieldError]:
    """Hold the init containers against their rules: only a sidecar among them has probes and hooks."""
    if not pod.spec.has("initContainers"):
        return
    names = _names(pod, "containers")
    on_host = _on_host(pod)
    for container in pod.spec.structs("initContainers"):
        yield from _container(container, pod, on_host=on_host)
        yield from validate_init_restart_policy(container, pod.rules)
        name = container.text("name")
        if name in names:
            yield duplicate(container.at("name"), name)
        elif name:
            names.add(name)
        alone = View(container.content, pod.spec.at("initContainers[0]"))  # its index is not upstream's
        yield from validate_host_ports([alone], on_host=on_host)
        if restarts_always(container):
            yield from validate_lifecycle(container, pod.grace_seconds)
            yield from validate_probes(container)
        else:
            yield from _sidecars_only(container)
        yield from validate_init_resize_policy(container, pod.rules)


def _sidecars_only(container: View) -> Iterator[FieldError]:
    if has_lifecycle(container):
        yield forbidden(container.at("lifecycle"), _SIDECARS_ONLY)
    for name in PROBES:
        if container.has(name):
            yield forbidden(container.at(name), _SIDECARS_ONLY)


def validate_ephemeral_containers(pod: PodContext) -> Iterator[FieldError]:
    """Hold the ephemeral containers against their rules: they have nothing that a service is made of."""
    if not pod.spec.has("ephemeralContainers"):
        return
    targets = _names(pod, "containers") | _names(pod, "initContainers")
    names = set(targets)
    for container in pod.spec.structs("ephemeralContainers"):
        yield from _container(container, pod, on_host=False)
        image = container.text("image")
        if is_padded(image):
            yield invalid(container.at("image"), image, "must not have leading or trailing whitespace")
        name, target = container.text("name"), container.text("targetContainerName")
        if name in names:
            yield duplicate(container.at("name"), name)
        names.add(name)
        if target and target not in targets:
            yield not_found(container.at("targetContainerName"), target)
        yield from _not_ephemeral(container, pod)


def _not_ephemeral(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Refuse what only other containers have; an empty list or map is there, too."""
    restarts = _RESTARTS if pod.rules.on("ContainerRestartRules") else ()
    for name in (*_BEFORE_RESTARTS, *restarts, *PROBES):
        if _requirements(container) if name == "resources" else container.has(name):
            yield forbidden(container.at(name), _NOT_EPHEMERAL)
    if has_lifecycle(container):
        yield forbidden(container.at("lifecycle"), _NOT_EPHEMERAL)
    for mount in container.structs("volumeMounts"):
        for name in ("subPath", "subPathExpr"):
            if mount.text(name):
                yield forbidden(mount.at(name), _NOT_EPHEMERAL)


def _requirements(container: View) -> bool:
    resources = container.struct("resources")
    return any(resources.has(name) for name in _REQUIREMENTS)


def _container(container: View, pod: PodContext, *, on_host: bool) -> Iterator[FieldError]:
    """The rules of every container."""
    if not container.text("name"):
        yield required(container.at("name"))
    yield from validate_format(container, "name", dns_label)
    if not container.text("image"):
        yield required(container.at("image"))
    message_policy = container.text("terminationMessagePolicy", "File")
    if message_policy not in _MESSAGE_POLICIES:
        yield unsupported(container.at("terminationMessagePolicy"), message_policy, _MESSAGE_POLICIES)
    yield from validate_container_ports(container, on_host=on_host)
    yield from validate_env(container, pod.rules)
    yield from validate_env_from(container)
    yield from validate_volume_mounts(container, pod)
    yield from validate_volume_devices(container, pod)
    pull_policy = container.text("imagePullPolicy")
    if pull_policy and pull_policy not in _PULL_POLICIES:
        yield unsupported(container.at("imagePullPolicy"), pull_policy, _PULL_POLICIES)
    yield from validate_container_resources(container, pod)
    yield from validate_resize_policy(container, pod)
    yield from validate_security_context(container, pod)


def _on_host(pod: PodContext) -> bool:
    """Whether the pod is in the node's network, so that the API server makes its ports the node's; not a template's."""
    return pod.is_pod and pod.spec.flag("hostNetwork") is True


def _names(pod: PodContext, kind: str) -> set[str]:
    return {container.text("name") for container in pod.spec.structs(kind)}


# How the API server validates the ports that containers open, and the node's ports that they use.
#
# Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateContainerPorts, ValidatePortNumOrName,
# AccumulateUniqueHostPorts); pkg/apis/core/v1/defaults.go (defaultHostNetworkPorts).

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_DEFAULT_PROTOCOL: Final = "TCP"


def validate_container_ports(container: View, *, on_host: bool) -> Iterator[FieldError]:
    """Hold each of a container's ports against the rules of its name, its numbers and its protocol.

    Args:
        container: The container.
        on_host: Whether a port is one of the node, too, if it does not say which.
    """
    if not container.has("ports"):
        return
    names: set[str] = set()
    for port in container.structs("ports"):
        yield from _name(port, names)
        number, host = port.number("containerPort") or 0, _host_port(port, on_host=on_host)
        if not number:
            yield required(port.at("containerPort"))
        for problem in port_number(number) if number else ():
            yield invalid(port.at("containerPort"), number, problem)
        for problem in port_number(host) if host else ():
            yield invalid(port.at("hostPort"), host, problem)
        protocol = port.text("protocol", _DEFAULT_PROTOCOL)
        if protocol not in _PROTOCOLS:
            yield unsupported(port.at("protocol"), protocol, _PROTOCOLS)


def _name(port: View, names: set[str]) -> Iterator[FieldError]:
    """Hold a port's name against its rules and the names before it; those get it where it is right."""
    name = port.text("name")
    if not name:
        return
    problems = port_name(name)
    for problem in problems:
        yield invalid(port.at("name"), name, problem)
    if name in names:
        yield duplicate(port.at("name"), name)
    elif not problems:
        names.add(name)


def _host_port(port: View, *, on_host: bool) -> int:
    return port.number("hostPort") or (port.number("containerPort") or 0 if on_host else 0)


def validate_host_ports(containers: Iterable[View], *, on_host: bool) -> Iterator[FieldError]:
    """Hold the node's ports that containers take against one another.

    Args:
        containers: Containers that run at the same time.
        on_host: Whether a port is one of the node, too, if it does not say which.
    """
    taken: set[str] = set()
    for container in containers:
        for port in container.structs("ports") if container.has("ports") else ():
            host = _host_port(port, on_host=on_host)
            shown = f"{port.text('protocol', _DEFAULT_PROTOCOL)}/{port.text('hostIP')}/{host}"
            if host and shown in taken:
                yield duplicate(port.at("hostPort"), shown)
            elif host:
                taken.add(shown)


def validate_port(path: str, port: int | str) -> Iterator[FieldError]:
    """Hold the number or the name of a port against its rules."""
    problems = port_name(port) if isinstance(port, str) else port_number(port)
    for problem in problems:
        yield invalid(path, port, problem)


# How the API server validates a container's probes and lifecycle hooks.
#
# ``lifecycle.stopSignal`` is dropped before it is validated, and a ``lifecycle`` that has nothing else with it; so are
# ``grpc.mode`` and ``httpGet.protocol``: their gates are off.
#
# Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateLivenessProbe, validateReadinessProbe,
# validateStartupProbe, validateProbe, validateLifecycle, validateHandler and the actions); pkg/apis/core/v1/defaults.go
# (SetDefaults_Probe, SetDefaults_HTTPGetAction); pkg/api/pod/util.go (dropContainerStopSignals).

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_DEFAULTS: Final = {
    "initialDelaySeconds": 0,
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
"""A probe's numbers, and what stands for 0."""
_SCHEMES: Final = ("HTTP", "HTTPS")

_Actions = Mapping[str, Callable[[View], Iterator[FieldError]]]


def validate_probes(container: View) -> Iterator[FieldError]:
    """Hold a container's probes against the rules of their actions and their numbers."""
    for name in PROBES:
        if container.has(name):
            probe = container.struct(name)
            yield from _probe(probe)
            yield from _own_rules(probe, name)


def _probe(probe: View) -> Iterator[FieldError]:
    yield from _handler(probe, _PROBE_ACTIONS)
    for name, default in _DEFAULTS.items():
        number = probe.number(name) or default
        if number < 0:
            yield invalid(probe.at(name), number, "must be greater than or equal to 0")
    grace = probe.number("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield invalid(probe.at("terminationGracePeriodSeconds"), grace, "must be greater than 0")


def _own_rules(probe: View, name: str) -> Iterator[FieldError]:
    """The rules in which a readiness probe differs from the others."""
    if name == "readinessProbe":
        grace = probe.number("terminationGracePeriodSeconds")
        if grace is not None:
            yield invalid(probe.at("terminationGracePeriodSeconds"), grace, "must not be set for readinessProbes")
    else:
        successes = probe.number("successThreshold") or _DEFAULTS["successThreshold"]
        if successes != 1:
            yield invalid(probe.at("successThreshold"), successes, "must be 1")


def has_lifecycle(container: View) -> bool:
    """Whether a container has a ``lifecycle`` as it is validated."""
    if not container.has("lifecycle"):
        return False
    lifecycle = container.struct("lifecycle")
    return lifecycle.has("postStart") or lifecycle.has("preStop") or not lifecycle.has("stopSignal")


def validate_lifecycle(container: View, grace_seconds: int) -> Iterator[FieldError]:
    """Hold a container's hooks against the rules of their actions; a sleep ends within the pod's grace period."""
    if not container.has("lifecycle"):
        return
    lifecycle = container.struct("lifecycle")
    actions: _Actions = {**_HOOK_ACTIONS, "sleep": partial(_sleep, grace_seconds)}
    for name in ("postStart", "preStop"):
        if lifecycle.has(name):
            yield from _handler(lifecycle.struct(name), actions)


def _handler(handler: View, actions: _Actions) -> Iterator[FieldError]:
    found = [name for name in actions if handler.has(name)]
    if not found:
        yield required(handler.path, "must specify a handler type")
        return
    first, *others = found
    yield from actions[first](handler.struct(first))
    for other in others:
        yield forbidden(handler.at(other), "may not specify more than 1 handler type")


def _exec(action: View) -> Iterator[FieldError]:
    if not action.content.get("command"):
        yield required(action.at("command"))


def _http_get(action: View) -> Iterator[FieldError]:
    yield from _port(action)
    scheme = action.text("scheme", "HTTP")
    if scheme not in _SCHEMES:
        yield unsupported(action.at("scheme"), scheme, _SCHEMES)
    for header in action.structs("httpHeaders"):
        name = header.text("name")
        for problem in http_header_name(name):
            yield invalid(action.at("httpHeaders"), name, problem)


def _port(action: View) -> Iterator[FieldError]:
    port = action.port("port")
    return validate_port(action.at("port"), 0 if port is None else port)


def _sleep(grace_seconds: int, action: View) -> Iterator[FieldError]:
    seconds = action.number("seconds") or 0
    if not 0 <= seconds <= grace_seconds:
        words = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
        yield invalid(action.path, seconds, words)


_HOOK_ACTIONS: Final[_Actions] = {"exec": _exec, "httpGet": _http_get, "tcpSocket": _port}
_PROBE_ACTIONS: Final[_Actions] = {**_HOOK_ACTIONS, "grpc": _port}


# How the API server validates when a container restarts: its own restart policy, and what a resize needs.
#
# Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateContainerRestartPolicy,
# validateInitContainerRestartPolicy, validateResizePolicy); pkg/api/pod/util.go (dropContainerRestartRules).

_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart",)
_ALL_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_MOST_RULES: Final = 20
_MOST_EXIT_CODES: Final = 255
_RESIZED: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
_COUNTED_SINCE: Final = 36
"""The minor since which too many rules are called so, and not too long."""
_POD_NAMED_SINCE: Final = 36
"""The minor since which a resize policy's error says that the restart policy is the pod's."""
_NO_RESTART_SINCE: Final = 36
"""The minor since which only sidecars among the init containers may restart for a resize."""


def restarts_always(container: View) -> bool:
    """Whether an init container is a sidecar."""
    return container.pointer("restartPolicy") == "Always"


def validate_restart_policy(container: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a container's restart policy and the policy's rules against those of the API."""
    if not rules.on("ContainerRestartRules"):
        return
    written, path = container.pointer("restartPolicy"), container.at("restartPolicy")
    exceptions = container.structs("restartPolicyRules")
    if written is not None:
        if written not in _POLICIES:
            yield unsupported(path, written, _POLICIES)
    elif exceptions:
        yield required(path, "must specify restartPolicy when restart rules are used")
    if len(exceptions) > _MOST_RULES:
        yield _too_many(container.at("restartPolicyRules"), len(exceptions), _MOST_RULES, rules)
    for exception in exceptions:
        yield from _restart_rule(exception, rules)


def _restart_rule(exception: View, rules: Rules) -> Iterator[FieldError]:
    action = exception.text("action")
    actions = _ALL_ACTIONS if rules.on("RestartAllContainersOnContainerExits") else _ACTIONS
    if action not in actions:
        yield unsupported(exception.at("action"), action, actions)
    codes = exception.struct("exitCodes")
    if not exception.has("exitCodes"):
        yield required(codes.path, "must be specified")
        return
    operator, values = codes.text("operator"), codes.numbers("values")
    if operator not in _OPERATORS:
        yield unsupported(codes.at("operator"), operator, _OPERATORS)
    if len(values) > _MOST_EXIT_CODES:
        yield _too_many(codes.at("values"), len(values), _MOST_EXIT_CODES, rules)


def _too_many(path: str, count: int, most: int, rules: Rules) -> FieldError:
    return too_many(path, count, most) if rules.minor >= _COUNTED_SINCE else too_long(path, most)


def validate_init_restart_policy(container: View, rules: Rules) -> Iterator[FieldError]:
    """Hold an init container's restart policy and the policy's rules against those of the API."""
    if not rules.on("ContainerRestartRules"):
        return
    exceptions = container.content.get("restartPolicyRules")
    if not container.has("restartPolicy"):
        if exceptions:
            words = "must specify restartPolicy when restart rules are used"
            yield required(container.at("restartPolicy"), words)
    elif rules.on("RestartAllContainersOnContainerExits") or not restarts_always(container):
        yield from validate_restart_policy(container, rules)
    elif exceptions:
        words = "restartPolicyRules are not allowed for init containers with restart policy Always"
        yield forbidden(container.at("restartPolicyRules"), words)


def validate_resize_policy(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Hold what a container needs when its resources are resized against the rules for it."""
    if not container.has("resizePolicy"):
        return
    path = container.at("resizePolicy")
    seen: set[str] = set()
    for policy in container.structs("resizePolicy"):
        resource, restart = policy.text("resourceName"), policy.text("restartPolicy")
        if resource in seen:
            yield duplicate(policy.path, resource)
        seen.add(resource)
        yield from _one_of(path, resource, _RESIZED)
        yield from _one_of(path, restart, _RESIZE_POLICIES)
        if pod.restart_policy == "Never" and restart != "NotRequired":
            named = "pod " if pod.rules.minor >= _POD_NAMED_SINCE else ""
            yield invalid(path, restart, f"must be 'NotRequired' when {named}`restartPolicy` is 'Never'")


def _one_of(path: str, value: str, known: tuple[str, ...]) -> Iterator[FieldError]:
    if not value:
        yield required(path)
    elif value not in known:
        yield unsupported(path, value, known)


def validate_init_resize_policy(container: View, rules: Rules) -> Iterator[FieldError]:
    """Hold an init container to not restarting for a resize, unless it is a sidecar."""
    if rules.minor < _NO_RESTART_SINCE or restarts_always(container):
        return
    for policy in container.structs("resizePolicy"):
        if policy.text("restartPolicy") == "RestartContainer":
            words = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid(policy.at("restartPolicy"), "RestartContainer", words)
