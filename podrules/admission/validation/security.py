"""How the API server validates the security contexts of pods and containers, and a pod in a user namespace.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidateSecurityContext,
validatePodSpecSecurityContext, validateSysctls, validateShareProcessNamespace, validateHostUsers);
node/util/sysctl of k8s.io/component-helpers at v0.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import duplicate, forbidden, invalid, required, validate_word
from podrules.admission.validation.formats import in_range, size
from podrules.admission.validation.operating_system import validate_windows_options
from podrules.admission.validation.profiles import (
    APP_ARMOR_CONTAINER,
    app_armor_of_annotation,
    shown_profile,
    validate_app_armor_profile,
    validate_seccomp_profile,
)
from podrules.admission.validation.view import PodContext, View
from podrules.api.model.field_error import FieldError

_MAX_ID: Final = 2**31 - 1
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_FS_GROUP_POLICIES: Final = ("Always", "OnRootMismatch")
_SUPPLEMENTAL_GROUPS_POLICIES: Final = ("Merge", "Strict")
_SELINUX_POLICIES: Final = ("MountOption", "Recursive")
_SELINUX_POLICIES_WITHOUT_MOUNT: Final = ("Recursive",)
_SHARED_PROCESSES_APART_SINCE: Final = 37
"""Before it upstream kept shareProcessNamespace in the security context, and names it there."""
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_SYSCTL_LENGTH: Final = 253
_IPC_SYSCTLS: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)
_SWAPPED_SEPARATORS: Final = str.maketrans("./", "/.")
_GO_NAMES: Final = {
    "seLinuxOptions": "SELinuxOptions",
    "gmsaCredentialSpecName": "GMSACredentialSpecName",
    "gmsaCredentialSpec": "GMSACredentialSpec",
}
_SHOWN: Final[Mapping[str, Any]] = {
    "capabilities": {"add": None, "drop": None},
    "privileged": None,
    "seLinuxOptions": {"user": "", "role": "", "type": "", "level": ""},
    "windowsOptions": dict.fromkeys(("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName", "hostProcess")),
    "runAsUser": None,
    "runAsGroup": None,
    "runAsNonRoot": None,
    "readOnlyRootFilesystem": None,
    "allowPrivilegeEscalation": None,
    "procMount": None,
    "seccompProfile": {"type": "", "localhostProfile": None},
    "appArmorProfile": {"type": "", "localhostProfile": None},
}
"""The fields of a container's security context in Go's order, each with what it is where it is absent."""


def validate_security_context(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Hold a container's security context against its rules, where privileged containers are allowed."""
    if not container.has("securityContext"):
        return
    context = container.struct("securityContext")
    yield from _ids(context, "runAsUser", "runAsGroup")
    mount = context.pointer("procMount")
    yield from validate_word(context, "procMount", _PROC_MOUNTS)
    if mount == "Unmasked" and pod.host_users:
        yield invalid(context.at("procMount"), mount, "`hostUsers` must be false to use `Unmasked`")
    yield from validate_seccomp_profile(context)
    if context.flag("allowPrivilegeEscalation") is False:
        yield from _escalation(container, context, pod)
    yield from validate_windows_options(context)
    yield from validate_app_armor_profile(context)


def _escalation(container: View, context: View, pod: PodContext) -> Iterator[FieldError]:
    raising = ["`privileged` to true"] if context.flag("privileged") else []
    added = context.struct("capabilities").texts("add")
    raising.extend("`capabilities.Add` CAP_SYS_ADMIN" for one in added if one == "CAP_SYS_ADMIN")
    for one in raising:
        shown = _as_go(context.content, _SHOWN) | _copied_app_armor(container, context, pod)
        yield invalid(context.path, shown, f"cannot set `allowPrivilegeEscalation` to false and {one}")


def _as_go(content: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A struct as Go's json.Marshal sees it."""
    return {
        _GO_NAMES.get(name, name[0].upper() + name[1:]): _go_value(content.get(name), fields[name]) for name in fields
    }


def _go_value(value: Any, absent: Any) -> Any:
    if isinstance(absent, dict):
        return None if value is None else _as_go(value, absent)
    if isinstance(value, list):
        return [entry or "" for entry in value]
    if isinstance(value, float):
        return int(value)
    return absent if value is None else value


def _copied_app_armor(container: View, context: View, pod: PodContext) -> dict[str, Any]:
    """The AppArmor profile that a Pod's container without one takes from an annotation, if it is not the pod's."""
    annotation = pod.meta.texts_by_key("annotations").get(APP_ARMOR_CONTAINER + container.text("name"))
    if annotation is None or context.has("appArmorProfile") or not pod.is_pod or pod.os == "windows":
        return {}
    copied, shared = app_armor_of_annotation(annotation), pod.spec.struct("securityContext")
    same = shared.has("appArmorProfile") and copied == shown_profile(shared.struct("appArmorProfile"))
    return {} if same else {"AppArmorProfile": copied}


def validate_pod_security_context(pod: PodContext) -> Iterator[FieldError]:
    """Hold ``spec.securityContext`` and ``spec.shareProcessNamespace`` against their rules."""
    context, rules = pod.spec.struct("securityContext"), pod.rules
    if context.content:
        yield from _ids(context, "fsGroup", "runAsUser", "runAsGroup")
        for index, group in enumerate(context.numbers("supplementalGroups")):
            yield from _id(context.at(f"supplementalGroups[{index}]"), group)
    apart = rules.minor >= _SHARED_PROCESSES_APART_SINCE
    if not apart:
        yield from _shared_processes(pod.spec, context)
    if context.content:
        yield from _sysctls(context, pod.spec)
        yield from validate_word(context, "fsGroupChangePolicy", _FS_GROUP_POLICIES)
        yield from validate_seccomp_profile(context)
        yield from validate_windows_options(context)
        yield from validate_app_armor_profile(context)
        yield from validate_word(context, "supplementalGroupsPolicy", _SUPPLEMENTAL_GROUPS_POLICIES)
        known = _SELINUX_POLICIES if rules.on("SELinuxMount") else _SELINUX_POLICIES_WITHOUT_MOUNT
        yield from validate_word(context, "seLinuxChangePolicy", known)
    if apart:
        yield from _shared_processes(pod.spec, pod.spec)


def _ids(context: View, *fields: str) -> Iterator[FieldError]:
    for field in fields:
        number = context.number(field)
        if number is not None:
            yield from _id(context.at(field), number)


def _id(place: str, number: int) -> Iterator[FieldError]:
    for problem in in_range(number, 0, _MAX_ID):
        yield invalid(place, number, problem)


def _shared_processes(spec: View, named: View) -> Iterator[FieldError]:
    if spec.flag("shareProcessNamespace") and spec.flag("hostPID"):
        words = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(named.at("shareProcessNamespace"), True, words)


def _sysctls(context: View, spec: View) -> Iterator[FieldError]:
    seen: set[str] = set()
    for sysctl in context.structs("sysctls"):
        name, place = sysctl.text("name"), sysctl.at("name")
        if not name:
            yield required(place)
        elif size(name) > _SYSCTL_LENGTH or not re.fullmatch(_SYSCTL, name):
            words = f"must have at most {_SYSCTL_LENGTH} characters and match regex {_SYSCTL}"
            yield invalid(place, name, words)
        elif name in seen:
            yield duplicate(place, name)
        host = _host_of_sysctl(name)
        if host and spec.flag(host):
            yield invalid(place, name, f"may not be specified when '{host}' is true")
        seen.add(name)


def _host_of_sysctl(name: str) -> str:
    """The field that lets a pod share what a sysctl sets with the host; empty: none does."""
    first = re.search("[./]", name)
    dotted = name.translate(_SWAPPED_SEPARATORS) if first and first[0] == "/" else name
    known = dotted.partition("*")[0]
    if known in _IPC_SYSCTLS or known.startswith("fs.mqueue."):
        return "hostIPC"
    return "hostNetwork" if known.startswith("net.") else ""


def validate_host_users(pod: PodContext) -> Iterator[FieldError]:
    """Hold a pod with its own user namespace against the host's namespaces and against raw volumes."""
    if pod.host_users:
        return
    spec, words = pod.spec, "when `hostUsers` is false"
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.flag(field):
            yield forbidden(spec.at(shown), words)
    for container in pod.every_container():
        if container.content.get("volumeDevices"):
            yield forbidden(container.at("volumeDevices"), words)
