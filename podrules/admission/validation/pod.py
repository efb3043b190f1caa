"""How the API server validates a Pod and a pod template: their spec, its names, DNS and hosts file.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidatePodCreate,
validatePodMetadataAndSpec, ValidatePodTemplateSpec, ValidatePodSpec, validatePodHostNetworkDeps, validateDNSPolicy,
validatePodDNSConfig, validatePodHostName, ValidateHostAliases); pkg/apis/core/v1/defaults.go (defaultHostNetworkPorts).
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
    malformed,
    required,
    too_long,
    validate_enum,
    validate_format,
    validate_required,
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
    if not pod.spec.text("serviceAccountName") and not pod.spec.text("serviceAccount"):
        for volume in kept_volumes(pod.spec, rules):
            for source in volume.struct("projected").structs("sources"):
                if source.has("serviceAccountToken"):
                    words = "must not be specified when serviceAccountName is not set"
                    yield forbidden(source.at("serviceAccountToken"), words)
    for name in ("containers", "initContainers"):
        for container in pod.spec.structs(name):
            image = container.text("image")
            if is_padded(image):
                yield invalid(container.at("image"), image, "must not have leading or trailing whitespace")
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


_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_INT32: Final = 2**31 - 1
_NAMESERVERS: Final = 3
_SEARCH_PATHS: Final = 32
_SEARCH_LENGTH: Final = 2048
_HOSTNAME_LENGTH: Final = 64


def validate_pod_spec(pod: PodContext) -> Iterator[FieldError]:
    """Hold a spec against every rule that a Pod and a template share, in upstream's order."""
    spec = pod.spec
    yield from validate_volumes(spec, pod.meta, pod.rules)
    yield from _resource_claims(pod)
    yield from validate_containers(pod)
    yield from validate_init_containers(pod)
    yield from validate_ephemeral_containers(pod)
    yield from validate_pod_resources(pod)
    for container in spec.structs("containers") if spec.flag("hostNetwork") else ():
        for port in container.structs("ports"):
            host = port.number("hostPort")
            if host and host != port.number("containerPort"):
                yield invalid(port.at("hostPort"), host, "must match `containerPort` when `hostNetwork` is true")
    yield from validate_enum(spec, "restartPolicy", _RESTART_POLICIES, "Always")
    yield from validate_enum(spec, "dnsPolicy", _DNS_POLICIES, "ClusterFirst")
    yield from validate_labels(spec.texts_by_key("nodeSelector"), spec.at("nodeSelector"), pod.rules)
    yield from validate_pod_security_context(pod)
    yield from validate_affinity(pod)
    yield from _dns_config(pod)
    yield from _gates(pod)
    yield from validate_topology_spread_constraints(pod)
    yield from validate_windows_host_process(pod)
    yield from validate_host_users(pod)
    yield from _names(pod)
    yield from validate_tolerations(spec, pod.rules)
    for alias in spec.structs("hostAliases"):
        address = alias.text("ip")
        yield from malformed(alias.at("ip"), address, ip_address(address, pod.rules))
        for index, hostname in enumerate(alias.texts("hostnames")):
            yield from malformed(alias.at(f"hostnames[{index}]"), hostname, dns_subdomain(hostname))
    yield from validate_format(spec, "priorityClassName", dns_subdomain)
    runtime_class = spec.pointer("runtimeClassName")
    if runtime_class is not None:
        yield from malformed(spec.at("runtimeClassName"), runtime_class, dns_subdomain(runtime_class))
    yield from validate_preemption_policy(spec)
    yield from validate_overhead(pod)
    yield from validate_os(pod)
    yield from validate_file_key_volumes(spec, pod.rules)


def _resource_claims(pod: PodContext) -> Iterator[FieldError]:
    fields = ("resourceClaimName", "resourceClaimTemplateName")
    seen: set[str] = set()
    for claim in pod.spec.structs("resourceClaims"):
        if pod.is_pod and CONFIG_MIRROR in pod.meta.texts_by_key("annotations"):
            yield forbidden("[]", "static pods do not support resource claims")
            continue
        name = claim.text("name")
        yield from validate_required(claim, "name")
        if name in seen:
            yield duplicate(claim.at("name"), name)
        elif name:
            yield from malformed(claim.at("name"), name, dns_label(name))
            seen.add(name)
        given = {field: claim.text(field) for field in fields if claim.has(field)}
        if len(given) != 1:
            words = "at most one of `{}` or `{}` may be specified" if given else "must specify one of: `{}`, `{}`"
            shown = {"Name": name} | {field[0].upper() + field[1:]: claim.pointer(field) for field in fields}
            yield FieldError(claim.path, f"Invalid value: {go_json(shown)}: {words.format(*fields)}")
        for field, named in given.items():
            yield from malformed(claim.at(field), named, dns_subdomain(named))


def _gates(pod: PodContext) -> Iterator[FieldError]:
    for gate in pod.spec.structs("readinessGates"):
        kind = gate.text("conditionType")
        yield from malformed(gate.at("conditionType"), kind, qualified_name(kind, pod.rules))
    seen: set[str] = set()
    for gate in pod.spec.structs("schedulingGates"):
        name = gate.text("name")
        yield from malformed(gate.path, name, qualified_name(name, pod.rules))
        if name in seen:
            yield duplicate(gate.path, name)
        seen.add(name)


def _names(pod: PodContext) -> Iterator[FieldError]:
    spec = pod.spec
    override, place = spec.pointer("hostnameOverride"), spec.at("hostnameOverride")
    if override is not None and pod.rules.on("HostnameOverride"):
        for field in ("setHostnameAsFQDN", "hostNetwork"):
            if spec.flag(field):
                yield forbidden(place, f"may not be specified when {field} is true")
        if size(override) > _HOSTNAME_LENGTH:
            yield too_long(place, _HOSTNAME_LENGTH)
        yield from malformed(place, override, dns_subdomain(override))
    account = spec.text("serviceAccountName") or spec.text("serviceAccount")
    yield from malformed(spec.at("serviceAccountName"), account, dns_subdomain(account) if account else ())
    yield from validate_format(spec, "nodeName", dns_subdomain)
    deadline = spec.number("activeDeadlineSeconds")
    if deadline is not None:
        yield from malformed(spec.at("activeDeadlineSeconds"), deadline, in_range(deadline, 1, _MAX_INT32))
    yield from validate_format(spec, "hostname", dns_label)
    yield from validate_format(spec, "subdomain", dns_label)


def _dns_config(pod: PodContext) -> Iterator[FieldError]:
    """Hold ``spec.dnsConfig`` against its rules; the policy None needs it."""
    config = pod.spec.struct("dnsConfig")
    servers, searches = config.texts("nameservers"), config.texts("searches")
    if pod.spec.text("dnsPolicy") == "None" and not servers:
        if pod.spec.has("dnsConfig"):
            words = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(config.at("nameservers"), words)
        else:
            yield required(config.path, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    place = config.at("nameservers")
    if len(servers) > _NAMESERVERS:
        yield invalid(place, servers, f"must not have more than {_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from malformed(f"{place}[{index}]", server, ip_address(server, pod.rules))
    place = config.at("searches")
    if len(searches) > _SEARCH_PATHS:
        yield invalid(place, searches, f"must not have more than {_SEARCH_PATHS} search paths")
    if size(" ".join(searches)) > _SEARCH_LENGTH:
        words = f"must not have more than {_SEARCH_LENGTH} characters (including spaces) in the search list"
        yield invalid(place, searches, words)
    for index, search in enumerate(searches):
        domain = search.removesuffix(".")
        problems = () if search == "." else dns_subdomain_with_underscore(domain)
        yield from malformed(f"{place}[{index}]", domain, problems)
    for option in config.structs("options"):
        if not option.text("name"):
            yield required(option.path, "must not be empty")
