"""The QoS class of a pod, the field that decided it, and the smallest change that would make it Guaranteed.

All containers and init containers count, ephemeral ones do not; only cpu and memory; zero amounts count as not set.

    nothing set                                                     BestEffort
    every container limits cpu and memory, and for both resources
        sum(requests) == sum(limits)                                Guaranteed
    else                                                            Burstable

Since 1.37 there are no sums: each container's requests must equal its limits. The API server rejects a container with a
request above its limit, so the two rules differ only for rejected pods.

If ``spec.resources`` is present, only it decides; until 1.36 even if it is empty. The class is written at creation and
never changes.

Source: pkg/apis/core/v1/helper/qos/qos.go (ComputePodQOS) at v1.36.3 and v1.37.1; KEP-2837 for pod-level resources;
pkg/apis/core/validation/validation.go (ValidatePodResize) for the rejection of a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import ResourceList
from podrules.api.model.pod import Pod, PodQOSClass, ResourceRequirements
from podrules.api.model.quantity import ZERO, Quantity
from podrules.pod.resources import CPU, MEMORY, aggregate_container_requests, is_pod_level_resources_set

_COMPUTE: Final = (CPU, MEMORY)
_STATUS_CLEARED_SINCE: Final = 37
_BY_NAME: Final = {qos_class.value: qos_class for qos_class in PodQOSClass}


class QOSProblem(Enum):
    """Why one container and resource prevents class Guaranteed."""

    LIMIT_MISSING = "LimitMissing"
    REQUEST_DIFFERS = "RequestDiffers"


class QOSBlocker(Struct, frozen=True, rename="camel"):
    """One field that prevents class Guaranteed."""

    problem: QOSProblem
    field: str
    """The path of the field: ``spec.containers[0].resources.limits.memory``."""
    container: str
    """Name of the container; empty for ``spec.resources``."""
    resource: str
    request: str | None
    limit: str | None


class FieldChange(Struct, frozen=True, rename="camel"):
    """One edit of the pod."""

    field: str
    before: str | None
    after: str | None
    """None: any suitable amount, because the container currently requests none; the same for request and limit."""


class QOSExplanation(Struct, frozen=True, rename="camel"):
    """A pod's class and the fields that decided it."""

    qos_class: PodQOSClass
    decided_by: str
    """``spec.resources`` or ``spec.containers``."""
    blockers: tuple[QOSBlocker, ...]
    """The fields that prevent Guaranteed; empty if it is Guaranteed."""
    changes_to_guaranteed: tuple[FieldChange, ...]
    """The fewest edits that make it Guaranteed, in blockers' order; only at creation: the class never changes later."""
    spoiled_by: tuple[str, ...]
    """Containers of any kind, except the first, without which the pod would be Guaranteed."""


class _Row(Struct, frozen=True):
    """An item with requests and limits: a container, or the pod itself."""

    name: str
    field: str
    resources: ResourceRequirements


def get_pod_qos(pod: Pod, *, features: Features = REFERENCE) -> PodQOSClass:
    """The class in the status, else the computed one (v1qos.GetPodQOS)."""
    return _BY_NAME.get(pod.status.qos_class) or compute_pod_qos(pod, features=features)


def compute_pod_qos(pod: Pod, *, features: Features = REFERENCE) -> PodQOSClass:
    """The class that results from the pod's resources (v1qos.ComputePodQOS)."""
    return _class_of(_rows(pod, features), features)


def created_pod_qos(pod: Pod, *, features: Features = REFERENCE) -> PodQOSClass:
    """The class of a new pod: until 1.36 the one in its manifest's status, if any.

    Source: pkg/registry/core/pod/strategy.go (PrepareForCreate) at v1.36.3 and v1.37.1.
    """
    if features.minor >= _STATUS_CLEARED_SINCE:
        return compute_pod_qos(pod, features=features)
    return get_pod_qos(pod, features=features)


def with_class(pod: Pod, qos_class: PodQOSClass) -> Pod:
    """The pod with a class in its status."""
    return replace(pod, status=replace(pod.status, qos_class=qos_class.value))


def explain_qos(pod: Pod, *, features: Features = REFERENCE) -> QOSExplanation:
    """The class, the fields that decided it and the way to Guaranteed, for the pod exactly as given."""
    rows = _rows(pod, features)
    pod_level = _deciding_pod_level_resources(pod, features) is not None
    qos_class = _class_of(rows, features)
    # If the pod itself has no request, the API server uses the containers' sum as soon as there is a limit.
    implied = aggregate_container_requests(pod) if pod_level else {}
    blockers: list[QOSBlocker] = []
    if qos_class is not PodQOSClass.GUARANTEED:
        blockers = [blocker for row in rows for blocker in _blockers(row)]
    return QOSExplanation(
        qos_class=qos_class,
        decided_by="spec.resources" if pod_level else "spec.containers",
        blockers=tuple(blockers),
        changes_to_guaranteed=tuple(change for blocker in blockers for change in _changes(blocker, implied)),
        spoiled_by=() if pod_level else _spoilers(rows, blockers, features),
    )


def resize_rejection(current: Pod, proposed: Pod, *, features: Features = REFERENCE) -> str | None:
    """Upstream's message if an in-place resize would change the class, else None (validation.ValidatePodResize)."""
    before = get_pod_qos(current, features=features)
    if compute_pod_qos(proposed, features=features) is before:
        return None
    return f'spec: Invalid value: "{before.value}": Pod QOS Class may not change as a result of resizing'


def _deciding_pod_level_resources(pod: Pod, features: Features) -> ResourceRequirements | None:
    """The pod's own resources, if they decide; None: those of the containers decide."""
    if not features.pod_level_resources:
        return None
    if features.pod_level_resources_fix_kubelet_qos_class and not is_pod_level_resources_set(pod):
        return None
    return pod.spec.resources


def _rows(pod: Pod, features: Features) -> list[_Row]:
    own = _deciding_pod_level_resources(pod, features)
    if own is not None:
        return [_Row("", "spec", own)]
    return [_Row(ref.container.name, ref.field, ref.container.resources) for ref in pod.containers()]


def _class_of(rows: Iterable[_Row], features: Features) -> PodQOSClass:
    if features.qos_per_container:
        return _class_of_containers(rows)
    return _class_of_sums(rows)


def _class_of_containers(rows: Iterable[_Row]) -> PodQOSClass:
    """The common class of all cpu and memory of all containers; Burstable if they differ."""
    found = {_class_of_resource(row.resources, name) for row in rows for name in _COMPUTE}
    if not found:
        return PodQOSClass.BEST_EFFORT
    return found.pop() if len(found) == 1 else PodQOSClass.BURSTABLE


def _class_of_resource(resources: ResourceRequirements, name: str) -> PodQOSClass:
    request, limit = resources.requests.get(name, ZERO), resources.limits.get(name, ZERO)
    if request != limit:
        return PodQOSClass.BURSTABLE
    return PodQOSClass.BEST_EFFORT if request.is_zero else PodQOSClass.GUARANTEED


def _class_of_sums(rows: Iterable[_Row]) -> PodQOSClass:
    requests: ResourceList = {}
    limits: ResourceList = {}
    all_limited = True
    for row in rows:
        _add_positive(requests, row.resources.requests)
        if _add_positive(limits, row.resources.limits) < len(_COMPUTE):
            all_limited = False
    if not requests and not limits:
        return PodQOSClass.BEST_EFFORT
    if all_limited and requests == limits:
        return PodQOSClass.GUARANTEED
    return PodQOSClass.BURSTABLE


def _add_positive(total: ResourceList, amounts: Mapping[str, Quantity]) -> int:
    """Add positive cpu and memory; return how many of the two are set."""
    found = 0
    for name in _COMPUTE:
        amount = amounts.get(name, ZERO)
        if amount.sign > 0:
            found += 1
            total[name] = total[name] + amount if name in total else amount
    return found


def _blockers(row: _Row) -> Iterable[QOSBlocker]:
    path = f"{row.field}.resources"
    for name in _COMPUTE:
        request = row.resources.requests.get(name)
        limit = row.resources.limits.get(name)
        if limit is None or limit.sign <= 0:
            problem, field = QOSProblem.LIMIT_MISSING, f"{path}.limits.{name}"
        elif request != limit:
            problem, field = QOSProblem.REQUEST_DIFFERS, f"{path}.requests.{name}"
        else:
            continue
        yield QOSBlocker(problem, field, row.name, name, _text(request), _text(limit))


def _changes(blocker: QOSBlocker, implied: Mapping[str, Quantity]) -> Iterable[FieldChange]:
    """The edits that remove a blocker: set the limit to the request, or raise the request to the limit."""
    if blocker.problem is QOSProblem.REQUEST_DIFFERS:
        yield FieldChange(blocker.field, blocker.request, blocker.limit)
        return
    request = Quantity.parse(blocker.request) if blocker.request is not None else implied.get(blocker.resource)
    anything = request is None or request.is_zero
    yield FieldChange(blocker.field, blocker.limit, None if anything else str(request))
    if request is not None and request.is_zero:
        # A request of 0 counts as a request: the API server does not replace it with the limit.
        yield FieldChange(blocker.field.replace(".limits.", ".requests."), blocker.request, None)


def _spoilers(rows: list[_Row], blockers: list[QOSBlocker], features: Features) -> tuple[str, ...]:
    """The containers that prevent class Guaranteed: often injected sidecars.

    The first container is the main one, so it is never reported.
    """
    blocked = {blocker.container for blocker in blockers}
    rest = [row for row in rows if row.name not in blocked]
    if not rest or rest[0] is not rows[0] or _class_of(rest, features) is not PodQOSClass.GUARANTEED:
        return ()
    return tuple(row.name for row in rows if row.name in blocked)


def _text(amount: Quantity | None) -> str | None:
    return None if amount is None else str(amount)
