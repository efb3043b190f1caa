"""How pods end: grace periods, preStop hooks, and tolerations that keep pods on nodes that do not respond.

Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer) and
pkg/controller/tainteviction/taint_eviction.go (getMinTolerationTime) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.api.model.node import Taint
from podrules.lint.finding import Finding, Level, LintRule
from podrules.lint.objects import PodCase
from podrules.pod.defaults import default_grace_period
from podrules.pod.tolerations import tolerates_taint

_SILENT: Final = (
    Taint(key="node.kubernetes.io/unreachable", effect="NoExecute"),
    Taint(key="node.kubernetes.io/not-ready", effect="NoExecute"),
)


def check_ending(case: PodCase) -> Iterator[Finding]:
    """Every finding in how a pod ends."""
    yield from _grace(case)
    # The DaemonSet controller writes such tolerations itself.
    if case.owner.kind != "DaemonSet":
        yield from _silent(case)


def _grace(case: PodCase) -> Iterator[Finding]:
    seconds = default_grace_period(case.pod).spec.termination_grace_period_seconds or 0
    if not seconds:
        yield GraceZero(*case.at("spec.terminationGracePeriodSeconds"))
    for ref in case.pod.containers():
        hook = ref.container.lifecycle.pre_stop if ref.container.lifecycle else None
        if hook is None or hook.sleep is None:
            continue
        sleep, field = hook.sleep.seconds, f"{ref.field}.lifecycle.preStop.sleep.seconds"
        if sleep == seconds > 0:
            yield PreStopTakesGrace(*case.at(field), sleep)


def _silent(case: PodCase) -> Iterator[Finding]:
    """Tolerations that keep the pod on a silent node; the first match of a taint counts (GetMatchingTolerations)."""
    kept: dict[int, list[str]] = {}
    for taint in _SILENT:
        tolerations = enumerate(case.pod.spec.tolerations)
        first = next(((index, one) for index, one in tolerations if tolerates_taint(one, taint)), None)
        if first is not None and first[1].toleration_seconds is None:
            kept.setdefault(first[0], []).append(taint.key)
    for index, taints in kept.items():
        yield StaysOnSilentNode(*case.at(f"spec.tolerations[{index}]"), tuple(taints))


class GraceZero(Finding, frozen=True):
    """A deletion is a force deletion: the object is removed before the processes end."""

    rule = LintRule(
        name="grace-zero",
        level=Level.WARNING,
        about="The grace period is 0.",
        remedy="Remove the field (30 s), or set 1 to stop at once and still wait for the kubelet.",
        source="pkg/registry/core/pod/strategy.go (CheckGracefulDelete)",
        term="force deletion",
        check_pod=check_ending,
    )

    def __str__(self) -> str:
        return (
            "With terminationGracePeriodSeconds 0 each deletion is a force deletion: "
            "a replacement may start while this pod runs."
        )


class PreStopTakesGrace(Finding, frozen=True):
    """A sleep as long as the grace period: the kubelet leaves 2 s between SIGTERM and SIGKILL."""

    rule = LintRule(
        name="prestop-takes-grace",
        level=Level.WARNING,
        about="A preStop sleep takes the whole grace period.",
        remedy="Raise terminationGracePeriodSeconds by the time that the process needs to stop.",
        source="pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)",
        term="preStop",
        check_pod=check_ending,
    )
    seconds: int
    """The seconds of the sleep, and of the grace period."""

    def __str__(self) -> str:
        both = self.seconds
        return f"preStop sleeps {both} s of {both} s grace period: the process gets 2 s between SIGTERM and SIGKILL."


class StaysOnSilentNode(Finding, frozen=True):
    """Taint-based eviction never moves the pod away from a node that is not ready or unreachable."""

    rule = LintRule(
        name="stays-on-silent-node",
        level=Level.WARNING,
        about="A toleration without tolerationSeconds keeps pods on nodes that do not respond.",
        remedy="Set tolerationSeconds, or remove the toleration: the default is 300 s.",
        source="pkg/controller/tainteviction/taint_eviction.go",
        term="tolerationSeconds",
        check_pod=check_ending,
    )
    taints: tuple[str, ...]

    def __str__(self) -> str:
        taints = " and ".join(self.taints)
        return f"It tolerates {taints} forever: the pod is not replaced if its node stops responding."
