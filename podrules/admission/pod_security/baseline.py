"""The checks of the level baseline, which prevents known privilege escalations.

Source: policy/check_appArmorProfile.go, check_capabilities_baseline.go, check_hostNamespaces.go,
check_hostPathVolumes.go, check_hostPorts.go, check_hostProbesAndhostLifecycle.go, check_privileged.go,
check_procMount_baseline.go, check_seLinuxOptions.go, check_seccompProfile_baseline.go, check_sysctls.go and
check_windowsHostProcess.go of k8s.io/pod-security-admission at v0.37.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from podrules.admission.pod_security.pods import (
    Check,
    SecuredContainer,
    SecuredPod,
    Violation,
    bad_types,
    containers_that,
    named,
    plural,
    quoted_list,
    setters,
)
from podrules.admission.validation.errors import quoted
from podrules.admission.validation.security import (
    APP_ARMOR_CONTAINER,
    LOCALHOST,
    SECCOMP_CONTAINER,
    SECCOMP_DEFAULTS,
    SECCOMP_POD,
)
from podrules.admission.validation.view import View

_PROFILES: Final = frozenset({"RuntimeDefault", "Localhost"})
_APP_ARMOR_ANNOTATIONS: Final = frozenset({"", "runtime/default"})
_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_NAMESPACES: Final = ("hostNetwork", "hostPID", "hostIPC")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = ("postStart", "preStop")
_ACTIONS: Final = ("httpGet", "tcpSocket")


def app_armor_profile(pod: SecuredPod) -> Violation | None:
    """Only the runtime's AppArmor profile or one of the node, in fields and in annotations."""

    def bad(context: View) -> bool:
        return _has_other_type(context, "appArmorProfile", _PROFILES)

    who, values = setters(pod, bad), list(bad_types(pod, bad, "appArmorProfile"))
    annotations = sorted(
        f"{key}={quoted(value)}"
        for key, value in pod.annotations.items()
        if key.startswith(APP_ARMOR_CONTAINER)
        and value not in _APP_ARMOR_ANNOTATIONS
        and not value.startswith(LOCALHOST)
    )
    if annotations:
        who.append(plural("annotation", len(annotations)))
        values += annotations
    if not who:
        return None
    detail = f"{' and '.join(who)} must not set AppArmor profile type to {quoted_list(values)}"
    return Violation(plural("forbidden AppArmor profile", len(values)), detail)


def capabilities(pod: SecuredPod) -> Violation | None:
    """Only the default capabilities of containers."""

    def added(context: View) -> set[str]:
        return set(context.struct("capabilities").texts("add")) - _CAPABILITIES

    names = containers_that(pod, lambda context: bool(added(context)))
    if not names:
        return None
    extra = sorted(set().union(*(added(container.context) for container in pod.containers)))
    detail = f"{named('container', names)} must not include {quoted_list(extra)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def host_namespaces(pod: SecuredPod) -> Violation | None:
    """No host namespaces."""
    shared = [f"{name}=true" for name in _NAMESPACES if pod.spec.flag(name)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_path_volumes(pod: SecuredPod) -> Violation | None:
    """No hostPath volumes."""
    names = [volume.text("name") for volume in pod.volumes if volume.has("hostPath")]
    return Violation("hostPath volumes", named("volume", names)) if names else None


def host_ports(pod: SecuredPod) -> Violation | None:
    """No host ports."""
    taken = [(container.name, set(container.host_ports())) for container in pod.containers]
    names = [name for name, ports in taken if ports]
    if not names:
        return None
    ports = sorted(str(port) for port in set().union(*(ports for _, ports in taken)))
    return Violation("hostPort", f"{_use(names)} {plural('hostPort', len(ports))} {', '.join(ports)}")


def host_probes_and_lifecycle(pod: SecuredPod) -> Violation | None:
    """No probes and no hooks with another host."""
    asked = [(container.name, set(_hosts(container))) for container in pod.containers]
    names = sorted({name for name, hosts in asked if hosts})
    if not names:
        return None
    hosts = sorted(set().union(*(hosts for _, hosts in asked)))
    reason = "probe or lifecycle host"
    return Violation(reason, f"{_use(names)} {named(reason, hosts)}")


def privileged(pod: SecuredPod) -> Violation | None:
    """No privileged containers."""
    names = containers_that(pod, lambda context: bool(context.flag("privileged")))
    if not names:
        return None
    return Violation("privileged", f"{named('container', names)} must not set securityContext.privileged=true")


def proc_mount(pod: SecuredPod) -> Violation | None:
    """Only the default masked ``/proc``."""

    def other(context: View) -> str | None:
        found = context.pointer("procMount")
        return None if found == "Default" else found

    names = containers_that(pod, lambda context: other(context) is not None)
    if not names:
        return None
    values = sorted({found for container in pod.containers if (found := other(container.context)) is not None})
    detail = f"{named('container', names)} must not set securityContext.procMount to {quoted_list(values)}"
    return Violation("procMount", detail)


def se_linux_options(allowed: Collection[str]) -> Check:
    """No SELinux user and role, and only allowed types or an empty one."""

    def check(pod: SecuredPod) -> Violation | None:
        who = setters(pod, lambda context: bool(_bad_se_linux(context, allowed)))
        if not who:
            return None
        contexts = [pod.context, *(container.context for container in pod.containers)]
        bad = set().union(*(_bad_se_linux(context, allowed) for context in contexts))
        types = sorted(value for field, value in bad if field == "type")
        words = [named("type", types)] if types else []
        words += [f"{name} may not be set" for name in ("user", "role") if any(field == name for field, _ in bad)]
        detail = f"{' and '.join(who)} set forbidden securityContext.seLinuxOptions: {'; '.join(words)}"
        return Violation("seLinuxOptions", detail)

    return check


def _bad_se_linux(context: View, allowed: Collection[str]) -> set[tuple[str, str]]:
    if not context.has("seLinuxOptions"):
        return set()
    options = context.struct("seLinuxOptions")
    found = {(field, options.text(field)) for field in ("type", "user", "role")}
    return {(field, value) for field, value in found if value and (field != "type" or value not in allowed)}


def seccomp_annotations(pod: SecuredPod) -> Violation | None:
    """Only the runtime's seccomp profile or one of the node, in annotations: fields did not exist yet."""
    keys = {SECCOMP_POD, *(SECCOMP_CONTAINER + container.name for container in pod.containers)}
    found = sorted(
        f"{key}={quoted(value)}"
        for key, value in pod.annotations.items()
        if key in keys and value not in SECCOMP_DEFAULTS and not value.startswith(LOCALHOST)
    )
    if not found:
        return None
    return Violation("seccompProfile", f"forbidden {plural('annotation', len(found))} {', '.join(found)}")


def seccomp_profile(pod: SecuredPod) -> Violation | None:
    """Only the runtime's seccomp profile or one of the node."""
    who = setters(pod, unallowed_seccomp)
    if not who:
        return None
    values = quoted_list(bad_types(pod, unallowed_seccomp, "seccompProfile"))
    detail = f"{' and '.join(who)} must not set securityContext.seccompProfile.type to {values}"
    return Violation("seccompProfile", detail)


def unallowed_seccomp(context: View) -> bool:
    """Whether a security context has a seccomp profile that is not allowed."""
    return _has_other_type(context, "seccompProfile", _PROFILES)


def sysctls(allowed: Collection[str]) -> Check:
    """Only allowed kernel settings."""

    def check(pod: SecuredPod) -> Violation | None:
        names = [setting.text("name") for setting in pod.context.structs("sysctls")]
        bad = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(pod: SecuredPod) -> Violation | None:
    """No Windows host processes."""
    who = setters(pod, lambda context: bool(context.struct("windowsOptions").flag("hostProcess")))
    if not who:
        return None
    return Violation("hostProcess", f"{' and '.join(who)} must not set securityContext.windowsOptions.hostProcess=true")


def _has_other_type(context: View, field: str, allowed: Collection[str]) -> bool:
    return context.has(field) and context.struct(field).text("type") not in allowed


def _use(names: list[str]) -> str:
    return f"{named('container', names)} {'uses' if len(names) == 1 else 'use'}"


def _hosts(container: SecuredContainer) -> Iterator[str]:
    """The hosts in a container's probes and hooks."""
    lifecycle = container.content.struct("lifecycle")
    handlers = [container.content.struct(probe) for probe in _PROBES]
    handlers += [lifecycle.struct(name) for name in _HANDLERS]
    for handler in handlers:
        for action in _ACTIONS:
            host = handler.struct(action).text("host")
            if host:
                yield host
