"""The risk of a force deletion, and its words."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import pytest

from cluster_io.errors import Unreachable
from cluster_io.force_delete_objects import read_guards
from cluster_io.live.responses import Response
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.ending.volumes import WriterLock
from podrules.node.reachability import Reach
from tests.controlplane.client import Object
from tests.objects import raw_condition, raw_node, raw_object
from tests.webhook.clusters import SilentSource, make_cluster, make_namespace
from tests.webhook.review_objects import controlled_by, delete_review, pod_object, validated
from webhook.cluster.view import live_sources
from webhook.reviews.admission_review import decode_review, old_object
from webhook.reviews.response import encode_answer
from webhook.rules.force_delete import read_force_delete_risk

NODE = "node-1"
DRIVER = "block.csi.example.com"
STATEFUL_SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "uid": "1"}}
RISK = "StatefulSet db promises at most one, but a second may start while it still runs"
DIED = "kubectl qos died pod/db-0 -n shop"
CHECK = f"heck now whether container app still runs on node-1: {DIED}; kubectl qos node node-1"
OUT = "node.kubernetes.io/out-of-service"
FRESH = "2026-11-21T03:10:55.318442Z"
# sha256sum(1) of handle, driver and node: vol-1block.csi.example.comnode-1
ATTACHMENT = "csi-e4efef6e0a2e65fab2d508c20ed34b7cd5bfba299a3c1a03823dd0795de11c65"


def make_node(*, ready: str = "True", since: str = "2026-11-21T03:02:56Z", taint: str = "") -> Object:
    conditions = [raw_condition("Ready", ready, lastTransitionTime=since)]
    return raw_node(NODE, conditions=conditions, taints=[{"key": taint, "effect": "NoExecute"}] if taint else None)


def make_lease(renewed: str | None) -> Object:
    return raw_object("Lease", NODE, "kube-node-lease", spec={"renewTime": renewed})


def make_claim(claim: str, volume: str, mode: str = "ReadWriteOnce", *, namespace: str = "shop") -> Object:
    return raw_object("PersistentVolumeClaim", claim, namespace, spec={"accessModes": [mode], "volumeName": volume})


def make_volume(name: str, source: str, about: Mapping[str, Any] | None = None) -> Object:
    # NFS could be mounted by many: the claim shows how it is meant to be used.
    modes = ["ReadWriteOnce", "ReadWriteMany"] if source == "nfs" else ["ReadWriteOnce"]
    spec: Object = {"accessModes": modes, source: about or {}}
    return raw_object("PersistentVolume", name, spec={**spec})


def make_attachment(*, attached: bool) -> Object:
    made = raw_object("VolumeAttachment", ATTACHMENT, spec={"attacher": DRIVER, "nodeName": NODE})
    return {**made, "status": {"attached": attached}}


def make_running(*volumes: str, name: str = "db-0", **spec: Any) -> Object:
    """A running pod of a StatefulSet with a claim ``<volume>-db-0`` for each volume."""
    claims = [{"name": volume, "persistentVolumeClaim": {"claimName": f"{volume}-db-0"}} for volume in volumes]
    pod = pod_object(name=name, owner=controlled_by(STATEFUL_SET), nodeName=NODE, volumes=claims, **spec)
    pod["status"] |= {
        "phase": "Running",
        "containerStatuses": [{"name": "app", "state": {"running": {"startedAt": "2026-11-20T00:00:00Z"}}}],
    }
    return pod


NODE_UP = [make_node(), make_lease(FRESH)]
NODE_SILENT = [make_node(ready="Unknown"), make_lease("2026-11-21T03:02:04.318442Z")]
NFS = [make_claim("data-db-0", "pv-1"), make_volume("pv-1", "nfs")]
SINCE = "silent since 03:02:56 UTC"
CSI = [make_claim("data-db-0", "pv-1"), make_volume("pv-1", "csi", {"driver": DRIVER, "volumeHandle": "vol-1"})]


def _lines(pod: Object, cluster: Any) -> tuple[str, ...]:
    answer = validated(delete_review(pod), cluster)
    assert answer.allowed
    return answer.warnings


@pytest.mark.parametrize(
    ("objects", "state"),
    [
        pytest.param(NODE_UP, "", id="the node answers"),
        pytest.param([make_node()], "", id="no Lease"),
        pytest.param([make_node(), make_lease(None)], "", id="a Lease never renewed"),
        pytest.param([make_node(ready="False"), make_lease(FRESH)], "", id="not ready, but it answers"),
        pytest.param(NODE_SILENT, ", silent since 03:02:56 UTC", id="silent"),
        pytest.param(
            [make_node(ready="Unknown", since="2026-11-19T23:59:58Z")],
            ", silent since 2026-11-19 23:59:58 UTC",
            id="silent since another day",
        ),
        pytest.param(
            [make_node(), make_lease("2026-11-21T03:09:30.318442Z")],
            ", without a heartbeat since 03:09:30 UTC",
            id="the Lease has run out",
        ),
        pytest.param([], ", which has no Node object", id="gone"),
        pytest.param([make_node(ready="Unknown", taint=OUT)], ", declared out of service", id="out of service"),
    ],
)
def test_F1_the_node(objects: Sequence[Object], state: str) -> None:
    check = f"C{CHECK}" if objects else f"C{CHECK}".replace("qos node node-1", "qos died node/node-1")
    assert _lines(make_running(), make_cluster(objects)) == (f"db-0 on node-1{state}: {RISK}", check)


@pytest.mark.parametrize(
    ("cached", "live", "state"),
    [
        pytest.param([], SilentSource(), "state unknown", id="nothing is known"),
        pytest.param([make_node()], SilentSource(), "state unknown", id="its Lease cannot be read"),
        pytest.param(NODE_SILENT[:1], SilentSource(), SINCE, id="silent: no Lease is needed to know"),
        pytest.param([], NODE_SILENT[:1], SINCE, id="newer than the cache: it is read live"),
    ],
)
def test_F1_a_node_that_is_not_cached(cached: Iterable[Object], live: Any, state: str) -> None:
    cluster = make_cluster([make_namespace(), *cached], live=live)
    assert _lines(make_running(), cluster) == (f"db-0 on node-1, {state}: {RISK}", f"C{CHECK}")


ATTACHED = make_attachment(attached=True)
ISCSI = make_volume("pv-1", "iscsi", {"targetPortal": "p", "iqn": "q", "lun": 0})
BY_CSI = f"volume data (claim data-db-0, {DRIVER}, ReadWriteOnce)"
NO_GUARD = "nothing keeps a second writer off "
BY_NFS = f"{NO_GUARD}volume data (claim data-db-0, NFS, ReadWriteOnce)"
UNKNOWN = "whether anything keeps a second writer off volume data (claim data-db-0{}) is unknown"
FORCED = "is detached from node-1 by force 6 min later"
UNGUARDED = "volume data (claim data-db-0, iSCSI, ReadWriteOnce) is detached from node-1 6 min later, and then nothing"
VOLUMES: dict[str, tuple[Sequence[str], Sequence[Object], str]] = {
    "no volumes": ([], NODE_UP, ""),
    "NFS": (["data"], NODE_UP + NFS, BY_NFS),
    "NFS for many writers": (["data"], [*NODE_UP, make_claim("data-db-0", "pv-1", "ReadWriteMany"), NFS[1]], ""),
    "RBD": (["data"], [*NODE_UP, NFS[0], make_volume("pv-1", "rbd")], ""),
    "CSI, attached": (["data"], [*NODE_UP, *CSI, ATTACHED], ""),
    "CSI, attached to a silent node": (["data"], [*NODE_SILENT, *CSI, ATTACHED], f"{BY_CSI} {FORCED}"),
    "iSCSI on a silent node": (["data"], [*NODE_SILENT, NFS[0], ISCSI], f"{UNGUARDED} keeps a second writer off"),
    # The kubelet of a node that answers unmounts first.
    "FC": (["data"], [*NODE_UP, NFS[0], make_volume("pv-1", "fc", {"wwids": ["w"]})], ""),
    "CSI, not attached yet": (["data"], [*NODE_UP, *CSI, make_attachment(attached=False)], NO_GUARD + BY_CSI),
    "CSI without attachment": (["data"], [*NODE_UP, *CSI], NO_GUARD + BY_CSI),
    "the claim is missing": (["data"], NODE_UP, UNKNOWN.format("")),
    "the volume is missing": (["data"], [*NODE_UP, NFS[0]], UNKNOWN.format("")),
    "a source that no rule knows": (
        ["data"],
        [*NODE_UP, NFS[0], make_volume("pv-1", "flexVolume")],
        UNKNOWN.format(", ReadWriteOnce"),
    ),
    "several: the worst that is known": (
        ["lost", "data", "more"],
        [*NODE_UP, *NFS, make_claim("more-db-0", "pv-1")],
        f"{BY_NFS} and 1 more",
    ),
}


@pytest.mark.parametrize(("volumes", "objects", "guard"), VOLUMES.values(), ids=VOLUMES)
def test_F4_the_volumes(volumes: Sequence[str], objects: Sequence[Object], guard: str) -> None:
    line = f"{guard}; c{CHECK}" if guard else f"C{CHECK}"
    assert _lines(make_running(*volumes), make_cluster(objects))[1] == line


def test_F4_volumes_while_the_api_server_does_not_answer() -> None:
    cluster = make_cluster([*NODE_UP, *NFS], live=SilentSource())
    line = f"whether anything keeps a second writer off volume data (claim data-db-0) and 1 more is unknown; c{CHECK}"
    assert _lines(make_running("data", "more"), cluster)[1] == line


def _longest(length: int) -> str:
    """A name of that length: labels of at most 63 characters, as in DNS."""
    return ".".join(["n" * 60] * 5)[: length - 1] + "z"


@pytest.mark.parametrize("phase", ["running", "stopping"])
def test_F1_lines_for_the_longest_names_are_short(phase: str) -> None:
    owner = {**STATEFUL_SET, "metadata": {"name": _longest(253), "uid": "1"}}
    volumes = [{"name": "v" * 63, "persistentVolumeClaim": {"claimName": "c"}}]
    pod = pod_object(
        name=_longest(253), namespace="s" * 63, owner=controlled_by(owner), nodeName=_longest(253), volumes=volumes
    )
    pod["status"]["phase"] = "Running"
    if phase == "stopping":
        pod["metadata"] |= {"deletionTimestamp": "2026-11-19T23:59:58Z", "deletionGracePeriodSeconds": 30}
    claim = make_claim("c", "pv-1", "ReadWriteOncePod", namespace="s" * 63)
    volume = make_volume("pv-1", "csi", {"driver": "d" * 63, "volumeHandle": "vol-1"})
    answer = validated(delete_review(pod), make_cluster([claim, volume]))
    warnings = json.loads(encode_answer("u", answer))["response"]["warnings"]
    assert len(warnings) == 2
    assert all(len(line) <= 256 and line.isprintable() for line in warnings)


class _Served:
    """An API server behind a transport that takes ``delay`` seconds for each answer; ``waited`` is their sum."""

    def __init__(self, objects: Mapping[str, Object], *, delay: float = 0.0, status: int = 404) -> None:
        self._objects = objects
        self._delay = delay
        self._status = status
        self.waited = 0.0

    def get(self, path: str, accept: str = "application/json", *, timeout: float | None = None) -> Response:
        assert accept == "application/json"
        seconds = self._delay if timeout is None else min(timeout, self._delay)
        self.waited += seconds
        time.sleep(seconds)
        if seconds < self._delay:
            raise Unreachable(f"no answer from the API server within {timeout} s")
        if path in self._objects:
            return 200, json.dumps(self._objects[path]).encode()
        return self._status, json.dumps({"kind": "Status", "message": f"no {path}"}).encode()

    def close(self) -> None:
        """Nothing is open."""


PATHS = {
    "/api/v1/namespaces/shop/persistentvolumeclaims/data-db-0": CSI[0],
    "/api/v1/persistentvolumes/pv-1": CSI[1],
    "/api/v1/nodes/node-1": make_node(),
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1": make_lease(FRESH),
    f"/apis/storage.k8s.io/v1/volumeattachments/{ATTACHMENT}": ATTACHED,
}


def _stakes(transport: _Served, *, budget: float, volumes: Sequence[str] = ("data",)) -> tuple[Reach, list[WriterLock]]:
    """Reach and locks as read live within a budget."""
    seen = old_object(decode_review(delete_review(make_running(*volumes))), Pod)
    assert seen is not None
    cluster = make_cluster(live=live_sources(transport)(time.monotonic() + budget))
    stakes = read_force_delete_risk(seen.object, cluster)
    return stakes.node.reach, [guard.lock for guard in stakes.volumes]


def test_F4_stakes_read_live() -> None:
    assert _stakes(_Served(PATHS), budget=60) == (Reach.ANSWERS, [WriterLock.ATTACHMENT])


def test_F4_volumes_without_permission_are_unknown() -> None:
    assert _stakes(_Served({}, status=403), budget=60) == (Reach.UNKNOWN, [WriterLock.UNKNOWN])


@pytest.mark.parametrize(
    "delay", [pytest.param(10.0, id="no answer at all"), pytest.param(0.03, id="the second answer is too late")]
)
def test_F4_volumes_not_read_in_time_are_unknown(delay: float) -> None:
    served = _Served(PATHS, delay=delay)
    assert _stakes(served, budget=0.05, volumes=["data", "data", "data"]) == (Reach.UNKNOWN, [WriterLock.UNKNOWN] * 3)
    # All reads together, not each of them.
    assert served.waited < 0.06


class _Counting(SilentSource):
    """Counts its requests."""

    def __init__(self) -> None:
        self.asked = 0

    def get(self, *_: Any, **__: Any) -> NoReturn:
        self.asked += 1
        super().get()


def test_F2_claims_of_a_pod_take_few_reads() -> None:
    """A pod may name any number of claims, and each read takes time that the answer does not have."""
    live = _Counting()
    pod = make_running(*(f"v{number}" for number in range(1_000)))
    assert _lines(pod, make_cluster([make_namespace()], live=live))
    assert live.asked < 20


def test_claims_of_a_pod_take_few_reads_of_the_plugin_too() -> None:
    live = _Counting()
    pod = from_object(make_running(*(f"v{number}" for number in range(9_000))), Pod)
    guards = read_guards(pod, live)
    assert len(guards) == 9_000
    assert live.asked <= 150
