"""``--dry-run=server``: the API server's dry run of a manifest, and of the pod that a workload creates."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.kinds import MUTATING_WEBHOOKS, NAMESPACES, PODS, PRIORITY_CLASSES, WORKLOADS, Kind
from cluster_io.live.transport import ProxySettings
from cluster_io.writer import DryRunAnswer, DryRuns
from kubectl_plugin.connection import connect_for_changes
from kubectl_plugin.gather.manifest_pods import PodManifest
from kubectl_plugin.options import ClusterOptions, Validation
from kubectl_plugin.reports.pod.admission import AddedField, DryRunPod, DryRunReport, DryRunVerdict
from podrules.admission.added_at_admission import Addition, added_at_admission
from podrules.admission.mutating_webhooks import asked_about_pods
from podrules.api.model.base import KubeObject
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.pod import Pod
from podrules.api.names import is_plain_name
from podrules.pod.reading import UnreadInput
from podrules.workload.made_pod import MadePod, made_pod

_POLICIES: Final = Kind(
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    (),
    "admissionregistration.k8s.io",
    "v1",
    namespaced=False,
    model=KubeObject,
)
_POLICIES_SINCE: Final = 36
"""The first minor that serves mutating policies by default."""


def with_dry_runs(
    manifests: Sequence[PodManifest], gatherer: Gatherer, cluster: ClusterOptions, validation: Validation
) -> Sequence[PodManifest]:
    """The manifests, each with the API server's answer. The connection accepts only the requests that they need.

    The gatherer reads from the same cluster. The validation decides about unknown fields.

    Raises:
        Unreachable: there is no kubectl.
    """
    if not manifests:
        return manifests
    paths = tuple(dict.fromkeys(path for manifest in manifests for path in _paths(manifest)))
    with connect_for_changes(cluster, ProxySettings(methods=("POST", "PATCH"), paths=paths)) as sender:
        dry_runs = _ServerDryRuns(DryRuns(sender, validation.value.capitalize()), gatherer)
        return [manifest._replace(dry_run=dry_runs.of(manifest)) for manifest in manifests]


def _paths(manifest: PodManifest) -> Iterator[str]:
    """The allowed requests for a manifest. A name that would change the path cannot exist, and is not requested."""
    namespace, name = manifest.pod.metadata.namespace, manifest.entry.metadata.name
    if not is_plain_name(namespace):
        return
    yield manifest.kind.path(namespace)
    if is_plain_name(name):
        yield manifest.kind.path(namespace, name)
    if manifest.kind in WORKLOADS:
        yield PODS.path(namespace)


class _ServerDryRuns:
    """Sends manifests to the API server as dry runs."""

    def __init__(self, dry_runs: DryRuns, gatherer: Gatherer) -> None:
        """Send nothing yet."""
        self._dry_runs = dry_runs
        self._gatherer = gatherer

    def of(self, manifest: PodManifest) -> DryRunPod:
        """The pod of a manifest as the API server would store it."""
        assert manifest.written is not None  # noqa: S101 - only manifests are asked about
        namespace = manifest.pod.metadata.namespace
        content = _in_namespace(manifest.written, namespace)
        answer = self._dry_runs.create(manifest.kind, namespace, content)
        verdicts = [_verdict(manifest.name, answer)]
        made = None if answer.stored is None or manifest.kind is PODS else made_pod(answer.stored)
        sent = content
        if made is not None:
            sent = _in_namespace(made.content, namespace)
            answer = self._of_made(made, namespace, answer.warnings)
            verdicts.append(_verdict(PODS.singular, answer))
        stored = answer.stored if made is not None or manifest.kind is PODS else None
        added = () if stored is None else added_at_admission(sent, stored)
        fields = tuple(self._named(added, namespace, sent)) if added else ()
        pod = None
        if stored is not None:
            with contextlib.suppress(DecodeError):
                pod = from_object(stored, Pod)
        return DryRunPod(pod, DryRunReport(tuple(verdicts), answer.warnings, fields))

    def _of_made(self, made: MadePod, namespace: str, warnings: tuple[str, ...]) -> DryRunAnswer:
        """The answer about a workload's pod. If its name is taken, the request uses another name."""
        content = _in_namespace(made.content, namespace)
        name = content["metadata"].pop("name", None)
        if name:
            content["metadata"]["generateName"] = f"{name}-"
        answer = self._dry_runs.create(PODS, namespace, content)
        return replace(answer, warnings=tuple(dict.fromkeys((*warnings, *answer.warnings))))

    def _named(self, added: Sequence[Addition], namespace: str, pod: Mapping[str, Any]) -> Iterator[AddedField]:
        added = [replace(one, by=None) if self._is_no_default(one) else one for one in added]
        others = [one for one in added if one.by is None]
        webhook = self._only_webhook(namespace, pod) if others else ""
        for one in added:
            yield AddedField(one.field, one.what, one.changed, one.by.value if one.by is not None else webhook)

    def _is_no_default(self, added: Addition) -> bool:
        """Whether the class was not written by the plugin Priority, which writes only the class with globalDefault."""
        classes = self._gatherer.list(PRIORITY_CLASSES) if added.field == "spec.priorityClassName" else ()
        if added.field != "spec.priorityClassName" or isinstance(classes, UnreadInput):
            return False
        return not any(one.global_default and added.what.endswith(f" {one.metadata.name}") for one in classes)

    def _only_webhook(self, namespace: str, pod: Mapping[str, Any]) -> str:
        """The only webhook that can have changed the pod; empty: several can, or webhooks cannot be read."""
        configurations = self._gatherer.list(MUTATING_WEBHOOKS)
        space = self._gatherer.named(NAMESPACES, namespace)
        if isinstance(configurations, UnreadInput) or isinstance(space, UnreadInput):
            return ""
        if self._gatherer.versions.api_server.minor >= _POLICIES_SINCE:
            policies = self._gatherer.list(_POLICIES)
            if isinstance(policies, UnreadInput) or policies:
                return ""
        labels = (pod.get("metadata") or {}).get("labels") or {}
        asked = list(asked_about_pods(configurations, space.metadata.labels, labels))
        return asked[0] if len(asked) == 1 else ""


def _in_namespace(content: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    return {**content, "metadata": {**(content.get("metadata") or {}), "namespace": namespace}}


def _verdict(name: str, answer: DryRunAnswer) -> DryRunVerdict:
    return DryRunVerdict(name, answer.refusal, answer.unanswered, answer.applied)
