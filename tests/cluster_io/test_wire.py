"""Objects of a real API server, read in protobuf: the same models as from JSON, to the last digit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cluster_io.demo import demo_objects
from cluster_io.kinds import ALL_KINDS, EVENTS, NODES, PODS, REPLICA_SETS, Kind
from cluster_io.live.large_lists import NoProgress, can_read_whole, read_whole
from cluster_io.live.live_source import LiveSource
from cluster_io.live.transport import KubectlProxy
from cluster_io.wire.envelope import ListReader
from cluster_io.wire.pods import PodCodec
from podrules.scheduling.placement.revisions import WrittenWorkload
from tests.cluster_io.rich_objects import EPHEMERAL, EVENT, NODE, RICH_NAMESPACE, alike_pods, others, rich_pods
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiError
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.demo import as_written
from tests.controlplane.proxies import connected_proxy
from tests.objects import raw_service_account

pytestmark = pytest.mark.controlplane

KINDS = (*ALL_KINDS, EVENTS)


@pytest.fixture(scope="module")
def proxy(control_plane_binaries: Binaries) -> Iterator[KubectlProxy]:
    """A proxy to a private API server with the demo cluster and richly filled objects."""
    # Without its own Lease, which would be renewed between two lists.
    quiet = ("--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",)
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False, apiserver_args=quiet) as alone:
        _fill(alone)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in alone.kubectl_environment().items():
                patch.setenv(name, value)
            with connected_proxy(request_timeout=60) as proxy:
                yield proxy


def _fill(alone: ControlPlane) -> None:
    for namespace in ("kube-system", "kube-public", "kube-node-lease"):
        alone.apply([raw_service_account(namespace)])
    alone.create_namespace(RICH_NAMESPACE)
    for entry in (*others(), EVENT, NODE):
        alone.api.create(entry)
    alone.api.patch(NODE, {"status": NODE["status"]}, subresource="status")
    for pod, status in alike_pods():
        alone.set_pod_status(alone.api.create(pod), status)
    rich = [(alone.api.create(pod), status) for pod, status in rich_pods()]
    for pod, status in rich:
        alone.set_pod_status(pod, status)
    full = rich[0][0]
    alone.api.patch(full, {"spec": {"ephemeralContainers": [EPHEMERAL]}}, subresource="ephemeralcontainers")
    # Both have finalizers: they stay in deletion.
    for leaving in (full, NODE):
        alone.api.delete(leaving)
    for shown in demo_objects():
        # The test of the demo cluster reports the objects that a real API server rejects.
        with suppress(ApiError):
            stored = alone.api.create(as_written(shown))
            if stored["kind"] == "Namespace":
                alone.apply([raw_service_account(stored["metadata"]["name"])])
            if "status" in shown:
                alone.api.patch(stored, {"status": shown["status"]}, subresource="status")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.rbac_name)
def test_protobuf_gives_what_json_gives(proxy: KubectlProxy, kind: Kind[Any]) -> None:
    in_json = LiveSource(proxy, namespace=None).list(kind)

    in_protobuf = read_whole(proxy, kind, kind.path(), "0", NoProgress())

    assert in_protobuf is not None
    assert len(in_json) >= 1
    assert in_protobuf == in_json
    # Quantities are equal by value; here their texts are.
    assert _text(in_protobuf) == _text(in_json)


def test_pods_of_shapes_that_were_learned_are_what_json_gives(proxy: KubectlProxy) -> None:
    in_json = LiveSource(proxy, namespace=None).list(PODS)
    with proxy.stream(f"{PODS.path()}?resourceVersion=0", "application/vnd.kubernetes.protobuf") as answer:
        sent = b"".join(answer.pieces)
    # Only large answers are compressed.
    plain = zlib.decompress(sent, 31) if answer.gzipped else sent
    raws = list(ListReader(iter([plain])).items())
    codec = PodCodec()

    # A shape is noted the first time, learned the second time, and then used.
    found = [[codec.decode(raw) for raw in raws] for _ in range(3)]

    for times in found:
        by_name = sorted(times, key=lambda pod: (pod.metadata.namespace, pod.metadata.name))
        assert by_name == in_json
        assert _text(by_name) == _text(in_json)


@pytest.mark.parametrize("kind", [PODS, NODES], ids=lambda kind: kind.plural)
def test_every_field_is_met(proxy: KubectlProxy, kind: Kind[Any]) -> None:
    """A field that no object has proves nothing: the fields that an API server does not store are listed here."""
    unset = _unset(kind.model, LiveSource(proxy, namespace=None).list(kind))

    assert (
        unset
        == {
            # Two gates that are off, a field of 1.35, and a node's; an FC disk has either targetWWNs or wwids.
            PODS: {
                "FCVolumeSource.wwids",
                "Lifecycle.stop_signal",
                "PodSpec.scheduling_group",
                "PodSpec.workload_ref",
                "Condition.last_heartbeat_time",
            },
            NODES: {"ObjectMeta.generation", "ObjectMeta.namespace"},
        }[kind]
    )


def test_every_kind_but_devices_can_be_read() -> None:
    assert all(map(can_read_whole, KINDS))


def _text(found: Any) -> bytes:
    return msgspec.json.encode(found, enc_hook=str, order="sorted")


def _unset(model: type[msgspec.Struct], found: Any) -> set[str]:
    """Fields with the default value in all found models of a type."""
    default: dict[str, bool] = {}

    def look(value: Any) -> None:
        if isinstance(value, msgspec.Struct):
            for entry in msgspec.structs.fields(type(value)):
                content = getattr(value, entry.name)
                name = f"{type(value).__name__}.{entry.name}"
                default[name] = default.get(name, True) and content == _default(entry)
                look(content)
        elif isinstance(value, tuple | list):
            for entry in value:
                look(entry)
        elif isinstance(value, dict):
            for entry in value.values():
                look(entry)

    look(found)
    assert f"{model.__name__}.metadata" in default
    return {name for name, unset in default.items() if unset}


def _default(entry: msgspec.structs.FieldInfo) -> Any:
    return entry.default if entry.default_factory is msgspec.NODEFAULT else entry.default_factory()


def test_a_model_that_keeps_what_is_written_is_read_in_json() -> None:
    assert can_read_whole(REPLICA_SETS)
    assert not can_read_whole(replace(REPLICA_SETS, model=WrittenWorkload))
