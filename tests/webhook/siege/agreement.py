"""Random requests that the API server accepts, each sent to the webhook and to the policies, by dry run.

Requests that docs/policies.md names as different are left out: templates with a missing class, and evictions of pods
that are not force deleted or are confirmed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.controlplane.client import ApiError, Object
from tests.objects import raw_container
from tests.webhook.asking import WORKLOADS, make_pod, make_workload, with_labels
from tests.webhook.forcing import CONFIRMATION
from tests.webhook.installation import ZONE
from tests.webhook.siege.forced_attacks import delete_options
from tests.webhook.siege.tenancy import HIGH, LOW, PODS, Tenant

NAMESPACES = ("limited", "asking", "free")
STATES = ("running", "finished", "unscheduled", "without grace", "mirror", "confirmed", "stopping")
FIELDS = ("priorityClassName", "priority", "preemptionPolicy", "topologySpreadConstraints")
"""The fields of a pod that the rules fill in."""
_SYSTEM = "system-node-critical"
_TEXTS = ("x", "", "<&>" * 100, "," * 100_001, "\u202e\u2028ä😀", '{"a": [1, 2]}', "y" * 60_000)
_LABELS = {"app": "web"}


class Field(NamedTuple):
    """The pods of one namespace by state, and a ReplicaSet; its pods have the labels that it selects."""

    namespace: str
    pods: Mapping[str, Object]
    owner: Object


class Asked(NamedTuple):
    """A request that fits the namespaces of either side."""

    namespace: str
    """A key of `NAMESPACES`."""
    verb: str
    """create, delete or evict."""
    entry: Object
    """The created object, without its namespace; or the DeleteOptions."""
    state: str = ""
    """The state of the pod that is deleted or evicted."""
    owned: bool = False
    """Whether the ReplicaSet owns the created object."""


def prepared(tenant: Tenant) -> Mapping[str, Field]:
    """The objects of the requests on one side."""
    return {name: _field(tenant, getattr(tenant, name)) for name in NAMESPACES}


def _field(tenant: Tenant, namespace: str) -> Field:
    workload = make_workload("ReplicaSet", namespace, priorityClassName=LOW)
    workload["metadata"]["name"] = "owner"
    owner = tenant.control_plane.api.create(workload)
    return Field(namespace, {state: _in_state(tenant, namespace, state) for state in STATES}, owner)


def _in_state(tenant: Tenant, namespace: str, state: str) -> Object:
    name, api = f"pod-{state.replace(' ', '-')}", tenant.control_plane.api
    spec: Object = {"nodeName": tenant.node}
    # No label that the ReplicaSet selects: it would adopt the pod and delete it.
    metadata: Object = {"labels": {"app": "prepared"}}
    match state:
        case "unscheduled":
            spec = {"nodeSelector": {"nowhere": "at-all"}}
        case "without grace":
            spec["terminationGracePeriodSeconds"] = 0
        case "mirror":
            metadata["annotations"] = {"kubernetes.io/config.mirror": "0123456789abcdef"}
    pod = make_pod(namespace, name, **spec)
    pod["metadata"] |= metadata
    stored = api.create(pod)
    match state:
        case "finished":
            tenant.control_plane.set_pod_status(stored, {"phase": "Failed"})
        case "confirmed":
            api.patch(stored, {"metadata": {"annotations": {CONFIRMATION: stored["metadata"]["uid"]}}})
        case "stopping":
            api.delete(stored)
    return stored


def draw(chance: random.Random) -> Asked:
    """Any request."""
    namespace = chance.choice(("limited", *NAMESPACES))
    match chance.choices(("pod", "workload", "delete", "evict"), (12, 4, 4, 2))[0]:
        case "pod":
            return _pod(chance, namespace)
        case "workload":
            return Asked(namespace, "create", _workload(chance))
        case "delete":
            options = delete_options(
                chance.choice((0, 0, 0, 1, 30, None)), propagationPolicy=chance.choice(("Background", "Orphan"))
            )
            return Asked(namespace, "delete", options, chance.choice(STATES))
    forced = chance.choice((0, 0, 1, None))
    return Asked(namespace, "evict", delete_options(forced), "running" if forced == 0 else chance.choice(STATES))


def _pod(chance: random.Random, namespace: str) -> Asked:
    pod = make_pod("HERE", "web")
    owned = chance.random() < 0.3
    spec = pod["spec"]
    _decide_class(chance, spec, (None, "", LOW, HIGH, _SYSTEM, "gone", f"{LOW}er"))
    _decide_rest(chance, spec)
    if not owned:
        pod["metadata"]["labels"] = {**_LABELS, **{f"l{number}": "x" for number in range(chance.choice((0, 1, 40)))}}
    if chance.random() < 0.3:
        pod["metadata"]["annotations"] = {"example.com/text": chance.choice(_TEXTS)}
    if chance.random() < 0.3:
        del pod["metadata"]["name"]
        pod["metadata"]["generateName"] = "web-"
    return Asked(namespace, "create", pod, owned=owned)


def _decide_class(chance: random.Random, spec: Object, names: Sequence[str | None]) -> None:
    name = chance.choice(names)
    if name is not None:
        spec["priorityClassName"] = name
    if chance.random() < 0.15:
        spec["priority"] = chance.choice((0, 10, 1000))
    if chance.random() < 0.15:
        spec["preemptionPolicy"] = chance.choice(("Never", "PreemptLowerPriority"))


def _decide_rest(chance: random.Random, spec: Object) -> None:
    """Any other fields of a pod, mostly irrelevant to rules."""
    may = (
        ("terminationGracePeriodSeconds", chance.choice((0, 1, 30, 2**40))),
        ("schedulerName", "another"),
        ("nodeSelector", {"disk": "ssd"}),
        ("hostNetwork", True),
        ("schedulingGates", [{"name": "example.com/wait"}]),
        ("tolerations", [{"operator": "Exists", "key": f"k{number}"} for number in range(chance.choice((1, 700)))]),
        ("topologySpreadConstraints", [with_labels(ZONE, chance.choice((_LABELS, {"app": "wbe"})))]),
        ("initContainers", [raw_container("first", args=[chance.choice(_TEXTS)])]),
        ("volumes", [{"name": "data", "emptyDir": {"medium": "Memory", "sizeLimit": "1Ki"}}]),
        ("enableServiceLinks", False),
        ("activeDeadlineSeconds", 2**31 - 1),
        ("dnsConfig", {"options": [{"name": "ndots", "value": "5"}]}),
    )
    spec |= {name: value for name, value in may if chance.random() < 0.12}


def _workload(chance: random.Random) -> Object:
    kind = chance.choice(tuple(WORKLOADS))
    inside: Object = {}
    _decide_class(chance, inside, (None, LOW, HIGH, _SYSTEM))
    workload = make_workload(kind, "HERE", **inside)
    if chance.random() < 0.1:
        owner = {"apiVersion": "example.com/v1", "kind": "Web", "name": "web", "uid": "0-0"}
        workload["metadata"]["ownerReferences"] = [owner | {"controller": chance.choice((True, False))}]
    return workload


def answer(tenant: Tenant, fields: Mapping[str, Field], asked: Asked) -> Any:
    """The effect of the rules on a request: the code of a refusal, or the filled-in fields; the same on all sides."""
    field = fields[asked.namespace]
    try:
        done = _made(tenant, field, asked)
    except ApiError as error:
        return error.code
    if asked.verb != "create" or asked.entry["kind"] != "Pod":
        return "done"
    return {name: done["spec"].get(name) for name in FIELDS}


def _made(tenant: Tenant, field: Field, asked: Asked) -> Object:
    api, query = tenant.api, {"dryRun": "All"}
    if asked.verb == "create":
        metadata = {**asked.entry["metadata"], "namespace": field.namespace}
        if asked.owned:
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
            owner |= {name: field.owner["metadata"][name] for name in ("name", "uid")}
            metadata["ownerReferences"] = [owner]
        path = api.path(asked.entry["apiVersion"], asked.entry["kind"], field.namespace)
        return api.request("POST", path, {**asked.entry, "metadata": metadata}, query=query)
    name = field.pods[asked.state]["metadata"]["name"]
    # Options that the body does not contain are not read from the query.
    options = {**asked.entry, "dryRun": ["All"]}
    if asked.verb == "delete":
        return api.request("DELETE", api.path(*PODS, field.namespace, name), options)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}
    return api.request("POST", api.path(*PODS, field.namespace, name, "eviction"), eviction, query=query)
