"""``kubectl qos explain``: targets to reports, reports to the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kubectl_plugin.options import ExplainOptions, Streams
from kubectl_plugin.render.escape import escape
from kubectl_plugin.render.page import Page
from kubectl_plugin.reports.node import NodeReport, node_report
from kubectl_plugin.reports.pod import PodFacts, PodReport, pod_report
from kubectl_plugin.reports.workload import WorkloadReport, workload_pods
from podrules.cluster.errors import BadObject, ClusterError, ManifestError, Unreachable, UsageError
from podrules.cluster.gather import Gatherer
from podrules.cluster.kinds import (
    CRON_JOBS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    WORKLOADS,
    Kind,
    find_kind,
)
from podrules.cluster.source import Source
from podrules.model.base import OwnerReference
from podrules.model.decode import DecodeError, from_object
from podrules.model.node import Node
from podrules.model.pod import Pod, PodTemplateSpec
from podrules.model.policy import PriorityClass
from podrules.model.selectors import Selector, SelectorError
from podrules.model.workload import CronJob, ReplicationController, Workload

if TYPE_CHECKING:
    from podrules.cluster.files import Document

__all__ = ["explain"]

Report = PodReport | NodeReport | WorkloadReport

EXPLAINED: Final[tuple[Kind[Any], ...]] = (PODS, NODES, *WORKLOADS)


_MAKES_THROUGH: Final[dict[Kind[Any], Kind[Any]]] = {DEPLOYMENTS: REPLICA_SETS, CRON_JOBS: JOBS}
"""Workloads whose pods belong to something that they make."""


class _Explained(Struct, frozen=True):
    report: Report
    name: str
    """``pod/foo``, as ``-o name`` prints it."""


def explain(options: ExplainOptions, source: Source, streams: Streams) -> Iterator[ClusterError]:
    """Explain everything that was asked for; yields what went wrong with single targets, and goes on."""
    results: list[_Explained] = []
    first = True
    for answer in _answers(options, source, streams):
        if isinstance(answer, ClusterError):
            yield answer
            continue
        results.append(answer)
        if options.output in {"table", "wide"}:
            from kubectl_plugin.render.text import render_page

            text = render_page(_page(answer.report, source.now, wide=options.output == "wide"), colour=options.colour)
            streams.out.write(text if first else "\n" + text)
            first = False
    if options.output == "name":
        streams.out.writelines(f"{escape(result.name)}\n" for result in results)
    elif options.output in {"json", "yaml"}:
        from kubectl_plugin.render.structured import render_json, render_yaml

        render = render_json if options.output == "json" else render_yaml
        reports = [result.report for result in results]
        streams.out.write(render(reports, as_list=_asks_for_many(options) or len(reports) != 1))


def _asks_for_many(options: ExplainOptions) -> bool:
    """Whether the answer is a List even when one object is found, as in kubectl: ``TYPE`` alone, or several names."""
    words = options.targets
    if not words:
        return len(options.files) > 1
    named = len(words) if "/" in words[0] else len(words) - 1
    return named != 1 or bool(options.files)


def _answers(options: ExplainOptions, source: Source, streams: Streams) -> Iterator[_Explained | ClusterError]:
    targets = list(_targets(options.targets))
    gatherer = Gatherer(source)
    for path in options.files:
        from podrules.cluster.files import read_documents

        try:
            documents = list(read_documents(path, streams.stdin))
        except ManifestError as error:
            yield error
            continue
        yield from _manifests(documents, source, path)
    for kind, name in targets:
        try:
            found = [source.get(kind, name, source.namespace)] if name else source.list(kind, source.namespace)
            for entry in found:
                yield _explained(entry, kind, source, gatherer)
            if not found and options.output not in {"json", "yaml"}:
                place = f" in {source.namespace} namespace" if kind.namespaced else ""
                streams.err.write(f"No resources found{escape(place)}.\n")
        except Unreachable:
            raise
        except ClusterError as error:
            yield error


def _targets(words: Sequence[str]) -> Iterator[tuple[Kind[Any], str]]:
    """``TYPE/NAME …``, ``TYPE NAME …`` or ``TYPE``."""
    if words and "/" not in words[0]:
        kind = _kind(words[0])
        mixed = [word for word in words[1:] if "/" in word]
        if mixed:
            raise UsageError(f"{mixed[0]!r}: either TYPE NAME [NAME …] or TYPE/NAME [TYPE/NAME …], not both")
        if "" in words[1:]:
            raise UsageError(
                f"an empty name: write {kind.singular} NAME, or {kind.plural} alone for all of a namespace"
            )
        yield from ((kind, name) for name in words[1:] or [""])
        return
    for word in words:
        kind_name, _, name = word.partition("/")
        if not name:
            raise UsageError(f"{word!r}: write TYPE/NAME, e.g. pod/web-0")
        yield _kind(kind_name), name


def _kind(word: str) -> Kind[Any]:
    kind = find_kind(word, EXPLAINED)
    if kind is None:
        known = ", ".join(entry.singular for entry in EXPLAINED)
        raise UsageError(f"{word!r} cannot be explained; use TYPE/NAME with one of: {known}")
    return kind


def _explained(entry: Any, kind: Kind[Any], source: Source, gatherer: Gatherer) -> _Explained:
    name = _printed_name(kind, entry.metadata.name)
    if isinstance(entry, Pod):
        return _Explained(_pod(entry, source, gatherer), name)
    if isinstance(entry, Node):
        return _Explained(_node(entry, source, gatherer), name)
    return _Explained(_workload(entry, kind, source, gatherer), name)


def _printed_name(kind: Kind[Any], name: str) -> str:
    """``pod/web`` or ``deployment.apps/web``."""
    return f"{kind.singular}{f'.{kind.group}' if kind.group else ''}/{name}"


def _pod(pod: Pod, source: Source, gatherer: Gatherer) -> PodReport:
    bound = pod.spec.node_name
    facts = PodFacts(
        pod=pod,
        from_manifest=False,
        node=gatherer.node(bound) if bound else None,
        nodes=None if bound else gatherer.nodes(),
        classes=gatherer.class_named(pod.spec.priority_class_name),
        owners=gatherer.owners(pod),
        source=source.description,
        git_version=source.git_version,
        features=gatherer.features,
    )
    return pod_report(replace(facts, unread=gatherer.unread))


def _new_pod(
    pod: Pod,
    source: Source,
    gatherer: Gatherer,
    *,
    is_pod: bool,
    own_classes: Mapping[str, PriorityClass] | None = None,
) -> PodReport:
    """A pod that does not exist yet: one of a manifest, or the next one of a workload."""
    classes = gatherer.classes()
    facts = PodFacts(
        pod=pod,
        from_manifest=True,
        nodes=gatherer.nodes(),
        limit_ranges=gatherer.limit_ranges(pod.metadata.namespace),
        runtime_class=gatherer.runtime_class(pod.spec.runtime_class_name),
        existing=gatherer.existing(pod) if is_pod else None,
        classes=None if classes is None else {**classes, **(own_classes or {})},
        source=source.description,
        git_version=source.git_version,
        features=gatherer.features,
    )
    return pod_report(replace(facts, unread=gatherer.unread))


def _node(node: Node, source: Source, gatherer: Gatherer) -> NodeReport:
    pods = gatherer.pods_on(node.metadata.name)
    return node_report(
        node,
        pods,
        source=source.description,
        git_version=source.git_version,
        features=gatherer.features,
        unread=gatherer.unread,
    )


def _workload(entry: Any, kind: Kind[Any], source: Source, gatherer: Gatherer) -> WorkloadReport:
    namespace = entry.metadata.namespace
    chosen = _selector(entry)
    pods = None if chosen is None else gatherer.pods_of(namespace, chosen)
    return WorkloadReport(
        workload_kind=kind.kind,
        name=entry.metadata.name,
        namespace=namespace,
        source=source.description,
        server_version=source.git_version,
        replicas=None if isinstance(entry, CronJob) else entry.spec.replicas,
        template=_new_pod(_template_pod(entry, kind), source, gatherer, is_pod=False),
        pods=None if pods is None else workload_pods(pods, gatherer.features),
        unread=gatherer.unread,
    )


def _selector(entry: Workload | ReplicationController | CronJob) -> Selector | None:
    if isinstance(entry, CronJob):
        return None
    try:
        if isinstance(entry, ReplicationController):
            return Selector.from_labels(entry.spec.selector)
        return None if entry.spec.selector is None else Selector.from_label_selector(entry.spec.selector)
    except SelectorError as error:
        raise BadObject(f"{entry.metadata.name}: spec.selector: {error}") from error


def _template_pod(entry: Workload | ReplicationController | CronJob, kind: Kind[Any]) -> Pod:
    """The pod that a workload would make next."""
    spec = entry.spec.job_template.spec if isinstance(entry, CronJob) else entry.spec
    template = spec.template or PodTemplateSpec()
    owner = OwnerReference(api_version=kind.api_version, kind=kind.kind, name=entry.metadata.name, controller=True)
    between = _MAKES_THROUGH.get(kind)
    if between is not None:
        # The one in between has a name of its own, which nobody knows yet.
        owner = replace(owner, api_version=between.api_version, kind=between.kind)
    meta = replace(
        template.metadata, name=entry.metadata.name, namespace=entry.metadata.namespace, owner_references=(owner,)
    )
    return Pod(metadata=meta, spec=template.spec)


def _manifests(documents: Sequence[Document], source: Source, path: str) -> Iterator[_Explained | ClusterError]:
    """Explain the pods and workloads of a file; its own PriorityClasses count."""
    gatherer = Gatherer(source)
    own_classes: dict[str, PriorityClass] = {}
    found = False
    for document in documents:
        kind = find_kind(str(document.content["kind"]))
        try:
            if kind is PRIORITY_CLASSES:
                made = _decode(document, PRIORITY_CLASSES)
                own_classes[made.metadata.name] = made
        except ManifestError as error:
            yield error
    for document in documents:
        kind = find_kind(str(document.content["kind"]))
        if kind is None or kind not in (PODS, *WORKLOADS):
            continue
        found = True
        try:
            entry = _decode(document, kind)
            pod = entry if isinstance(entry, Pod) else _template_pod(entry, kind)
            if not pod.spec.containers:
                field = "spec.containers" if isinstance(entry, Pod) else "spec.template.spec.containers"
                raise ManifestError(f"{document.where}: {field} is empty: a pod has at least one container")
            if not pod.metadata.namespace:
                pod = replace(pod, metadata=replace(pod.metadata, namespace=source.namespace))
            report = _new_pod(pod, source, gatherer, is_pod=isinstance(entry, Pod), own_classes=own_classes)
            yield _Explained(report, _printed_name(kind, entry.metadata.name))
        except ManifestError as error:
            yield error
    if not found:
        where = "standard input" if path == "-" else path
        yield ManifestError(f"{where}: no pod and no workload in it; there is nothing to explain")


def _decode(document: Document, kind: Kind[Any]) -> Any:
    try:
        return from_object(document.content, kind.model)
    except DecodeError as error:
        raise ManifestError(f"{document.where}: {error}") from error


def _page(report: Report, now: datetime | None, *, wide: bool) -> Page:
    if isinstance(report, PodReport):
        from kubectl_plugin.views.pod import pod_page

        return pod_page(report, now=now, wide=wide)
    if isinstance(report, NodeReport):
        from kubectl_plugin.views.node import node_page

        return node_page(report, now=now, wide=wide)
    from kubectl_plugin.views.workload import workload_page

    return workload_page(report, now=now, wide=wide)
