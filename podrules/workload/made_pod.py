"""The pods that a workload's controller makes: the first one as content, and each one as the rules read it.

    Deployment     a pod of its ReplicaSet, with the label pod-template-hash
    StatefulSet    a pod for each ordinal, with its name, host name, labels and claims
    DaemonSet      with its controller's tolerations; the node that its controller adds differs from pod to pod
    Job, CronJob   for an indexed Job a pod for each index, with its label, annotation and variable

Values that are generated at creation (hashes, uids, the name of a CronJob's Job) are placeholders here, and so is the
number in a pod's name, except for a StatefulSet's.

Source: pkg/controller/controller_utils.go (GetPodFromTemplate), pkg/controller/deployment/sync.go (getNewReplicaSet),
pkg/controller/statefulset/stateful_set_utils.go (newStatefulSetPod, updateStorage),
pkg/controller/daemon/util/daemonset_util.go (CreatePodTemplate),
pkg/controller/job/{job_controller,indexed_job_utils}.go (manageJob),
pkg/registry/core/pod/strategy.go (mutatePodAffinity) of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.controllers import INDEX_LABEL, controllers_labels
from podrules.api.model.base import OwnerReference
from podrules.api.model.pod import Pod, PodTemplateSpec
from podrules.api.model.selectors import LabelSelectorRequirement, PodAffinity, PodAffinityTerm
from podrules.api.model.workload import CronJob, ReplicationController, Workload
from podrules.pod.tolerations import daemon_tolerations, with_daemon_tolerations

Content = dict[str, Any]

NO_UID: Final = "00000000-0000-0000-0000-000000000000"
"""The uid of an object that does not exist yet."""
PLANNED_HASH: Final = "planned"
"""The placeholder for the hash of a template; no hash has all of these letters."""
_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_LONGEST_LABEL: Final = 63
_TRACKING: Final = "batch.kubernetes.io/job-tracking"


class _Controller(NamedTuple):
    """The owner of a workload's pods."""

    api_version: str
    kind: str
    path: tuple[str, ...] = ("spec",)
    """Where the workload has the spec with the template."""


_CONTROLLERS: Final[Mapping[str, _Controller]] = {
    "Deployment": _Controller("apps/v1", "ReplicaSet"),
    "ReplicaSet": _Controller("apps/v1", "ReplicaSet"),
    "ReplicationController": _Controller("v1", "ReplicationController"),
    "StatefulSet": _Controller("apps/v1", "StatefulSet"),
    "DaemonSet": _Controller("apps/v1", "DaemonSet"),
    "Job": _Controller("batch/v1", "Job"),
    "CronJob": _Controller("batch/v1", "Job", ("spec", "jobTemplate", "spec")),
}


def template_pod(workload: Workload | ReplicationController | CronJob, kind: str) -> Pod:
    """The pod of a workload's template, with the workload's name: `replica` names and labels each pod.

    `kind` is ``Deployment``, for example. The name of an owner in between is not known yet.
    """
    spec = workload.spec.job_template.spec if isinstance(workload, CronJob) else workload.spec
    template, controller, meta = spec.template or PodTemplateSpec(), _CONTROLLERS[kind], workload.metadata
    owner = OwnerReference(api_version=controller.api_version, kind=controller.kind, name=meta.name, controller=True)
    made = template.spec
    if kind == "DaemonSet":
        made = replace(made, tolerations=with_daemon_tolerations(made.tolerations, host_network=made.host_network))
    named = replace(template.metadata, name=meta.name, namespace=meta.namespace, owner_references=(owner,))
    return Pod(metadata=named, spec=made)


def planned_word(name: str) -> str:
    """A label's value in place of a hash or uid that is not known yet, specific to the spec; hashes have no dash."""
    return f"planned-{name}"[:_LONGEST_LABEL].rstrip("-.")


def new_numbers(pod: Pod, kind: str, first: int, pods: Iterable[Pod]) -> Iterator[int]:
    """Numbers of pods that do not exist yet, without end: a StatefulSet's existing pods keep theirs.

    `pod` and `kind` are as for `replica`; `first` is ``ordinals.start`` of a StatefulSet.
    """
    name, namespace = pod.metadata.name, pod.metadata.namespace
    there: frozenset[str] = frozenset()
    if kind == "statefulset":
        there = frozenset(entry.metadata.name for entry in pods if entry.metadata.namespace == namespace)
    return (number for number in count(first) if f"{name}-{number}" not in there)


def replica(pod: Pod, kind: str, number: int, *, uid: str) -> Pod:
    """One of the pods of a spec, as its controller creates and the API server stores it.

    Of podAffinity and podAntiAffinity, the API server merges keys of matchLabelKeys and mismatchLabelKeys into the
    labelSelector with the values of the pod's own labels. PodTopologySpread does so by itself.

    Args:
        pod: As the spec has it; named as the workload.
        kind: Of the controller, in the singular: ``deployment``; ``pod``: no controller makes it, or it exists already.
        number: From 0.
        uid: A unique one.
    """
    name = pod.metadata.name
    named = name if kind == "pod" and number == 0 else f"{name}-{number}"
    # Labels that the author or an earlier controller has written stay.
    labels = controllers_labels(kind, name, number, planned_word(name)) | pod.metadata.labels
    if INDEX_LABEL in labels and kind in {"job", "cronjob"}:
        labels[INDEX_LABEL] = str(number)
    spec, merged = pod.spec, dict[str, PodAffinity]()
    for field in ("pod_affinity", "pod_anti_affinity"):
        part: PodAffinity | None = getattr(spec.affinity, field, None)
        if part is None:
            continue
        required = part.required_during_scheduling_ignored_during_execution
        preferred = part.preferred_during_scheduling_ignored_during_execution
        terms = (*required, *(entry.pod_affinity_term for entry in preferred))
        if any(term.match_label_keys or term.mismatch_label_keys for term in terms):
            merged[field] = replace(
                part,
                required_during_scheduling_ignored_during_execution=tuple(_merge(term, labels) for term in required),
                preferred_during_scheduling_ignored_during_execution=tuple(
                    replace(entry, pod_affinity_term=_merge(entry.pod_affinity_term, labels)) for entry in preferred
                ),
            )
    if spec.affinity is not None and merged:
        spec = replace(spec, affinity=replace(spec.affinity, **merged))
    return replace(pod, metadata=replace(pod.metadata, name=named, uid=uid, labels=labels), spec=spec)


def _merge(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    """The term with its label keys as expressions; keys that the pod itself lacks are left out.

    A term without a labelSelector matches nothing, whatever its keys (applyMatchLabelKeysAndMismatchLabelKeys).
    """
    selector = term.label_selector
    if selector is None:
        return term
    more = (
        LabelSelectorRequirement(key, operator, (labels[key],))
        for operator, keys in (("In", term.match_label_keys), ("NotIn", term.mismatch_label_keys))
        for key in keys
        if key in labels
    )
    return replace(term, label_selector=replace(selector, match_expressions=(*selector.match_expressions, *more)))


class MadePod(Struct, frozen=True):
    """A planned pod."""

    content: Content
    """The pod as its controller sends it."""
    path: str
    """The path of the pod in the workload: ``spec.template.``."""


def made_pod(workload: Mapping[str, Any]) -> MadePod | None:
    """The first pod of a workload, as content; None: the object creates no pods."""
    kind = str(workload.get("kind"))
    controller = _CONTROLLERS.get(kind)
    if controller is None:
        return None
    own, spec = _part(workload, "metadata"), _part(workload, *controller.path)
    template = _part(spec, "template")
    meta = _part(template, "metadata")
    name = str(own.get("name") or f"{own.get('generateName') or ''}{PLANNED_HASH}")
    uid, number = str(own.get("uid") or NO_UID), int(_part(spec, "ordinals").get("start") or 0)
    owner = name
    if kind != controller.kind:
        # The object in between does not exist yet.
        owner, uid = f"{name}-{PLANNED_HASH}", NO_UID
    hashed = {"StatefulSet": f"{name}-{PLANNED_HASH}", "Job": uid}.get(controller.kind, PLANNED_HASH)
    added = {} if spec.get("manualSelector") else controllers_labels(kind.lower(), owner, number, hashed)
    reference = {"apiVersion": controller.api_version, "kind": controller.kind, "name": owner, "uid": uid}
    metadata: Content = {
        "labels": {**(meta.get("labels") or {}), **added},
        "annotations": dict(meta.get("annotations") or {}),
        "generateName": f"{owner}-",
        "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
    }
    metadata |= {"finalizers": list(meta["finalizers"])} if meta.get("finalizers") else {}
    metadata |= {"namespace": own["namespace"]} if own.get("namespace") else {}
    pod: Content = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": dict(template.get("spec") or {})}
    match controller.kind:
        case "StatefulSet":
            _identify(pod, spec, f"{name}-{number}")
        case "DaemonSet":
            pod["spec"]["tolerations"] = _tolerations(pod["spec"])
        case "Job":
            _track(pod, spec, owner)
    return MadePod(pod, ".".join((*controller.path, "template", "")))


def _part(content: Mapping[str, Any], *steps: str) -> Mapping[str, Any]:
    found: Any = content
    for step in steps:
        found = found.get(step) or {}
    return found  # type: ignore[no-any-return]


def _identify(pod: Content, spec: Mapping[str, Any], name: str) -> None:
    """Give a StatefulSet's pod its name and its claims."""
    pod["metadata"]["name"] = name
    pod["spec"] |= {"hostname": name, "subdomain": spec.get("serviceName") or ""}
    claims = [str(_part(claim or {}, "metadata").get("name") or "") for claim in spec.get("volumeClaimTemplates") or ()]
    if claims:
        named = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}} for claim in claims]
        others = [one for one in pod["spec"].get("volumes") or () if (one or {}).get("name") not in claims]
        pod["spec"]["volumes"] = [*named, *others]


def _tolerations(spec: Mapping[str, Any]) -> list[Any]:
    """The content of `podrules.pod.tolerations.with_daemon_tolerations`, for unchecked content."""
    found = list(spec.get("tolerations") or ())
    for one in daemon_tolerations(host_network=bool(spec.get("hostNetwork"))):
        added = {"key": one.key, "operator": one.operator, "effect": one.effect}
        alike = [
            isinstance(entry, Mapping)
            and {key: value for key, value in entry.items() if key != "tolerationSeconds" and value not in ("", None)}
            == added
            for entry in found
        ]
        found = [added if same else entry for entry, same in zip(found, alike, strict=True)]
        found += [] if any(alike) else [added]
    return found


def _track(pod: Content, job: Mapping[str, Any], name: str) -> None:
    """Let a Job count its pod; give that of an indexed Job its index."""
    meta, spec = pod["metadata"], pod["spec"]
    finalizers = meta.get("finalizers", [])
    meta["finalizers"] = [*finalizers, *(() if _TRACKING in finalizers else (_TRACKING,))]
    if job.get("completionMode") != "Indexed":
        return
    meta["generateName"] = f"{name}-0-"
    for map_of in ("labels", "annotations"):
        meta[map_of][INDEX_LABEL] = "0"
    spec["hostname"] = f"{name}-0"
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX_LABEL}']"}}
    for list_of in ("initContainers", "containers"):
        made = []
        for container in spec.get(list_of) or ():
            variables = list((container or {}).get("env") or ())
            if not any((one or {}).get("name") == _INDEX_VARIABLE for one in variables):
                variables.append({"name": _INDEX_VARIABLE, "valueFrom": source})
            made.append({**(container or {}), "env": variables})
        if made:
            spec[list_of] = made


class NextPod(Struct, frozen=True):
    """The pod that a StatefulSet creates next, or would create with one more replica."""

    ordinal: int
    name: str
    waits_for: str
    """The pod that must be Ready before; empty: none."""


def is_ordered(stateful_set: Workload) -> bool:
    """Whether it creates its pods one after the other."""
    return stateful_set.spec.pod_management_policy != "Parallel"


def next_pod(stateful_set: Workload, ready: Mapping[str, bool]) -> NextPod:
    """The first missing pod.

        OrderedReady    in the order of the ordinals: it creates a pod once all before it run, are Ready and are not
                        being deleted. Until then the set neither scales nor rolls out
        Parallel        each pod as soon as it is missing, regardless of the others

    In both modes it creates a pod only after the object of the previous pod with that ordinal is gone. minReadySeconds,
    with which an OrderedReady set waits longer, is not considered.

    Source: processReplica and updateStatefulSet in pkg/controller/statefulset/stateful_set_control.go at v1.36.3.

    Args:
        stateful_set: The StatefulSet of the pods.
        ready: The existing pods by name, including those that are being deleted, and whether each runs, is Ready, and
            is not being deleted.
    """
    awaited = ""
    for ordinal in count(stateful_set.spec.ordinals.start):
        name = f"{stateful_set.metadata.name}-{ordinal}"
        if name not in ready:
            return NextPod(ordinal, name, awaited if is_ordered(stateful_set) else "")
        awaited = awaited or ("" if ready[name] else name)
    raise AssertionError  # Ordinals have no end.


def awaited_pod(stateful_set: Workload, pods: Iterable[Pod]) -> Pod | None:
    """The pod of the cluster for which a StatefulSet waits before it creates another; None: it waits for none."""
    owner = ("StatefulSet", stateful_set.metadata.name)
    own = {
        pod.metadata.name: pod
        for pod in pods
        if pod.metadata.namespace == stateful_set.metadata.namespace
        and (found := pod.metadata.controller) is not None
        and (found.kind, found.name) == owner
    }
    ready = {
        name: pod.status.phase == "Running" and pod.is_ready and pod.metadata.deletion_timestamp is None
        for name, pod in own.items()
    }
    return own.get(next_pod(stateful_set, ready).waits_for)
