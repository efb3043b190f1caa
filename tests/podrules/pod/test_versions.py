"""The rules that apply to each component in a cluster of several versions."""

from __future__ import annotations

import pytest

from podrules.api.features import GATES, REFERENCE, Features
from podrules.api.model.decode import from_object
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import LeaseCandidate, Node
from podrules.api.model.pod import Pod
from podrules.pod.versions import (
    GATE_FIELDS,
    Component,
    Release,
    StatedFacts,
    Versions,
    leading_scheduler,
    static_versions,
    version_notes,
)
from tests.objects import make_pod, raw_container, raw_node
from tests.table import table


def node(version: str, name: str = "n1", **labels: str) -> Node:
    raw = raw_node(name, labels)
    raw["status"] = {**raw.get("status", {}), "nodeInfo": {"kubeletVersion": version, "operatingSystem": "linux"}}
    return from_object(raw, Node)


def scheduler(image: str, namespace: str = "kube-system", component: str = "kube-scheduler") -> Pod:
    containers = [raw_container("kube-scheduler", image=image)]
    return make_pod("s", namespace, labels={"component": component}, containers=containers)


@pytest.mark.parametrize(
    ("server", "minor"), [("v1.34.4", 34), ("v1.35.2-gke.1", 35), ("v1.37.1+k3s1", 37), (None, REFERENCE.minor)]
)
def test_all_components_have_the_api_servers_version_by_default(server: str | None, minor: int) -> None:
    versions = Versions.of(server)
    assert versions.server_version == server
    assert versions.api_server == versions.scheduler == versions.kubelet(None) == Features.of_minor(minor)


def test_kubelet_has_its_own_version() -> None:
    versions = Versions.of("v1.37.1")
    assert [versions.kubelet(node(version)).minor for version in ("v1.34.4", "v1.36.3", "v1.37.1")] == [34, 36, 37]
    assert versions.kubelet(node("")).minor == 37, "one that does not say it"
    assert versions.kubelet(node("nonsense")).minor == 37


def test_static_pod_shows_the_scheduler_version() -> None:
    pods = [scheduler("registry.k8s.io/kube-scheduler:v1.36.3"), scheduler("k/s:v1.36.3@sha256:aa")]
    assert static_versions(pods, Component.SCHEDULER) == ("v1.36.3",)
    assert static_versions(pods, Component.API_SERVER) == ()
    versions = Versions.of("v1.37.1", [Release("v1.36.3")])
    assert (versions.api_server.minor, versions.scheduler.minor, versions.scheduler_version) == (37, 36, "v1.36.3")


@table(
    "pod",
    {
        "any user's namespace": scheduler("k/s:v1.34.1", namespace="shop"),
        "another component": scheduler("k/s:v1.34.1", component="web"),
        "no version in the tag": scheduler("k/s:latest"),
        "a port and no tag": scheduler("registry:5000/s"),
    },
)
def test_other_pods_do_not_show_the_scheduler_version(pod: Pod) -> None:
    assert static_versions([pod], Component.SCHEDULER) == ()


def candidate(
    binary: str, emulation: str, made: str = "01", lease: str = "kube-scheduler", namespace: str = "kube-system"
) -> LeaseCandidate:
    metadata = {"name": f"cp-{made}", "namespace": namespace, "creationTimestamp": f"2026-11-{made}T00:00:00Z"}
    spec = {"leaseName": lease, "binaryVersion": binary, "emulationVersion": emulation}
    return from_object({"metadata": metadata, "spec": spec}, LeaseCandidate)


@table(
    "candidates, leads",
    {
        "one": ([candidate("1.37.1", "1.37.0")], ("v1.37.1", "1.37.0")),
        "the oldest emulated": ([candidate("1.37.1", "1.36"), candidate("1.37.0", "1.37")], ("v1.37.1", "1.36")),
        "then the oldest": ([candidate("1.37.1", "1.36"), candidate("1.36.3", "1.36")], ("v1.36.3", "1.36")),
        "as numbers, not as text": ([candidate("1.10.0", "1.10"), candidate("1.9.0", "1.9")], ("v1.9.0", "1.9")),
        "emulates nothing: may not lead": ([candidate("1.36.3", "")], None),
        "no version": ([candidate("latest", "1.37")], None),
        "another component": ([candidate("1.36.3", "1.36", lease="kube-controller-manager")], None),
        "any user's namespace": ([candidate("1.36.3", "1.36", namespace="shop")], None),
        "none": ([], None),
    },
)
def test_leading_lease_candidate_gives_scheduler_version(
    candidates: list[LeaseCandidate], leads: tuple[str, str] | None
) -> None:
    """The order of TestPickBestLeaderOldestEmulationVersion in upstream's election_test.go."""
    for order in (candidates, candidates[::-1]):
        found = leading_scheduler(order)
        assert (found and (found.version, found.emulates)) == leads


def test_scheduler_of_the_api_servers_minor_is_known_too() -> None:
    versions = Versions.of("v1.37.1", [Release("v1.37.0")])
    assert versions.scheduler_version == "v1.37.0"
    assert version_notes(versions) == ()
    (note,) = version_notes(Versions.of("v1.33.2", [Release("v1.33.1")]))
    assert note.component is Component.API_SERVER, "one line for both"
    assert any(effect.startswith("DynamicResources") for effect in note.without)


def test_differing_schedulers_use_the_api_server_version() -> None:
    """The leader is unknown."""
    versions = Versions.of("v1.37.1", [Release("v1.36.3"), Release("v1.37.1")])
    assert versions.scheduler.minor == 37
    assert versions.scheduler_version is None
    assert versions.schedulers == ("v1.36.3", "v1.37.1")


def test_emulated_version_affects_only_gates() -> None:
    """In 1.37, VolumeLimitScaling has a gate, and its messages have none."""
    stated = StatedFacts(None, (("pod_level_resources_fix_defaulting", True),))
    versions = Versions.of("v1.37.1", emulates="1.36", stated=stated)
    assert versions.scheduler == versions.api_server, "it is taken to be as the API server"
    assert (versions.api_server.minor, versions.api_server.emulated) == (37, 36)
    assert (versions.api_server.volume_limit_scaling, versions.api_server.preemption_message) == (False, True)
    assert not versions.api_server.pod_level_resources_fix_defaulting, "1.36 has no such gate"
    assert versions.with_gate("dra_device_taints", on=False).api_server.emulated == 36
    own = Versions.of("v1.37.1", [Release("v1.37.1", "1.36")], emulates="1.37")
    assert (own.api_server.emulated, own.scheduler.emulated) == (None, 36)
    assert Versions.of("v1.37.1", stated=StatedFacts("1.37"), emulates="1.36").api_server.emulated is None


def test_unknown_api_server_is_as_new_as_the_newest_component() -> None:
    assert Versions.of(None, [Release("v1.37.0")], kubelets=["v1.36.1"]).api_server.minor == 37
    assert Versions.of(None, kubelets=["v1.35.1", "v1.36.1"]).api_server.minor == 36
    assert Versions.of(None, [Release("v1.35.0"), Release("v1.34.0")]).api_server.minor == 35


def test_given_version_counts_for_the_control_plane() -> None:
    versions = Versions.of("v1.37.1", [Release("v1.36.3")], StatedFacts("1.34"))
    assert (versions.api_server.minor, versions.scheduler.minor) == (34, 34)
    assert versions.kubelet(node("v1.36.3")).minor == 36


def test_given_gates_count_in_every_component() -> None:
    versions = Versions.of(
        "v1.36.3", (), StatedFacts(None, (("pod_level_resources", False), ("node_declared_features", False)))
    )
    for features in (versions.api_server, versions.scheduler, versions.kubelet(node("v1.36.3"))):
        assert not features.pod_level_resources
        assert not features.node_declared_features
        assert features.dynamic_resource_allocation


def test_given_gate_counts_where_it_can_be_set() -> None:
    """1.37 cannot turn NodeDeclaredFeatures off; a kubelet of 1.36 can, and one of 1.34 has no such gate."""
    versions = Versions.of("v1.37.1", (), StatedFacts(None, (("node_declared_features", False), ("memory_qos", True))))
    on = [versions.kubelet(node(version)).node_declared_features for version in ("v1.37.1", "v1.36.3", "v1.34.4")]
    assert on == [True, False, False]
    assert versions.api_server.node_declared_features
    early = Versions.of(
        "v1.34.4", (), StatedFacts(None, (("volume_limit_scaling", True), ("storage_capacity_scoring", True)))
    )
    assert (early.scheduler.volume_limit_scaling, early.scheduler.storage_capacity_scoring) == (False, True)


def test_kubelets_own_gates_count_first() -> None:
    versions = Versions.of("v1.36.3", (), StatedFacts(None, (("pod_level_resources", False),)))
    config = KubeletConfiguration(
        feature_gates={"PodLevelResources": True, "CustomCPUCFSQuotaPeriod": False, "New": True}
    )
    own = versions.kubelet(node("v1.36.3"), config)
    assert own.pod_level_resources
    assert not own.cpu_cfs_quota_period
    assert not versions.api_server.pod_level_resources


def test_gates_are_named_as_the_flag_takes_them() -> None:
    assert set(GATE_FIELDS.values()) == set(GATES)
    assert GATE_FIELDS["PodLevelResources"] == "pod_level_resources"


@pytest.mark.parametrize("version", ["v1.34.0", "v1.35.9", "v1.36.3", "v1.37.1"])
def test_verified_versions_have_no_warning(version: str) -> None:
    assert version_notes(Versions.of(version), [node(version)]) == ()


def test_old_kubelet_is_named_with_what_it_lacks() -> None:
    nodes = [node("v1.23.17", "a"), node("v1.23.17", "b"), node("v1.36.3", "c")]
    (note,) = version_notes(Versions.of("v1.36.3"), nodes)
    assert (note.component, note.version, note.nodes, note.nearest) == (
        Component.KUBELET,
        "v1.23.17",
        ("a", "b"),
        "1.34.4",
    )
    assert {effect.partition(":")[0] for effect in note.without} == {"Requests", "Pod-level resources"}


def test_newer_control_plane_gets_the_newest_rules() -> None:
    (note,) = version_notes(Versions.of("v1.40.0"))
    assert (note.component, note.nearest, note.without) == (Component.API_SERVER, "1.37.1", ())


def test_virtual_kubelet_has_versions_of_its_own() -> None:
    assert version_notes(Versions.of("v1.36.3"), [node("v1.14.3", type="virtual-kubelet")]) == ()


@table(
    "server, kubelets, minor",
    {
        "the newest kubelet": (None, ["v1.34.4", "v1.35.2-gke.1", ""], 35),
        "the API server reports its own": ("v1.37.1", ["v1.35.2"], 37),
        "unknown": (None, ["", "latest"], REFERENCE.minor),
    },
)
def test_newest_kubelet_replaces_unknown_api_server(server: str | None, kubelets: list[str], minor: int) -> None:
    versions = Versions.of(server, (), kubelets=kubelets)
    assert (versions.api_server.minor, versions.scheduler.minor) == (minor, minor)
    assert versions.server_version == server
    assert Versions.of(server, (), StatedFacts("1.36"), kubelets).api_server.minor == 36
