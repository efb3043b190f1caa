"""NodePorts: host ports that the pod asks for have to be free on the node.

    counted    ports with a hostPort above 0 of containers and sidecars; of plain init containers none
    conflict   the same protocol (TCP if empty) and port, and the same address, or either address is 0.0.0.0 (also if
               empty)

PreFilter skips a pod that asks for none.

Source: pkg/scheduler/framework/plugins/nodeports/node_ports.go and pkg/scheduler/util/utils.go (GetHostPorts) at
v1.36.3; k8s.io/kube-scheduler/framework/types.go (HostPortInfo) at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.pod import ContainerPort, Pod, PodReference, reference
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    AppliedChange,
    CycleContext,
    PreFilterResult,
    S,
    Verdicts,
    pods_removed,
)
from podrules.scheduling.scheduler.framework.node_table import BoundPods

ERR_REASON: Final = "node(s) didn't have free ports for the requested pod ports"
_ALL_ADDRESSES: Final = "0.0.0.0"  # noqa: S104 - Kubernetes' word for it, nothing listens here


class HostPort(NamedTuple):
    """An address, protocol and port of a node, with the defaults filled in."""

    ip: str
    protocol: str
    port: int

    def conflicts(self, other: HostPort) -> bool:
        """Whether both cannot be had (HostPortInfo.CheckConflict)."""
        same = self.protocol == other.protocol and self.port == other.port
        return same and (self.ip == other.ip or _ALL_ADDRESSES in {self.ip, other.ip})


class PortConflict(Struct, frozen=True):
    """A requested port and the pod that has it."""

    wanted: HostPort
    used: HostPort
    by: Pod


class PortInUse(Fact, frozen=True):
    """NodePorts: a host port that another pod has."""

    protocol: str
    port: int
    by: PodReference


class PortColumns(Struct, frozen=True):
    """All host ports of all bound pods, one entry a port."""

    rows: NDArray[np.int32]
    pods: NDArray[np.int32]
    """Index among the pods that have host ports."""
    codes: NDArray[np.int32]
    """Index in ``distinct``."""
    distinct: tuple[HostPort, ...]


class NodePorts:
    """Filters by host ports in use."""

    name = "NodePorts"
    fact_types = (PortInUse,)
    without_pre_filter = 'reading "PreFilterNodePorts" from cycleState: not found'

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """The ports that the pod asks for, or Skip."""
        wanted = tuple(host_ports(context.pod))
        return PreFilterResult(state=wanted) if wanted else PreFilterResult(SKIP)

    def filter(self, context: CycleContext, state: tuple[HostPort, ...]) -> Verdicts:
        """Unschedulable for each node with a pod that has one of the ports."""
        columns = context.table.pods.only(has_host_ports).derived(port_columns)
        taken = np.zeros(len(context.table), np.bool_)
        for wanted in state:
            taken[columns.rows[_conflicting(columns, wanted)]] = True
        codes = np.where(taken, Code.UNSCHEDULABLE, Code.SUCCESS).astype(np.int8)
        return Verdicts(codes, lambda _: (ERR_REASON,))

    def explain(self, context: CycleContext, state: tuple[HostPort, ...], row: int) -> tuple[PortConflict, ...]:
        """Which pods of a row's node have which of the ports."""
        holders = context.table.pods.only(has_host_ports)
        columns = holders.derived(port_columns)
        return tuple(
            PortConflict(wanted, columns.distinct[columns.codes[entry]], holders[columns.pods[entry]])
            for wanted in state
            for entry in np.flatnonzero(_conflicting(columns, wanted) & (columns.rows == row))
        )

    def facts(self, context: CycleContext, state: tuple[HostPort, ...], row: int) -> Iterator[Fact]:
        """The ports that other pods have."""
        for conflict in self.explain(context, state, row):
            yield PortInUse(conflict.wanted.protocol, conflict.wanted.port, reference(conflict.by))

    def on_node(
        self,
        context: CycleContext,  # noqa: ARG002 - Protocol
        state: tuple[HostPort, ...],
        row: int,  # noqa: ARG002 - its pods say all
        pods: Sequence[Pod],
    ) -> PortsOnNode:
        """The ports of a row's node."""
        return PortsOnNode(state, frozenset(port for pod in pods for port in host_ports(pod)))

    def changes(
        self, situation: S, context: CycleContext, state: tuple[HostPort, ...], row: int
    ) -> Iterator[AppliedChange[S]]:
        """Remove the pods that have the ports."""
        holders = {conflict.by.metadata.uid: conflict.by for conflict in self.explain(context, state, row)}
        return pods_removed(situation, row, holders.values())


class PortsOnNode(Struct, frozen=True):
    """The ports that the pods of one node have.

    As upstream's a set: a pod that goes frees its ports, though another pod may have the same ones.
    """

    wanted: tuple[HostPort, ...]
    used: frozenset[HostPort]

    def add_pod(self, pod: Pod) -> PortsOnNode:
        """With the pod's ports."""
        ports = frozenset(host_ports(pod))
        return PortsOnNode(self.wanted, self.used | ports) if ports else self

    def remove_pod(self, pod: Pod) -> PortsOnNode:
        """Without the pod's ports."""
        ports = frozenset(host_ports(pod))
        return PortsOnNode(self.wanted, self.used - ports) if ports else self

    def status(self) -> Status:
        """Whether all wanted ports are free."""
        if any(wanted.conflicts(port) for wanted in self.wanted for port in self.used):
            return Status(Code.UNSCHEDULABLE, (ERR_REASON,))
        return SUCCESS


def host_ports(pod: Pod) -> Iterator[HostPort]:
    """The host ports of a pod (GetHostPorts), of sidecars and then of containers."""
    for container in pod.spec.init_containers:
        if container.restarts_always:
            yield from (_host_port(port) for port in container.ports if port.host_port > 0)
    for container in pod.spec.containers:
        yield from (_host_port(port) for port in container.ports if port.host_port > 0)


def has_host_ports(pod: Pod) -> bool:
    """Whether a pod asks for any."""
    return any(True for _ in host_ports(pod))


def port_columns(bound: BoundPods) -> PortColumns:
    """The host ports of pods: a column (`BoundPods.derived`)."""
    distinct: dict[HostPort, int] = {}
    pods: list[int] = []
    codes: list[int] = []
    for index, pod in enumerate(bound):
        for port in host_ports(pod):
            pods.append(index)
            codes.append(distinct.setdefault(port, len(distinct)))
    holders = np.array(pods, np.int32)
    return PortColumns(bound.rows[holders], holders, np.array(codes, np.int32), tuple(distinct))


def _conflicting(columns: PortColumns, wanted: HostPort) -> NDArray[np.bool_]:
    """For each port in use whether it is in the way."""
    answers = np.fromiter(map(wanted.conflicts, columns.distinct), np.bool_, len(columns.distinct))
    return answers[columns.codes]


def _host_port(port: ContainerPort) -> HostPort:
    return HostPort(port.host_ip or _ALL_ADDRESSES, port.protocol or "TCP", port.host_port)
