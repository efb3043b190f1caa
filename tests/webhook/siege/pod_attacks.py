"""Ways to create a pod with a class, by a user with all permissions in the namespace."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import yaml

from tests.cluster_io.protobuf import message
from tests.controlplane.client import Object
from tests.controlplane.deep_objects import PROTOBUF
from tests.objects import raw_container
from tests.webhook.asking import make_pod
from tests.webhook.forcing import CONFIRMATION, MODE
from tests.webhook.siege.tenancy import APPLY, HIGH, LOW, PODS, YAML, Tenant, in_protobuf, some_owner

_NUMBERS = itertools.count(1)


def limited_pod(tenant: Tenant, class_name: str, **metadata: Any) -> Object:
    pod = make_pod(tenant.limited, f"web-{next(_NUMBERS)}", priorityClassName=class_name, nodeName=tenant.node)
    pod["metadata"] |= {"labels": {"app": "db"}, **metadata}
    return pod


def _post(tenant: Tenant, body: Object | bytes, **how: Any) -> None:
    tenant.api.request("POST", tenant.api.path(*PODS, tenant.limited), body, **how)


def _as_yaml(tenant: Tenant, class_name: str) -> None:
    _post(tenant, yaml.safe_dump(limited_pod(tenant, class_name)).encode(), content_type=YAML)


def _as_protobuf(tenant: Tenant, class_name: str) -> None:
    container = message((1, "app"), (2, "registry.example.com/app:1"))
    metadata = message((1, f"web-{next(_NUMBERS)}"), (3, tenant.limited))
    pod = message((1, metadata), (2, message((2, container), (24, class_name))))
    _post(tenant, in_protobuf("v1", "Pod", pod), content_type=PROTOBUF)


def _with_generated_name(tenant: Tenant, class_name: str) -> None:
    pod = limited_pod(tenant, class_name, generateName="web-")
    del pod["metadata"]["name"]
    _post(tenant, pod)


def _applied(tenant: Tenant, class_name: str) -> None:
    pod = limited_pod(tenant, class_name)
    path = tenant.api.path(*PODS, tenant.limited, pod["metadata"]["name"])
    query = {"fieldManager": "someone", "force": "true"}
    tenant.api.request("PATCH", path, yaml.safe_dump(pod).encode(), content_type=APPLY, query=query)


def _after_a_dry_run(tenant: Tenant, class_name: str) -> None:
    pod = limited_pod(tenant, LOW)
    _post(tenant, pod, query={"dryRun": "All"})
    pod["spec"]["priorityClassName"] = class_name
    _post(tenant, pod)


def _named_twice(tenant: Tenant, class_name: str) -> None:
    """The last one of two equal keys counts."""
    text = json.dumps(limited_pod(tenant, "HERE"))
    _post(tenant, text.replace('"HERE"', f'"{LOW}", "priorityClassName": "{class_name}"').encode())


def _with_escaped_key(tenant: Tenant, class_name: str) -> None:
    text = json.dumps(limited_pod(tenant, class_name)).replace("priorityClassName", "priorityCl\\u0061ssN\\u0061me")
    _post(tenant, text.encode())


def _with_keys_of_other_cases(tenant: Tenant, class_name: str) -> None:
    """They are not fields, and are dropped."""
    pod = limited_pod(tenant, class_name)
    pod["spec"] |= {"PriorityClassName": LOW, "priorityclassname": LOW}
    _post(tenant, pod, query={"fieldValidation": "Ignore"})


def _with_commas(tenant: Tenant, class_name: str) -> None:
    _post(tenant, limited_pod(tenant, class_name, annotations={"example.com/list": "," * 100_001}))


def _with_escaped_text(tenant: Tenant, class_name: str) -> None:
    pod = limited_pod(tenant, class_name)
    pod["spec"]["containers"] = [raw_container(args=["<" * 1_250_000])]
    _post(tenant, pod)


def _with_our_own_words(tenant: Tenant, class_name: str) -> None:
    words = {MODE: "warn", CONFIRMATION: "any", "kubectl-qos.io/default-priority-class": HIGH}
    labels = {MODE: "warn", "kubectl-qos.io/topology-spread": "disabled", "app.kubernetes.io/managed-by": "Helm"}
    _post(tenant, limited_pod(tenant, class_name, annotations=words, labels=labels))


def _with_an_owner(tenant: Tenant, class_name: str) -> None:
    _post(tenant, limited_pod(tenant, class_name, ownerReferences=[some_owner(tenant)]))


def _as_if_it_were_deleted(tenant: Tenant, class_name: str) -> None:
    times = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    pod = limited_pod(tenant, class_name, finalizers=["example.com/kept"], **times)
    _post(tenant, pod)
    tenant.control_plane.api.patch(pod, {"metadata": {"finalizers": None}})


def _as_if_it_had_finished(tenant: Tenant, class_name: str) -> None:
    _post(tenant, {**limited_pod(tenant, class_name), "status": {"phase": "Succeeded"}})


def _with_gates_and_another_scheduler(tenant: Tenant, class_name: str) -> None:
    pod = limited_pod(tenant, class_name)
    del pod["spec"]["nodeName"]
    pod["spec"] |= {"schedulerName": "other", "schedulingGates": [{"name": "example.com/wait"}], "hostNetwork": True}
    _post(tenant, pod)


def _as_what_a_kubelet_reports(tenant: Tenant, class_name: str) -> None:
    """A mirror pod, which only kubelets create."""
    annotations = {"kubernetes.io/config.mirror": "0123456789abcdef", "kubernetes.io/config.source": "file"}
    _post(tenant, limited_pod(tenant, class_name, annotations=annotations))


CREATIONS: tuple[Callable[[Tenant, str], None], ...] = (
    _as_yaml,
    _as_protobuf,
    _with_generated_name,
    _applied,
    _after_a_dry_run,
    _named_twice,
    _with_escaped_key,
    _with_keys_of_other_cases,
    _with_commas,
    _with_escaped_text,
    _with_our_own_words,
    _with_an_owner,
    _as_if_it_were_deleted,
    _as_if_it_had_finished,
    _with_gates_and_another_scheduler,
    _as_what_a_kubelet_reports,
)
