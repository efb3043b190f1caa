"""NodeResourcesFit's filter: upstream's cases of fit_test.go.

The node has 10m cpu, 20 bytes of memory and of ephemeral storage, room for 32 pods, 5 of example.com/aaa and of
hugepages-2Mi. Numbers are (requested, used, capacity).
"""

from __future__ import annotations

from collections.abc import Sequence

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.plugins.node_resources import NodeResourcesFit, NodeResourcesFitArgs
from podrules.scheduling.scheduler.plugins.node_resources.columns import InsufficientResource
from tests.objects import make_pod, raw_container_status
from tests.podrules.scheduling.scheduler.plugins.building_nodes import filter_status, make_cycle
from tests.podrules.scheduling.scheduler.plugins.building_resources import SHORT, asking, make_room, pod_asking
from tests.table import row, table

PLUGIN = NodeResourcesFit()
ROOM = "cpu=10m memory=20 storage=20 pods=32 aaa=5 huge=5"
KUBERNETES_A, KUBERNETES_B = "kubernetes.io/something", "subdomain.kubernetes.io/something"
NOTHING = "cpu=0 memory=0"
Wanted = tuple[str, int, int, int]


def make_context(
    pod: Pod, used: Sequence[Pod], room: str = ROOM, args: NodeResourcesFitArgs | None = None
) -> CycleContext:
    return make_cycle(pod, [make_room("node", room)], used, args={} if args is None else {PLUGIN.name: args})


def explained(context: CycleContext) -> tuple[InsufficientResource, ...]:
    return PLUGIN.explain(context, PLUGIN.pre_filter(context).state, 0)


def insufficient(wanted: Wanted) -> InsufficientResource:
    name = SHORT.get(wanted[0], wanted[0])
    return InsufficientResource(name, *wanted[1:])


@table(
    "pod, used, expected",
    {
        "no resources requested always fits": row(make_pod(containers=[]), "cpu=10m memory=20", []),
        "too many resources fails": row(
            pod_asking("cpu=1m memory=1"), "cpu=10m memory=20", [("cpu", 1, 10, 10), ("memory", 1, 20, 20)]
        ),
        "too many resources fails due to init container cpu": row(
            pod_asking("cpu=1m memory=1", init=["cpu=3m memory=1"]), "cpu=8m memory=19", [("cpu", 3, 8, 10)]
        ),
        "too many resources fails due to highest init container cpu": row(
            pod_asking("cpu=1m memory=1", init=["cpu=3m memory=1", "cpu=2m memory=1"]),
            "cpu=8m memory=19",
            [("cpu", 3, 8, 10)],
        ),
        "too many resources fails due to init container memory": row(
            pod_asking("cpu=1m memory=1", init=["cpu=1m memory=3"]), "cpu=9m memory=19", [("memory", 3, 19, 20)]
        ),
        "too many resources fails due to highest init container memory": row(
            pod_asking("cpu=1m memory=1", init=["cpu=1m memory=3", "cpu=1m memory=2"]),
            "cpu=9m memory=19",
            [("memory", 3, 19, 20)],
        ),
        "init container fits because it's the max, not sum, of containers and init containers": row(
            pod_asking("cpu=1m memory=1", init=["cpu=1m memory=1"]), "cpu=9m memory=19", []
        ),
        "multiple init containers fit because it's the max, not sum, of containers and init containers": row(
            pod_asking("cpu=1m memory=1", init=["cpu=1m memory=1", "cpu=1m memory=1"]), "cpu=9m memory=19", []
        ),
        "both resources fit": row(pod_asking("cpu=1m memory=1"), "cpu=5m memory=5", []),
        "one resource memory fits": row(pod_asking("cpu=2m memory=1"), "cpu=9m memory=5", [("cpu", 2, 9, 10)]),
        "one resource cpu fits": row(pod_asking("cpu=1m memory=2"), "cpu=5m memory=19", [("memory", 2, 19, 20)]),
        "equal edge case": row(pod_asking("cpu=5m memory=1"), "cpu=5m memory=19", []),
        "equal edge case for init container": row(
            pod_asking("cpu=4m memory=1", init=["cpu=5m memory=1"]), "cpu=5m memory=19", []
        ),
        "extended resource fits": row(pod_asking("aaa=1"), NOTHING, []),
        "extended resource fits for init container": row(pod_asking(NOTHING, init=["aaa=1"]), NOTHING, []),
        "extended resource capacity enforced": row(pod_asking("cpu=1m memory=1 aaa=10"), "aaa=0", [("aaa", 10, 0, 5)]),
        "extended resource capacity enforced for init container": row(
            pod_asking(NOTHING, init=["cpu=1m memory=1 aaa=10"]), "aaa=0", [("aaa", 10, 0, 5)]
        ),
        "extended resource allocatable enforced": row(pod_asking("cpu=1m memory=1 aaa=1"), "aaa=5", [("aaa", 1, 5, 5)]),
        "extended resource allocatable enforced for init container": row(
            pod_asking(NOTHING, init=["cpu=1m memory=1 aaa=1"]), "aaa=5", [("aaa", 1, 5, 5)]
        ),
        "extended resource allocatable enforced for multiple containers": row(
            pod_asking("cpu=1m memory=1 aaa=3", "cpu=1m memory=1 aaa=3"), "aaa=2", [("aaa", 6, 2, 5)]
        ),
        "extended resource allocatable admits multiple init containers": row(
            pod_asking(NOTHING, init=["cpu=1m memory=1 aaa=3", "cpu=1m memory=1 aaa=3"]), "aaa=2", []
        ),
        "extended resource allocatable enforced for multiple init containers": row(
            pod_asking(NOTHING, init=["cpu=1m memory=1 aaa=6", "cpu=1m memory=1 aaa=3"]), "aaa=2", [("aaa", 6, 2, 5)]
        ),
        "extended resource allocatable enforced for unknown resource": row(
            pod_asking("cpu=1m memory=1 bbb=1"), NOTHING, [("bbb", 1, 0, 0)]
        ),
        "extended resource allocatable enforced for unknown resource for init container": row(
            pod_asking(NOTHING, init=["cpu=1m memory=1 bbb=1"]), NOTHING, [("bbb", 1, 0, 0)]
        ),
        "kubernetes.io resource capacity enforced": row(
            pod_asking(f"cpu=1m memory=1 {KUBERNETES_A}=10"), NOTHING, [(KUBERNETES_A, 10, 0, 0)]
        ),
        "kubernetes.io resource capacity enforced for init container": row(
            pod_asking(NOTHING, init=[f"cpu=1m memory=1 {KUBERNETES_B}=10"]), NOTHING, [(KUBERNETES_B, 10, 0, 0)]
        ),
        "hugepages resource capacity enforced": row(
            pod_asking("cpu=1m memory=1 huge=10"), "huge=0", [("huge", 10, 0, 5)]
        ),
        "hugepages resource capacity enforced for init container": row(
            pod_asking(NOTHING, init=["cpu=1m memory=1 huge=10"]), "huge=0", [("huge", 10, 0, 5)]
        ),
        "hugepages resource allocatable enforced for multiple containers": row(
            pod_asking("cpu=1m memory=1 huge=3", "cpu=1m memory=1 huge=3"), "huge=2", [("huge", 6, 2, 5)]
        ),
        "resources + pod overhead fits": row(
            pod_asking("cpu=1m memory=1", overhead="cpu=3m memory=13"), "cpu=5m memory=5", []
        ),
        "requests + overhead does not fit for memory": row(
            pod_asking("cpu=1m memory=1", overhead="cpu=1m memory=15"), "cpu=5m memory=5", [("memory", 16, 5, 20)]
        ),
        "skip checking extended resource request with quantity zero via resource groups": row(
            pod_asking("cpu=1m memory=1 aaa=0"), "aaa=6", []
        ),
        "skip checking resource request with quantity zero": row(pod_asking("aaa=1"), "cpu=20m memory=30 aaa=1", []),
        "both pod-level and container-level resources fit": row(
            pod_asking("cpu=1m memory=1", own="cpu=1m memory=2"), "cpu=5m memory=5", []
        ),
        "pod-level cpu resource not fit": row(
            pod_asking("cpu=1m memory=1", own="cpu=7m memory=2"), "cpu=5m memory=5", [("cpu", 7, 5, 10)]
        ),
        "pod-level memory resource not fit": row(
            pod_asking("cpu=1m memory=1", own="cpu=3m memory=2"), "cpu=5m memory=19", [("memory", 2, 19, 20)]
        ),
        "pod-level hugepages resource fit": row(pod_asking(own="cpu=3m memory=2 huge=5"), NOTHING, []),
        "both pod-level and container-level hugepages resource fit": row(
            pod_asking("cpu=1m memory=1 huge=3", own="cpu=3m memory=2 huge=5"), NOTHING, []
        ),
        "pod-level hugepages resource not fit": row(
            pod_asking(own="cpu=3m memory=2 huge=10"), NOTHING, [("huge", 10, 0, 5)]
        ),
        "one pod-level cpu resource fits and all init and non-init containers resources fit": row(
            pod_asking("cpu=1m memory=1", init=["cpu=1m memory=1"], own="cpu=3m memory=2"),
            "cpu=5m memory=19",
            [("memory", 2, 19, 20)],
        ),
        "empty storage requested, and pod fits": row(pod_asking("cpu=1m memory=1"), "cpu=2m memory=10", []),
        "storage ephemeral local storage request exceeds allocatable": row(
            pod_asking("storage=25"), "cpu=2m memory=2", [("storage", 25, 0, 20)]
        ),
        "ephemeral local storage is sufficient": row(pod_asking("storage=5"), "cpu=2m memory=2 storage=10", []),
        "pod fits": row(pod_asking("storage=10"), "cpu=2m memory=2", []),
        "what the whole node has can be freed": row(pod_asking("cpu=10m"), "cpu=1m", [("cpu", 10, 1, 10)]),
        "sidecars add up with containers": row(
            pod_asking("cpu=6m", sidecars=["cpu=5m"]), NOTHING, [("cpu", 11, 0, 10)]
        ),
        "reasons in order": row(
            pod_asking("cpu=11m memory=21 storage=1 huge=6 bbb=1 aaa=6"),
            "storage=20",
            [
                ("cpu", 11, 0, 10),
                ("memory", 21, 0, 20),
                ("storage", 1, 20, 20),
                ("aaa", 6, 0, 5),
                ("bbb", 1, 0, 0),
                ("huge", 6, 0, 5),
            ],
        ),
    },
)
def test_enough_requests(pod: Pod, used: str, expected: list[Wanted]) -> None:
    context = make_context(pod, [pod_asking(used, on="node")])
    wanted = tuple(map(insufficient, expected))
    assert explained(context) == wanted
    code = Code.UNSCHEDULABLE
    if any(amount > capacity for _, amount, _, capacity in expected):
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    status = Status(code, tuple(f"Insufficient {entry.resource}" for entry in wanted)) if wanted else SUCCESS
    assert filter_status(PLUGIN, context) == status


@table(
    "asked, args, expected",
    {
        "skip checking ignored extended resource": row(
            "cpu=1m memory=1 bbb=1", NodeResourcesFitArgs(ignored_resources=("example.com/bbb",)), ()
        ),
        "skip checking ignored extended resource via resource groups": row(
            f"cpu=1m memory=1 bbb=1 {KUBERNETES_A}=1",
            NodeResourcesFitArgs(ignored_resource_groups=("example.com",)),
            (f"Insufficient {KUBERNETES_A}",),
        ),
        "only extended resources can be ignored": row(
            f"huge=6 {KUBERNETES_A}=1",
            NodeResourcesFitArgs(
                ignored_resources=("hugepages-2Mi", KUBERNETES_A), ignored_resource_groups=("kubernetes.io",)
            ),
            ("Insufficient hugepages-2Mi", f"Insufficient {KUBERNETES_A}"),
        ),
    },
)
def test_ignored_resources(asked: str, args: NodeResourcesFitArgs, expected: tuple[str, ...]) -> None:
    assert filter_status(PLUGIN, make_context(pod_asking(asked), [], args=args)).reasons == expected


@table(
    "pod, used",
    {
        "even without specified resources, no space for the pod": row(make_pod(containers=[]), "cpu=10m memory=20"),
        "even if both resources fit, no space for the pod": row(pod_asking("cpu=1m memory=1"), "cpu=5m memory=5"),
        "even for equal edge case, no space for the pod": row(pod_asking("cpu=5m memory=1"), "cpu=5m memory=19"),
        "even for equal edge case due to init container, no space for the pod": row(
            pod_asking("cpu=5m memory=1", init=["cpu=5m memory=1"]), "cpu=5m memory=19"
        ),
    },
)
def test_not_enough_requests(pod: Pod, used: str) -> None:
    context = make_context(pod, [pod_asking(used, on="node")], "cpu=10m memory=20 pods=1")
    assert filter_status(PLUGIN, context) == Status(Code.UNSCHEDULABLE, ("Too many pods",))
    assert explained(context) == (InsufficientResource("pods", 1, 1, 1),)


def test_too_many_pods_with_an_unresolvable_resource() -> None:
    context = make_context(pod_asking("cpu=11m"), [pod_asking(NOTHING, on="node")], "cpu=10m pods=1")
    wanted = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("Too many pods", "Insufficient cpu"))
    assert filter_status(PLUGIN, context) == wanted


def test_pod_level_resources_depend_on_version() -> None:
    pod = pod_asking("cpu=1m", own="cpu=11m")
    node = [make_room("node", ROOM)]
    assert filter_status(PLUGIN, make_cycle(pod, node, features=REFERENCE)).rejected
    assert filter_status(PLUGIN, make_cycle(pod, node, features=Features.of_minor(33))).ok


def test_pods_on_node_count_with_resize_in_flight() -> None:
    resizing = make_pod(
        containers=[asking("cpu=2m")],
        nodeName="node",
        status={"containerStatuses": [raw_container_status(requests={"cpu": "8m"}, allocatedResources={"cpu": "8m"})]},
    )
    assert explained(make_context(pod_asking("cpu=3m"), [resizing])) == (insufficient(("cpu", 3, 8, 10)),)
