"""A snapshot's file returns the captured objects, reports missing kinds, and is treated as untrusted."""

from __future__ import annotations

import os
import random
import stat
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cluster_io.capture.anonymise import Anonymiser
from cluster_io.capture.contents import ANNOTATIONS, KindContents, contents, without_annotations
from cluster_io.capture.file import CapturedKind, Header, SnapshotFile, SnapshotSource, is_snapshot, snapshot_parts
from cluster_io.demo import DEMO_NOW, demo_objects
from cluster_io.errors import ClusterError, ManifestError, NotCaptured, NotFound
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import ALL_KINDS, CONFIG_MAPS, EVENTS, LIMIT_RANGES, NODES, PODS, Kind
from cluster_io.manifests.whole_file import write_whole
from cluster_io.source import Source
from podrules.api.model.base import ObjectMeta
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.storage import PersistentVolume
from podrules.api.model.workload import Workload
from podrules.ending.attachment import unique_volume_name
from tests.cluster_io.rich_objects import others, rich_pods
from tests.objects import raw_node, raw_object, raw_owner, raw_pod, raw_workload

NOW = datetime.fromisoformat(DEMO_NOW)


def _demo() -> MemorySource:
    return MemorySource(
        demo_objects(), description="the demo cluster", now=NOW, git_version="v1.36.3", namespace="shop"
    )


def _written(path: Path, found: list[KindContents], **header: Any) -> Path:
    fields: dict[str, Any] = {
        "captured_at": NOW,
        "captured_by": "1.2.3",
        "server_version": "v1.36.3",
        "namespace": "shop",
        "anonymised": False,
        **header,
    }
    kinds = tuple(
        CapturedKind(entry.kind.captured_as, not_captured=entry.not_captured, only=entry.only) for entry in found
    )
    objects = {entry.kind.captured_as: (entry.kind, entry.objects) for entry in found}
    write_whole(path, snapshot_parts(Header(kinds=kinds, **fields), objects))
    return path


def _read(path: Path) -> SnapshotSource:
    return SnapshotSource(SnapshotFile(str(path)), namespace=None)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(tmp_path_factory.mktemp("demo") / "demo.qos", contents(_demo()))


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.captured_as)
def test_captured_objects_are_read(demo: Path, kind: Kind[Any]) -> None:
    captured = [without_annotations(entry) for entry in _demo().list(kind)]

    found = _read(demo).list(kind)

    assert list(found) == captured
    # Quantities are equal by value; here their texts are.
    assert msgspec.json.encode(found, enc_hook=str) == msgspec.json.encode(captured, enc_hook=str)


def test_pods_with_all_their_fields_are_read(tmp_path: Path) -> None:
    pods = [{**pod, "status": status} for pod, status in rich_pods()]
    source = MemorySource([*pods, *others()], description="rich", now=NOW)

    read = _read(_written(tmp_path / "rich.qos", contents(source)))

    assert list(read.list(PODS)) == [without_annotations(pod) for pod in source.list(PODS)]
    assert len(read.list(PODS)) == len(pods)


def test_header_has_time_server_and_namespace(demo: Path) -> None:
    read = _read(demo)

    assert (read.now, read.git_version, read.namespace) == (NOW, "v1.36.3", "shop")
    assert read.warning == ""


def test_empty_kinds_differ_from_missing_ones(demo: Path) -> None:
    read = _read(demo)

    assert list(read.list(LIMIT_RANGES)) == []
    with pytest.raises(
        NotCaptured, match=r"configmaps are not in snapshot \S+ \(none was named with --scheduler-config\)$"
    ):
        read.list(CONFIG_MAPS)
    with pytest.raises(NotCaptured, match="configmaps are not in"):
        read.get(CONFIG_MAPS, "kube-scheduler", "kube-system")
    with pytest.raises(NotFound, match='no pod "db-9" in shop'):
        read.get(PODS, "db-9", "shop")


def test_a_kind_that_the_file_does_not_name_is_not_captured(tmp_path: Path) -> None:
    read = _read(_written(tmp_path / "few.qos", [KindContents(NODES)]))

    assert list(read.list(NODES)) == []
    with pytest.raises(NotCaptured, match="it does not name them"):
        read.list(PODS)


def test_a_snapshot_of_a_snapshot_is_the_same(demo: Path, tmp_path: Path) -> None:
    again = _written(tmp_path / "again.qos", contents(_read(demo)))

    first, second = SnapshotFile(str(demo)).header.kinds, SnapshotFile(str(again)).header.kinds
    assert [(entry.resource, entry.count) for entry in first] == [(entry.resource, entry.count) for entry in second]
    missing = {entry.resource: entry.not_captured for entry in second if entry.not_captured}
    assert missing["configmaps"] == "none was named with --scheduler-config"


def test_selectors_select(demo: Path) -> None:
    read, source = _read(demo), _demo()

    for selector in ("spec.nodeName=node-a1", "status.phase!=Running", "metadata.namespace=shop,spec.nodeName=node-a1"):
        names = {pod.metadata.name for pod in read.list(PODS, field_selector=selector)}
        assert names
        assert names == {pod.metadata.name for pod in source.list(PODS, field_selector=selector)}


def test_only_its_owner_may_read_it(demo: Path) -> None:
    assert stat.S_IMODE(demo.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
    assert [entry.name for entry in demo.parent.iterdir()] == [demo.name]


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="cannot be written: No such file or directory"):
        _written(tmp_path / "no" / "c.qos", [KindContents(NODES)])

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ClusterError, match="it is no regular file"):
        _written(pipe, [KindContents(NODES)])
    assert pipe.is_fifo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_other_files_are_not_snapshots(demo: Path, tmp_path: Path) -> None:
    other = tmp_path / "c.json"
    other.write_text('{"apiVersion": "v1", "kind": "List", "items": []}')

    assert is_snapshot(str(demo))
    assert not is_snapshot(str(other))
    assert not is_snapshot(str(tmp_path))
    assert not is_snapshot(str(tmp_path / "absent"))


def test_newer_format_is_reported(demo: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.qos"
    newer.write_bytes(demo.read_bytes().replace(b"snapshot 1\n", b"snapshot 2\n", 1))

    with pytest.raises(ManifestError, match="format '2' is not known here, 1 is; try a newer kubectl-qos"):
        SnapshotFile(str(newer))


def test_other_fields_are_reported(demo: Path, tmp_path: Path) -> None:
    file = SnapshotFile(str(demo))
    kinds = tuple(replace(entry, shape="0") if entry.resource == "pods" else entry for entry in file.header.kinds)
    other = tmp_path / "other.qos"
    _patched(demo, other, replace(file.header, kinds=kinds))

    assert "was captured by version 1.2.3, which kept other fields of pods" in _read(other).warning


def test_a_time_without_zone_is_refused(demo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.qos"
    _patched(demo, other, replace(SnapshotFile(str(demo)).header, captured_at=NOW.replace(tzinfo=None)))

    with pytest.raises(ManifestError, match=r"it is not whole, or was changed: .*capturedAt"):
        SnapshotFile(str(other))


def test_a_block_that_grows_is_refused(demo: Path, tmp_path: Path) -> None:
    """A small block that inflates to much more than its header says is not inflated."""
    content = demo.read_bytes()
    place = _blocks_at(content)
    header = SnapshotFile(str(demo)).header
    bomb = zlib.compress(bytes(64 << 20), 9)
    pods = next(entry for entry in header.kinds if entry.resource == "pods")
    changed = replace(pods, offset=len(content) - place, length=len(bomb))
    other = tmp_path / "bomb.qos"
    kinds = tuple(changed if entry is pods else entry for entry in header.kinds)
    _patched(demo, other, replace(header, kinds=kinds), more=bomb)

    with pytest.raises(ManifestError, match="the block of pods has another size"):
        _read(other).list(PODS)


def test_broken_files_are_reported(demo: Path, tmp_path: Path) -> None:
    content = demo.read_bytes()
    chance = random.Random(36)  # noqa: S311 - the same in every run
    broken = [content[: chance.randrange(len(content))] for _ in range(40)]
    for _ in range(200):
        place = chance.randrange(len(content))
        broken.append(content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :])
    refused = 0
    for number, bad in enumerate(broken):
        file = tmp_path / f"{number}.qos"
        file.write_bytes(bad)
        try:
            read = _read(file)
            for entry in (*ALL_KINDS, EVENTS):
                read.list(entry)
        except ManifestError:
            refused += 1
    # A bit of a text in the header may change without notice; compressed blocks have checksums.
    assert refused > 0.8 * len(broken)


def test_annotations_are_those_that_rules_read(demo: Path) -> None:
    read = _read(demo)
    kept = {key for kind in ALL_KINDS for entry in read.list(kind) for key in entry.metadata.annotations}

    assert kept
    assert kept <= ANNOTATIONS


def test_annotations_of_templates_go_as_well() -> None:
    note = {"annotations": {"acme.example/note": "hunter2"}}
    spec: dict[str, Any] = {
        "template": {"metadata": note},
        "volumeClaimTemplates": [{"metadata": {"name": "data", **note}}],
    }
    stateful_set = from_object(raw_workload("StatefulSet", "db", **spec), Workload)

    captured = without_annotations(stateful_set)

    assert captured.spec.template.metadata.annotations == {}
    assert [claim.metadata for claim in captured.spec.volume_claim_templates] == [ObjectMeta(name="data")]


# Without names

SECRETS = (
    *("hunter2", "acme", "jdoe", "s3cret", "intranet", "db-primary", "gold-customers", "payroll", "198.51.100.7"),
    *("runs as payroll", "AcmeDatabase"),
)
"""Words in the objects below; an anonymised file may not contain any of them."""


def _secretive() -> list[dict[str, Any]]:
    metadata = {
        "labels": {"acme.example/owner": "jdoe", "app": "payroll"},
        "annotations": {"acme.example/note": "hunter2", "kubernetes.io/config.source": "acme"},
        "finalizers": ["intranet.acme.example/hold"],
        "ownerReferences": [raw_owner("AcmeDatabase", "db-primary", apiVersion="acme.example/v1", uid="u")],
    }
    container = {
        "name": "payroll",
        "image": "registry.acme.example/payroll:jdoe",
        "command": ["run", "hunter2"],
        "args": ["--password=hunter2"],
        "env": [{"name": "PASSWORD", "value": "s3cret"}],
        "ports": [{"containerPort": 80, "hostPort": 80, "hostIP": "198.51.100.7"}],
        "lifecycle": {"preStop": {"exec": {"command": ["curl", "intranet"]}}},
        "livenessProbe": {"httpGet": {"path": "/hunter2", "port": 80}},
        "resources": {"requests": {"cpu": "1", "acme.example/gpu": "1"}},
    }
    spec: dict[str, Any] = {
        "nodeName": "db-primary",
        "serviceAccountName": "jdoe",
        "nodeSelector": {"acme.example/tier": "gold-customers"},
        "tolerations": [{"key": "intranet", "operator": "Equal", "value": "acme", "effect": "NoSchedule"}],
        "schedulerName": "acme-scheduler",
        "priorityClassName": "payroll",
    }
    status = {
        "phase": "Running",
        "message": "runs as payroll",
        "conditions": [{"type": "intranet.acme.example/ready", "status": "True", "message": "hunter2"}],
    }
    node = raw_node(
        "db-primary",
        {"kubernetes.io/hostname": "db-primary"},
        providerID="aws:///acme",
        taints=[{"key": "intranet", "value": "acme", "effect": "NoSchedule"}],
        status={"images": [{"names": ["registry.acme.example/payroll:jdoe"], "sizeBytes": 1}]},
    )
    secret = raw_object("Secret", "s", "gold-customers", data={"s3cret": "hunter2"})
    config = {**secret, "kind": "ConfigMap"}
    pod = raw_pod("payroll-0", "gold-customers", metadata=metadata, containers=[container], status=status, **spec)
    return [pod, node, secret, config]


def _plain(path: Path) -> bytes:
    """The content of a file, without compression."""
    content, file = path.read_bytes(), SnapshotFile(str(path))
    place = _blocks_at(content)
    blocks = [
        zlib.decompress(content[place + entry.offset :][: entry.length]) for entry in file.header.kinds if entry.length
    ]
    assert blocks
    return b"\n".join([content[:place], *blocks])


def test_no_secret_is_in_a_file(tmp_path: Path) -> None:
    source: Source = MemorySource(_secretive(), description="x", now=NOW, namespace="gold-customers")

    plain = _plain(_written(tmp_path / "c.qos", contents(source)))

    for word in ("s3cret", "password", "hunter2\xa7"):
        assert word.encode() not in plain
    # Annotations, arguments and environment are not captured; commands of hooks and messages are.
    assert b"acme.example/note" not in plain
    assert b"payroll-0" in plain


def test_no_name_is_in_an_anonymised_file(tmp_path: Path) -> None:
    source: Source = MemorySource(_secretive(), description="x", now=NOW, namespace="gold-customers")
    anonymiser = Anonymiser(b"secret")

    found = anonymiser.contents(contents(source))
    path = _written(tmp_path / "c.qos", found, namespace=anonymiser.text("gold-customers"), anonymised=True)

    plain = _plain(path)
    assert [word for word in SECRETS if word.encode() in plain] == []
    # Nor the words that form names.
    assert [word for word in ("primary", "gold", "customers", "example", "registry") if word.encode() in plain] == []
    [pod] = _read(path).list(PODS)
    [node] = _read(path).list(NODES)
    assert isinstance(pod, Pod)
    assert pod.spec.node_name == node.metadata.name
    assert pod.spec.tolerations[0].key == node.spec.taints[0].key
    assert pod.spec.containers[0].image == node.status.images[0].names[0]
    assert {"cpu": "1"}.items() <= {
        key: str(value) for key, value in pod.spec.containers[0].resources.requests.items()
    }.items()


def test_each_secret_gives_other_names() -> None:
    names = {Anonymiser(bytes([number])).text("web-0") for number in range(8)}

    assert len(names) == 8
    # Combined names are combined from the replacements; numbers stay.
    web, data = (Anonymiser(b"x").text(name) for name in ("web", "data"))
    assert Anonymiser(b"x").text("web-data-web") == f"{web}-{data}-{web}"


@pytest.mark.parametrize(
    ("source", "in_status"),
    [
        (
            {"iscsi": {"targetPortal": "192.0.2.4:3260", "iqn": "iqn.2026-11.com.example:tank-7", "lun": 12}},
            "kubernetes.io/iscsi/192.0.2.4:3260:iqn.2026-11.com.example:tank-7:12",
        ),
        ({"fc": {"targetWWNs": ["5006", "50060e80ab"], "lun": 2}}, "kubernetes.io/fc/[5006 50060e80ab]:2"),
        ({"fc": {"wwids": ["36005"]}}, "kubernetes.io/fc/[36005]"),
        ({"csi": {"driver": "block.example.com", "volumeHandle": "4711"}}, "kubernetes.io/csi/block.example.com^4711"),
        ({"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "a^b:1"}}, "kubernetes.io/csi/ebs.csi.aws.com^a^b:1"),
    ],
)
def test_a_node_names_an_attached_volume_as_before(source: dict[str, object], in_status: str) -> None:
    volume = from_object({"metadata": {"name": "gold"}, "spec": source}, PersistentVolume)
    assert unique_volume_name(volume) == in_status
    anonymiser = Anonymiser(b"secret")
    assert anonymiser.text(in_status) == unique_volume_name(anonymiser.model(volume))


def test_keys_of_known_owners_stay_and_lead_to_the_same_ways_out() -> None:
    text = Anonymiser(b"x").text
    for kept in ("karpenter.sh/disrupted", "nvidia.com/gpu.product", "ToBeDeletedByClusterAutoscaler", "os"):
        assert text(kept) == kept
    assert "acme" not in text("acme.example/agent-not-ready")
    # In the selector of a namespace the key of the first label stays, and values are replaced as in labels.
    assert text("topology.kubernetes.io/zone=acme,x=acme") == (
        f"topology.kubernetes.io/zone={text('acme')},{text('x')}={text('acme')}"
    )


def _blocks_at(content: bytes) -> int:
    start = content.index(b"\n") + 1
    return start + 4 + int.from_bytes(content[start : start + 4], "big")


def _patched(demo: Path, other: Path, header: Header, *, more: bytes = b"") -> None:
    """The file with another header."""
    content = demo.read_bytes()
    start = content.index(b"\n") + 1
    head = msgspec.json.encode(header)
    other.write_bytes(content[:start] + len(head).to_bytes(4, "big") + head + content[_blocks_at(content) :] + more)


def test_times_are_in_utc(demo: Path) -> None:
    assert SnapshotFile(str(demo)).header.captured_at.astimezone(UTC) == NOW
