"""How the API server validates when a container restarts: its own restart policy, and what a resize needs.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateContainerRestartPolicy,
validateInitContainerRestartPolicy, validateResizePolicy); pkg/api/pod/util.go (dropContainerRestartRules).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.errors import (
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.api.model.field_error import FieldError

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
