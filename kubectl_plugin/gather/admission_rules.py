"""Reads what decides about a future pod: LimitRanges, quotas and labels of its namespace, and our webhook.

Objects of the files count as after an apply: an object of the cluster gets the content of the file, and a quota keeps
its use in the cluster. A quota that is only in a file counts from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from cluster_io.errors import ManifestError
from cluster_io.gather import Gatherer
from cluster_io.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    LIMIT_RANGES,
    MUTATING_POLICIES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    OUR_CONFIG_MAPS,
    OUR_DEPLOYMENTS,
    RESOURCE_QUOTAS,
    SERVICES,
    VALIDATING_WEBHOOKS,
    Kind,
)
from cluster_io.scheduler_config import config_map_document
from cluster_io.webhook_config import config_map_rules
from kubectl_plugin.gather.controllers import Controllers
from kubectl_plugin.gather.manifest_objects import ManifestObjects, applied, with_manifest_objects
from kubectl_plugin.gather.manifest_pods import PodManifest
from kubectl_plugin.reports.pod.admission import OwnWebhookReport
from podrules.admission.admitted_pod import PodRefusal, QuotaRoom, RejectedBy, forbidden
from podrules.admission.limits import quota_room, with_pods
from podrules.admission.mutating_webhooks import (
    MUTATES,
    NAME,
    VALIDATES,
    Webhook,
    WebhookConfiguration,
    deployment_of,
    is_of_chart,
    our_webhooks,
)
from podrules.admission.pod_review import AdmissionRules
from podrules.admission.pod_security.policy import policy_of
from podrules.api.features import Features
from podrules.api.model.pod import Pod
from podrules.api.model.policy import LimitRange, PriorityClass, ResourceQuota, ResourceQuotaStatus
from podrules.api.model.quantity import ZERO
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.pod.priority import UnknownPriorityClass, is_mirror_pod, resolve_priority
from podrules.pod.reading import FORBIDDEN, UnreadInput, read_or_none
from podrules.qos_webhook.defaults import (
    CONSTRAINTS_ANNOTATION,
    DEFAULT_CLASS_LABEL,
    DEFAULT_PROFILES,
    Space,
    default_spread,
    disallowed,
    may_get_constraints,
    namespace_default,
    not_given,
    scheduler_defaults,
)
from podrules.qos_webhook.rules import PodRules, RuleError, RuleMode
from podrules.scheduling.placement.controllers import with_controllers
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SnapshotSiblings
from podrules.scheduling.scheduler.profile import ConfigurationError, Profile, read_profiles


class NamespaceReader:
    """Reads each namespace once, and counts the used room of its quotas."""

    def __init__(self, gatherer: Gatherer, *, asks: bool) -> None:
        """Read nothing yet; ``asks``: separate requests for quotas and labels are allowed."""
        self._gatherer = gatherer
        self._asks = asks
        self._quotas: dict[str, Sequence[ResourceQuota]] = {}
        self._asked: set[str] = set()
        """The namespaces with requested quotas."""

    def limit_ranges(self, namespace: str, objects: ManifestObjects) -> Sequence[LimitRange] | None:
        """The LimitRanges of a namespace; None: they cannot be read, and the files have none."""
        found = self._gatherer.noted(self._gatherer.list(LIMIT_RANGES, namespace))
        own = [entry for entry in objects.limit_ranges if entry.metadata.namespace == namespace]
        return found if not own else applied(found or (), own)

    def refusal(self, namespace: str, objects: ManifestObjects, name: str) -> PodRefusal | None:
        """Why a namespace takes no new object, as ``pods "web"``: it does not exist, or is being terminated.

        None: it does, or unknown.

        Source: pkg/admission/plugin/namespace/lifecycle/admission.go (Admit) of k8s.io/apiserver at v0.36.3.
        """
        found = self._gatherer.get(NAMESPACES, namespace)
        if found is None:
            own = (entry.metadata.name for kind, entry in objects.others if kind is NAMESPACES)
            # Every cluster has Namespaces: a file without any does not include them.
            if not self._gatherer.source.side_by_side and not read_or_none(self._gatherer.list(NAMESPACES)):
                return None
            if namespace in own:
                return None
            return PodRefusal(RejectedBy.NAMESPACE, f'namespaces "{namespace}" not found')
        if isinstance(found, UnreadInput) or found.metadata.deletion_timestamp is None:
            return None
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        return PodRefusal(RejectedBy.NAMESPACE, f"{name} is forbidden: {why}")

    def rules(
        self,
        namespace: str,
        objects: ManifestObjects,
        limit_ranges: Sequence[LimitRange] | None,
        *,
        quotas: bool,
        of_file: bool,
    ) -> AdmissionRules:
        """All rules of a namespace.

        Args:
            namespace: Its name.
            objects: The objects of the files.
            limit_ranges: The namespace's LimitRanges, as `limit_ranges` returned them.
            quotas: Whether quotas may be requested in any case.
            of_file: Whether the pod is in a file: its Namespace is then always read, and quotas decide.
        """
        read = self._gatherer.noted(self._gatherer.get(NAMESPACES, namespace)) if self._asks or of_file else None
        labels = {**({} if read is None else read.metadata.labels), **objects.labels_of(namespace)}
        asks = self._asks or quotas or of_file
        if namespace not in self._quotas or (asks and namespace not in self._asked):
            found: Sequence[ResourceQuota] = ()
            if asks:
                self._asked.add(namespace)
                found = self._gatherer.noted(self._gatherer.list(RESOURCE_QUOTAS, namespace)) or ()
            used = {entry.metadata.name: entry.status.used for entry in found}
            own = [entry for entry in objects.quotas if entry.metadata.namespace == namespace]
            for entry in own:
                if entry.metadata.name not in used:
                    reason = f"quota {entry.metadata.name} is only in the file: it counts from 0"
                    self._gatherer.noted(UnreadInput("get", RESOURCE_QUOTAS.rbac_name, namespace, reason))
            counted = []
            for entry in own:
                # As the quota controller will count it.
                hard, known = entry.spec.hard, used.get(entry.metadata.name, {})
                status = ResourceQuotaStatus(hard=hard, used={name: known.get(name, ZERO) for name in hard})
                counted.append(replace(entry, status=status))
            self._quotas[namespace] = applied(found, counted)
        return AdmissionRules(limit_ranges=limit_ranges or (), quotas=self._quotas[namespace], policy=policy_of(labels))

    def take(self, pod: Pod, wanted: int | None, features: Features) -> QuotaRoom | None:
        """Subtract the use of this many pods from the quotas; returns the room if it is not enough for all.

        The pod is as the API server would store it, in a namespace that was read. ``wanted`` None: as many as fit.
        """
        namespace = pod.metadata.namespace
        quotas = self._quotas.get(namespace, ())
        room = quota_room(pod, quotas, features=features)
        if room is not None and wanted is not None and room.pods >= wanted:
            room = None
        pods = wanted if room is None else room.pods
        # Pods without a limiting quota are not counted either.
        self._quotas[namespace] = with_pods(pod, pods or 0, quotas, features=features)
        return room


# What the webhook of kubectl qos writes into a future pod, or refuses, by its configuration in the cluster.
#
# found     by the name of the webhook; its Deployment has the name of its Service, else the chart's default name
# read      the ConfigMap with the configuration file, the scheduler's ConfigMap that it names, the Namespace, and the
#           sources of selectors
# rules     `podrules.qos_webhook`, as in the webhook itself
# policies  of the chart are expressions, which are not evaluated: what they may write is unknown
# unknown   if one of these cannot be read. For a List or a snapshot without webhook configurations, the answer says so
#           only if the Namespace or a Deployment shows that such a webhook exists

_CHARTS_CONDITION: Final = "not-a-mirror-pod"
_POLICIES_SINCE: Final = 36
"""The first minor that serves mutating policies by default."""

T = TypeVar("T")


class _UnknownError(Exception):
    """Something is unknown; the message says what, and why."""


class OwnWebhook:
    """Judges one future pod: first what the webhook writes, then whether it refuses the result."""

    def __init__(self, manifest: PodManifest, files: ManifestObjects, gatherer: Gatherer) -> None:
        """Read nothing yet."""
        self._pod, self._manifest, self._files, self._gatherer = manifest.pod, manifest, files, gatherer
        self._namespace = manifest.pod.metadata.namespace
        self._rules: PodRules | None = None
        self._space = Space(self._namespace, {}, "")
        self.report: OwnWebhookReport | None = None
        """None: the webhook does not exist, or is not called."""

    def written(self, classes: Mapping[str, PriorityClass] | None, *, spread: bool = True) -> Pod:
        """The pod after the webhook, by the known PriorityClasses; ``spread``: also with constraints."""
        pod, spec = self._pod, self._pod.spec
        if is_mirror_pod(pod):
            return pod
        report = OwnWebhookReport(namespace=self._namespace)
        try:
            ours = self._ours()
            if not ours:
                self.report = self._of_policies()
                return pod
            report = replace(report, webhook=ours[0][0].metadata.name)
            space = self._space = self._known(self._read_space(), f"namespace {self._namespace}")
            asked = [one for one in ours if one[1].may_be_asked(space.labels, pod.metadata.labels)]
            if not asked:
                return pod
            if len(asked) > 1:
                raise _UnknownError(f"{len(asked)} of them are asked about namespace {self._namespace}")
            report, rules = self._installed(report, *asked[0])
        except _UnknownError as error:
            self.report = replace(report, unknown=(str(error),), class_unknown=True)
            return pod
        # With mode: both, policies of the chart write while no pod of the webhook is ready.
        if report.unready and (of_policies := self._of_policies()) is not None:
            self.report = of_policies
            return pod
        self._rules, name = rules, namespace_default(space, rules)
        if name and not spec.priority_class_name:
            unknown = None if classes is None else resolve_priority(name, classes)
            if isinstance(unknown, UnknownPriorityClass):
                report = replace(report, warnings=(not_given(space.name, unknown),))
            else:
                report = replace(report, priority_class_name=name)
                # The Priority plugin fills in the rest by the class.
                spec = replace(spec, priority_class_name=name, priority=None, preemption_policy=None)
        if spread and may_get_constraints(pod, space):
            report = self._with_constraints(report, rules)
            spec = replace(spec, topology_spread_constraints=report.topology_spread_constraints)
        self.report = report
        return pod if report.unready or spec == pod.spec else replace(pod, spec=spec)

    def refusal(self, stored: Pod) -> PodRefusal | None:
        """Why it refuses the pod as it would be stored after all mutating plugins."""
        report, rules = self.report, self._rules
        if report is None or rules is None:
            return None
        if report.unready:
            service = report.webhook.partition("/")[2]
            cause = f'no endpoints available for service "{service}"'
            if report.untrusted:
                cause = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            failed = f'failed calling webhook "{MUTATES}": failed to call webhook: {cause}'
            return PodRefusal(RejectedBy.WEBHOOK, failed) if report.unready == "Fail" else None
        problem = disallowed(stored.spec.priority_class_name, self._namespace, rules)
        if not problem:
            return None
        configurations = self._gatherer.noted(self._gatherer.list(VALIDATING_WEBHOOKS))
        if configurations is None:
            missing = f"whether it refuses the pod: {VALIDATING_WEBHOOKS.rbac_name} could not be read: {problem}"
            self.report = replace(report, unknown=(*report.unknown, missing))
            return None
        labels = stored.metadata.labels
        if not any(one.may_be_asked(self._space.labels, labels) for _, one in our_webhooks(configurations, VALIDATES)):
            return None
        if rules.priority_classes.disallowed is RuleMode.WARN:
            self.report = replace(report, warnings=(*report.warnings, f"spec.priorityClassName: {problem}"))
            return None
        message = f'admission webhook "{VALIDATES}" denied the request: {forbidden(stored, problem)}'
        return PodRefusal(RejectedBy.WEBHOOK, message)

    def _known(self, found: T | UnreadInput, what: str) -> T:
        if isinstance(found, UnreadInput):
            self._gatherer.noted(found)
            raise _UnknownError(f"{what} could not be read")
        return found

    def _ours(self) -> Sequence[tuple[WebhookConfiguration, Webhook]]:
        """The entries of our webhook for new pods."""
        configurations = self._gatherer.list(MUTATING_WEBHOOKS)
        if not isinstance(configurations, UnreadInput):
            return our_webhooks(configurations, MUTATES)
        if configurations.reason == FORBIDDEN:
            self._gatherer.noted(configurations)
        space = self._read_space()
        shown = not isinstance(space, UnreadInput) and (DEFAULT_CLASS_LABEL in space.labels or bool(space.constraints))
        if not shown and not self._gatherer.source.side_by_side:
            deployments = self._gatherer.list(DEPLOYMENTS)
            known = () if isinstance(deployments, UnreadInput) else deployments
            shown = any(is_of_chart(one.metadata.labels) for one in known)
        return self._known(configurations, MUTATING_WEBHOOKS.rbac_name) if shown else ()

    def _of_policies(self) -> OwnWebhookReport | None:
        """What is unknown because policies of the chart write instead."""
        if self._gatherer.versions.api_server.minor < _POLICIES_SINCE:
            return None
        policies = self._gatherer.list(MUTATING_POLICIES)
        if isinstance(policies, UnreadInput):
            if policies.reason == FORBIDDEN:
                self._gatherer.noted(policies)
            return None
        ours = [one for one in policies if one.is_ours]
        if not ours:
            return None
        space = self._known(self._read_space(), f"namespace {self._namespace}")
        unnamed = not self._pod.spec.priority_class_name
        writes = {
            ".default-class": unnamed,
            ".default-class.label": unnamed and DEFAULT_CLASS_LABEL in space.labels,
            ".default-spread": may_get_constraints(self._pod, space),
        }
        for name in (one.metadata.name for one in ours if one.selects(space.labels)):
            if any(may and name.endswith(suffix) for suffix, may in writes.items()):
                why = f"{MUTATING_POLICIES.kind} {name} is not evaluated here; --dry-run=server asks the API server"
                of_class = ".default-class" in name
                return OwnWebhookReport(webhook=name, by_policy=True, unknown=(why,), class_unknown=of_class)
        return None

    def _read_space(self) -> Space | UnreadInput:
        found = self._gatherer.get(NAMESPACES, self._namespace)
        if isinstance(found, UnreadInput):
            return found
        metas = [] if found is None else [found.metadata]
        metas += (one.metadata for kind, one in self._files.others if kind is NAMESPACES)
        own = [meta for meta in metas if meta.name == self._namespace]
        labels = {key: value for meta in own for key, value in meta.labels.items()}
        constraints = [meta.annotations.get(CONSTRAINTS_ANNOTATION, "") for meta in own]
        labels["kubernetes.io/metadata.name"] = self._namespace
        return Space(self._namespace, labels, next(filter(None, reversed(constraints)), ""))

    def _installed(
        self, report: OwnWebhookReport, configuration: WebhookConfiguration, webhook: Webhook
    ) -> tuple[OwnWebhookReport, PodRules]:
        own, (namespace, name) = configuration.metadata.name, deployment_of(configuration, webhook)
        place = f"{namespace}/{name}"
        if any(one.name != _CHARTS_CONDITION for one in webhook.match_conditions):
            raise _UnknownError(f"{own} has matchConditions of its own")
        found = self._gatherer.get(OUR_DEPLOYMENTS, name, namespace) if namespace else None
        there = self._known(found, f"Deployment {place}")
        if there is None or not there.arguments:
            raise _UnknownError(f"Deployment {place} of {own} has no container {NAME}")
        if not there.config_map:
            older = f"Deployment {place} does not mount a configuration file: an older chart installed it"
            raise _UnknownError(f"{older}; --dry-run=server asks the API server")
        config_map = f"ConfigMap {namespace}/{there.config_map}"
        config = self._known(self._gatherer.get(OUR_CONFIG_MAPS, there.config_map, namespace), config_map)
        if config is None:
            raise _UnknownError(f"{config_map} of Deployment {place} does not exist")
        try:
            rules = config_map_rules(config)
        except RuleError as error:
            raise _UnknownError(f"Deployment {place} cannot start with {config_map}: {error}") from error
        client = webhook.client_config
        if client.service is None and not there.spec.replicas:
            raise _UnknownError(f"Deployment {place} has 0 replicas, and {own} asks another program, by its url")
        ready = client.service is None or there.status.ready_replicas > 0
        # The certificate for a Service's name has its own authority.
        untrusted = client.service is not None and not client.ca_bundle
        unready = webhook.failure_policy if untrusted or not ready else ""
        return replace(report, webhook=place, unready=unready, untrusted=untrusted and ready), rules

    def _with_constraints(self, report: OwnWebhookReport, rules: PodRules) -> OwnWebhookReport:
        try:
            profiles, (made, snapshot) = self._profiles(rules), self._selecting(rules)
        except _UnknownError as error:
            return replace(report, unknown=(f"default constraints: {error}",))
        found = default_spread(
            made,
            self._space,
            rules,
            lambda name: scheduler_defaults(
                profiles, name, write_system=rules.cluster_default_constraints.write_system_defaults
            ),
            SnapshotSiblings(snapshot),
        )
        return replace(
            report,
            topology_spread_constraints=tuple(found.constraints),
            constraints_origin=found.origin,
            warnings=(*report.warnings, *found.warnings),
        )

    def _selecting(self, rules: PodRules) -> tuple[Pod, ClusterSnapshot]:
        """The pod with its owner, and the sources of the selector of default constraints."""
        # Loaded on demand: it needs numpy.
        from cluster_io.needs import CONTROLLERS, field_of

        space = self._space
        # By the arguments of kube-scheduler's defaults, the revision of a Deployment counts.
        made = Controllers(self._gatherer).of(self._pod, self._manifest, {})
        if not rules.cluster_default_constraints.enabled:
            return made.pod, ClusterSnapshot()
        services = self._known(self._gatherer.list(SERVICES, space.name), f"Services of {space.name}")
        snapshot = with_manifest_objects(ClusterSnapshot(services=tuple(services)), self._files)
        owner = made.pod.metadata.controller
        kind: Kind[Any] | None = CONTROLLERS.get((owner.api_version, owner.kind)) if owner is not None else None
        if owner is not None and kind is not None and made.controller is None:
            found = self._known(self._gatherer.get(kind, owner.name, space.name), f"{kind.kind} {owner.name}")
            snapshot = replace(snapshot, **{field_of(kind): () if found is None else (found,)})
        return made.pod, with_controllers(snapshot, [made])

    def _profiles(self, rules: PodRules) -> Mapping[str, Profile]:
        place = rules.cluster_default_constraints.config_map
        if place is None:
            return DEFAULT_PROFILES
        found = self._known(self._gatherer.get(CONFIG_MAPS, place.name, place.namespace), f"ConfigMap {place}")
        try:
            return DEFAULT_PROFILES if found is None else read_profiles(config_map_document(found))
        except (ConfigurationError, ManifestError) as error:
            raise _UnknownError(f"it refuses ConfigMap {place}: {error}") from error
