"""The risk of a pod in one word, for long lists."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

import pytest

from kubectl_plugin.reports.pod.pod_risk import PodRisk, pod_risk
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.node.node_flags import NodeFlag, NodeMark
from kubectl_plugin.views.pod.risk_words import RISK_SEVERITY
from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from tests.objects import raw_container, raw_pod

DELETED = datetime(2026, 11, 22, 10, 5, tzinfo=UTC)
RUNNING: dict[str, Any] = {"running": {}}
ENDED = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def going(grace: int, spec: int = 60, state: Any = None, finalizers: tuple[str, ...] = (), **more: Any) -> Pod:
    """A pod deleted at 10:05:00 with this grace period in seconds."""
    due = (DELETED + timedelta(seconds=grace)).isoformat()
    metadata = {"deletionTimestamp": due, "deletionGracePeriodSeconds": grace, "finalizers": list(finalizers)}
    status = {"phase": "Running", "containerStatuses": [{"name": "app", "ready": True, "state": state or RUNNING}]}
    raw = raw_pod(
        nodeName="node-1",
        metadata=metadata,
        containers=[raw_container()],
        terminationGracePeriodSeconds=spec,
        status={**status, **more},
    )
    return from_object(raw, Pod)


@pytest.mark.parametrize(
    ("pod", "after", "risk"),
    [
        pytest.param(going(60), 100, PodRisk.TERMINATING, id="a minute's patience"),
        pytest.param(going(60), 121, PodRisk.TERMINATING_LATE, id="its processes should be gone"),
        pytest.param(going(10), 100, PodRisk.TERMINATING, id="a shortened period does not end the stop in flight"),
        pytest.param(going(10), 121, PodRisk.TERMINATING_LATE, id="the first one does"),
        pytest.param(going(60, state=ENDED), 500, PodRisk.TERMINATING, id="without a process nothing is late"),
        pytest.param(going(60, state=ENDED, finalizers=("example.com/copy",)), 500, PodRisk.KEPT, id="a finalizer"),
        pytest.param(
            going(60, state=ENDED, finalizers=("example.com/copy",)), 100, PodRisk.TERMINATING, id="which may still go"
        ),
        pytest.param(going(60, finalizers=("example.com/copy",), phase="Succeeded"), 500, PodRisk.KEPT, id="finished"),
    ],
)
def test_T5_lateness_depends_on_how_a_pod_ends(pod: Pod, after: int, risk: PodRisk | None) -> None:
    assert pod_risk(pod, at=DELETED + timedelta(seconds=after), features=REFERENCE) is risk


def test_T5_virtual_kubelet_pod_is_never_late() -> None:
    at = DELETED + timedelta(hours=1)
    assert pod_risk(going(60), at=at, features=REFERENCE) is PodRisk.TERMINATING_LATE
    assert pod_risk(going(60), provider=True, at=at, features=REFERENCE) is PodRisk.TERMINATING
    assert pod_risk(going(60), down=True, at=at, features=REFERENCE) is PodRisk.NODE_DOWN


@pytest.mark.parametrize(
    ("severities", "trouble"),
    [
        pytest.param(
            RISK_SEVERITY,
            [
                *("NodeDown", "Unschedulable", "HeldUp", "OOMKilled", "Stuck", "TerminatingLate", "Tainted"),
                *("UnboundClaim", "VolumeHeld", "NeverStarted", "NoScheduler", "Disrupted", "Failed"),
            ],
            id="pods",
        ),
        pytest.param(
            {mark: NodeFlag(mark, "").severity for mark in NodeMark},
            ["Silent", "NotReady", "Fenced", "Evicting", "Pressure", "OutOfMemory", "CloseToEviction"],
            id="nodes",
        ),
    ],
)
def test_what_is_trouble_and_what_is_a_notice(severities: Mapping[Enum, Severity], trouble: list[str]) -> None:
    found = [kind.value for kind, severity in severities.items() if severity is Severity.TROUBLE]
    assert found == trouble
    assert set(severities.values()) == {Severity.TROUBLE, Severity.NOTICE}
