"""How pods end: grace periods, preStop hooks, tolerations that keep them on silent nodes.

    grace-zero              a deletion is a force deletion: the object goes before the processes do
    readiness-probe-grace   refused: a readiness probe ends nothing
    prestop-over-grace      refused: a preStop sleep longer than the grace period
    prestop-takes-grace     a sleep as long as the grace period: the kubelet leaves 2 s between SIGTERM and SIGKILL
    stays-on-silent-node    a toleration of not-ready or unreachable without tolerationSeconds: the pod is never moved
                            away; of DaemonSets that is the rule, for theirs are made so

Source: pkg/apis/core/validation/validation.go (validateSleepAction, validateReadinessProbe) and
pkg/controller/tainteviction/taint_eviction.go (getMinTolerationTime) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.checks.finding import Finding
from podrules.checks.objects import PodCase
from podrules.defaults import default_grace_period
from podrules.model.node import Taint
from podrules.tolerations import tolerates_taint

__all__ = ["check_ending"]

_SILENT: Final = (
    Taint(key="node.kubernetes.io/unreachable", effect="NoExecute"),
    Taint(key="node.kubernetes.io/not-ready", effect="NoExecute"),
)


def check_ending(case: PodCase) -> Iterator[Finding]:
    """All that is told of how a pod ends."""
    for field in case.readiness_graces:
        yield case.finding("readiness-probe-grace", field)
    yield from _grace(case)
    if case.owner.kind != "DaemonSet":
        yield from _silent(case)


def _grace(case: PodCase) -> Iterator[Finding]:
    seconds = default_grace_period(case.pod).spec.termination_grace_period_seconds or 0
    if not seconds:
        yield case.finding("grace-zero", "spec.terminationGracePeriodSeconds")
    for ref in case.pod.containers():
        hook = ref.container.lifecycle.pre_stop if ref.container.lifecycle else None
        if hook is None or hook.sleep is None:
            continue
        sleep, field = hook.sleep.seconds, f"{ref.field}.lifecycle.preStop.sleep.seconds"
        if sleep > seconds or sleep < 0:
            yield case.finding("prestop-over-grace", field, sleep=sleep, grace=seconds)
        elif sleep == seconds > 0:
            yield case.finding("prestop-takes-grace", field, sleep=sleep, grace=seconds)


def _silent(case: PodCase) -> Iterator[Finding]:
    """Of the tolerations of a taint the first counts (GetMatchingTolerations)."""
    kept: dict[int, list[str]] = {}
    for taint in _SILENT:
        tolerations = enumerate(case.pod.spec.tolerations)
        first = next(((index, one) for index, one in tolerations if tolerates_taint(one, taint)), None)
        if first is not None and first[1].toleration_seconds is None:
            kept.setdefault(first[0], []).append(taint.key)
    for index, taints in kept.items():
        yield case.finding("stays-on-silent-node", f"spec.tolerations[{index}]", taints=" and ".join(taints))
