"""Reads what a snapshot holds of a cluster: the models of the kinds that rules read.

The models have no Secrets, and no environment or arguments of containers, except those of our own webhook. Annotations
stay only if a rule reads them, for others may hold whole manifests. Events keep their message where a rule reads it:
what a probe printed is the application's. The only ConfigMaps are the scheduler's configuration, if the user named it,
and that which our webhook reads. Usage comes from a metrics API, which lists everything at once; kubelets would have to
be asked one by one, and are not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar, cast

from msgspec import Struct
from msgspec.structs import fields, replace

from cluster_io.capture.file import NOT_SERVED, in_namespace
from cluster_io.device_kinds import (
    DEVICE_CLASSES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from cluster_io.errors import BadObject, ClusterError, Forbidden, NotCaptured, NotFound, NotServed, Unreachable
from cluster_io.kinds import (
    ALL_KINDS,
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    MUTATING_WEBHOOKS,
    NODE_METRICS,
    NODES,
    OUR_CONFIG_MAPS,
    OUR_DEPLOYMENTS,
    POD_METRICS,
    PODS,
    VALIDATING_WEBHOOKS,
    Kind,
)
from cluster_io.live.many_reads import together
from cluster_io.source import Source
from cluster_io.webhook_config import config_map_rules
from podrules.admission.mutating_webhooks import (
    MUTATES,
    VALIDATES,
    Webhook,
    WebhookConfiguration,
    deployment_of,
    our_webhooks,
)
from podrules.api.model.base import KubeObject, ObjectMeta
from podrules.api.model.event import Event
from podrules.api.refusals import FAILED_CREATE
from podrules.api.well_known import SELECTOR_ANNOTATIONS
from podrules.ending.died.messages import READ_REASONS
from podrules.ending.stuck import READ_WARNINGS, is_of_autoscaler
from podrules.node.reachability import LEASE_NAMESPACE
from podrules.pod.reading import OUTSIDE
from podrules.qos_webhook.defaults import CONSTRAINTS_ANNOTATION
from podrules.qos_webhook.rules import RuleError
from podrules.workload.evictors import READ_ANNOTATIONS, is_sign

T = TypeVar("T", bound=Struct)
K = TypeVar("K", bound=KubeObject)

ANNOTATIONS: Final = READ_ANNOTATIONS | frozenset(
    {
        "kubectl-qos.io/confirm-force-delete",
        "kubernetes.io/config.mirror",
        "kubernetes.io/config.source",
        "pv.kubernetes.io/bind-completed",
        "resource.kubernetes.io/extended-resource-claim",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.beta.kubernetes.io/storage-provisioner",
        "volume.kubernetes.io/selected-node",
        "volume.kubernetes.io/storage-provisioner",
        CONSTRAINTS_ANNOTATION,
        *SELECTOR_ANNOTATIONS,
    }
)
"""The annotations that rules read."""
_READ: Final = READ_REASONS | READ_WARNINGS | {FAILED_CREATE}
"""The reasons of events with messages that an answer may need."""
_REASONS: Final = {Forbidden: "forbidden", NotServed: NOT_SERVED, NotCaptured: "not in the snapshot it is made of"}


class KindContents(NamedTuple):
    """The objects of a kind, or why they were not captured."""

    kind: Kind[Any]
    objects: Sequence[KubeObject] = ()
    not_captured: str = ""
    """Also why those of other namespaces were not."""
    only: str = ""
    """The field selector of the request."""


def contents(source: Source, scheduler_config: tuple[str, str] | None = None) -> list[KindContents]:
    """Read everything that a snapshot holds, kind by kind.

    Args:
        source: The cluster.
        scheduler_config: Namespace and name of the ConfigMap with the scheduler's configuration.

    Raises:
        Unreachable: the cluster does not answer.
    """
    devices = (RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_SLICES, DEVICE_CLASSES)
    others = (*(kind for kind in ALL_KINDS if kind not in {PODS, NODES, LEASES}), *devices)
    reads: list[Callable[[], list[KindContents]]] = [
        lambda: [_listed(source, PODS)],
        lambda: [_listed(source, NODES)],
        lambda: [
            *(_listed(source, kind) for kind in others),
            _listed(source, LEASES, LEASE_NAMESPACE),
            _events(source),
            *_webhook(source, scheduler_config),
            *(_usage(source, kind) for kind in (NODE_METRICS, POD_METRICS)),
        ],
    ]
    found = together(reads) if source.side_by_side else [read() for read in reads]
    return [entry for part in found for entry in part]


def _listed(source: Source, kind: Kind[Any], namespace: str | None = None) -> KindContents:
    objects, lacks = _read(lambda: source.list(kind, namespace)), ""
    if isinstance(objects, Forbidden | NotCaptured) and kind.namespaced and namespace is None:
        # A user of one namespace may have the right to list only there.
        part = _read(lambda: source.list(kind, source.namespace))
        if not isinstance(part, ClusterError):
            objects, namespace, lacks = part, source.namespace, f"{OUTSIDE}{source.namespace}"
    if isinstance(objects, ClusterError):
        return KindContents(kind, not_captured=_REASONS.get(type(objects), str(objects)))
    only = in_namespace(namespace) if namespace else ""
    return KindContents(kind, tuple(map(without_annotations, objects)), lacks, only)


def _events(source: Source) -> KindContents:
    found = _listed(source, EVENTS)
    events = (one for one in found.objects if isinstance(one, Event))

    def is_read(one: Event) -> bool:
        return one.reason in _READ or is_sign(one) or is_of_autoscaler(one)

    kept = (one if is_read(one) else replace(one, message="") for one in events)
    return found._replace(objects=tuple(kept))


def _usage(source: Source, kind: Kind[Any]) -> KindContents:
    try:
        return _listed(source, kind)
    except Unreachable as error:
        # A metrics server serves it, which may be down while the API server runs.
        return KindContents(kind, not_captured=str(error))


def _webhook(source: Source, scheduler_config: tuple[str, str] | None) -> Iterator[KindContents]:
    """The configurations of the webhook of kubectl qos, its Deployment, and the ConfigMaps that are named."""
    ours: list[tuple[WebhookConfiguration, Webhook]] = []
    for kind, name in ((VALIDATING_WEBHOOKS, VALIDATES), (MUTATING_WEBHOOKS, MUTATES)):
        found = _listed(source, kind)
        ours = our_webhooks(cast("Sequence[WebhookConfiguration]", found.objects), name)
        yield found._replace(objects=tuple(one for one, _ in ours))
    deployments, missing = _named(source, OUR_DEPLOYMENTS, [deployment_of(*one) for one in ours])
    yield KindContents(OUR_DEPLOYMENTS, deployments, missing)
    own = [(one.metadata.namespace, one.config_map) for one in deployments if one.config_map]
    files, missing = _named(source, OUR_CONFIG_MAPS, own)
    yield KindContents(OUR_CONFIG_MAPS, files, missing)
    places = [] if scheduler_config is None else [scheduler_config]
    for one in files:
        with suppress(RuleError):
            place = config_map_rules(one).cluster_default_constraints.config_map
            places += [] if place is None else [(place.namespace, place.name)]
    config_maps, lacks = _named(source, CONFIG_MAPS, list(dict.fromkeys(places)))
    only = ",".join(f"metadata.namespace={namespace},metadata.name={name}" for namespace, name in places)
    lacks = lacks if places else "none was named with --scheduler-config"
    yield KindContents(CONFIG_MAPS, config_maps, lacks, "" if lacks else only)


def _named(source: Source, kind: Kind[K], places: Sequence[tuple[str, str]]) -> tuple[Sequence[K], str]:
    """Objects by namespace and name, or why one cannot be read."""
    found = _read(lambda: [without_annotations(source.get(kind, name, namespace)) for namespace, name in places])
    if isinstance(found, ClusterError):
        return (), _REASONS.get(type(found), str(found))
    return found, ""


def _read(read: Callable[[], Sequence[K]]) -> Sequence[K] | ClusterError:
    try:
        return read()
    except (Forbidden, NotServed, NotCaptured, NotFound, BadObject) as error:
        return error


def without_annotations(entry: T) -> T:
    """A copy without the annotations that no rule reads, also in its templates."""
    if isinstance(entry, ObjectMeta):
        kept = {key: value for key, value in entry.annotations.items() if key in ANNOTATIONS}
        return replace(entry, annotations=kept) if kept != entry.annotations else entry
    changed = {name: _value_without_annotations(getattr(entry, name)) for name in _with_metadata(type(entry))}
    return replace(entry, **changed) if changed else entry


def _value_without_annotations(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(without_annotations, value))
    return without_annotations(value) if isinstance(value, Struct) else value


@lru_cache
def _with_metadata(model: type[Struct]) -> tuple[str, ...]:
    """The fields of a model that contain metadata at any depth."""
    return tuple(entry.name for entry in fields(model) if _has_metadata(entry.type))


@lru_cache
def _has_metadata(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation is ObjectMeta or bool(_with_metadata(annotation))
    return any(map(_has_metadata, getattr(annotation, "__args__", ())))
