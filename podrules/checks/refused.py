"""Numbers for which the API server refuses a pod, or the workload that makes it, in every cluster.

    below zero     replicas, parallelism, completions and ordinals.start; requests and limits
    over a limit   a request above its limit, or different from it where overcommitting is not allowed

The API server accepts a negative grace period: conversion makes it 1 s (`podrules.defaults.default_grace_period`).

Source: pkg/apis/core/validation/validation.go (ValidateNonnegativeField, ValidateNonnegativeQuantity,
validateResourceRequirements), pkg/apis/apps/validation/validation.go and pkg/apis/batch/validation/validation.go at
v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from podrules.defaults import stored_pod
from podrules.features import Features
from podrules.model.base import KubeObject
from podrules.model.pod import Pod, ResourceRequirements
from podrules.model.workload import CronJob, ReplicationController, ReplicationControllerSpec, Workload, WorkloadSpec
from podrules.resources import is_overcommit_allowed

__all__ = ["RefusedNumber", "negative_amounts", "negative_counts", "refused_numbers"]


class RefusedNumber(Struct, frozen=True):
    """A field with a number that the API server refuses."""

    field: str
    """``spec.containers[0].resources.requests.memory``; for a workload's pod with the path of its template."""
    path: str
    """The same as the API server writes it: ``spec.containers[0].resources.requests[memory]``."""
    value: str
    problem: str = "must be greater than or equal to 0"
    """In the API server's words."""
    remedy: str = "Write a number that is not below 0"


def refused_numbers(entry: KubeObject, pod: Pod, *, features: Features) -> Iterator[RefusedNumber]:
    """Every refused number of an object and its pod. LimitRanges change none: they only fill in what is missing.

    Args:
        entry: The pod itself, or the workload that makes it.
        pod: As its author wrote it.
        features: The rules of the API server's version.
    """
    template = _template(entry)
    yield from negative_counts(entry)
    yield from negative_amounts(pod, template)
    stored = stored_pod(pod, features=features)
    for path, own in _resources(stored):
        yield from _over_limit(f"{template}{path}", own)


def negative_counts(entry: KubeObject) -> Iterator[RefusedNumber]:
    """Numbers of pods below zero."""
    spec, path = _counted(entry)
    counts = {"replicas": spec.replicas} if spec is not None else {}
    if isinstance(spec, WorkloadSpec):
        more = {"parallelism": spec.parallelism, "completions": spec.completions, "ordinals.start": spec.ordinals.start}
        counts |= more
    for name, number in counts.items():
        if number is not None and number < 0:
            yield RefusedNumber(f"{path}.{name}", f"{path}.{name}", str(number))


def _counted(entry: KubeObject) -> tuple[WorkloadSpec | ReplicationControllerSpec | None, str]:
    match entry:
        case CronJob():
            return entry.spec.job_template.spec, "spec.jobTemplate.spec"
        case Workload() | ReplicationController():
            return entry.spec, "spec"
    return None, ""


def negative_amounts(pod: Pod, template: str = "") -> Iterator[RefusedNumber]:
    """Requests and limits below zero.

    Args:
        pod: The pod, or the template.
        template: What stands before the fields of the pod: nothing, or ``spec.template.``.
    """
    for path, own in _resources(pod):
        for kind, amounts in (("limits", own.limits), ("requests", own.requests)):
            for name, amount in amounts.items():
                if amount.sign < 0:
                    place = f"{template}{path}.{kind}"
                    yield RefusedNumber(f"{place}.{name}", f"{place}[{name}]", str(amount))


def _over_limit(path: str, own: ResourceRequirements) -> Iterator[RefusedNumber]:
    for name, request in own.requests.items():
        limit = own.limits.get(name)
        if limit is None or request == limit:
            continue
        overcommitted = is_overcommit_allowed(name)
        if request > limit or not overcommitted:
            wanted = "less than or equal to" if overcommitted else "equal to"
            yield RefusedNumber(
                f"{path}.requests.{name}",
                f"{path}.requests[{name}]",
                str(request),
                f"must be {wanted} {name} limit of {limit}",
                "Lower the request or raise the limit" if overcommitted else "Write the same for both",
            )


def _resources(pod: Pod) -> Iterator[tuple[str, ResourceRequirements]]:
    for ref in pod.containers():
        yield f"{ref.field}.resources", ref.container.resources
    if pod.spec.resources is not None:
        yield "spec.resources", pod.spec.resources


def _template(entry: KubeObject) -> str:
    if isinstance(entry, Pod):
        return ""
    return "spec.jobTemplate.spec.template." if isinstance(entry, CronJob) else "spec.template."
