"""A Pod or a workload's template as the input of Pod Security's checks: with defaults, and as it will be stored.

A Pod in the host network has its container ports as host ports, and its containers get AppArmor profiles from
annotations; a template has neither. Image volumes are dropped if their gate is off.

Source: admission/admission.go (DefaultPodSpecExtractor) and policy/visitor.go of k8s.io/pod-security-admission at
v0.37.1; pkg/apis/core/v1/defaults.go (SetDefaults_Pod), pkg/registry/core/pod/strategy.go (applyAppArmorVersionSkew)
and pkg/api/pod/util.go (dropImageVolumes) of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct

from podrules.admission.validation.security import copied_app_armor
from podrules.admission.validation.view import Rules, View
from podrules.admission.validation.volumes import kept_volumes

_POD: Final = "Pod"
_TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "Job": ("spec", "template"),
    "PodTemplate": ("template",),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
}
_OPTIONAL: Final = "ReplicationController"
"""The kind with an optional template."""
_EPHEMERAL: Final = "ephemeralContainers"


class SecuredContainer(Struct, frozen=True):
    """A container of any kind."""

    name: str
    content: View
    context: View
    """The security context."""
    shares_ports: bool
    """Whether its ports are host ports."""

    def host_ports(self) -> Iterator[int]:
        """The host ports that it uses."""
        for port in self.content.structs("ports"):
            number = port.number("hostPort") or (self.shares_ports and port.number("containerPort"))
            if number:
                yield number


class SecuredPod(Struct, frozen=True):
    """An existing pod, or the pod of a template."""

    spec: View
    context: View
    """The security context."""
    containers: tuple[SecuredContainer, ...]
    """The containers in upstream's order."""
    annotations: Mapping[str, str]
    rules: Rules
    is_pod: bool
    """Whether it is a Pod: a template is never rejected."""

    @property
    def volumes(self) -> Sequence[View]:
        """The volumes that are stored."""
        return kept_volumes(self.spec, self.rules)

    @property
    def is_windows(self) -> bool:
        """Whether the pod declares Windows as its OS."""
        return self.spec.struct("os").text("name") == "windows"

    @property
    def has_own_users(self) -> bool:
        """Whether the pod has its own user namespace."""
        return self.spec.flag("hostUsers") is False


def pod_of(content: Mapping[str, Any], rules: Rules) -> SecuredPod | None:
    """The pod of a Pod or of a workload of upstream's kinds; None: the object has none."""
    kind = content.get("kind")
    if kind == _POD:
        return secured_pod(View(content, ""), rules)
    steps = _TEMPLATES.get(str(kind))
    if steps is None:
        return None
    holder = View(content, "")
    for step in steps[:-1]:
        holder = holder.struct(step)
    if kind == _OPTIONAL and not holder.has(steps[-1]):
        return None
    return secured_pod(holder.struct(steps[-1]), rules, is_pod=False)


def secured_pod(content: View, rules: Rules, *, is_pod: bool = True) -> SecuredPod:
    """The input of the checks for a Pod, also one that a controller creates from a template, or for a template."""
    spec, context = content.struct("spec"), content.struct("spec").struct("securityContext")
    annotations = content.struct("metadata").texts_by_key("annotations")
    shares_ports = is_pod and bool(spec.flag("hostNetwork"))
    containers = []
    for kind in ("initContainers", "containers", _EPHEMERAL):
        for container in spec.structs(kind):
            own = container.struct("securityContext")
            copied = copied_app_armor(container, spec, annotations) if is_pod else None
            if copied is not None:
                own = View({**own.content, "appArmorProfile": {"type": copied["Type"]}}, own.path)
            shares = shares_ports and kind != _EPHEMERAL
            containers.append(SecuredContainer(container.text("name"), container, own, shares))
    return SecuredPod(spec, context, tuple(containers), annotations, rules, is_pod)


class Violation(NamedTuple):
    """Why a check forbids a pod."""

    reason: str
    detail: str


Check = Callable[[SecuredPod], Violation | None]
"""A check of a level; it returns a pod's violation."""


def plural(word: str, count: int) -> str:
    """A word in singular or plural; zero is plural."""
    return word if count == 1 else f"{word}s"


def quoted_list(texts: Iterable[str]) -> str:
    """Texts in quotes, without escapes."""
    return ", ".join(f'"{text}"' for text in texts)


def named(word: str, names: Sequence[str]) -> str:
    """``containers "a", "b"``."""
    return f"{plural(word, len(names))} {quoted_list(names)}"


def containers_that(pod: SecuredPod, bad: Callable[[View], bool]) -> Sequence[str]:
    """The names of the containers with a bad security context."""
    return [container.name for container in pod.containers if bad(container.context)]


def setters(pod: SecuredPod, bad: Callable[[View], bool]) -> list[str]:
    """The owners of a bad security context: ``pod``, ``containers "a", "b"``, both or none."""
    found = ["pod"] if bad(pod.context) else []
    names = containers_that(pod, bad)
    if names:
        found.append(named("container", names))
    return found


def bad_types(pod: SecuredPod, bad: Callable[[View], bool], field: str) -> Sequence[str]:
    """The types of a profile in the bad security contexts, each once and in order."""
    contexts = [pod.context, *(container.context for container in pod.containers)]
    return sorted({context.struct(field).text("type") for context in contexts if bad(context)})
