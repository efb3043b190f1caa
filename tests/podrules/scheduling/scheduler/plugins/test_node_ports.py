"""NodePorts: upstream's cases (TestNodePorts, TestHostPortInfo_Check)."""

from __future__ import annotations

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.node_ports import HostPort, NodePorts, host_ports
from tests.podrules.scheduling.scheduler.plugins.building_nodes import Json, filter_status, make_cycle, node_of, pod_of
from tests.table import row, table

TAKEN = Status(Code.UNSCHEDULABLE, ("node(s) didn't have free ports for the requested pod ports",))


def container(*ports: str, **fields: str) -> Json:
    """A container with ports, each written ``protocol/address/port``."""
    split = [port.split("/") for port in ports]
    return {"ports": [{"protocol": part[0], "hostIP": part[1], "hostPort": int(part[2])} for part in split], **fields}


def make_pod(*ports: str, node: str = "") -> Pod:
    return pod_of({"nodeName": node, "containers": [container(*ports)]})


@table(
    "wanted, used, expected",
    {
        "skip filter": row([], [], SKIP),
        "other port": row(["UDP/127.0.0.1/8080"], ["UDP/127.0.0.1/9090"], SUCCESS),
        "same udp port": row(["UDP/127.0.0.1/8080"], ["UDP/127.0.0.1/8080"], TAKEN),
        "same tcp port": row(["TCP/127.0.0.1/8080"], ["TCP/127.0.0.1/8080"], TAKEN),
        "different host ip": row(["TCP/127.0.0.1/8080"], ["TCP/127.0.0.2/8080"], SUCCESS),
        "different protocol": row(["UDP/127.0.0.1/8080"], ["TCP/127.0.0.1/8080"], SUCCESS),
        "second udp port conflict": row(["UDP/127.0.0.1/8000", "UDP/127.0.0.1/8080"], ["UDP/127.0.0.1/8080"], TAKEN),
        "first tcp port conflict": row(
            ["TCP/127.0.0.1/8001", "UDP/127.0.0.1/8080"], ["TCP/127.0.0.1/8001", "UDP/127.0.0.1/8081"], TAKEN
        ),
        "first tcp port conflict due to 0.0.0.0 hostIP": row(["TCP/0.0.0.0/8001"], ["TCP/127.0.0.1/8001"], TAKEN),
        "TCP hostPort conflict due to 0.0.0.0 hostIP": row(
            ["TCP/10.0.10.10/8001", "TCP/0.0.0.0/8001"], ["TCP/127.0.0.1/8001"], TAKEN
        ),
        "second tcp port conflict to 0.0.0.0 hostIP": row(["TCP/127.0.0.1/8001"], ["TCP/0.0.0.0/8001"], TAKEN),
        "second different protocol": row(["UDP/127.0.0.1/8001"], ["TCP/0.0.0.0/8001"], SUCCESS),
        "UDP hostPort conflict due to 0.0.0.0 hostIP": row(
            ["UDP/127.0.0.1/8001"], ["TCP/0.0.0.0/8001", "UDP/0.0.0.0/8001"], TAKEN
        ),
        "empty check should check 0.0.0.0 and TCP": row(["//81"], ["TCP/127.0.0.1/80"], SUCCESS),
        "empty check should check 0.0.0.0 and TCP (conflicted)": row(["//80"], ["TCP/127.0.0.1/80"], TAKEN),
        "empty port check should pass": row(["//0"], ["TCP/127.0.0.1/80"], SKIP),
    },
)
def test_filter(wanted: list[str], used: list[str], expected: Status) -> None:
    context = make_cycle(make_pod(*wanted), [node_of("free"), node_of("m1")], [make_pod(*used, node="m1")])
    assert filter_status(NodePorts(), context, row=1) == expected
    assert filter_status(NodePorts(), context) == (SKIP if expected is SKIP else SUCCESS)


@table(
    "policy, expected",
    {
        "non-sidecar initContainer using hostPort": row({}, SKIP),
        "TCP hostPort conflict from sidecar initContainer": row({"restartPolicy": "Always"}, TAKEN),
    },
)
def test_init_containers(policy: dict[str, str], expected: Status) -> None:
    pod = pod_of({"initContainers": [container("TCP//8001", **policy)]})
    context = make_cycle(pod, [node_of("m1")], [make_pod("TCP/0.0.0.0/8001", node="m1")])
    assert filter_status(NodePorts(), context) == expected


def test_no_pod_has_ports() -> None:
    context = make_cycle(make_pod("TCP//80"), [node_of("m1")], [make_pod(node="m1")])
    assert filter_status(NodePorts(), context) == SUCCESS


def test_host_ports_of_sidecars_come_first() -> None:
    pod = pod_of(
        {"containers": [container("TCP//1", "//0")], "initContainers": [container("UDP/::1/2", restartPolicy="Always")]}
    )
    assert list(host_ports(pod)) == [HostPort("::1", "UDP", 2), HostPort("0.0.0.0", "TCP", 1)]


def test_explain_names_the_pod_that_has_the_port() -> None:
    holder = make_pod("TCP/10.0.0.1/80", "TCP//443", node="m1")
    pods = [make_pod("TCP//80", node="m2"), holder, make_pod("UDP//80", node="m1")]
    context = make_cycle(make_pod("TCP//80", "TCP//81"), [node_of("m1"), node_of("m2")], pods)
    plugin = NodePorts()
    (conflict,) = plugin.explain(context, plugin.pre_filter(context).state, 0)
    assert conflict.wanted == HostPort("0.0.0.0", "TCP", 80)
    assert conflict.used == HostPort("10.0.0.1", "TCP", 80)
    assert conflict.by is holder
