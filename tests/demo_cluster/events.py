"""What the cluster said about it: Events of the last hours."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

from tests.demo_cluster.backends import EVICTED_MESSAGE, RESIZE_MESSAGE
from tests.demo_cluster.base import Obj, digest, instant, uid, written
from tests.demo_cluster.nodes import SILENT_NODE
from tests.demo_cluster.states import NODE_UNKNOWN_SINCE, TAINT_EVICTION_AT


class _Event(NamedTuple):
    """A kubelet's event about one pod, named by the end of its name."""

    about: str
    reason: str
    message: str
    first: str
    last: str = ""
    """Given when the event came more than once."""
    times: int = 1
    type: str = "Normal"


_KUBELET: Final = (
    _Event("-zr4gw", "Evicted", EVICTED_MESSAGE, "01:47:33", type="Warning"),
    _Event("-zr4gw", "Killing", "Stopping container export", "01:47:33"),
    _Event(
        "-t6pxj",
        "BackOff",
        "Back-off restarting failed container {container} in pod {name}_{namespace}({uid})",
        "02:06:14",
        "03:10:42",
        261,
        "Warning",
    ),
    _Event("feature-store-0", "ResizeDeferred", "Pod resize Deferred: {resize}", "02:51:20", type="Warning"),
    _Event("-w5k9d", "Killing", "Stopping container index", TAINT_EVICTION_AT),
    _Event("-n6d8t", "Killing", "Stopping container embed", "03:10:18"),
)

# victim, preemptor (the ends of their names), node, time.
_PREEMPTIONS: Final = (
    ("-w5k9d", "-h9nfw", "node-b1", TAINT_EVICTION_AT),
    ("-n6d8t", "-c8z2n", "node-b3", "03:10:18"),
)


def events_about(pods: Iterable[Obj]) -> list[Obj]:
    """Events on nodes, on lost and pending pods, by the kubelets, and on preemption."""
    all_pods = list(pods)
    made = [_node_not_ready()]
    for pod in all_pods:
        if pod["spec"].get("nodeName") == SILENT_NODE:
            made += _lost(pod)
        if "nodeName" not in pod["spec"] and "schedulingGates" not in pod["spec"]:
            made.append(_failed_scheduling(pod))
    made += [_by_kubelet(row, _ending(all_pods, row.about)) for row in _KUBELET]
    for victim, preemptor, node, at in _PREEMPTIONS:
        made.append(_preempted(_ending(all_pods, victim), _ending(all_pods, preemptor), node, at))
    return made


def _ending(pods: Iterable[Obj], end: str) -> Obj:
    return next(pod for pod in pods if pod["metadata"]["name"].endswith(end))


def _reference(thing: Obj, container: str = "") -> Obj:
    """An ObjectReference, to a container of a pod if one is named."""
    meta = thing["metadata"]
    made = {
        "apiVersion": "v1",
        "kind": thing["kind"],
        "name": meta["name"],
        "namespace": meta["namespace"],
        "resourceVersion": meta["resourceVersion"],
        "uid": meta["uid"],
    }
    if container:
        made["fieldPath"] = f"spec.containers{{{container}}}"
    return made


def _event(about: Obj, reason: str, message: str, kind: str, at: str) -> Obj:
    """The fields that every event has, through whichever API it was written."""
    namespace = about.get("namespace", "default")
    name = f"{about['name']}.{digest(about['name'] + reason + at)[:16]}"
    made = written("v1", "Event", name, namespace, age=at)
    return made | {"involvedObject": dict(about), "reason": reason, "message": message, "type": kind}


def _classic(event: Obj, component: str, host: str, first: str, *, last: str = "", times: int = 1) -> Obj:
    """As kubelets and controllers write them, through the core API."""
    source = {"component": component, "host": host} if host else {"component": component}
    return event | {
        "count": times,
        "eventTime": None,
        "firstTimestamp": instant(first),
        "lastTimestamp": instant(last or first),
        "reportingComponent": component,
        "reportingInstance": host,
        "source": source,
    }


def _by_scheduler(event: Obj, action: str, at: str) -> Obj:
    """As the scheduler writes them, through events.k8s.io."""
    return event | {
        "action": action,
        "eventTime": instant(at).replace("Z", ".208117Z"),
        "firstTimestamp": None,
        "lastTimestamp": None,
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-cp-a1",
        "source": {},
    }


def _node_not_ready() -> Obj:
    node = {"apiVersion": "v1", "kind": "Node", "name": SILENT_NODE, "uid": uid("Node", "", SILENT_NODE)}
    message = f"Node {SILENT_NODE} status is now: NodeNotReady"
    event = _event(node, "NodeNotReady", message, "Normal", NODE_UNKNOWN_SINCE)
    return _classic(event, "node-controller", "", NODE_UNKNOWN_SINCE)


def _lost(pod: Obj) -> list[Obj]:
    about = _reference(pod)
    event = _event(about, "NodeNotReady", "Node is not ready", "Warning", NODE_UNKNOWN_SINCE)
    made = [_classic(event, "node-controller", "", NODE_UNKNOWN_SINCE)]
    if "deletionTimestamp" in pod["metadata"]:
        whole_name = f"{about['namespace']}/{about['name']}"
        deletion = f"Marking for deletion Pod {whole_name}"
        event = _event(about, "TaintManagerEviction", deletion, "Normal", TAINT_EVICTION_AT)
        made.append(_classic(event, "taint-eviction-controller", "", TAINT_EVICTION_AT))
    return made


def _failed_scheduling(pod: Obj) -> Obj:
    scheduled = pod["status"]["conditions"][0]
    at = scheduled["lastTransitionTime"][11:19]
    event = _event(_reference(pod), "FailedScheduling", scheduled["message"], "Warning", at)
    return _by_scheduler(event, "Scheduling", at)


def _preempted(victim: Obj, preemptor: Obj, node: str, at: str) -> Obj:
    message = f"Preempted by pod {preemptor['metadata']['uid']} on node {node}"
    event = _event(_reference(victim), "Preempted", message, "Normal", at)
    return _by_scheduler(event, "Preempting", at)


def _by_kubelet(row: _Event, pod: Obj) -> Obj:
    meta, container = pod["metadata"], pod["spec"]["containers"][0]
    name = container["name"] if row.reason in {"BackOff", "Killing"} else ""
    message = row.message
    if row.reason == "BackOff":
        message = message.format(container=name, name=meta["name"], namespace=meta["namespace"], uid=meta["uid"])
    if row.reason == "ResizeDeferred":
        message = message.format(resize=_resize_summary(container, meta["generation"]))
    event = _event(_reference(pod, name), row.reason, message, row.type, row.first)
    return _classic(event, "kubelet", pod["spec"]["nodeName"], row.first, last=row.last, times=row.times)


def _resize_summary(container: Obj, generation: int) -> str:
    """The kubelet writes the wanted resources as JSON (makeResourceSummaryFromSpec)."""
    wanted = {"name": container["name"], "resources": container["resources"]}
    summary = {"containers": [wanted], "generation": generation, "error": RESIZE_MESSAGE}
    return json.dumps(summary, separators=(",", ":"))
