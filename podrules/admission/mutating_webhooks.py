"""The webhooks that may be called for a new pod, and the Deployment of the kubectl qos webhook.

matchConditions are not evaluated: a webhook with conditions may or may not be called.

Source: k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/{rules,namespace,object}/matcher.go at v0.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import field

from podrules.api.model.base import KubeObject, Model
from podrules.api.model.selectors import LabelSelector, Selector, SelectorError

NAME: Final = "qos-webhook"
"""The name of the chart, and of the container of its Deployment."""
CONFIG_ARGUMENT: Final = "--config=/etc/qos-webhook/config/config.yaml"
"""The argument of that container: the file in the ConfigMap that volume ``config`` mounts."""
MUTATES: Final = "pods.mutate.kubectl-qos.io"
"""The entry of our webhook that writes into new pods."""
VALIDATES: Final = "pods.validate.kubectl-qos.io"
"""The entry of our webhook that rejects some pods."""

_ANY: Final = "*"
_RESOURCES: Final = frozenset({_ANY, "*/*", "pods"})


class _Rule(Model, frozen=True):
    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str = _ANY

    def covers_new_pods(self) -> bool:
        """Whether it matches the creation of a pod."""
        return (
            not {_ANY, "CREATE"}.isdisjoint(self.operations)
            and not {_ANY, ""}.isdisjoint(self.api_groups)
            and not {_ANY, "v1"}.isdisjoint(self.api_versions)
            and not _RESOURCES.isdisjoint(self.resources)
            and self.scope != "Cluster"
        )


class _Named(Model, frozen=True):
    name: str = ""
    namespace: str = ""


class _ClientConfig(Model, frozen=True):
    service: _Named | None = None
    ca_bundle: str = ""


class Webhook(Model, frozen=True):
    """An entry of ``webhooks[]``."""

    name: str = ""
    client_config: _ClientConfig = field(default_factory=_ClientConfig)
    rules: tuple[_Rule, ...] = ()
    match_conditions: tuple[_Named, ...] = ()
    failure_policy: str = "Fail"
    namespace_selector: LabelSelector = field(default_factory=LabelSelector)
    object_selector: LabelSelector = field(default_factory=LabelSelector)

    def may_be_asked(self, namespace_labels: Mapping[str, str], pod_labels: Mapping[str, str]) -> bool:
        """Whether its rules and selectors cover the creation of a pod."""
        return (
            any(rule.covers_new_pods() for rule in self.rules)
            and _selects(self.namespace_selector, namespace_labels)
            and _selects(self.object_selector, pod_labels)
        )


class WebhookConfiguration(KubeObject, frozen=True):
    """A configuration of mutating or validating webhooks."""

    webhooks: tuple[Webhook, ...] = ()


class _Matched(Model, frozen=True):
    namespace_selector: LabelSelector = field(default_factory=LabelSelector)


class _PolicySpec(Model, frozen=True):
    match_constraints: _Matched = field(default_factory=_Matched)


class MutatingPolicy(KubeObject, frozen=True):
    """A MutatingAdmissionPolicy: its expressions are not read."""

    spec: _PolicySpec = field(default_factory=_PolicySpec)

    @property
    def is_ours(self) -> bool:
        """Whether the chart created it (mode: policy)."""
        return is_of_chart(self.metadata.labels)

    def selects(self, namespace_labels: Mapping[str, str]) -> bool:
        """Whether it applies to pods of a namespace."""
        return _selects(self.spec.match_constraints.namespace_selector, namespace_labels)


class _Program(Model, frozen=True):
    name: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


class _VolumeOfConfigMap(Model, frozen=True):
    name: str = ""


class _Volume(Model, frozen=True):
    name: str = ""
    config_map: _VolumeOfConfigMap | None = None


class _PodSpec(Model, frozen=True):
    containers: tuple[_Program, ...] = ()
    volumes: tuple[_Volume, ...] = ()


class _Template(Model, frozen=True):
    spec: _PodSpec = field(default_factory=_PodSpec)


class _DeploymentSpec(Model, frozen=True):
    replicas: int = 1
    template: _Template = field(default_factory=_Template)


class _DeploymentStatus(Model, frozen=True):
    ready_replicas: int = 0


class OurDeployment(KubeObject, frozen=True):
    """A Deployment with the arguments and volumes of its programs, which other models leave out."""

    spec: _DeploymentSpec = field(default_factory=_DeploymentSpec)
    status: _DeploymentStatus = field(default_factory=_DeploymentStatus)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of container ``qos-webhook``; empty if it runs another program, such as a shell."""
        for one in self.spec.template.spec.containers:
            if one.name == NAME and (not one.command or one.command[0].endswith(NAME)):
                return (*one.command[1:], *one.args)
        return ()

    @property
    def config_map(self) -> str:
        """The name of the ConfigMap with the configuration file; empty: its chart gave the rules as arguments."""
        volumes = self.spec.template.spec.volumes
        maps = (one.config_map.name for one in volumes if one.name == "config" and one.config_map is not None)
        return next(maps, "") if CONFIG_ARGUMENT in self.arguments else ""


def asked_about_pods(
    configurations: Iterable[WebhookConfiguration],
    namespace_labels: Mapping[str, str],
    pod_labels: Mapping[str, str],
) -> Iterator[str]:
    """The names of the webhooks that may be called for a new pod.

    Args:
        configurations: All configurations of the cluster.
        namespace_labels: The labels of the pod's namespace.
        pod_labels: The labels of the pod.
    """
    for configuration in configurations:
        for webhook in configuration.webhooks:
            if webhook.may_be_asked(namespace_labels, pod_labels):
                yield webhook.name


def our_webhooks(
    configurations: Iterable[WebhookConfiguration], name: str
) -> list[tuple[WebhookConfiguration, Webhook]]:
    """The entries with a name, `MUTATES` or `VALIDATES`, with their configurations."""
    return [(one, webhook) for one in configurations for webhook in one.webhooks if webhook.name == name]


def is_of_chart(labels: Mapping[str, str]) -> bool:
    """Whether an object has the label that the chart sets on all its objects."""
    return labels.get("app.kubernetes.io/name") == NAME


def deployment_of(configuration: WebhookConfiguration, webhook: Webhook) -> tuple[str, str]:
    """Namespace and name of an entry's Deployment: those of its Service, else the chart's names."""
    service = webhook.client_config.service
    if service is not None:
        return service.namespace, service.name
    name, _, namespace = configuration.metadata.name.partition(".")
    return namespace, name


def _selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a selector selects labels; an empty one selects everything, an invalid one may select anything."""
    try:
        return Selector.from_label_selector(selector).matches(labels)
    except SelectorError:
        return True
