"""SchedulingGates: a pod with scheduling gates is not queued until all of them are removed.

Source: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go at v1.36.3; KEP-3521.
"""

from __future__ import annotations

from podrules.api.features import Features
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status


class SchedulingGates:
    """Holds back pods with ``spec.schedulingGates``."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod, snapshot: ClusterSnapshot, features: Features) -> Status:  # noqa: ARG002 - the interface's
        """Success without gates; else the gates in the order of the spec."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        names = " ".join(gate.name for gate in gates)
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"waiting for scheduling gates: [{names}]",))
