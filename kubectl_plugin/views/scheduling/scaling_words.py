"""The sentences about the number of pods: what an autoscaler may request, and what a Job makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_plugin.views.manifest import job_words, range_words
from kubectl_plugin.views.scheduling.placement import why_no_node
from kubectl_plugin.views.scheduling.plan_more import paid_words, quota_words
from podrules.scheduling.placement.planned import PlannedSpec


def autoscaler_words(specs: Sequence[PlannedSpec]) -> Iterator[str]:
    """Says whether the most replicas that an autoscaler may request fit.

    Args:
        specs: All specs of a plan.
    """
    least = {(one.namespace, one.name): one for one in specs if one.origin == "manifest"}
    for spec in specs:
        if spec.origin == "autoscaler" and spec.autoscaler is not None:
            yield from _range(spec, least[spec.namespace, spec.name])


def _range(spec: PlannedSpec, least: PlannedSpec) -> Iterator[str]:
    scaler = spec.autoscaler
    if scaler is None:
        return
    fit, most = least.placed + spec.placed, scaler.max_replicas
    fits = f"all {most} fit" if fit == most else f"of {most}, {fit or 'none'} {'fits' if fit == 1 else 'fit'}"
    paid = f", {paid_words([spec])}" if spec.victims else ""
    lead = f"{spec.name} has {range_words(scaler)} (HorizontalPodAutoscaler {scaler.name})"
    # The sentence about its minimum comes before.
    why = why_no_node(spec.stopped) if spec.stopped is not None and least.stopped is None else ()
    yield " ".join((f"{lead}: {fits}{paid}.", *why))
    yield from quota_words(spec, "replica", f"of {spec.name} besides its {scaler.min_replicas}")


def size_words(spec: PlannedSpec) -> Iterator[str]:
    """How many pods a Job makes in all, if that is more than it has at once."""
    job = spec.job
    if job is not None and (job.schedule or (job.completions or 0) > job.at_once):
        makes = f"makes a Job at {job.schedule}, of " if job.schedule else "makes "
        yield f"{spec.name} {makes}{job_words(job)}."
