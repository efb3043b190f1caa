"""The chart's policies on a real API server: installed by the real helm, and in effect; their warnings and refusals."""

from __future__ import annotations

import http
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.waiting import wait_for
from tests.webhook.installation import Installation

GROUP = "admissionregistration.k8s.io/v1"
PREFIXES = ("Mutating", "Validating")
KINDS = tuple(f"{prefix}AdmissionPolicy{suffix}" for prefix in PREFIXES for suffix in ("", "Binding"))
_WARNING = re.compile(r"^(?:Warning: )?Validation failed for ValidatingAdmissionPolicy '[^']+' with binding '[^']+': ")
_PANIC = re.compile(r'^[EF]\d{4} .*\] "Observed a panic"', re.MULTILINE)
"""As k8s.io/apimachinery logs a panic (pkg/util/runtime), also a recovered one; a client that broke off causes none."""
MIRROR = {"kubernetes.io/config.mirror": "0123456789abcdef", "kubernetes.io/config.source": "file"}
"""The annotations of a mirror pod."""
_NUMBERS = itertools.count(1)


def scoped(name: str, **values: Any) -> Object:
    """Values that limit a release to namespaces with its label: tests share the API server."""
    expression = {"key": "asked", "operator": "In", "values": [name]}
    return {"mode": "policy", "webhook": {"namespaceMatchExpressions": [expression]}, **values}


def messages(stderr: str) -> list[str]:
    """Return all lines, with warnings without the names of policies; omit kubectl's own force warning."""
    lines = [line for line in stderr.splitlines() if not line.startswith("Warning: Immediate deletion does not wait")]
    return [_WARNING.sub("", line) for line in lines]


def dry_run(control_plane: ControlPlane, entry: Object) -> list[str]:
    """The API server's response to an object that is not stored: warnings, and last the refusal."""
    api = control_plane.api
    path = api.path(entry["apiVersion"], entry["kind"], entry["metadata"]["namespace"])
    refusal = []
    try:
        api.request("POST", path, entry, query={"dryRun": "All"})
    except ApiError as error:
        refusal = [error.message]
    return messages("\n".join(api.warnings)) + refusal


def mirror_pod_refusal(control_plane: ControlPlane, pod: Object) -> str:
    """Why a pod would be refused as the mirror of a static pod that its node's kubelet runs; empty: it would not be."""
    node = control_plane.api.get("v1", "Node", pod["spec"]["nodeName"])["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": node["name"], "uid": node["uid"], "controller": True}
    metadata = {**pod["metadata"], "annotations": MIRROR, "ownerReferences": [owner]}
    path = control_plane.api.path("v1", "Pod", metadata["namespace"])
    kubelet = control_plane.client_for(f"system:node:{node['name']}", ["system:nodes"])

    def refusal() -> tuple[str] | None:
        try:
            kubelet.request("POST", path, {**pod, "metadata": metadata}, query={"dryRun": "All"})
        except ApiError as error:
            # The admission plugin NodeRestriction sees new Nodes a little later.
            return None if error.code == http.HTTPStatus.NOT_FOUND else (error.message,)
        return ("",)

    try:
        (found,) = wait_for(refusal, "the node is known")
    finally:
        kubelet.close()
    return found


@contextmanager
def installed(
    control_plane: ControlPlane,
    helm: Path,
    folder: Path,
    name: str,
    values: Mapping[str, Any],
    *,
    kinds: Sequence[str] = PREFIXES,
) -> Iterator[Installation]:
    """Install the chart as release ``name`` with its policies in effect; after the block remove it and its namespaces.

    Args:
        control_plane: The cluster.
        helm: The program.
        folder: For values, logs, and helm's own files.
        name: The name of the release.
        values: The chart's values.
        kinds: The policy kinds that the API server serves, Mutating and Validating ones.
    """
    namespace = f"{name}-system"
    control_plane.create_namespace(namespace)
    installation = Installation(control_plane, helm, folder, namespace=namespace, release=name)
    before = _panics(control_plane)
    installation.install(dict(values))
    try:
        in_effect(control_plane, kinds)
        yield installation
    finally:
        installation.uninstall()
        in_effect(control_plane, kinds)
        _delete_namespaces(control_plane, name)
    assert _panics(control_plane) == before, "an expression made the API server panic"


def _panics(control_plane: ControlPlane) -> int:
    """The number of panics that the API server has logged."""
    return len(_PANIC.findall(control_plane.log("kube-apiserver")))


def _delete_namespaces(control_plane: ControlPlane, name: str) -> None:
    """Delete them with their pods, which no kubelet confirms to have stopped: otherwise the nodes fill with them."""
    api = control_plane.api
    for namespace in api.list_items("v1", "Namespace", labelSelector=f"asked={name}"):
        api.delete(namespace)
        api.request("DELETE", api.path("v1", "Pod", namespace["metadata"]["name"]), query={"gracePeriodSeconds": "0"})


def in_effect(control_plane: ControlPlane, kinds: Sequence[str] = PREFIXES) -> None:
    """Wait until all policies and bindings that are stored now are in effect.

    The API server compiles them a little later, all that it has received together, and it receives objects of a kind in
    the order in which they were stored. So they are in effect when a policy and a binding that were created last are.
    """
    number = next(_NUMBERS)
    sentinels = [entry for prefix in kinds for entry in _sentinel(prefix, number)]
    for entry in sentinels:
        control_plane.api.create(entry)
    try:
        for prefix in kinds:
            name = f"{prefix.lower()}-sentinel-{number}"
            wait_for(partial(_is_seen, control_plane, name), f"{name} is in effect")
    finally:
        for entry in sentinels:
            control_plane.api.delete(entry)


def _sentinel(prefix: str, number: int) -> tuple[Object, Object]:
    """A policy for the ConfigMap of its own name, and its binding."""
    name = f"{prefix.lower()}-sentinel-{number}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    spec: Object = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "own", "expression": f"object.metadata.name == '{name}'"}],
    }
    binding: Object = {"policyName": name}
    if prefix == "Mutating":
        patch = "[JSONPatch{op: 'add', path: '/data', value: {'seen': 'yes'}}]"
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
        spec |= {"reinvocationPolicy": "Never", "mutations": [mutation]}
    else:
        spec |= {"validations": [{"expression": "false", "message": "seen"}]}
        binding |= {"validationActions": ["Deny"]}
    kind = f"{prefix}AdmissionPolicy"
    return (
        {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec},
        {"apiVersion": GROUP, "kind": f"{kind}Binding", "metadata": {"name": name}, "spec": binding},
    )


def _is_seen(control_plane: ControlPlane, name: str) -> bool:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    path = control_plane.api.path("v1", "ConfigMap", "default")
    try:
        made = control_plane.api.request("POST", path, config_map, query={"dryRun": "All"})
    except ApiError as error:
        return "seen" in error.message
    return "data" in made
