"""Commands that show more about a pod that does not run as it should."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubectl_plugin.render.command import Command, kubectl, why
from kubectl_plugin.reports.pod.health_verdict import lately_ended
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.pod.health_words import state_verdict
from podrules.pod.container_state import OOM_KILLED, ObservedContainer
from podrules.pod.health import Health, TroubleKind


def health_commands(health: Health, pod: str, namespace: str, now: datetime | None) -> Iterator[Command]:
    """The next commands for the container that the state names first.

    A container that has ended: its log; if it restarted or waits for a restart, the log of its last process. A
    container that never ran because of its image or configuration, and a failed probe: the events. A kill because of
    memory: the glossary, which says what helps.
    """
    worst = _worst(health, now)
    if worst is not None and worst.latest is not None:
        before = " --previous" if worst.end is None else ""
        yield kubectl(f"logs {{}} -c {{}}{before}", pod, worst.name, namespace=namespace)
        if worst.latest.reason == OOM_KILLED:
            yield why(OOM_KILLED, comment="what helps")
    elif health.bound and (state_verdict(health, now).severity is Severity.TROUBLE or _says_too_little(health)):
        yield kubectl("describe pod {}", pod, namespace=namespace)


def _worst(health: Health, now: datetime | None) -> ObservedContainer | None:
    if health.phase == "Failed":
        return next((one for one in health.containers if one.end is not None and one.end.exit_code), None)
    broken = (*health.of_kind(TroubleKind.HELD_UP), *health.of_kind(TroubleKind.ENDED))
    if broken:
        return health.container(broken[0].container)
    return next(iter(lately_ended(health, now)), None)


def _says_too_little(health: Health) -> bool:
    return health.phase == "Unknown" or (health.phase == "Running" and not health.ready)
