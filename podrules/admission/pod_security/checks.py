"""The checks of Pod Security's levels, their versions, and the sentences of a rejection or a warning.

Baseline prevents known privilege escalations; restricted adds checks, or replaces those of baseline. A version newer
than the API server has the server's checks.

Source: of k8s.io/pod-security-admission at v0.37.1 policy/check_*.go, policy/registry.go, policy/checks.go and
admission/admission.go (EvaluatePod); older modules are the same up to their version, without newer checks: v0.34.4,
v0.35.4, v0.36.3. pkg/apis/core/v1/defaults.go (SetDefaults_Volume) of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from podrules.admission.pod_security.pods import (
    Check,
    SecuredPod,
    Violation,
    bad_types,
    containers_that,
    named,
    plural,
    quoted_list,
    setters,
)
from podrules.admission.pod_security.policy import LevelVersion, Policy, PolicyLevel
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
_ALL: Final = "ALL"
_BIND: Final = "NET_BIND_SERVICE"
_ALLOWED_SOURCES: Final = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
_RESTRICTED_SOURCES: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
)
_SE_LINUX_0: Final = frozenset({"container_t", "container_init_t", "container_kvm_t"})
_SE_LINUX_31: Final = _SE_LINUX_0 | {"container_engine_t"}
_SYSCTLS_0: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    }
)
_SYSCTLS_27: Final = _SYSCTLS_0 | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29: Final = _SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_32: Final = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
_SYSCTLS_37: Final = _SYSCTLS_32 | {"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"}


def _containers_check(reason: str, bad: Callable[[View], bool], words: str) -> Check:
    """A check that forbids something in the security context of containers."""

    def check(pod: SecuredPod) -> Violation | None:
        names = containers_that(pod, bad)
        return Violation(reason, f"{named('container', names)} {words}") if names else None

    return check


def _contexts_check(reason: str, bad: Callable[[View], bool], words: str) -> Check:
    """A check that forbids something in the security context of the pod and of containers."""

    def check(pod: SecuredPod) -> Violation | None:
        who = setters(pod, bad)
        return Violation(reason, f"{' and '.join(who)} {words}") if who else None

    return check


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
    hosts: dict[str, set[str]] = {}
    for container in pod.containers:
        lifecycle = container.content.struct("lifecycle")
        handlers = [container.content.struct(probe) for probe in _PROBES]
        handlers += [lifecycle.struct(name) for name in _HANDLERS]
        found = {handler.struct(action).text("host") for handler in handlers for action in _ACTIONS} - {""}
        if found:
            hosts.setdefault(container.name, set()).update(found)
    if not hosts:
        return None
    reason = "probe or lifecycle host"
    return Violation(reason, f"{_use(sorted(hosts))} {named(reason, sorted(set().union(*hosts.values())))}")


_privileged = _containers_check(
    "privileged", lambda context: bool(context.flag("privileged")), "must not set securityContext.privileged=true"
)


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


_windows_host_process = _contexts_check(
    "hostProcess",
    lambda context: bool(context.struct("windowsOptions").flag("hostProcess")),
    "must not set securityContext.windowsOptions.hostProcess=true",
)


def _has_other_type(context: View, field: str, allowed: Collection[str]) -> bool:
    return context.has(field) and context.struct(field).text("type") not in allowed


def _use(names: list[str]) -> str:
    return f"{named('container', names)} {'uses' if len(names) == 1 else 'use'}"


_allow_privilege_escalation = _containers_check(
    "allowPrivilegeEscalation != false",
    lambda context: context.flag("allowPrivilegeEscalation") is not False,
    "must set securityContext.allowPrivilegeEscalation=false",
)


def restricted_capabilities(pod: SecuredPod) -> Violation | None:
    """Every container drops all capabilities, and adds only the one for low ports."""

    def added(context: View) -> set[str]:
        return set(context.struct("capabilities").texts("add")) - {_BIND}

    keeping = containers_that(pod, lambda context: _ALL not in context.struct("capabilities").texts("drop"))
    adding = containers_that(pod, lambda context: bool(added(context)))
    words = []
    if keeping:
        words.append(f'{named("container", keeping)} must set securityContext.capabilities.drop=["{_ALL}"]')
    if adding:
        extra = quoted_list(sorted(set().union(*(added(container.context) for container in pod.containers))))
        words.append(f"{named('container', adding)} must not include {extra} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(words)) if words else None


def restricted_volumes(pod: SecuredPod) -> Violation | None:
    """Only volumes with content from the cluster."""
    # A volume without a source is an emptyDir.
    restricted = [volume for volume in pod.volumes if not any(map(volume.has, _ALLOWED_SOURCES))]
    found = [(volume.text("name"), next(filter(volume.has, _RESTRICTED_SOURCES), "")) for volume in restricted]
    names = [name for name, source in found if source]
    if not names:
        return None
    verb = "uses" if len(names) == 1 else "use"
    sources = sorted({source for _, source in found if source})
    detail = f"{named('volume', names)} {verb} {named('restricted volume type', sources)}"
    return Violation("restricted volume types", detail)


def run_as_non_root(pod: SecuredPod) -> Violation | None:
    """The pod, or every container, sets runAsNonRoot."""
    reason = "runAsNonRoot != true"
    who = setters(pod, lambda context: context.flag("runAsNonRoot") is False)
    if who:
        return Violation(reason, f"{' and '.join(who)} must not set securityContext.runAsNonRoot=false")
    if pod.context.flag("runAsNonRoot"):
        return None
    silent = containers_that(pod, lambda context: not context.has("runAsNonRoot"))
    if not silent:
        return None
    return Violation(reason, f"pod or {named('container', silent)} must set securityContext.runAsNonRoot=true")


_run_as_user = _contexts_check(
    "runAsUser=0", lambda context: context.number("runAsUser") == 0, "must not set runAsUser=0"
)


def restricted_seccomp_profile(pod: SecuredPod) -> Violation | None:
    """The pod, or every container, has an allowed seccomp profile."""
    found = seccomp_profile(pod)
    if found or (pod.context.has("seccompProfile") and not unallowed_seccomp(pod.context)):
        return found
    silent = containers_that(pod, lambda context: not context.has("seccompProfile"))
    if not silent:
        return None
    words = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {named('container', silent)} {words}")


class Evaluation(Struct, frozen=True):
    """The result of the checks of a level."""

    violations: tuple[Violation, ...] = ()
    """The violations of baseline first, in the order of their names."""

    @property
    def allowed(self) -> bool:
        """Whether there are no violations."""
        return not self.violations

    @property
    def reason(self) -> str:
        """Why the pod is forbidden, in short."""
        return ", ".join(found.reason for found in self.violations)

    @property
    def detail(self) -> str:
        """Why the pod is forbidden, with the fields and containers."""
        return ", ".join(
            f"{found.reason} ({found.detail})" if found.detail else found.reason for found in self.violations
        )


def evaluate(pod: SecuredPod, at: LevelVersion) -> Evaluation:
    """Run the checks of a level and a version on a pod."""
    if at.level == PolicyLevel.PRIVILEGED:
        return Evaluation()
    server = pod.rules.minor
    checks = _checks(at.level, server if at.minor is None else min(at.minor, server))
    return Evaluation(tuple(found for check in checks if (found := check(pod))))


def _unless_own_users(check: Check) -> Check:
    return lambda pod: None if pod.has_own_users else check(pod)


def _unless_windows(check: Check) -> Check:
    return lambda pod: None if pod.is_windows else check(pod)


_BASELINE: Final[Mapping[str, Mapping[int, Check]]] = {
    "appArmorProfile": {0: app_armor_profile},
    "capabilities_baseline": {0: capabilities},
    "hostNamespaces": {0: host_namespaces},
    "hostPathVolumes": {0: host_path_volumes},
    "hostPorts": {0: host_ports},
    "hostProbesAndHostLifecycle": {34: host_probes_and_lifecycle},
    "privileged": {0: _privileged},
    "procMount": {0: proc_mount, 35: _unless_own_users(proc_mount)},
    "seLinuxOptions": {0: se_linux_options(_SE_LINUX_0), 31: se_linux_options(_SE_LINUX_31)},
    "seccompProfile_baseline": {0: seccomp_annotations, 19: seccomp_profile},
    "sysctls": {
        0: sysctls(_SYSCTLS_0),
        27: sysctls(_SYSCTLS_27),
        29: sysctls(_SYSCTLS_29),
        32: sysctls(_SYSCTLS_32),
        37: sysctls(_SYSCTLS_37),
    },
    "windowsHostProcess": {0: _windows_host_process},
}
"""Each check by its name, in upstream's order, by the first minor version of each form."""
_RESTRICTED: Final[Mapping[str, Mapping[int, Check]]] = {
    "allowPrivilegeEscalation": {
        8: _allow_privilege_escalation,
        25: _unless_windows(_allow_privilege_escalation),
    },
    "capabilities_restricted": {
        22: restricted_capabilities,
        25: _unless_windows(restricted_capabilities),
    },
    "procMount_restricted": {35: proc_mount},
    "restrictedVolumes": {0: restricted_volumes},
    "runAsNonRoot": {0: run_as_non_root, 35: _unless_own_users(run_as_non_root)},
    "runAsUser": {23: _run_as_user, 35: _unless_own_users(_run_as_user)},
    "seccompProfile_restricted": {
        19: restricted_seccomp_profile,
        25: _unless_windows(restricted_seccomp_profile),
    },
}
_REPLACES: Final[Mapping[str, str]] = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
"""The checks of baseline that checks of restricted replace."""


@cache
def _checks(level: PolicyLevel, minor: int) -> Sequence[Check]:
    asked = _as_of(_BASELINE, minor)
    if level == PolicyLevel.RESTRICTED:
        added = _as_of(_RESTRICTED, minor)
        replaced = {_REPLACES.get(name) for name in added}
        asked = {name: check for name, check in asked.items() if name not in replaced} | added
    return tuple(asked.values())


def _as_of(checks: Mapping[str, Mapping[int, Check]], minor: int) -> dict[str, Check]:
    found: dict[str, Check] = {}
    for name, versions in checks.items():
        for since, check in versions.items():
            if since <= minor:
                found[name] = check
    return found


def refusal(pod: SecuredPod, policy: Policy) -> str | None:
    """What ``kubectl create`` prints after ``pods "x" is forbidden: ``; None: the pod is accepted, as are templates."""
    found = evaluate(pod, policy.enforce)
    return None if found.allowed or not pod.is_pod else f'violates PodSecurity "{policy.enforce}": {found.detail}'


def warning(pod: SecuredPod, policy: Policy) -> str | None:
    """What ``kubectl create`` prints after ``Warning: ``; None: no warning, also if the pod is rejected."""
    found = evaluate(pod, policy.warn)
    accepted = found.allowed or refusal(pod, policy) is not None
    return None if accepted else f'would violate PodSecurity "{policy.warn}": {found.detail}'
