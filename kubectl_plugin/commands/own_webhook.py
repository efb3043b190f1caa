"""What the webhook of kubectl qos will write into a pod to come, or refuses, by its configuration in the cluster.

found    by the name of its webhook; its Deployment has the name of its Service, else the chart's name for it
read     the arguments of the Deployment, the ConfigMap that they name, the Namespace, and what selectors come from
rules    `podrules.qos_webhook`, as the webhook itself
unknown  where one of these cannot be read. A List or a snapshot without webhook configurations says so only if the
Namespace or a Deployment shows that there is such a webhook
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from msgspec.structs import replace

from kubectl_plugin.commands.controllers import Controllers
from kubectl_plugin.commands.likely_node import Maker
from kubectl_plugin.commands.manifest_objects import ManifestObjects, with_manifest_objects
from kubectl_plugin.reports.pod.own_webhook import OwnWebhookReport
from podrules.admission import PodRefusal, RefusedBy
from podrules.cluster.errors import ManifestError
from podrules.cluster.gather import Gatherer
from podrules.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    MUTATING_POLICIES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    OUR_DEPLOYMENTS,
    SERVICES,
    VALIDATING_WEBHOOKS,
    Kind,
)
from podrules.cluster.needs import CONTROLLERS, field_of
from podrules.cluster.scheduler_config import config_map_document
from podrules.limits.forbidden import forbidden
from podrules.model.pod import Pod
from podrules.model.policy import PriorityClass
from podrules.model.snapshot import ClusterSnapshot
from podrules.mutating_webhooks import MUTATES, VALIDATES, Webhook, WebhookConfiguration, deployment_of, our_webhooks
from podrules.placement.controllers import with_controllers
from podrules.priority import UnknownPriorityClass, is_mirror_pod, resolve_priority
from podrules.qos_webhook.arguments import PodRules, RuleMode, read_arguments
from podrules.qos_webhook.defaults import (
    CONSTRAINTS_ANNOTATION,
    DEFAULT_CLASS_LABEL,
    DEFAULT_PROFILES,
    DefaultSpread,
    Space,
    default_spread,
    disallowed,
    may_get_constraints,
    namespace_default,
    not_given,
    scheduler_defaults,
)
from podrules.qos_webhook.namespaces import RuleError
from podrules.reading import FORBIDDEN, Unread
from podrules.scheduler.plugins.pod_topology_spread.siblings import SnapshotSiblings
from podrules.scheduler.profile import ConfigurationError, Profile, read_profiles

__all__ = ["Judged", "OwnWebhook"]

_CHARTS_CONDITION: Final = "not-a-mirror-pod"
_NAME: Final = "qos-webhook"
_POLICIES_SINCE: Final = 36
"""The first minor that serves mutating policies by default."""

T = TypeVar("T")


class Judged(NamedTuple):
    """A pod to come after the webhook."""

    pod: Pod
    """With what it writes."""
    report: OwnWebhookReport
    rules: PodRules | None = None
    """None: they are not known."""
    labels: Mapping[str, str] = {}
    """The labels of the namespace."""


class _UnknownError(Exception):
    """The message says what is not known, and why."""


class OwnWebhook:
    """Judges pods to come."""

    def __init__(self, gatherer: Gatherer) -> None:
        """Read nothing yet."""
        self._gatherer = gatherer
        self._controllers = Controllers(gatherer)

    def judge(
        self, pod: Pod, maker: Maker, files: ManifestObjects, classes: Mapping[str, PriorityClass] | None
    ) -> Judged | None:
        """What it writes into a pod, by the PriorityClasses that are known; None: it is not there, or is not asked."""
        namespace, report = pod.metadata.namespace, OwnWebhookReport()
        try:
            ours = self._ours(namespace, files)
            if is_mirror_pod(pod):
                return None
            if not ours:
                return self._by_policies(pod, files)
            report = OwnWebhookReport(webhook=ours[0][0].metadata.name)
            space = self._known(self._space(namespace, files), f"namespace {namespace}")
            asked = [one for one in ours if one[1].may_be_asked(space.labels, pod.metadata.labels)]
            if not asked:
                return None
            if len(asked) > 1:
                raise _UnknownError(f"{len(asked)} of them are asked about namespace {namespace}")
            report, rules = self._rules(*asked[0])
        except _UnknownError as error:
            return Judged(pod, replace(report, unknown=(str(error),)))
        report = _with_class(replace(report, namespace=namespace), pod, space, rules, classes)
        try:
            spread = self._constraints(pod, maker, files, space, rules)
            report = replace(
                report,
                topology_spread_constraints=tuple(spread.constraints),
                constraints_origin=spread.origin,
                warnings=(*report.warnings, *spread.warnings),
            )
        except _UnknownError as error:
            report = replace(report, unknown=(f"default constraints: {error}",))
        return Judged(_written(pod, report), report, rules, space.labels)

    def refusal(self, judged: Judged, stored: Pod) -> tuple[OwnWebhookReport, PodRefusal | None]:
        """What its validating half says of a judged pod as it would be stored."""
        report, rules, meta = judged.report, judged.rules, stored.metadata
        options = None if rules is None or report.unready else rules.options
        problem = "" if options is None else disallowed(stored.spec.priority_class_name, meta.namespace, options.rules)
        if options is None or not problem:
            return report, None
        configurations = self._gatherer.noted(self._gatherer.list(VALIDATING_WEBHOOKS))
        if configurations is None:
            missing = f"whether it refuses the pod, for {VALIDATING_WEBHOOKS.rbac_name} could not be read: {problem}"
            return replace(report, unknown=(*report.unknown, missing)), None
        if not any(one.may_be_asked(judged.labels, meta.labels) for _, one in our_webhooks(configurations, VALIDATES)):
            return report, None
        if options.disallowed_class is RuleMode.WARN:
            return replace(report, warnings=(*report.warnings, f"spec.priorityClassName: {problem}")), None
        message = f'admission webhook "{VALIDATES}" denied the request: {forbidden(stored, problem)}'
        return report, PodRefusal(RefusedBy.WEBHOOK, message)

    def _known(self, found: T | Unread, what: str) -> T:
        if isinstance(found, Unread):
            self._gatherer.noted(found)
            raise _UnknownError(f"{what} could not be read")
        return found

    def _ours(self, namespace: str, files: ManifestObjects) -> Sequence[tuple[WebhookConfiguration, Webhook]]:
        """The entries of our webhook for new pods."""
        configurations = self._gatherer.list(MUTATING_WEBHOOKS)
        if not isinstance(configurations, Unread):
            return our_webhooks(configurations, MUTATES)
        if configurations.reason == FORBIDDEN:
            self._gatherer.noted(configurations)
        space = self._space(namespace, files)
        shown = not isinstance(space, Unread) and (DEFAULT_CLASS_LABEL in space.labels or bool(space.constraints))
        if not shown and not self._gatherer.source.side_by_side:
            deployments = self._gatherer.list(DEPLOYMENTS)
            label = "app.kubernetes.io/name"
            shown = not isinstance(deployments, Unread) and any(
                one.metadata.labels.get(label) == _NAME for one in deployments
            )
        return self._known(configurations, MUTATING_WEBHOOKS.rbac_name) if shown else ()

    def _by_policies(self, pod: Pod, files: ManifestObjects) -> Judged | None:
        """What is not known where policies of the chart write in its place: expressions are not evaluated here."""
        if self._gatherer.versions.api_server.minor < _POLICIES_SINCE:
            return None
        policies = self._gatherer.list(MUTATING_POLICIES)
        ours = [] if isinstance(policies, Unread) else [one for one in policies if one.is_ours]
        if not ours:
            return None
        namespace, unnamed = pod.metadata.namespace, not pod.spec.priority_class_name
        space = self._known(self._space(namespace, files), f"namespace {namespace}")
        writes = {
            ".default-class": unnamed,
            ".default-class.label": unnamed and DEFAULT_CLASS_LABEL in space.labels,
            ".default-spread": may_get_constraints(pod, space),
        }
        for name in (one.metadata.name for one in ours if one.selects(space.labels)):
            if any(may and name.endswith(suffix) for suffix, may in writes.items()):
                why = f"{MUTATING_POLICIES.kind} {name} is not evaluated here; --dry-run=server asks the API server"
                return Judged(pod, OwnWebhookReport(webhook=name, unknown=(why,)))
        return None

    def _space(self, namespace: str, files: ManifestObjects) -> Space | Unread:
        found = self._gatherer.get(NAMESPACES, namespace)
        if isinstance(found, Unread):
            return found
        of_files = (one for kind, one in files.others if kind is NAMESPACES and one.metadata.name == namespace)
        labels: dict[str, str] = {}
        annotations: dict[str, str] = {}
        for one in (*([] if found is None else [found]), *of_files):
            labels |= one.metadata.labels
            annotations |= one.metadata.annotations
        labels["kubernetes.io/metadata.name"] = namespace
        return Space(namespace, labels, annotations.get(CONSTRAINTS_ANNOTATION, ""))

    def _rules(self, configuration: WebhookConfiguration, webhook: Webhook) -> tuple[OwnWebhookReport, PodRules]:
        own, (namespace, name) = configuration.metadata.name, deployment_of(configuration, webhook)
        place = f"{namespace}/{name}"
        if any(one.name != _CHARTS_CONDITION for one in webhook.match_conditions):
            raise _UnknownError(f"{own} has matchConditions of its own")
        found = self._known(
            self._gatherer.get(OUR_DEPLOYMENTS, name, namespace) if namespace else None, f"Deployment {place}"
        )
        arguments = () if found is None else found.arguments
        if found is None or not arguments or any("$(" in one for one in arguments):
            raise _UnknownError(f"Deployment {place} of {own} has no container {_NAME} with plain arguments")
        try:
            rules = read_arguments(arguments)
        except RuleError as error:
            raise _UnknownError(f"Deployment {place} cannot start with its arguments: {error}") from error
        unready = webhook.client_config.service is not None and not found.status.ready_replicas
        return OwnWebhookReport(webhook=place, unready=webhook.failure_policy if unready else ""), rules

    def _constraints(
        self, pod: Pod, maker: Maker, files: ManifestObjects, space: Space, rules: PodRules
    ) -> DefaultSpread:
        if not may_get_constraints(pod, space):
            return DefaultSpread()
        # By the arguments of kube-scheduler's defaults, the revision of a Deployment counts.
        made = self._controllers.of(pod, maker.kind, maker.entry, maker.written, {})
        profiles, snapshot, owner = self._profiles(rules), ClusterSnapshot(), made.pod.metadata.controller
        if rules.options.default_constraints:
            services = self._known(self._gatherer.list(SERVICES, space.name), f"Services of {space.name}")
            snapshot = with_controllers(with_manifest_objects(ClusterSnapshot(services=tuple(services)), files), [made])
            kind: Kind[Any] | None = CONTROLLERS.get((owner.api_version, owner.kind)) if owner is not None else None
            if owner is not None and kind is not None and made.controller is None:
                found = self._known(self._gatherer.get(kind, owner.name, space.name), f"{kind.kind} {owner.name}")
                snapshot = replace(snapshot, **{field_of(kind): () if found is None else (found,)})
        return default_spread(
            made.pod,
            space,
            rules.options,
            lambda name: scheduler_defaults(profiles, name, write_system=rules.write_system_defaults),
            SnapshotSiblings(snapshot),
        )

    def _profiles(self, rules: PodRules) -> Mapping[str, Profile]:
        place = rules.scheduler_config
        if place is None:
            return DEFAULT_PROFILES
        found = self._known(self._gatherer.get(CONFIG_MAPS, place.name, place.namespace), f"ConfigMap {place}")
        try:
            return DEFAULT_PROFILES if found is None else read_profiles(config_map_document(found))
        except (ConfigurationError, ManifestError) as error:
            raise _UnknownError(f"it refuses ConfigMap {place}: {error}") from error


def _with_class(
    report: OwnWebhookReport, pod: Pod, space: Space, rules: PodRules, classes: Mapping[str, PriorityClass] | None
) -> OwnWebhookReport:
    name = namespace_default(space, rules.options.rules)
    if not name or pod.spec.priority_class_name:
        return report
    resolved = None if classes is None else resolve_priority(name, classes)
    if isinstance(resolved, UnknownPriorityClass):
        return replace(report, warnings=(not_given(space.name, resolved),))
    return replace(report, priority_class_name=name)


def _written(pod: Pod, report: OwnWebhookReport) -> Pod:
    spec = pod.spec
    if report.unready:
        return pod
    if report.priority_class_name:
        # The Priority plugin fills in the rest by the class.
        spec = replace(spec, priority_class_name=report.priority_class_name, priority=None, preemption_policy=None)
    if report.topology_spread_constraints:
        spec = replace(spec, topology_spread_constraints=report.topology_spread_constraints)
    return replace(pod, spec=spec)
