"""AdmissionReviews as the API server sends them."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from tests.controlplane.client import Object
from tests.objects import raw_container, raw_object, raw_pod
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import decode_review
from webhook.reviews.response import Answer, encode_answer
from webhook.rules import mutate, validate

_RESOURCES = {
    "Pod": ("", "v1", "pods"),
    "Node": ("", "v1", "nodes"),
    "Deployment": ("apps", "v1", "deployments"),
    "ReplicaSet": ("apps", "v1", "replicasets"),
    "StatefulSet": ("apps", "v1", "statefulsets"),
    "DaemonSet": ("apps", "v1", "daemonsets"),
    "Job": ("batch", "v1", "jobs"),
    "CronJob": ("batch", "v1", "cronjobs"),
    "ReplicationController": ("", "v1", "replicationcontrollers"),
}


def pod_object(
    *,
    name: str = "",
    namespace: str = "shop",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A pod as a mutating webhook sees it: defaulted; without ``name`` it will get one, and has generateName.

    Args:
        name: Its name.
        namespace: Its namespace.
        labels: Its labels.
        annotations: Its annotations.
        owner: The reference to its controller.
        spec: Fields of ``spec``; None omits a default one.
    """
    metadata = {
        **({"name": name} if name else {"name": None, "generateName": "web-"}),
        "annotations": annotations or {},
        "ownerReferences": None if owner is None else [owner],
    }
    defaults: Object = {
        "containers": [raw_container(resources={})],
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
    }
    status = {"phase": "Pending", "qosClass": "BestEffort"}
    return raw_pod(namespace=namespace, labels=labels or {}, metadata=metadata, status=status, **{**defaults, **spec})


def controlled_by(owner: Mapping[str, Any]) -> Object:
    """The reference of a pod to its controller."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def workload_object(kind: str, class_name: str | None, *, owner: Mapping[str, Any] | None = None) -> Object:
    """A workload named ``web``; its pods have a class or none."""
    group, version, _ = _RESOURCES[kind]
    metadata: Object = {"name": "web", "namespace": "shop", "uid": "0b5f"}
    if owner is not None:
        metadata["ownerReferences"] = [dict(owner)]
    pod_spec = raw_pod(priorityClassName=class_name)["spec"]
    spec: Object = {"template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec}}
    if kind == "CronJob":
        spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
    api_version = f"{group}/{version}" if group else version
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def create_review(obj: Object, *, sub_resource: str = "", groups: tuple[str, ...] = ("system:authenticated",)) -> bytes:
    """The review of an object's creation; if its name is generated, the request has none either."""
    return _change_review("CREATE", obj, None, sub_resource, groups)


def update_review(obj: Object, *, old: Object | None = None, sub_resource: str = "") -> bytes:
    """The review of a change; the old object is the same when not given."""
    return _change_review("UPDATE", obj, obj if old is None else old, sub_resource, ("system:authenticated",))


def mutated(pod: Object, cluster: Cluster) -> Answer:
    """The answer of the mutating webhook to a pod's creation."""
    return mutate(decode_review(create_review(pod)), cluster)


def validated(review: bytes | Object, cluster: Cluster) -> Answer:
    """The answer of the validating webhook to a review, or to an object's creation."""
    return validate(decode_review(review if isinstance(review, bytes) else create_review(review)), cluster)


def patched(obj: Object, answer: Answer) -> Object:
    """The object after the API server has applied the patch of an answer in its wire format (RFC 6902)."""
    response = json.loads(encode_answer("uid", answer))["response"]
    changed = copy.deepcopy(obj)
    for step in json.loads(base64.b64decode(response.get("patch", ""))) if "patch" in response else ():
        *parents, last = step["path"].removeprefix("/").split("/")
        place = changed
        for parent in parents:
            place = place[parent]
        if step["op"] == "remove":
            del place[last]
        else:
            assert step["op"] == "add"
            place[last] = step["value"]
    return changed


def said(answer: Answer) -> Answer:
    """The answer as users see it, without the audit log and Events."""
    return replace(answer, forced=None, audit=())


def _change_review(
    operation: str, obj: Object, old: Object | None, sub_resource: str, groups: tuple[str, ...]
) -> bytes:
    kind, resource = _named(obj["kind"])
    below: Object = {"subResource": sub_resource, "requestSubResource": sub_resource} if sub_resource else {}
    below |= {"requestKind": kind, "requestResource": resource}
    return _review(operation, kind, resource, obj["metadata"], obj, old, below=below, groups=groups)


def eviction_review(name: str, namespace: str, options: Object | None, *, user: str = "jane") -> bytes:
    """The review of an eviction, which does not contain the pod."""
    eviction = raw_object("Eviction", name, namespace, apiVersion="policy/v1")
    kind, (_, resource) = {"group": "policy", "version": "v1", "kind": "Eviction"}, _named("Pod")
    obj = eviction if options is None else eviction | {"deleteOptions": options}
    below = {"subResource": "eviction"}
    return _review("CREATE", kind, resource, eviction["metadata"], obj, None, below=below, user=user)


def node_deletion_review(node: Object, *, user: str = "jane", groups: tuple[str, ...] = ()) -> bytes:
    """The review of a Node's deletion."""
    return _review("DELETE", *_named("Node"), node["metadata"], None, node, user=user, groups=groups)


def delete_review(pod: Object, *, seconds: int | None = 0, user: str = "jane", groups: tuple[str, ...] = ()) -> bytes:
    """The review of a pod's deletion."""
    options = {"gracePeriodSeconds": seconds}
    return _review("DELETE", *_named("Pod"), pod["metadata"], None, pod, user=user, groups=groups, options=options)


def _named(kind: str) -> tuple[Object, Object]:
    """A kind and its resource, as a review names them."""
    group, version, resource = _RESOURCES[kind]
    own = {"group": group, "version": version}
    return {**own, "kind": kind}, {**own, "resource": resource}


def _review(
    operation: str,
    kind: Object,
    resource: Object,
    metadata: Object,
    obj: Object | None,
    old: Object | None,
    *,
    below: Object | None = None,
    user: str = "jane",
    groups: tuple[str, ...] = (),
    options: Object | None = None,
) -> bytes:
    named: Object = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    # In the API server's order: the identifying fields come before the objects.
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        **(below or {}),
        **named,
        "operation": operation,
        "userInfo": {"username": user, "groups": list(groups)},
        "object": obj,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": f"{operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1", **(options or {})},
    }
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).encode()


def in_a_dry_run(review: bytes) -> bytes:
    """A review of a request that changes nothing."""
    return review.replace(b'"dryRun": false', b'"dryRun": true')


def leaves(entry: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each string and of each key."""
    if isinstance(entry, str):
        yield path
    pairs = entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else ()
    for key, value in pairs:
        yield from leaves(value, (*path, key))


def with_text(entry: Any, path: tuple[Any, ...], text: str) -> Any:
    """A copy with a text at one place."""
    copy = json.loads(json.dumps(entry))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = text
    return copy
