"""How the API server validates a pod's DNS, hosts file, hostname, and ports on the host's network.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (validatePodHostNetworkDeps,
validateDNSPolicy, validatePodDNSConfig, validatePodHostName, ValidateHostAliases); pkg/apis/core/v1/defaults.go
(defaultHostNetworkPorts).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.errors import forbidden, invalid, required, too_long, unsupported
from podrules.admission.validation.formats import dns_subdomain, dns_subdomain_with_underscore, ip_address, size
from podrules.admission.validation.view import PodContext, View
from podrules.api.model.field_error import FieldError

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
