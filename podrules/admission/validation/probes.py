"""How the API server validates a container's probes and lifecycle hooks.

``lifecycle.stopSignal`` is dropped before it is validated, and a ``lifecycle`` that has nothing else with it; so are
``grpc.mode`` and ``httpGet.protocol``: their gates are off.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateLivenessProbe, validateReadinessProbe,
validateStartupProbe, validateProbe, validateLifecycle, validateHandler and the actions); pkg/apis/core/v1/defaults.go
(SetDefaults_Probe, SetDefaults_HTTPGetAction); pkg/api/pod/util.go (dropContainerStopSignals).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from podrules.admission.validation.errors import forbidden, invalid, required, unsupported
from podrules.admission.validation.formats import http_header_name
from podrules.admission.validation.ports import validate_port
from podrules.admission.validation.view import View
from podrules.api.model.field_error import FieldError

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
