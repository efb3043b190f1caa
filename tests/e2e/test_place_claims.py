"""The answer of ``kubectl qos place`` about a StatefulSet with claims, compared with the real control plane.

Volumes exist, each on one node; one of them is bound to the claim of an earlier pod.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
import yaml

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.scheduling import await_node
from tests.e2e.space import Space
from tests.e2e.storage import late_class, raw_claim
from tests.objects import raw_container, raw_object, raw_workload
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

FIRST = 2
REPLICAS = 6


def _volume(name: str, storage_class: str, node: str) -> Object:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "local": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    return raw_object("PersistentVolume", name, spec=spec)


def _stateful_set(namespace: str, nodes: Sequence[str]) -> Object:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}]
    near = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    return raw_workload(
        "StatefulSet",
        "db",
        namespace,
        pod_spec={"containers": [raw_container(requests={"cpu": "10m"})], "affinity": near},
        replicas=REPLICAS,
        ordinals={"start": FIRST},
        podManagementPolicy="Parallel",
        volumeClaimTemplates=[raw_claim("data", None, namespace)],
    )


@pytest.fixture
def nodes(control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object]) -> Iterator[Sequence[str]]:
    """Three nodes with two, one and one volumes; the last one's is bound to the first pod's claim."""
    api = control_plane.api
    made = [make_node() for _ in range(3)]
    await_node(control_plane, made[-1], namespace)
    names = [node["metadata"]["name"] for node in made]
    volumes = [_volume(f"{namespace}-{number}", namespace, names[place]) for number, place in enumerate((0, 0, 1, 2))]
    storage_class = late_class(namespace, "kubernetes.io/no-provisioner")
    control_plane.apply([storage_class, *volumes])
    claim = raw_claim(f"data-db-{FIRST}", namespace, namespace, volumeName=f"{namespace}-3")
    api.create(claim)

    def has_phase(kind: str, phase: str, *place: str) -> bool:
        return bool(api.get("v1", kind, *place)["status"]["phase"] == phase)

    await_bound = partial(has_phase, "PersistentVolumeClaim", "Bound", f"data-db-{FIRST}", namespace)
    wait_for(await_bound, "the claim of an earlier pod is bound")
    for number in range(3):
        available = partial(has_phase, "PersistentVolume", "Available", f"{namespace}-{number}")
        wait_for(available, "the other volumes can be had")
    yield names
    for entry in (*volumes, storage_class):
        api.delete(entry)


def test_claims_of_a_stateful_set(space: Space, nodes: Sequence[str]) -> None:
    place = space.qos.also("place")
    manifest = _stateful_set(space.name, nodes)
    ran = place("-f", "-", "-o", "json", stdin=yaml.safe_dump(manifest))
    assert (ran.code, ran.err) == (7, ""), ran
    (said,) = json.loads(ran.out)["specs"]
    assert said["nodes"] == {nodes[0]: 2, nodes[1]: 1, nodes[2]: 1}

    space.plane.api.create(manifest)

    def settled() -> tuple[Counter[str], set[str]] | None:
        """Pods by node, and the scheduler's messages about the others, once it has tried all."""
        pods = space.plane.api.list_items("v1", "Pod", space.name)
        there = [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]
        refused = [
            entry["message"]
            for pod in pods
            for entry in pod["status"].get("conditions", ())
            if entry.get("reason") == "Unschedulable"
        ]
        done = len(there) == said["placed"] and len(refused) == REPLICAS - said["placed"]
        return (Counter(there), set(refused)) if done and all(map(said_before, refused)) else None

    def said_before(message: str) -> bool:
        # The scheduler updates its message about a pod that it tried before the last volume was taken.
        return message.startswith(said["stopped"]["message"])

    there, _ = wait_for(settled, "all pods are placed, or have a reason")
    assert there == said["nodes"]
    first = space.plane.api.get("v1", "Pod", f"db-{FIRST}", space.name)
    assert first["spec"]["nodeName"] == nodes[2]

    # One more pod would have the next number, without a claim or a volume.
    ran = place("-f", "-", "--replicas", "1", "-o", "json", stdin=yaml.safe_dump(manifest))
    # Existing pods that wait come first.
    *waiting, more = json.loads(ran.out)["specs"]
    assert {spec["origin"] for spec in waiting} == {"pending"}
    assert (ran.code, more["placed"], more["stopped"]["message"]) == (7, 0, said["stopped"]["message"])
