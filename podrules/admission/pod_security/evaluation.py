"""Evaluate a pod against a level in a version: the checks of that version, and their results.

A version newer than the API server has the server's checks.

Source: policy/registry.go, policy/checks.go and the versions of policy/check_*.go of k8s.io/pod-security-admission at
v0.37.1. Older modules are the same up to their version, without newer checks: v0.34.4, v0.35.4, v0.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from podrules.admission.pod_security.baseline import (
    app_armor_profile,
    capabilities,
    host_namespaces,
    host_path_volumes,
    host_ports,
    host_probes_and_lifecycle,
    privileged,
    proc_mount,
    se_linux_options,
    seccomp_annotations,
    seccomp_profile,
    sysctls,
    windows_host_process,
)
from podrules.admission.pod_security.pods import Check, SecuredPod, Violation
from podrules.admission.pod_security.policy import LevelVersion, PolicyLevel
from podrules.admission.pod_security.restricted import (
    allow_privilege_escalation,
    restricted_capabilities,
    restricted_seccomp_profile,
    restricted_volumes,
    run_as_non_root,
    run_as_user,
)


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


def _unless(exempt: Callable[[SecuredPod], bool], check: Check) -> Check:
    return lambda pod: None if exempt(pod) else check(pod)


def _own_users(pod: SecuredPod) -> bool:
    return pod.has_own_users


def _windows(pod: SecuredPod) -> bool:
    return pod.is_windows


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

_BASELINE: Final[Mapping[str, Mapping[int, Check]]] = {
    "appArmorProfile": {0: app_armor_profile},
    "capabilities_baseline": {0: capabilities},
    "hostNamespaces": {0: host_namespaces},
    "hostPathVolumes": {0: host_path_volumes},
    "hostPorts": {0: host_ports},
    "hostProbesAndHostLifecycle": {34: host_probes_and_lifecycle},
    "privileged": {0: privileged},
    "procMount": {0: proc_mount, 35: _unless(_own_users, proc_mount)},
    "seLinuxOptions": {0: se_linux_options(_SE_LINUX_0), 31: se_linux_options(_SE_LINUX_31)},
    "seccompProfile_baseline": {0: seccomp_annotations, 19: seccomp_profile},
    "sysctls": {
        0: sysctls(_SYSCTLS_0),
        27: sysctls(_SYSCTLS_27),
        29: sysctls(_SYSCTLS_29),
        32: sysctls(_SYSCTLS_32),
        37: sysctls(_SYSCTLS_37),
    },
    "windowsHostProcess": {0: windows_host_process},
}
"""Each check by its name, in upstream's order, by the first minor version of each form."""
_RESTRICTED: Final[Mapping[str, Mapping[int, Check]]] = {
    "allowPrivilegeEscalation": {
        8: allow_privilege_escalation,
        25: _unless(_windows, allow_privilege_escalation),
    },
    "capabilities_restricted": {
        22: restricted_capabilities,
        25: _unless(_windows, restricted_capabilities),
    },
    "procMount_restricted": {35: proc_mount},
    "restrictedVolumes": {0: restricted_volumes},
    "runAsNonRoot": {0: run_as_non_root, 35: _unless(_own_users, run_as_non_root)},
    "runAsUser": {23: run_as_user, 35: _unless(_own_users, run_as_user)},
    "seccompProfile_restricted": {
        19: restricted_seccomp_profile,
        25: _unless(_windows, restricted_seccomp_profile),
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
