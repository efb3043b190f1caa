"""Objects of three megabytes, each with a different extreme: a review of any of them takes little CPU.

The limit is twice the time of Python's own decoder for three megabytes of small objects, on the same machine: about a
tenth of a second. Other reviews wait meanwhile, because a replica has one thread. The objects include some that the API
server would refuse: every client that reaches the port can send them.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
from flask.testing import FlaskClient

from cluster_io.errors import NotFound
from cluster_io.kinds import PRIORITY_CLASSES
from podrules.api.model.decode import from_object
from podrules.api.model.policy import PriorityClass
from tests.objects import raw_node
from tests.webhook.clusters import SilentSource, make_class, make_cluster, make_namespace, pod_rules
from tests.webhook.review_objects import (
    create_review,
    delete_review,
    node_deletion_review,
    pod_object,
    update_review,
    workload_object,
)
from webhook.reviews.partial_objects import MAX_VALUES
from webhook.serving.app import REVIEW_PATHS, create_app
from webhook.serving.metrics import Metrics
from webhook.settings import ForceDeletion, ForceDeletionMode

Object = dict[str, Any]
SIZE = 3 << 20
TIMES = 2
"""The limit: a multiple of a review that decodes all three megabytes with Python's own decoder."""
SMALL_OBJECTS = b"[%s]" % b",".join([b'{"name":"c"}'] * (SIZE // 13))
ROOM = 300
"""The other values of a review."""
LABELS = {"app": "web"}
KEY = f"topology.example.com/{'zone' * 10}-"
CLASSES = [make_class("low", 1), *(make_class(f"class-{number}-of-{'shop' * 20}", number) for number in range(500))]
OPTIONS = pod_rules(
    priorityClasses={"allowed": {"shop": ["low"]}, "defaults": {"shop": "low"}, "templates": "deny"},
    lint={"topologyKeys": True},
    warnings="verbose",
)
CONSTRAINT = '{"maxSkew":1,"topologyKey":"' + KEY + '%d","whenUnsatisfiable":"DoNotSchedule"'
TERM = CONSTRAINT % 0 + ',"labelSelector":{"matchExpressions":[{"key":"app","operator":'
LISTS = {
    "constraints": ('"topologySpreadConstraints":[', CONSTRAINT + "}", "]"),
    "constraints that miss": (
        '"topologySpreadConstraints":[',
        CONSTRAINT + ',"labelSelector":{"matchLabels":{"app":"x%d"}}}',
        "]",
    ),
    "matchLabels": (
        '"topologySpreadConstraints":[' + CONSTRAINT % 0 + ',"labelSelector":{"matchLabels":{',
        '"k%d":"v"',
        "}}}]",
    ),
    "In": ('"topologySpreadConstraints":[' + TERM + '"In","values":[', '"v%d"', "]}]}}]"),
    "NotIn": ('"topologySpreadConstraints":[' + TERM + '"NotIn","values":["web",', '"v%d"', "]}]}}]"),
    "expressions": (
        '"topologySpreadConstraints":[' + CONSTRAINT % 0 + ',"labelSelector":{"matchExpressions":[',
        '{"key":"k%d","operator":"Exists"}',
        "]}}]",
    ),
    "matchLabelKeys": ('"topologySpreadConstraints":[' + CONSTRAINT % 0 + ',"matchLabelKeys":[', '"k%d"', "]}]"),
    "containers": ('"containers":[', '{"name":"c%d"}', "]"),
    "hooks": ('"containers":[', '{"name":"c%d","lifecycle":{"preStop":{"sleep":{"seconds":1}}}}', "]"),
    "sidecars": ('"initContainers":[', '{"name":"c%d","restartPolicy":"Always"}', "]"),
    "tolerations": ('"tolerations":[', '{"key":"k%d"}', "]"),
    "claims": ('"volumes":[', '{"name":"v%d","persistentVolumeClaim":{"claimName":"c"}}', "]"),
    "NFS": ('"volumes":[', '{"name":"v%d","nfs":{}}', "]"),
    "nodeSelector": ('"nodeSelector":{', '"k%d":""', "}"),
    "taints": ('"taints":[', '{"key":"k%d","effect":"NoSchedule"}', "]"),
}
"""Parts of a pod's spec: the text before, one of many values, the text after."""
META_LISTS = {
    "labels": ('"labels":{"app":"web",', '"k%d":""', "}"),
    "annotations": ('"annotations":{', '"k%d":""', "}"),
    "owners": ('"ownerReferences":[', '{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"x","uid":"%d"}', "]"),
    "finalizers": ('"finalizers":[', '"example.com/%d"', "]"),
    "managers": ('"managedFields":[', '{"manager":"m%d","fieldsV1":{"f:spec":{"f:containers":{}}}}', "]"),
    "fields": ('"managedFields":[{"fieldsV1":{"f:spec":{', '"f:k%d":{}', "}}}]"),
}
STATUS_LISTS = {
    "statuses": ('"containerStatuses":[', '{"name":"c%d","state":{"running":{}}}', "]"),
    "images": ('"images":[', '{"names":["image-%d"]}', "]"),
    "conditions": ('"conditions":[', '{"type":"t%d","status":"True"}', "]"),
}
DEEP_LISTS = {
    "fields": '{"f:a":' * 9000 + "{}" + "}" * 9000,
    "lists": "[" * 9000 + "]" * 9000,
    "dense lists": "[[1],1]",
    "fields with brackets": '{"[":' * 300 + "{}" + "}" * 300,
    "texts": '"a"',
    "escapes": '"\\u003c"',
    "mappings": '{"name":"c"}',
}
"""Below 1,000 levels."""
LONG_TEXTS = ["a" * (SIZE - 9000), "a-" * (SIZE // 2 - 9000), "a." * (1 << 16), "class-1-of-" + "shop" * 60]


class _Cluster(SilentSource):
    """Live reads: only classes."""

    def get(self, kind: Any, name: str, *_: Any) -> NoReturn:
        """See `Source.get`."""
        raise NotFound(kind, name, None)

    def list(self, *asked: Any, **_: Any) -> Any:
        """See `Source.list`."""
        return [from_object(entry, PriorityClass) for entry in CLASSES] if asked[0] is PRIORITY_CLASSES else []


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    """With nodes that have many labels, many Services that all select the pods, and many classes."""
    nodes = [raw_node(f"node-{number}", {f"{KEY}{number}-{entry}": "" for entry in range(30)}) for number in range(100)]
    service = {"apiVersion": "v1", "kind": "Service", "spec": {"selector": LABELS}}
    services = [service | {"metadata": {"name": f"s{number}", "namespace": "shop"}} for number in range(3000)]
    cluster = make_cluster(
        [make_namespace(), *nodes, *services, *CLASSES],
        live=_Cluster(),
        options=OPTIONS,
        write_system_defaults=True,
        force_deletion=ForceDeletion(mode=ForceDeletionMode.CONFIRM),
    )
    return create_app(cluster, lambda: (), lambda: False, metrics=Metrics(REVIEW_PATHS)).test_client()


def _many(shape: tuple[str, str, str], count: int) -> str:
    before, entry, after = shape
    places = entry.count("%d")
    return before + ",".join(entry % ((number,) * places) for number in range(count)) + after


def _as_many_as_there_may_be(shape: tuple[str, str, str]) -> str:
    """In three megabytes: such a list is omitted."""
    return _many(shape, (SIZE - 9000) // (len(shape[1]) + 5))


def _as_many_as_are_built(shape: tuple[str, str, str]) -> str:
    return _many(shape, (MAX_VALUES - ROOM) // (shape[1].count(",") + 1))


def _with_statuses(shape: tuple[str, str, str]) -> str:
    """Both are built, in pieces."""
    return f'{_as_many_as_are_built(shape)}}},"status":{{{_as_many_as_are_built(STATUS_LISTS["statuses"])}'


def _repeated(shape: tuple[str, str, str]) -> str:
    before, text, after = shape
    return before + text * (SIZE - 9000) + after


FILLS = (_as_many_as_there_may_be, _as_many_as_are_built)


def _fields() -> Iterator[Any]:
    """Fields that make an object extreme: in its metadata, in its spec, in its status."""
    for place, lists in enumerate((META_LISTS, LISTS, STATUS_LISTS)):
        for (name, shape), fill in itertools.product(lists.items(), FILLS):
            yield pytest.param(place, fill, shape, id=f"{name}, {fill.__name__.strip('_').replace('_', ' ')}")
    for number, text in enumerate(LONG_TEXTS):
        for field in ("priorityClassName", "schedulerName", "nodeName"):
            shape = f'"{field}":"{text}', "", '"'
            yield pytest.param(1, "".join, shape, id=f"{field}, long {number}")
        selector = CONSTRAINT % 0 + ',"labelSelector":{"matchLabels":{'
        for name, term in (("value", f'"app":"{text}"'), ("key", f'"{text}":""'), ("prefix", f'"{text}/x":""')):
            shape = f'"topologySpreadConstraints":[{selector}', term, "}}}]"
            yield pytest.param(1, "".join, shape, id=f"{name} of a label, long {number}")
    for name, text in (("commas", ","), ("escapes", "\\u003c")):
        yield pytest.param(1, _repeated, ('"containers":[{"name":"c","args":["', text, '"]}]'), id=name)
    for name, value in DEEP_LISTS.items():
        values = ",".join([value] * (SIZE // (len(value) + 1)))
        yield pytest.param(1, "".join, ('"x":' + "[" * 1000, values, "]" * 1000), id=f"deep {name}")
    for name in ("containers", "hooks", "sidecars"):
        yield pytest.param(1, _with_statuses, LISTS[name], id=f"{name} and their statuses")


def _marked(obj: Object, metadata: Object, spec: Object, status: Object) -> Object:
    """The object with placeholders for more fields, which override those before them."""
    metadata["META"] = status["STATUS"] = 0
    # Fields that follow the spec of a pod may follow it here, too.
    if "status" in obj:
        obj["spec"] = obj.pop("spec")
    spec["SPEC"] = 0
    return obj


def _pod(*, stopping: bool = False, bound: bool = True) -> Object:
    pod = pod_object(name="web", labels=LABELS, nodeName="node-1" if bound else None)
    if stopping:
        pod["metadata"] |= {"deletionTimestamp": "2026-11-21T03:10:00Z", "deletionGracePeriodSeconds": 30}
    return _marked(pod, pod["metadata"], pod["spec"], pod["status"])


def _workload(kind: str) -> Object:
    workload = workload_object(kind, "high")
    inside = workload["spec"]
    template = (inside["jobTemplate"]["spec"] if kind == "CronJob" else inside)["template"]
    return _marked(workload, template["metadata"], template["spec"], {})


def _node() -> Object:
    node = raw_node("node-1")
    return _marked(node, node["metadata"], node.setdefault("spec", {}), node.setdefault("status", {}))


REVIEWS = {
    "creation": create_review(_pod(bound=False)),
    "deletion": delete_review(_pod()),
    "deletion of a stopping pod": delete_review(_pod(stopping=True)),
    "creation of a Deployment": create_review(_workload("Deployment")),
    "change of a CronJob": update_review(_workload("CronJob")),
    "deletion of a Node": node_deletion_review(_node()),
}
MARKS = (b'"META": 0', b'"SPEC": 0', b'"STATUS": 0')


def cpu_of(path: str, body: bytes, client: FlaskClient) -> float:
    """CPU seconds of a review, without the API server's work."""
    started = time.thread_time()
    answer = client.post(path, data=body, content_type="application/json")
    spent = time.thread_time() - started
    assert answer.status_code == 200
    return spent


def cpu_of_decoding() -> float:
    """CPU seconds of Python's own decoder for three megabytes."""
    started = time.thread_time()
    json.loads(SMALL_OBJECTS)
    return time.thread_time() - started


@pytest.fixture(scope="module")
def usual_decoding() -> float:
    """The minimum of several measurements: measured again if the limit is exceeded."""
    return min(cpu_of_decoding() for _ in range(4))


@pytest.mark.parametrize(("place", "fill", "shape"), list(_fields()))
def test_cpu_of_a_review_is_bounded(
    client: FlaskClient, usual_decoding: float, place: int, fill: Callable[[Any], str], shape: tuple[str, str, str]
) -> None:
    field = fill(shape).encode()
    for (what, body), path in itertools.product(REVIEWS.items(), REVIEW_PATHS):
        extreme = body
        for number, mark in enumerate(MARKS):
            extreme = extreme.replace(mark, field if number == place else b'"x": 0')
        if cpu_of(path, extreme, client) <= TIMES * usual_decoding:
            continue
        # Measured alternately, because other users of the machine's caches may be the reason.
        pairs = [(cpu_of(path, extreme, client), cpu_of_decoding()) for _ in range(4)]
        assert any(spent <= TIMES * decoding for spent, decoding in pairs), f"{what}, {path}: {pairs}"
