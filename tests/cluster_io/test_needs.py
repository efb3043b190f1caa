"""Only those lists of a cluster are read that the scheduling cycles of the given pods need."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from cluster_io.errors import BadEntry, Forbidden, NotServed, Unreachable
from cluster_io.gather import Gatherer, KnownCluster
from cluster_io.in_memory import MemorySource, NothingSource
from cluster_io.kinds import NODES
from podrules.api.features import REFERENCE_VERSION
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod, PodResourceClaimStatus
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import SCHEDULER_NAMESPACE
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import LIST_DEFAULTING, PodTopologySpreadArgs
from tests.cluster_io.recording import RecordingSource
from tests.objects import raw_container, raw_node, raw_object, raw_pod
from tests.table import table

Object = dict[str, Any]

ALWAYS = ["list nodes", "list pods status.phase!=Succeeded,status.phase!=Failed"]
STORAGE = [
    "list persistentvolumeclaims",
    "list persistentvolumes",
    "list storageclasses.storage.k8s.io",
    "list csinodes.storage.k8s.io",
    "list volumeattachments.storage.k8s.io",
]
BOUND = [*STORAGE, "list csidrivers.storage.k8s.io"]
PROVISIONING = ["list csidrivers.storage.k8s.io", "list csistoragecapacities.storage.k8s.io"]
CLAIMS = "list resourceclaims.resource.k8s.io"
SLICES = "list resourceslices.resource.k8s.io"
CLASSES = "list deviceclasses.resource.k8s.io"
TEMPLATE = "get resourceclaimtemplates.resource.k8s.io gpus -n shop"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
BY_TEAM = {"matchLabels": {"team": "web"}}
NOT_TRIAL = {"matchExpressions": [{"key": "stage", "operator": "NotIn", "values": ["trial"]}]}


def shop_pod(
    name: str = "new", *, labels: Mapping[str, str] | None = None, owner: Object | None = None, **spec: Any
) -> Object:
    """A pod of namespace shop, by default with its own spread constraints."""
    owners = [{"controller": True, "uid": "uid-owner", **owner}] if owner else None
    return raw_pod(
        name,
        "shop",
        uid=f"uid-{name}",
        labels=labels or {"app": name},
        metadata={"ownerReferences": owners},
        **{"topologySpreadConstraints": [SPREAD], **spec},
    )


def pod(name: str = "new", **about: Any) -> Pod:
    return from_object(shop_pod(name, **about), Pod)


def term(
    namespace_selector: Object | None = None, *, app: str | None = "new", namespaces: Sequence[str] = ()
) -> Object:
    """An affinity term; without an app it selects no pod."""
    return {
        "topologyKey": "zone",
        "labelSelector": None if app is None else {"matchLabels": {"app": app}},
        "namespaces": list(namespaces),
        "namespaceSelector": namespace_selector,
    }


def required(*terms: Object, kind: str = "podAntiAffinity") -> Object:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def preferred(*terms: Object, kind: str = "podAffinity") -> Object:
    weighted = [{"weight": 1, "podAffinityTerm": entry} for entry in terms]
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


def static_scheduler(version: str | None = None) -> Object:
    """The scheduler's static pod, which saves the request for its LeaseCandidate."""
    containers = [raw_container("scheduler", image=f"k/kube-scheduler:{version or f'v{REFERENCE_VERSION}'}")]
    return raw_pod("scheduler", SCHEDULER_NAMESPACE, labels={"component": "kube-scheduler"}, containers=containers)


def asked_for(pods: Sequence[Pod], objects: Sequence[Object] = (), args: Mapping[str, Any] | None = None) -> list[str]:
    """The requests besides nodes and pods."""
    source = RecordingSource([*objects, static_scheduler()])
    cluster = Gatherer(source).snapshot(pods, args)
    assert (cluster.unread, cluster.error) == ((), None)
    assert source.asked[:2] == ALWAYS
    assert len(source.asked) == len(set(source.asked))
    return source.asked[2:]


def test_nodes_and_pods_suffice_for_a_simple_pod() -> None:
    assert asked_for([pod()]) == []


def test_scheduler_version_from_lease_candidate() -> None:
    source = RecordingSource(git_version="v1.37.1")
    assert Gatherer(source).snapshot([pod()]).unread == ()
    assert source.asked == [*ALWAYS, "list leasecandidates.coordination.k8s.io -n kube-system"]


def test_finished_pods_are_left_out() -> None:
    phases = {"": "a", "Pending": "b", "Running": "c", "Succeeded": "d", "Failed": "e", "Unknown": "f"}
    objects = [shop_pod(name, nodeName="n") | {"status": {"phase": phase}} for phase, name in phases.items()]
    cluster = Gatherer(RecordingSource(objects)).snapshot([pod()])
    assert cluster.error is None
    assert [entry.metadata.name for entry in cluster.snapshot.pods] == ["a", "b", "c", "f"]


# InterPodAffinity


@table(
    "affinity, needed",
    {
        "required anti-affinity by labels": (required(term(BY_TEAM)), True),
        "required affinity by labels": (required(term(BY_TEAM), kind="podAffinity"), True),
        "preferred affinity by labels": (preferred(term(BY_TEAM)), True),
        "preferred anti-affinity by labels": (preferred(term(BY_TEAM), kind="podAntiAffinity"), True),
        "labels beside names": (required(term(BY_TEAM, namespaces=["shop"])), True),
        "own namespace and named ones": (required(term(), term(namespaces=["data"])), False),
        "every namespace": (required(term({})), False),
        "every namespace, for the selector also matches no labels": (required(term(NOT_TRIAL)), False),
        "no pod is selected": (required(term(BY_TEAM, app=None)), False),
        "affinity to nodes only": ({"nodeAffinity": {}}, False),
    },
)
def test_namespaces_for_the_pods_own_terms(affinity: Object, needed: bool) -> None:
    assert asked_for([pod(affinity=affinity)]) == ["list namespaces"] * needed


@table(
    "affinity, needed",
    {
        "required anti-affinity by labels": (required(term(BY_TEAM)), True),
        "required affinity by labels": (required(term(BY_TEAM), kind="podAffinity"), True),
        "preferred affinity by labels": (preferred(term(BY_TEAM)), True),
        "preferred anti-affinity by labels": (preferred(term(NOT_TRIAL), kind="podAntiAffinity"), True),
        "labels beside other names": (required(term(BY_TEAM, namespaces=["data"])), True),
        "the pod's namespace is named": (required(term(BY_TEAM, namespaces=["shop"])), False),
        "other pods are selected": (required(term(BY_TEAM, app="db")), False),
        "no pod is selected": (required(term(BY_TEAM, app=None)), False),
        "every namespace": (required(term({})), False),
        "own namespace": (required(term()), False),
    },
)
def test_namespaces_for_terms_of_bound_pods(affinity: Object, needed: bool) -> None:
    assert asked_for([pod()], [shop_pod("old", nodeName="n", affinity=affinity)]) == ["list namespaces"] * needed


@pytest.mark.parametrize(
    ("status", "needed"), [({}, False), ({"nominatedNodeName": "n"}, True), ({"phase": "Failed"}, False)]
)
def test_namespaces_for_terms_of_pods_that_are_not_bound(status: Object, needed: bool) -> None:
    waiting = shop_pod("waiting", affinity=required(term(BY_TEAM))) | {"status": status}
    assert asked_for([pod()], [waiting]) == ["list namespaces"] * needed


def test_namespaces_for_terms_of_a_pod_that_is_placed_before() -> None:
    first = pod("first", affinity=required(term(NOT_TRIAL)))
    assert asked_for([first]) == []
    assert asked_for([first, pod()]) == ["list namespaces"]


# PodTopologySpread


def test_services_of_the_namespace_for_default_constraints() -> None:
    assert asked_for([pod(topologySpreadConstraints=[])]) == ["list services -n shop"]


@pytest.mark.parametrize(
    ("api_version", "kind", "asked"),
    [
        ("v1", "ReplicationController", ["get replicationcontrollers web -n shop"]),
        ("apps/v1", "ReplicaSet", ["get replicasets.apps web -n shop"]),
        ("apps/v1", "StatefulSet", ["get statefulsets.apps web -n shop"]),
        ("apps/v1", "DaemonSet", []),
        ("batch/v1", "Job", []),
        ("example.com/v1", "ReplicaSet", []),
    ],
)
def test_the_controller_for_default_constraints(api_version: str, kind: str, asked: list[str]) -> None:
    owner = {"apiVersion": api_version, "kind": kind, "name": "web"}
    owned = pod(topologySpreadConstraints=[], owner=owner)
    controller = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "namespace": "shop"}}
    assert asked_for([owned], [controller]) == ["list services -n shop", *asked]
    assert asked_for([owned]) == ["list services -n shop", *asked], "a controller that is gone is none"


def test_a_controller_that_has_no_name_yet_is_not_asked_for() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": ""}
    assert asked_for([pod(topologySpreadConstraints=[], owner=owner)]) == ["list services -n shop"]


def test_no_service_selects_a_pod_without_labels() -> None:
    owned = shop_pod(topologySpreadConstraints=[], owner={"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"})
    owned["metadata"]["labels"] = {}
    assert asked_for([from_object(owned, Pod)]) == ["get replicasets.apps web -n shop"]


def test_without_default_constraints_nothing_is_read_for_them() -> None:
    args = {"PodTopologySpread": PodTopologySpreadArgs(defaulting_type=LIST_DEFAULTING)}
    assert asked_for([pod(topologySpreadConstraints=[])], args=args) == []


# Volumes


def stored_claim(name: str, *, bound: bool, namespace: str = "shop") -> Object:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"volumeName": "volume"},
    }


@table(
    "volume, asked",
    {
        "bound claim": ({"persistentVolumeClaim": {"claimName": "bound"}}, BOUND),
        "unbound claim": ({"persistentVolumeClaim": {"claimName": "new"}}, [*STORAGE, *PROVISIONING]),
        "claim to be made": ({"persistentVolumeClaim": {"claimName": "absent"}}, [*STORAGE, *PROVISIONING]),
        "claim elsewhere": ({"persistentVolumeClaim": {"claimName": "far"}}, [*STORAGE, *PROVISIONING]),
        "ephemeral volume": ({"ephemeral": {}}, [*STORAGE, *PROVISIONING]),
        "gcePersistentDisk": ({"gcePersistentDisk": {"pdName": "a"}}, BOUND),
        "awsElasticBlockStore": ({"awsElasticBlockStore": {"volumeID": "a"}}, BOUND),
        "azureDisk": ({"azureDisk": {"diskURI": "a"}}, BOUND),
        "cinder": ({"cinder": {"volumeID": "a"}}, BOUND),
        "portworxVolume": ({"portworxVolume": {"volumeID": "a"}}, BOUND),
        "azureFile, for which the scheduler needs no driver": ({"azureFile": {}}, []),
        "vsphereVolume, likewise": ({"vsphereVolume": {}}, []),
        "iscsi, compared with other pods' only": ({"iscsi": {"iqn": "a"}}, []),
        "rbd, likewise": ({"rbd": {"image": "a"}}, []),
        "csi without a claim": ({"csi": {"driver": "a"}}, []),
        "emptyDir": ({"emptyDir": {}}, []),
        "image": ({"image": {"reference": "a"}}, []),
    },
)
def test_storage(volume: Object, asked: list[str]) -> None:
    objects = [
        stored_claim("bound", bound=True),
        stored_claim("new", bound=False),
        stored_claim("new-v", bound=False),
        stored_claim("far", bound=False, namespace="data"),
    ]
    assert asked_for([pod(volumes=[{"name": "v", **volume}])], objects) == asked


@pytest.mark.parametrize(("version", "asked"), [("v1.36.3", STORAGE), ("v1.37.1", BOUND)])
def test_since_1_37_drivers_are_asked_for_with_bound_claims_too(version: str, asked: list[str]) -> None:
    source = RecordingSource([stored_claim("bound", bound=True), static_scheduler(version)], git_version=version)
    claiming = pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "bound"}}])
    assert Gatherer(source).snapshot([claiming]).error is None
    assert source.asked[2:] == asked


# Devices


def requesting(resource: str, amount: str = "1") -> list[Object]:
    return [{"name": "app", "resources": {"requests": {resource: amount}}}]


def device_class(name: str, resource: str | None = None) -> Object:
    return raw_object("DeviceClass", name, spec={"extendedResourceName": resource})


def resource_claim(name: str, *, allocated: bool) -> Object:
    status: Object = {"allocation": {}} if allocated else {}
    return raw_object("ResourceClaim", name, "shop", apiVersion="resource.k8s.io/v1", status=status)


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (["allocated"], [CLAIMS]),
        (["waiting"], [CLAIMS, SLICES, CLASSES]),
        (["allocated", "waiting"], [CLAIMS, SLICES, CLASSES]),
        (["waiting", "absent"], [CLAIMS]),
    ],
)
def test_resource_claims(names: list[str], asked: list[str]) -> None:
    objects = [resource_claim("allocated", allocated=True), resource_claim("waiting", allocated=False)]
    claiming = pod(resourceClaims=[{"name": name, "resourceClaimName": name} for name in names])
    assert asked_for([claiming], objects) == asked


@table(
    "stored, claim, asked",
    {
        "to come": (False, "", [CLAIMS, TEMPLATE, SLICES, CLASSES]),
        "waits for its claim": (True, "", [CLAIMS, TEMPLATE]),
        "has its claim": (True, "waiting", [CLAIMS, SLICES, CLASSES]),
    },
)
def test_templates_of_resource_claims(claim: str, asked: list[str], *, stored: bool) -> None:
    claiming = pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}])
    statuses = (PodResourceClaimStatus("gpu", claim),) if claim else ()
    claiming = replace(
        claiming,
        metadata=replace(claiming.metadata, uid=claiming.metadata.uid if stored else ""),
        status=replace(claiming.status, resource_claim_statuses=statuses),
    )
    owned: Object = resource_claim("waiting", allocated=False)
    owned["metadata"]["ownerReferences"] = [{"controller": True, "uid": claiming.metadata.uid}]
    assert asked_for([claiming], [owned]) == asked


@pytest.mark.parametrize(
    ("resource", "amount", "asked"),
    [
        ("example.com/gpu", "1", [CLASSES, CLAIMS, SLICES]),
        ("deviceclass.resource.kubernetes.io/gpu", "1", [CLASSES, CLAIMS, SLICES]),
        ("example.com/other", "1", [CLASSES]),
        ("example.com/gpu", "0", []),
        ("cpu", "1", []),
        ("hugepages-2Mi", "2Mi", []),
        ("storage.kubernetes.io/gpu", "1", []),
    ],
)
def test_extended_resources(resource: str, amount: str, asked: list[str]) -> None:
    asking = pod(containers=requesting(resource, amount))
    assert asked_for([asking], [device_class("gpu", "example.com/gpu")]) == asked


@pytest.mark.parametrize(("version", "asked"), [("v1.35.2", []), ("v1.36.0", [CLASSES]), (None, [CLASSES])])
def test_extended_resources_before_device_classes(version: str | None, asked: list[str]) -> None:
    source = RecordingSource([static_scheduler(version)], git_version=version)
    assert Gatherer(source).snapshot([pod(containers=requesting("example.com/gpu"))]).error is None
    assert source.asked == [*ALWAYS, *asked]


def test_resource_claims_show_that_their_gate_is_on() -> None:
    claiming = pod(resourceClaims=[{"name": "a", "resourceClaimName": "a"}])
    source = RecordingSource([static_scheduler("v1.33.1")], git_version="v1.33.1")
    Gatherer(source).snapshot([claiming])
    assert source.asked == [*ALWAYS, CLAIMS]


def test_claims_and_extended_resources() -> None:
    both = pod(resourceClaims=[{"name": "a", "resourceClaimName": "a"}], containers=requesting("example.com/gpu"))
    objects = [device_class("gpu", "example.com/gpu"), resource_claim("a", allocated=True)]
    assert asked_for([both], objects) == [CLAIMS, CLASSES, SLICES]


# What cannot be read


def gathered(
    about: Pod, *, forbidden: Sequence[str] = (), not_served: Sequence[str] = ()
) -> tuple[KnownCluster, Gatherer]:
    gatherer = Gatherer(RecordingSource(forbidden=forbidden, not_served=not_served))
    return gatherer.snapshot([about]), gatherer


def test_each_missing_list_is_named_apart_from_the_general_notes() -> None:
    about = pod(topologySpreadConstraints=[], volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "a"}}])
    cluster, gatherer = gathered(about, forbidden=["pods", "services", "csinodes.storage.k8s.io"])
    assert isinstance(cluster.error, Forbidden)
    assert cluster.unread == (
        UnreadInput("list", "pods", None, "forbidden"),
        UnreadInput("list", "services", "shop", "forbidden"),
        UnreadInput("list", "csinodes.storage.k8s.io", None, "forbidden"),
    )
    assert gatherer.unread == ()


def test_a_controller_that_may_not_be_read_is_named() -> None:
    owned = pod(topologySpreadConstraints=[], owner={"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1"})
    cluster, _ = gathered(owned, forbidden=["replicasets.apps"])
    assert cluster.unread == (UnreadInput("get", "replicasets.apps", "shop", "forbidden"),)


def test_unread_kinds_only_matter_to_pods_that_need_them() -> None:
    services = (UnreadInput("list", "services", "shop", "forbidden"),)
    gatherer = Gatherer(RecordingSource(forbidden=["services"]))
    for pods, unread in (
        ([pod(topologySpreadConstraints=[])], services),
        ([pod()], ()),
        ([pod(), pod(topologySpreadConstraints=[])], services),
    ):
        cluster = gatherer.snapshot(pods)
        assert (cluster.snapshot.services, cluster.unread, cluster.error) == ((), unread, None)


@pytest.mark.parametrize("resource", ["nodes", "pods"])
def test_without_nodes_or_pods_nothing_is_computed(resource: str) -> None:
    cluster, _ = gathered(pod(), forbidden=[resource])
    assert cluster.unread == (UnreadInput("list", resource, None, "forbidden"),)
    assert isinstance(cluster.error, Forbidden)


@pytest.mark.parametrize(("kind", "numbers"), [("nodes", (0, 1)), ("pods", (1, 0))])
def test_list_without_nodes_or_pods_is_incomplete(kind: str, numbers: tuple[int, int]) -> None:
    entry = shop_pod() if kind == "nodes" else raw_node("n")
    cluster = Gatherer(MemorySource([entry], description="x", is_plain_list=True)).snapshot([pod()])
    assert (len(cluster.snapshot.nodes), len(cluster.snapshot.pods)) == numbers
    assert (cluster.unread, cluster.error) == ((UnreadInput("list", kind, None, "not in the file"),), None)


def test_a_file_with_an_object_that_cannot_be_read_is_refused() -> None:
    about = pod(topologySpreadConstraints=[])
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "uid": True}}
    with pytest.raises(BadEntry, match=r"service/web in the cluster: metadata\.uid: true is a boolean"):
        Gatherer(RecordingSource([service])).snapshot([about])


def test_general_notes_of_the_same_list_stay() -> None:
    gatherer = Gatherer(RecordingSource(forbidden=["nodes"]))
    assert gatherer.noted(gatherer.list(NODES)) is None
    assert gatherer.snapshot([pod()]).unread == gatherer.unread == (UnreadInput("list", "nodes", None, "forbidden"),)


def test_no_cluster_at_all() -> None:
    cluster = Gatherer(NothingSource("default")).snapshot([pod()])
    assert (str(cluster.error), cluster.unread) == (
        "no cluster was asked",
        (
            UnreadInput("list", "nodes", None, "no cluster was asked"),
            UnreadInput("list", "pods", None, "no cluster was asked"),
        ),
    )


NO_DEVICES = ["resourceclaims.resource.k8s.io", "resourceslices.resource.k8s.io", "deviceclasses.resource.k8s.io"]


def test_extended_resource_without_dynamic_resources() -> None:
    cluster, _ = gathered(pod(containers=requesting("example.com/gpu")), not_served=NO_DEVICES)
    assert (cluster.unread, cluster.error) == ((), None)


def test_no_claims_without_dynamic_resources() -> None:
    claiming = pod(resourceClaims=[{"name": "a", "resourceClaimName": "a"}], containers=requesting("example.com/gpu"))
    cluster, _ = gathered(claiming, not_served=NO_DEVICES)
    assert (cluster.snapshot.resource_claims, cluster.unread, cluster.error) == ((), (), None)


def test_device_classes_that_may_not_be_read_are_missing() -> None:
    cluster, _ = gathered(pod(containers=requesting("example.com/gpu")), forbidden=NO_DEVICES)
    assert (cluster.snapshot.device_classes, cluster.unread, cluster.error) == (
        (),
        (UnreadInput("list", "deviceclasses.resource.k8s.io", None, "forbidden"),),
        None,
    )


def test_a_list_that_is_not_served_is_noted_elsewhere_too() -> None:
    gatherer = Gatherer(RecordingSource(not_served=["nodes"]))
    assert gatherer.noted(gatherer.list(NODES)) is None
    assert gatherer.unread == (UnreadInput("list", "nodes", None, "not served"),)


def test_not_served_is_a_kind_of_unreachable() -> None:
    assert isinstance(NotServed(NODES), Unreachable)


# Each thing is read once


def test_pods_share_what_was_read() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1"}
    controller = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop"}}
    owned = pod(topologySpreadConstraints=[], owner=owner)
    source = RecordingSource([controller, shop_pod("old", nodeName="n"), raw_node("n"), static_scheduler()])
    gatherer = Gatherer(source)
    gatherer.noted(gatherer.list(NODES))
    gatherer.owners(owned)

    first = gatherer.snapshot([owned]).snapshot
    again = gatherer.snapshot([owned, owned]).snapshot
    other = gatherer.snapshot([pod(volumes=[{"name": "v", "cinder": {}}])]).snapshot

    assert source.asked == [
        "list nodes",
        "get replicasets.apps web-1 -n shop",
        ALWAYS[1],
        "list services -n shop",
        *BOUND,
    ]
    assert first is again
    assert (len(first.nodes), len(first.pods)) == (1, 2)
    assert first.nodes is other.nodes
    assert first.pods is other.pods
    assert len(other.replica_sets) == 1


def test_lists_of_several_namespaces_add_up() -> None:
    service = {"apiVersion": "v1", "kind": "Service"}
    objects = [service | {"metadata": {"name": "web", "namespace": space}} for space in ("shop", "data", "lab")]
    elsewhere = from_object(raw_pod("b", "data", labels={"app": "b"}), Pod)
    cluster = Gatherer(RecordingSource(objects)).snapshot([pod(topologySpreadConstraints=[]), elsewhere])
    assert cluster.error is None
    assert [entry.metadata.namespace for entry in cluster.snapshot.services] == ["shop", "data"]


def test_an_answer_without_placement_loads_nothing_for_it() -> None:
    program = "import sys, cluster_io.gather; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "podrules.api.model.pod" in loaded
    assert loaded.isdisjoint(
        {"numpy", "podrules.api.model.resource", "podrules.api.model.snapshot", "cluster_io.needs"}
    )
