"""How the API server validates a Pod and a pod template.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidatePodCreate,
validatePodMetadataAndSpec, ValidatePodTemplateSpec).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.affinity import (
    validate_affinity,
    validate_tolerations,
    validate_topology_spread_constraints,
)
from podrules.admission.validation.annotations import validate_pod_annotations
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
    too_long,
    unsupported,
    validate_format,
)
from podrules.admission.validation.formats import (
    dns_label,
    dns_subdomain,
    dns_subdomain_with_underscore,
    in_range,
    ip_address,
    is_padded,
    qualified_name,
    size,
)
from podrules.admission.validation.metadata import validate_annotations, validate_labels, validate_object_meta
from podrules.admission.validation.policies import validate_preemption_policy
from podrules.admission.validation.resources import validate_overhead, validate_pod_resources
from podrules.admission.validation.security import (
    validate_host_users,
    validate_os,
    validate_pod_security_context,
    validate_seccomp_and_apparmor,
    validate_windows_host_process,
)
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.admission.validation.volumes import kept_volumes, named_volumes, validate_volumes
from podrules.api.model.misfit import FieldError
from podrules.pod.priority import CONFIG_MIRROR


def validate_pod(content: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a Pod against the rules of its creation."""
    pod = _context(content, rules, is_pod=True)
    yield from validate_object_meta(pod.meta, rules, dns_subdomain)
    yield from validate_pod_annotations(pod)
    yield from validate_pod_spec(pod)
    yield from _only_in_pods(pod.spec, rules)
    if pod.spec.structs("ephemeralContainers"):
        yield forbidden(pod.spec.at("ephemeralContainers"), "cannot be set on create")
    if pod.spec.text("nodeName") and pod.spec.structs("schedulingGates"):
        yield forbidden(pod.spec.at("nodeName"), "cannot be set until all schedulingGates have been cleared")
    yield from validate_seccomp_and_apparmor(pod)


def validate_pod_template(template: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the template of a workload against the rules of templates."""
    pod = _context(template, rules, is_pod=False)
    yield from validate_labels(pod.meta.texts_by_key("labels"), pod.meta.at("labels"), rules)
    yield from validate_annotations(pod.meta.texts_by_key("annotations"), pod.meta.at("annotations"), rules)
    yield from validate_pod_annotations(pod)
    yield from validate_pod_spec(pod)
    yield from validate_seccomp_and_apparmor(pod)
    if pod.spec.structs("ephemeralContainers"):
        yield forbidden(pod.spec.at("ephemeralContainers"), "ephemeral containers not allowed in pod template")


def _context(content: View, rules: Rules, *, is_pod: bool) -> PodContext:
    spec, meta = content.struct("spec"), content.struct("metadata")
    if not is_pod:
        meta = View(meta.content, content.path)
    claims = frozenset(claim.text("name") for claim in spec.structs("resourceClaims")) - {""}
    return PodContext(spec, meta, rules, is_pod, named_volumes(spec, meta, rules), claims)


def _only_in_pods(spec: View, rules: Rules) -> Iterator[FieldError]:
    if not spec.text("serviceAccountName") and not spec.text("serviceAccount"):
        for volume in kept_volumes(spec, rules):
            for source in volume.struct("projected").structs("sources"):
                if source.has("serviceAccountToken"):
                    words = "must not be specified when serviceAccountName is not set"
                    yield forbidden(source.at("serviceAccountToken"), words)
    for name in ("containers", "initContainers"):
        for container in spec.structs(name):
            image = container.text("image")
            if is_padded(image):
                yield invalid(container.at("image"), image, "must not have leading or trailing whitespace")


# How the API server validates a pod's spec, in a Pod and in a template.
#
# Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidatePodSpec).

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


# How the API server validates a pod's DNS, hosts file, hostname, and ports on the host's network.
#
# Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (validatePodHostNetworkDeps,
# validateDNSPolicy, validatePodDNSConfig, validatePodHostName, ValidateHostAliases); pkg/apis/core/v1/defaults.go
# (defaultHostNetworkPorts).

_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NAMESERVERS: Final = 3
_SEARCH_PATHS: Final = 32
_SEARCH_LENGTH: Final = 2048
_HOSTNAME_LENGTH: Final = 64


def validate_host_network(pod: PodContext) -> Iterator[FieldError]:
    """Hold the host ports of a pod on the host's network against its container ports."""
    if not pod.spec.flag("hostNetwork"):
        return
    for container in pod.spec.structs("containers"):
        for port in container.structs("ports"):
            host = port.number("hostPort")
            if host and host != port.number("containerPort"):
                words = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(port.at("hostPort"), host, words)


def validate_dns_policy(pod: PodContext) -> Iterator[FieldError]:
    """Hold ``spec.dnsPolicy`` against its rules."""
    policy = pod.spec.text("dnsPolicy")
    if policy and policy not in _DNS_POLICIES:
        yield unsupported(pod.spec.at("dnsPolicy"), policy, _DNS_POLICIES)


def validate_dns_config(pod: PodContext) -> Iterator[FieldError]:
    """Hold ``spec.dnsConfig`` against its rules; the policy None needs it."""
    given = pod.spec.has("dnsConfig")
    config = pod.spec.struct("dnsConfig")
    if pod.spec.text("dnsPolicy") == "None" and not config.content.get("nameservers"):
        if given:
            words = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(config.at("nameservers"), words)
        else:
            yield required(config.path, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    if given:
        yield from _nameservers(config, pod)
        yield from _searches(config)
        for option in config.structs("options"):
            if not option.text("name"):
                yield required(option.path, "must not be empty")


def _nameservers(config: View, pod: PodContext) -> Iterator[FieldError]:
    servers, place = config.texts("nameservers"), config.at("nameservers")
    if len(servers) > _NAMESERVERS:
        yield invalid(place, servers, f"must not have more than {_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        for problem in ip_address(server, pod.rules):
            yield invalid(f"{place}[{index}]", server, problem)


def _searches(config: View) -> Iterator[FieldError]:
    searches, place = config.texts("searches"), config.at("searches")
    if len(searches) > _SEARCH_PATHS:
        yield invalid(place, searches, f"must not have more than {_SEARCH_PATHS} search paths")
    if size(" ".join(searches)) > _SEARCH_LENGTH:
        words = f"must not have more than {_SEARCH_LENGTH} characters (including spaces) in the search list"
        yield invalid(place, searches, words)
    for index, search in enumerate(searches):
        domain = search.removesuffix(".")
        for problem in dns_subdomain_with_underscore(domain) if search != "." else ():
            yield invalid(f"{place}[{index}]", domain, problem)


def validate_hostname_override(pod: PodContext) -> Iterator[FieldError]:
    """Hold ``spec.hostnameOverride`` against its rules."""
    name, place = pod.spec.pointer("hostnameOverride"), pod.spec.at("hostnameOverride")
    if name is None or not pod.rules.on("HostnameOverride"):
        return
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if pod.spec.flag(field):
            yield forbidden(place, f"may not be specified when {field} is true")
    if size(name) > _HOSTNAME_LENGTH:
        yield too_long(place, _HOSTNAME_LENGTH)
    for problem in dns_subdomain(name):
        yield invalid(place, name, problem)


def validate_host_aliases(pod: PodContext) -> Iterator[FieldError]:
    """Hold the entries of ``spec.hostAliases`` against their rules."""
    for alias in pod.spec.structs("hostAliases"):
        address = alias.text("ip")
        for problem in ip_address(address, pod.rules):
            yield invalid(alias.at("ip"), address, problem)
        for index, hostname in enumerate(alias.texts("hostnames")):
            for problem in dns_subdomain(hostname):
                yield invalid(alias.at(f"hostnames[{index}]"), hostname, problem)
