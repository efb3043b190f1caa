"""Objects in memory answer as a cluster would."""

from __future__ import annotations

import pytest

from cluster_io.device_kinds import RESOURCE_CLAIMS
from cluster_io.errors import BadObject, NotCaptured, NotFound, NotListed
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import ALL_KINDS, DEPLOYMENTS, EVENTS, NODES, PODS, find_kind
from podrules.api.model.selectors import Selector
from tests.objects import raw_node, raw_pod


def test_namespaces_are_kept_apart() -> None:
    source = MemorySource([raw_pod("a", "x"), raw_pod("a", "y"), raw_pod("b")], description="test")
    assert source.get(PODS, "a", "y").metadata.namespace == "y"
    assert [pod.metadata.name for pod in source.list(PODS, "x")] == ["a"]
    assert len(source.list(PODS)) == 3
    assert source.get(PODS, "b", "default").metadata.name == "b"


def test_pods_of_a_node() -> None:
    source = MemorySource([raw_pod("a", "x", nodeName="n1"), raw_pod("b", "x", nodeName="n2")], description="test")
    assert [pod.metadata.name for pod in source.list(PODS, field_selector="spec.nodeName=n2")] == ["b"]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("", ["a", "b", "c"]),
        ("spec.nodeName=n1", ["a"]),
        ("spec.nodeName==n1", ["a"]),
        ("spec.nodeName!=n1", ["b", "c"]),
        ("spec.nodeName=", ["c"]),
        ("spec.nodeName!=,metadata.name!=b", ["a"]),
        ("status.phase!=Succeeded,status.phase!=Failed", ["a", "c"]),
        ("status.phase=Failed", ["b"]),
        ("status.phase=", ["a", "c"]),
        ("spec.nodeName.more=n1", []),
    ],
)
def test_pods_by_field(selector: str, names: list[str]) -> None:
    failed = raw_pod("b", "x", nodeName="n2", status={"phase": "Failed"})
    source = MemorySource([raw_pod("a", "x", nodeName="n1"), failed, raw_pod("c", "x")], description="test")
    assert [pod.metadata.name for pod in source.list(PODS, field_selector=selector)] == names


def test_pods_by_label() -> None:
    source = MemorySource([raw_pod("a", "x", labels={"app": "a"}), raw_pod("b", "x")], description="test")
    found = source.list(PODS, "x", selector=Selector.from_labels({"app": "a"}))
    assert [pod.metadata.name for pod in found] == ["a"]


def test_an_event_of_the_newer_api_is_the_same_event() -> None:
    """`kubectl get events.events.k8s.io -o json` prints it so."""
    newer = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "x"},
        "regarding": {"kind": "Pod", "name": "a", "namespace": "x", "fieldPath": "spec.containers{app}"},
        "reason": "Killing",
        "note": "Stopping container app",
        "reportingController": "kubelet",
        "deprecatedSource": {"component": "kubelet", "host": "n1"},
        "deprecatedCount": 2,
        "deprecatedFirstTimestamp": "2026-10-01T11:00:00Z",
        "deprecatedLastTimestamp": "2026-10-01T11:30:00Z",
    }
    source = MemorySource([newer], description="test")

    [event] = source.list(EVENTS, "x", field_selector="involvedObject.name=a")

    assert (event.reason, event.message, event.times) == ("Killing", "Stopping container app", 2)
    assert (event.first, event.last) == ("2026-10-01T11:00:00Z", "2026-10-01T11:30:00Z")
    assert (event.component, event.source.host) == ("kubelet", "n1")
    assert event.involved_object.field_path == "spec.containers{app}"


def test_other_groups_and_broken_objects_are_skipped() -> None:
    other = {"apiVersion": "example.com/v1", "kind": "Pod", "metadata": {"name": "a"}}
    source = MemorySource([other, {"apiVersion": "v1", "kind": "Pod", "metadata": None}], description="test")
    assert list(source.list(PODS)) == []


def test_kinds_that_users_do_not_name() -> None:
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a"}}
    source = MemorySource([claim, claim | {"apiVersion": "resource.k8s.io/v1beta1"}], description="test", namespace="x")
    assert source.list(RESOURCE_CLAIMS, "x") == [source.get(RESOURCE_CLAIMS, "a", "x")]


def test_not_found_suggests_near_names_of_the_same_namespace() -> None:
    source = MemorySource([raw_pod("web-0", "x"), raw_pod("web-1", "y")], description="test")
    with pytest.raises(NotFound) as caught:
        source.get(PODS, "web-2", "x")
    assert str(caught.value) == 'no pod "web-2" in x'
    assert caught.value.advice == "Did you mean pod/web-0?"


def test_bad_object_names_the_field() -> None:
    source = MemorySource([raw_node("n", capacity={"cpu": "many"})], description="snapshot c.json")
    with pytest.raises(BadObject, match=r"node/n in snapshot c\.json: status\.capacity\.cpu: 'many' is not a quantity"):
        source.get(NODES, "n")


@pytest.mark.parametrize("word", ["deployment", "Deployments", "deploy", "deployments.apps", "deployment.v1.apps"])
def test_kinds_by_all_their_names(word: str) -> None:
    assert find_kind(word) is DEPLOYMENTS


@pytest.mark.parametrize("word", ["", "deployments.batch", "depl", "secrets"])
def test_other_words_are_not_a_kind(word: str) -> None:
    assert find_kind(word) is None


@pytest.mark.parametrize("name", ["a b", "c?d", "..", "a/b", "a%2fb", "a,b", "a\n", "A", "é", "-a"])
def test_name_that_changes_a_path_is_of_no_object(name: str) -> None:
    for kind, namespace, other in ((PODS, name, "x"), (PODS, name, None), (PODS, "x", name), (NODES, None, name)):
        with pytest.raises(NotFound):
            kind.path(namespace, other)


def test_paths_of_kinds() -> None:
    assert DEPLOYMENTS.path("x", "y") == "/apis/apps/v1/namespaces/x/deployments/y"
    assert NODES.path("ignored", "n") == "/api/v1/nodes/n"
    assert PODS.path() == "/api/v1/pods"


def test_kinds_have_distinct_names() -> None:
    names = [name for kind in ALL_KINDS for name in (kind.singular, kind.plural, *kind.short_names)]
    assert len(names) == len(set(names))


def test_list_never_shows_that_objects_are_absent() -> None:
    source = MemorySource([raw_pod("web-0", "x")], description="c.json", is_plain_list=True)
    assert source.get(PODS, "web-0", "x").metadata.name == "web-0"
    with pytest.raises(NotListed, match=r'^pod "web-1" in x is not in the file$'):
        source.get(PODS, "web-1", "x")
    assert [pod.metadata.name for pod in source.list(PODS)] == ["web-0"]
    for read in (source.list, lambda kind: source.get(kind, "n")):
        with pytest.raises(NotCaptured, match=r"^nodes are not in c\.json$") as caught:
            read(NODES)
        assert caught.value.is_list


def test_list_names_the_only_version_of_a_kind() -> None:
    claim = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "a"}}
    source = MemorySource([claim], description="c.json", is_plain_list=True)
    unread = r"resourceclaims\.resource\.k8s\.io are not in c\.json \(those of resource\.k8s\.io/v1beta1 are not read\)"
    with pytest.raises(NotCaptured, match=f"^{unread}$"):
        source.list(RESOURCE_CLAIMS)


def test_a_whole_cluster_shows_that_others_do_not_exist() -> None:
    source = MemorySource([raw_pod("web-0", "x")], description="test")
    with pytest.raises(NotFound) as caught:
        source.get(PODS, "web-1", "x")
    assert type(caught.value) is NotFound
    assert list(source.list(NODES)) == []
