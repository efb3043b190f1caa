"""How the API server validates a pod's spec, in a Pod and in a template.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidatePodSpec).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.affinity import validate_affinity
from podrules.admission.validation.containers import (
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from podrules.admission.validation.env import validate_file_key_volumes
from podrules.admission.validation.errors import (
    duplicate,
    forbidden,
    go_json,
    invalid,
    required,
    unsupported,
    validate_format,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain, in_range, qualified_name
from podrules.admission.validation.metadata import validate_labels
from podrules.admission.validation.network import (
    validate_dns_config,
    validate_dns_policy,
    validate_host_aliases,
    validate_host_network,
    validate_hostname_override,
)
from podrules.admission.validation.operating_system import validate_os, validate_windows_host_process
from podrules.admission.validation.priority_classes import validate_preemption_policy
from podrules.admission.validation.resources import validate_overhead, validate_pod_resources
from podrules.admission.validation.security import validate_host_users, validate_pod_security_context
from podrules.admission.validation.spread import validate_topology_spread_constraints
from podrules.admission.validation.tolerations import validate_tolerations
from podrules.admission.validation.view import PodContext, View
from podrules.admission.validation.volumes import validate_volumes
from podrules.api.model.field_error import FieldError
from podrules.pod.priority import CONFIG_MIRROR

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_MAX_INT32: Final = 2**31 - 1


def validate_pod_spec(pod: PodContext) -> Iterator[FieldError]:
    """Hold a spec against every rule that a Pod and a template share."""
    spec = pod.spec
    yield from validate_volumes(spec, pod.meta, pod.rules)
    yield from _resource_claims(pod)
    yield from validate_containers(pod)
    yield from validate_init_containers(pod)
    yield from validate_ephemeral_containers(pod)
    yield from validate_pod_resources(pod)
    yield from validate_host_network(pod)
    restart_policy = pod.restart_policy
    if restart_policy not in _RESTART_POLICIES:
        yield unsupported(spec.at("restartPolicy"), restart_policy, _RESTART_POLICIES)
    yield from validate_dns_policy(pod)
    yield from validate_labels(spec.texts_by_key("nodeSelector"), spec.at("nodeSelector"), pod.rules)
    yield from validate_pod_security_context(pod)
    yield from validate_affinity(pod)
    yield from validate_dns_config(pod)
    yield from _gates(pod)
    yield from validate_topology_spread_constraints(pod)
    yield from validate_windows_host_process(pod)
    yield from validate_host_users(pod)
    yield from validate_hostname_override(pod)
    yield from _names(spec)
    yield from validate_tolerations(spec, pod.rules)
    yield from validate_host_aliases(pod)
    yield from _classes(spec)
    yield from validate_overhead(pod)
    yield from validate_os(pod)
    yield from validate_file_key_volumes(spec, pod.rules)


def _resource_claims(pod: PodContext) -> Iterator[FieldError]:
    claims = pod.spec.structs("resourceClaims")
    seen: set[str] = set()
    for claim in claims:
        if pod.is_pod and CONFIG_MIRROR in pod.meta.texts_by_key("annotations"):
            yield forbidden("[]", "static pods do not support resource claims")
            continue
        name = claim.text("name")
        if not name:
            yield required(claim.at("name"))
        elif name in seen:
            yield duplicate(claim.at("name"), name)
        else:
            for problem in dns_label(name):
                yield invalid(claim.at("name"), name, problem)
            seen.add(name)
        yield from _claim_source(claim)


def _claim_source(claim: View) -> Iterator[FieldError]:
    fields = ("resourceClaimName", "resourceClaimTemplateName")
    given = {field: claim.pointer(field) for field in fields if claim.has(field)}
    if len(given) != 1:
        words = "at most one of `{}` or `{}` may be specified" if given else "must specify one of: `{}`, `{}`"
        shown = {"Name": claim.text("name")} | {field[0].upper() + field[1:]: claim.pointer(field) for field in fields}
        yield FieldError(claim.path, f"Invalid value: {go_json(shown)}: {words.format(*fields)}")
    for field, name in given.items():
        for problem in dns_subdomain(name or ""):
            yield invalid(claim.at(field), name, problem)


def _gates(pod: PodContext) -> Iterator[FieldError]:
    for gate in pod.spec.structs("readinessGates"):
        kind = gate.text("conditionType")
        for problem in qualified_name(kind, pod.rules):
            yield invalid(gate.at("conditionType"), kind, problem)
    seen: set[str] = set()
    for gate in pod.spec.structs("schedulingGates"):
        name = gate.text("name")
        for problem in qualified_name(name, pod.rules):
            yield invalid(gate.path, name, problem)
        if name in seen:
            yield duplicate(gate.path, name)
        seen.add(name)


def _names(spec: View) -> Iterator[FieldError]:
    account = spec.text("serviceAccountName") or spec.text("serviceAccount")
    for problem in dns_subdomain(account) if account else ():
        yield invalid(spec.at("serviceAccountName"), account, problem)
    yield from validate_format(spec, "nodeName", dns_subdomain)
    deadline = spec.number("activeDeadlineSeconds")
    for problem in in_range(deadline, 1, _MAX_INT32) if deadline is not None else ():
        yield invalid(spec.at("activeDeadlineSeconds"), deadline, problem)
    yield from validate_format(spec, "hostname", dns_label)
    yield from validate_format(spec, "subdomain", dns_label)


def _classes(spec: View) -> Iterator[FieldError]:
    yield from validate_format(spec, "priorityClassName", dns_subdomain)
    runtime_class = spec.pointer("runtimeClassName")
    for problem in dns_subdomain(runtime_class) if runtime_class is not None else ():
        yield invalid(spec.at("runtimeClassName"), runtime_class, problem)
    yield from validate_preemption_policy(spec)
