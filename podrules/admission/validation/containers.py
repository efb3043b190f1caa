"""How the API server validates a pod's containers: the regular ones, the init containers and the ephemeral ones.

``lifecycle.stopSignal`` is dropped before it is validated, and a ``lifecycle`` that has nothing else with it; so are
``grpc.mode`` and ``httpGet.protocol``: their gates are off.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateContainers, validateInitContainers,
validateEphemeralContainers, validateContainerCommon, validateContainerOnlyForPod, validateContainerPorts,
AccumulateUniqueHostPorts, validateProbe, validateLifecycle, validateHandler and the actions,
validateContainerRestartPolicy, validateInitContainerRestartPolicy, validateResizePolicy); pkg/apis/core/v1/defaults.go
(defaultHostNetworkPorts, SetDefaults_Probe, SetDefaults_HTTPGetAction); pkg/api/pod/util.go (dropContainerStopSignals,
dropContainerRestartRules).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podrules.admission.validation.env import validate_env, validate_env_from
from podrules.admission.validation.errors import (
    duplicate,
    forbidden,
    invalid,
    malformed,
    not_found,
    required,
    too_long,
    too_many,
    unsupported,
    validate_enum,
    validate_format,
    validate_required,
    validate_word,
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
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_DEFAULT_PROTOCOL: Final = "TCP"
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS: Final = {
    "initialDelaySeconds": 0,
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
"""A probe's numbers, and what stands for 0."""
_HOOKS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_PROBE_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_SCHEMES: Final = ("HTTP", "HTTPS")
_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart",)
_ALL_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_MOST_RULES: Final = 20
_MOST_EXIT_CODES: Final = 255
_RULES_WITHOUT_POLICY: Final = "must specify restartPolicy when restart rules are used"
_RESIZED: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
_COUNTED_SINCE: Final = 36
"""The minor since which too many rules are called so, and not too long."""
_POD_NAMED_SINCE: Final = 36
"""The minor since which a resize policy's error says that the restart policy is the pod's."""
_NO_RESTART_SINCE: Final = 36
"""The minor since which only sidecars among the init containers may restart for a resize."""


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
        yield from _lifecycle(container, pod.grace_seconds)
        yield from _probes(container)
        yield from _restart_policy(container, pod.rules)
    yield from _host_ports(containers, on_host=on_host)


def validate_init_containers(pod: PodContext) -> Iterator[FieldError]:
    """Hold the init containers against their rules: only a sidecar among them has probes and hooks."""
    names = {container.text("name") for container in pod.spec.structs("containers")}
    on_host, rules = _on_host(pod), pod.rules
    for container in pod.spec.structs("initContainers"):
        sidecar = container.pointer("restartPolicy") == "Always"
        yield from _container(container, pod, on_host=on_host)
        exceptions = container.content.get("restartPolicyRules")
        if container.has("restartPolicy") and (not sidecar or rules.on("RestartAllContainersOnContainerExits")):
            yield from _restart_policy(container, rules)
        elif exceptions and rules.on("ContainerRestartRules"):
            words = "restartPolicyRules are not allowed for init containers with restart policy Always"
            if sidecar:
                yield forbidden(container.at("restartPolicyRules"), words)
            else:
                yield required(container.at("restartPolicy"), _RULES_WITHOUT_POLICY)
        name = container.text("name")
        if name in names:
            yield duplicate(container.at("name"), name)
        elif name:
            names.add(name)
        alone = View(container.content, pod.spec.at("initContainers[0]"))  # its index is not upstream's
        yield from _host_ports([alone], on_host=on_host)
        if sidecar:
            yield from _lifecycle(container, pod.grace_seconds)
            yield from _probes(container)
            continue
        if _has_lifecycle(container):
            yield forbidden(container.at("lifecycle"), _SIDECARS_ONLY)
        for probe in filter(container.has, _PROBES):
            yield forbidden(container.at(probe), _SIDECARS_ONLY)
        for policy in container.structs("resizePolicy") if rules.minor >= _NO_RESTART_SINCE else ():
            if policy.text("restartPolicy") == "RestartContainer":
                words = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                yield invalid(policy.at("restartPolicy"), "RestartContainer", words)


def validate_ephemeral_containers(pod: PodContext) -> Iterator[FieldError]:
    """Hold the ephemeral containers against their rules: they have nothing that a service is made of."""
    targets = {one.text("name") for kind in ("containers", "initContainers") for one in pod.spec.structs(kind)}
    names = set(targets)
    restarts = _RESTARTS if pod.rules.on("ContainerRestartRules") else ()
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
        # What only other containers have; an empty list or map is there, too.
        resources = container.struct("resources")
        for field in (*_BEFORE_RESTARTS, *restarts, *_PROBES):
            if (
                any(map(resources.has, ("limits", "requests", "claims")))
                if field == "resources"
                else container.has(field)
            ):
                yield forbidden(container.at(field), _NOT_EPHEMERAL)
        if _has_lifecycle(container):
            yield forbidden(container.at("lifecycle"), _NOT_EPHEMERAL)
        for mount in container.structs("volumeMounts"):
            for field in filter(mount.text, ("subPath", "subPathExpr")):
                yield forbidden(mount.at(field), _NOT_EPHEMERAL)


def _container(container: View, pod: PodContext, *, on_host: bool) -> Iterator[FieldError]:
    """The rules of every container."""
    yield from validate_required(container, "name")
    yield from validate_format(container, "name", dns_label)
    yield from validate_required(container, "image")
    yield from validate_enum(container, "terminationMessagePolicy", _MESSAGE_POLICIES, "File")
    yield from _ports(container, on_host=on_host)
    yield from validate_env(container, pod.rules)
    yield from validate_env_from(container)
    yield from validate_volume_mounts(container, pod)
    yield from validate_volume_devices(container, pod)
    yield from validate_enum(container, "imagePullPolicy", _PULL_POLICIES, "Always")
    yield from validate_container_resources(container, pod)
    path = container.at("resizePolicy")
    seen: set[str] = set()
    for policy in container.structs("resizePolicy"):
        resource, restart = policy.text("resourceName"), policy.text("restartPolicy")
        if resource in seen:
            yield duplicate(policy.path, resource)
        seen.add(resource)
        for value, known in ((resource, _RESIZED), (restart, _RESIZE_POLICIES)):
            if not value:
                yield required(path)
            elif value not in known:
                yield unsupported(path, value, known)
        if pod.restart_policy == "Never" and restart != "NotRequired":
            named = "pod " if pod.rules.minor >= _POD_NAMED_SINCE else ""
            yield invalid(path, restart, f"must be 'NotRequired' when {named}`restartPolicy` is 'Never'")
    yield from validate_security_context(container, pod)


def _on_host(pod: PodContext) -> bool:
    """Whether the pod is in the node's network, so that the API server makes its ports the node's; not a template's."""
    return pod.is_pod and pod.spec.flag("hostNetwork") is True


def _ports(container: View, *, on_host: bool) -> Iterator[FieldError]:
    """Hold each of a container's ports against the rules of its name, its numbers and its protocol."""
    names: set[str] = set()
    for port in container.structs("ports"):
        name = port.text("name")
        if name:
            problems = port_name(name)
            yield from malformed(port.at("name"), name, problems)
            if name in names:
                yield duplicate(port.at("name"), name)
            elif not problems:
                names.add(name)
        yield from validate_required(port, "containerPort")
        for field, number in (
            ("containerPort", port.number("containerPort")),
            ("hostPort", _host_port(port, on_host=on_host)),
        ):
            yield from malformed(port.at(field), number, port_number(number) if number else ())
        yield from validate_enum(port, "protocol", _PROTOCOLS, _DEFAULT_PROTOCOL)


def _host_port(port: View, *, on_host: bool) -> int:
    """The node's port of a container's port; one in the node's network is the same if it does not say which."""
    return port.number("hostPort") or (port.number("containerPort") or 0 if on_host else 0)


def _host_ports(containers: Iterable[View], *, on_host: bool) -> Iterator[FieldError]:
    """Hold the node's ports of containers that run at the same time against one another."""
    used: set[str] = set()
    for container in containers:
        for port in container.structs("ports"):
            host = _host_port(port, on_host=on_host)
            shown = f"{port.text('protocol', _DEFAULT_PROTOCOL)}/{port.text('hostIP')}/{host}"
            if host and shown in used:
                yield duplicate(port.at("hostPort"), shown)
            elif host:
                used.add(shown)


def _probes(container: View) -> Iterator[FieldError]:
    """Hold a container's probes against the rules of their actions and their numbers."""
    for name in filter(container.has, _PROBES):
        probe = container.struct(name)
        yield from _handler(probe, _PROBE_ACTIONS)
        numbers = {field: probe.number(field) or default for field, default in _PROBE_DEFAULTS.items()}
        for field, number in numbers.items():
            if number < 0:
                yield invalid(probe.at(field), number, "must be greater than or equal to 0")
        grace, place = probe.number("terminationGracePeriodSeconds"), probe.at("terminationGracePeriodSeconds")
        if grace is not None and grace <= 0:
            yield invalid(place, grace, "must be greater than 0")
        if name != "readinessProbe":
            if numbers["successThreshold"] != 1:
                yield invalid(probe.at("successThreshold"), numbers["successThreshold"], "must be 1")
        elif grace is not None:
            yield invalid(place, grace, "must not be set for readinessProbes")


def _has_lifecycle(container: View) -> bool:
    """Whether a container has a ``lifecycle`` as it is validated."""
    lifecycle = container.struct("lifecycle")
    has_hooks = lifecycle.has("postStart") or lifecycle.has("preStop")
    return container.has("lifecycle") and (has_hooks or not lifecycle.has("stopSignal"))


def _lifecycle(container: View, grace_seconds: int) -> Iterator[FieldError]:
    """Hold a container's hooks against the rules of their actions; a sleep ends within the pod's grace period."""
    lifecycle = container.struct("lifecycle")
    for name in filter(lifecycle.has, ("postStart", "preStop")):
        yield from _handler(lifecycle.struct(name), _HOOKS, grace_seconds)


def _handler(handler: View, actions: Iterable[str], grace_seconds: int = 0) -> Iterator[FieldError]:
    """Hold the action of a probe or a hook against its rules: it has exactly one."""
    found = list(filter(handler.has, actions))
    if not found:
        yield required(handler.path, "must specify a handler type")
        return
    kind, action = found[0], handler.struct(found[0])
    if kind == "exec":
        yield from validate_required(action, "command")
    elif kind == "sleep":
        seconds = action.number("seconds") or 0
        if not 0 <= seconds <= grace_seconds:
            words = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
            yield invalid(action.path, seconds, words)
    else:
        written = action.port("port")
        port = 0 if written is None else written
        problems = port_name(port) if isinstance(port, str) else port_number(port)
        yield from malformed(action.at("port"), port, problems)
    if kind == "httpGet":
        yield from validate_enum(action, "scheme", _SCHEMES, "HTTP")
        for header in action.structs("httpHeaders"):
            name = header.text("name")
            yield from malformed(action.at("httpHeaders"), name, http_header_name(name))
    for other in found[1:]:
        yield forbidden(handler.at(other), "may not specify more than 1 handler type")


def _restart_policy(container: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a container's restart policy and the policy's rules against those of the API."""
    if not rules.on("ContainerRestartRules"):
        return
    exceptions, path = container.structs("restartPolicyRules"), container.at("restartPolicyRules")
    yield from validate_word(container, "restartPolicy", _POLICIES)
    if exceptions and not container.has("restartPolicy"):
        yield required(container.at("restartPolicy"), _RULES_WITHOUT_POLICY)

    def too_much(place: str, count: int, most: int) -> FieldError:
        return too_many(place, count, most) if rules.minor >= _COUNTED_SINCE else too_long(place, most)

    if len(exceptions) > _MOST_RULES:
        yield too_much(path, len(exceptions), _MOST_RULES)
    for exception in exceptions:
        actions = _ALL_ACTIONS if rules.on("RestartAllContainersOnContainerExits") else _ACTIONS
        yield from validate_enum(exception, "action", actions)
        codes = exception.struct("exitCodes")
        if not exception.has("exitCodes"):
            yield required(codes.path, "must be specified")
            continue
        yield from validate_enum(codes, "operator", _OPERATORS)
        values = codes.numbers("values")
        if len(values) > _MOST_EXIT_CODES:
            yield too_much(codes.at("values"), len(values), _MOST_EXIT_CODES)
