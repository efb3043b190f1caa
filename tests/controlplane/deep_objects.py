"""Objects with managedFields nested as deeply as the API server stores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.cluster_io.protobuf import message
from tests.controlplane.client import ApiClient

PROTOBUF = "application/vnd.kubernetes.protobuf"
"""Of answers that are not looked at: Python's decoder does not read deep JSON."""
_MERGE = "application/merge-patch+json"


def deepen(api: ApiClient, entry: Mapping[str, Any], depth: int, *, times: int = 1) -> None:
    """Nest an object's managedFields; the API server takes time that grows with the square of the depth: 9,000 5 s.

    Args:
        api: Of a user who may change the object.
        entry: The object.
        depth: Levels.
        times: So many fields are as deep.
    """
    deep = '{"f:a":' * (depth - 1) + "{}" + "}" * (depth - 1)
    fields = "{" + ",".join(f'"f:{number}":{deep}' for number in range(times)) + "}"
    time, version = "2026-01-01T00:00:00Z", entry["apiVersion"]
    manager = f'"manager":"deep","operation":"Update","apiVersion":"{version}","time":"{time}","fieldsType":"FieldsV1"'
    _patch(api, entry, f'[{{{manager},"fieldsV1":{{"f:metadata":{fields}}}}}]')


def flatten(api: ApiClient, entry: Mapping[str, Any]) -> None:
    """Forget an object's managedFields."""
    _patch(api, entry, "[{}]")


def _patch(api: ApiClient, entry: Mapping[str, Any], managed: str) -> None:
    metadata = entry["metadata"]
    path = api.path(entry["apiVersion"], entry["kind"], metadata.get("namespace"), metadata["name"])
    body = f'{{"metadata":{{"managedFields":{managed}}}}}'.encode()
    api.request("PATCH", path, body, content_type=_MERGE, accept=PROTOBUF)


def replica_set_no_event_holds(name: str, namespace: str, *, replicas: int = 0, class_name: str = "") -> bytes:
    """A ReplicaSet in protobuf. With an event or a review around it, it is deeper than Go writes JSON.

    So the API server ends each watch before the event, and asks no webhook; a list has the object.
    """
    labels = message((1, "app"), (2, name))
    pod = message((2, message((1, "c"), (2, "i"))), (24, class_name))
    template = message((1, message((11, labels), (17, _deepest()))), (2, pod))
    spec = message((1, replicas), (2, message((1, labels))), (3, template))
    content = message((1, message((1, name), (3, namespace))), (2, spec))
    return b"k8s\0" + message((1, message((1, "apps/v1"), (2, "ReplicaSet"))), (2, content))


def pod_no_review_holds(name: str, namespace: str, class_name: str) -> bytes:
    """A pod in protobuf that is stored, and deeper than Go writes JSON with a review around it."""
    spec = message((2, message((1, "c"), (2, "i"))), (24, class_name))
    content = message((1, message((1, name), (3, namespace), (17, _deepest()))), (2, spec))
    return b"k8s\0" + message((1, message((1, "v1"), (2, "Pod"))), (2, content))


def _deepest() -> bytes:
    """An entry of ``managedFields``."""
    raw = b'{"f:a":' * 9_996 + b"{}" + b"}" * 9_996
    return message((1, "deep"), (2, "Update"), (3, "v1"), (6, "FieldsV1"), (7, message((1, raw))))
