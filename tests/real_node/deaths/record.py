"""The state of the API server and the kubelet after a death: the plugin has to name the cause from it alone."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from cluster_io.kinds import EVENTS, NODES, PODS, PRIORITY_CLASSES
from cluster_io.kubelet import CONFIGZ, STATS_SUMMARY
from podrules.api.model.decode import from_object
from podrules.api.model.kubelet import Configz, Summary
from tests.controlplane.client import Object
from tests.podrules.ending.died.cases import source_of
from tests.real_node.deaths.scenario import Made, killed_containers

Case = dict[str, Any]
"""``id``, ``cause``, ``namespace``, ``pod``, ``uid``, ``container``, ``gone``, ``at``, ``objects`` and ``kubelets``.

Where a StatefulSet made a pod of the same name, the one that is gone has another uid.
"""
_OWNERS: Final = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
)
_MOST_NEIGHBOURS: Final = 8
_MOST_NODE_EVENTS: Final = 30
_LONGEST_ANNOTATION: Final = 200


def record(made: Made) -> Case:
    """The case, as it is now."""
    scenario = made.scenario
    pod = made.pod()
    last = pod or made.last
    chosen = scenario.container
    if scenario.find_container:
        chosen = killed_containers(last)[0]
    at = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    objects = [_stripped(obj) for obj in _objects(made)]
    case = {
        "id": scenario.id,
        "cause": scenario.cause.value,
        "namespace": made.namespace,
        "pod": last["metadata"]["name"],
        "uid": last["metadata"]["uid"],
        "container": chosen,
        "gone": pod is None,
        "at": at,
        "objects": objects,
        "kubelets": _kubelets(made, objects),
    }
    _read_back(case)
    return case


def write_cases(file: Path, cases: Iterable[Case]) -> None:
    """Write them, one a line; the same cases give the same bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="") as packed:
        for case in sorted(cases, key=lambda case: str(case["id"])):
            packed.write(json.dumps(case, separators=(",", ":"), sort_keys=True).encode() + b"\n")
    file.write_bytes(buffer.getvalue())


def _objects(made: Made) -> Iterator[Object]:
    api, space = made.api, made.namespace
    for kind in _OWNERS:
        yield from api.list_items(*kind, space)
    own = api.list_items("v1", "Pod", space)
    yield from own
    yield from _neighbours(made)
    yield from api.list_items("scheduling.k8s.io/v1", "PriorityClass")
    yield from api.list_items("v1", "Event", space)
    yield from _node_events(made)
    for node in api.list_items("v1", "Node"):
        node["status"].pop("images", None)
        yield node


def _neighbours(made: Made) -> list[Object]:
    """Other pods that run on the node now, the oldest first."""
    found = [
        pod
        for pod in made.api.list_items("v1", "Pod", fieldSelector=f"spec.nodeName={made.node.name}")
        if pod["metadata"]["namespace"] != made.namespace and pod["status"].get("phase") == "Running"
    ]
    found.sort(key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
    return found[:_MOST_NEIGHBOURS]


def _node_events(made: Made) -> list[Object]:
    """The newest events about the node."""
    found = [
        event
        for event in made.api.list_items("v1", "Event", "default")
        if event["involvedObject"].get("kind") == "Node" and event["involvedObject"].get("name") == made.node.name
    ]
    found.sort(key=lambda event: event.get("lastTimestamp") or event["metadata"]["creationTimestamp"])
    return found[-_MOST_NODE_EVENTS:]


def _stripped(obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    if "annotations" in metadata:
        kept = {key: text for key, text in metadata["annotations"].items() if len(text) <= _LONGEST_ANNOTATION}
        metadata["annotations"] = kept
    return {**obj, "metadata": metadata}


def _kubelets(made: Made, objects: Iterable[Object]) -> dict[str, Any]:
    """What the kubelet answers, as far as our models read it; empty: it is not there."""
    try:
        configz = from_object(made.node.ask_kubelet(CONFIGZ.path), Configz)
        summary = from_object(made.node.ask_kubelet(STATS_SUMMARY.path), Summary)
    except OSError:
        return {}
    kept = {obj["metadata"]["uid"] for obj in objects if obj["kind"] == "Pod"}
    summary = msgspec.structs.replace(summary, pods=tuple(pod for pod in summary.pods if pod.pod_ref.uid in kept))
    answers = {CONFIGZ.path: configz, STATS_SUMMARY.path: summary}
    return {made.node.name: {path: _plain(answer) for path, answer in answers.items()}}


def _plain(answer: object) -> Any:
    return _without_nulls(msgspec.to_builtins(answer, enc_hook=str))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(entry) for entry in value]
    return value


def _read_back(case: Case) -> None:
    """The case decodes with the models of the plugin."""
    source = source_of(case)
    for kind in (PODS, EVENTS, NODES, PRIORITY_CLASSES):
        source.list(kind)
    for node in case["kubelets"]:
        source.kubelet(node, CONFIGZ)
        source.kubelet(node, STATS_SUMMARY)
