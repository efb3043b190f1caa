"""How the API server validates a pod's containers: the regular ones, the init containers and the ephemeral ones.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateContainers, validateInitContainers,
validateEphemeralContainers, validateContainerCommon, validateContainerOnlyForPod).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.env import validate_env, validate_env_from
from podrules.admission.validation.errors import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
    validate_format,
)
from podrules.admission.validation.formats import dns_label, is_padded
from podrules.admission.validation.ports import validate_container_ports, validate_host_ports
from podrules.admission.validation.probes import PROBES, has_lifecycle, validate_lifecycle, validate_probes
from podrules.admission.validation.resources import validate_container_resources
from podrules.admission.validation.restarts import (
    restarts_always,
    validate_init_resize_policy,
    validate_init_restart_policy,
    validate_resize_policy,
    validate_restart_policy,
)
from podrules.admission.validation.security import validate_security_context
from podrules.admission.validation.view import PodContext, View
from podrules.admission.validation.volumes import validate_volume_devices, validate_volume_mounts
from podrules.api.model.field_error import FieldError

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
