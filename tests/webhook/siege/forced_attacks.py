"""Ways to delete a pod without grace, by a user with all permissions in its namespace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml

from tests.cluster_io.protobuf import message
from tests.controlplane.client import Object
from tests.controlplane.deep_objects import PROTOBUF
from tests.webhook.forcing import CONFIRMATION, MODE
from tests.webhook.siege.tenancy import PODS, YAML, Tenant, identity, in_protobuf, some_owner


def delete(tenant: Tenant, pod: Object, body: Object | bytes | None, **how: Any) -> None:
    _, namespace, name = identity(pod)
    tenant.api.request("DELETE", tenant.api.path(*PODS, namespace, name), body, **how)


def delete_options(seconds: int | None = 0, *, api_version: str = "v1", **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": "DeleteOptions", "gracePeriodSeconds": seconds, **more}


def _by_options(tenant: Tenant, pod: Object) -> None:
    delete(tenant, pod, delete_options())


def _by_options_of_another_group(tenant: Tenant, pod: Object) -> None:
    delete(tenant, pod, delete_options(api_version="policy/v1"))


def _by_query(tenant: Tenant, pod: Object) -> None:
    delete(tenant, pod, None, query={"gracePeriodSeconds": "0"})


def _by_yaml(tenant: Tenant, pod: Object) -> None:
    delete(tenant, pod, yaml.safe_dump(delete_options()).encode(), content_type=YAML)


def _by_protobuf(tenant: Tenant, pod: Object) -> None:
    delete(tenant, pod, in_protobuf("v1", "DeleteOptions", message((1, 0))), content_type=PROTOBUF)


def _by_the_last_of_two_keys(tenant: Tenant, pod: Object) -> None:
    text = json.dumps(delete_options(30)).replace("30", '30, "gracePeriodSeconds": 0')
    delete(tenant, pod, text.encode())


def _with_a_precondition(tenant: Tenant, pod: Object) -> None:
    uid = {"uid": pod["metadata"]["uid"]}
    delete(tenant, pod, delete_options(preconditions=uid, propagationPolicy="Background"))


def _with_its_dependents_kept(tenant: Tenant, pod: Object) -> None:
    """Orphaning adds a finalizer; the object is removed when the garbage collector has finished."""
    delete(tenant, pod, delete_options(propagationPolicy="Orphan"))


def _after_a_plain_deletion(tenant: Tenant, pod: Object) -> None:
    delete(tenant, pod, delete_options(None))
    delete(tenant, pod, delete_options())


def _after_a_second_of_grace(tenant: Tenant, pod: Object) -> None:
    delete(tenant, pod, delete_options(1))
    delete(tenant, pod, delete_options())


def _after_a_dry_run_of_grace(tenant: Tenant, pod: Object) -> None:
    delete(tenant, pod, delete_options(30, dryRun=["All"]))
    delete(tenant, pod, delete_options())


def _by_its_collection(tenant: Tenant, pod: Object) -> None:
    _, namespace, name = identity(pod)
    query = {"gracePeriodSeconds": "0", "fieldSelector": f"metadata.name={name}"}
    tenant.api.request("DELETE", tenant.api.path(*PODS, namespace), query=query)


def _by_its_collections_options(tenant: Tenant, pod: Object) -> None:
    _, namespace, name = identity(pod)
    query = {"fieldSelector": f"metadata.name={name}"}
    tenant.api.request("DELETE", tenant.api.path(*PODS, namespace), delete_options(), query=query)


def _evict(tenant: Tenant, pod: Object, api_version: str = "policy/v1", **metadata: Any) -> Object:
    _, namespace, name = identity(pod)
    metadata |= {"name": name, "namespace": namespace}
    return {
        "apiVersion": api_version,
        "kind": "Eviction",
        "metadata": metadata,
        "deleteOptions": {"gracePeriodSeconds": 0},
    }


def _post_eviction(tenant: Tenant, pod: Object, body: Object | bytes, **how: Any) -> None:
    _, namespace, name = identity(pod)
    tenant.api.request("POST", tenant.api.path(*PODS, namespace, name, "eviction"), body, **how)


def by_eviction(tenant: Tenant, pod: Object) -> None:
    _post_eviction(tenant, pod, _evict(tenant, pod))


def _by_eviction_of_the_old_version(tenant: Tenant, pod: Object) -> None:
    _post_eviction(tenant, pod, _evict(tenant, pod, "policy/v1beta1"))


def _by_eviction_in_yaml(tenant: Tenant, pod: Object) -> None:
    _post_eviction(tenant, pod, yaml.safe_dump(_evict(tenant, pod)).encode(), content_type=YAML)


def _by_eviction_without_a_namespace(tenant: Tenant, pod: Object) -> None:
    body = _evict(tenant, pod)
    del body["metadata"]["namespace"]
    _post_eviction(tenant, pod, body)


def _by_eviction_with_much_text(tenant: Tenant, pod: Object) -> None:
    annotations = {"example.com/text": "<" * 250_000}
    _post_eviction(tenant, pod, _evict(tenant, pod, annotations=annotations))


def _of_a_pod_with_a_finalizer(tenant: Tenant, pod: Object) -> None:
    tenant.api.patch(pod, {"metadata": {"finalizers": ["example.com/kept"]}})
    try:
        delete(tenant, pod, delete_options())
    finally:
        tenant.api.patch(pod, {"metadata": {"finalizers": None}})


def _of_a_pod_with_another_label_and_owner(tenant: Tenant, pod: Object) -> None:
    labels = {MODE: "warn", "app": "other"}
    annotations = {MODE: "warn", CONFIRMATION: pod["metadata"]["uid"], "kubernetes.io/config.source": "file"}
    owner = {**some_owner(tenant), "apiVersion": "v1", "kind": "Node", "controller": False}
    tenant.api.patch(pod, {"metadata": {"labels": labels, "annotations": annotations, "ownerReferences": [owner]}})
    delete(tenant, pod, delete_options())


def _while_the_namespace_says_warn(tenant: Tenant, pod: Object) -> None:
    _, namespace, _ = identity(pod)
    entry = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    tenant.api.patch(entry, {"metadata": {"labels": {MODE: "warn"}}})
    try:
        delete(tenant, pod, delete_options())
    finally:
        tenant.api.patch(entry, {"metadata": {"labels": {MODE: None}}})


FORCED: tuple[Callable[[Tenant, Object], None], ...] = (
    _by_options,
    _by_options_of_another_group,
    _by_query,
    _by_yaml,
    _by_protobuf,
    _by_the_last_of_two_keys,
    _with_a_precondition,
    _with_its_dependents_kept,
    _after_a_plain_deletion,
    _after_a_second_of_grace,
    _after_a_dry_run_of_grace,
    _by_its_collection,
    _by_its_collections_options,
    by_eviction,
    _by_eviction_of_the_old_version,
    _by_eviction_in_yaml,
    _by_eviction_without_a_namespace,
    _by_eviction_with_much_text,
    _of_a_pod_with_a_finalizer,
    _of_a_pod_with_another_label_and_owner,
    _while_the_namespace_says_warn,
)
