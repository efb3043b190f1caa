"""How the API server validates the security of pods and containers: contexts, profiles, user namespaces, and the OS.

Seccomp and AppArmor profiles are in fields or in old annotations.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidateSecurityContext,
validatePodSpecSecurityContext, validateSysctls, validateShareProcessNamespace, validateHostUsers,
validateSeccompProfileField, ValidateAppArmorProfileField, validateSeccompAnnotationsAndFields,
validateAppArmorAnnotationsAndFieldsMatchOnCreate, validateOS, validateLinux, validateWindows,
validateWindowsSecurityContextOptions, validateWindowsHostProcessPod); pkg/api/pod/util.go (ApparmorFieldForAnnotation)
and pkg/registry/core/pod/strategy.go (applyAppArmorVersionSkew); node/util/sysctl of k8s.io/component-helpers at
v0.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from podrules.admission.validation.errors import (
    TypedText,
    duplicate,
    forbidden,
    invalid,
    malformed,
    required,
    too_long,
    unsupported,
    validate_word,
)
from podrules.admission.validation.formats import dns_subdomain, in_range, is_padded, relative_path, size
from podrules.admission.validation.view import PodContext, View
from podrules.api.model.misfit import FieldError

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
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR_CONTAINER: Final = "container.apparmor.security.beta.kubernetes.io/"
LOCALHOST: Final = "localhost/"
UNCONFINED: Final = "unconfined"
SECCOMP_DEFAULTS: Final = frozenset({"runtime/default", "docker/default"})
_APP_ARMOR_DEFAULTS: Final = frozenset({"runtime/default"})
_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PATH: Final = 4095
_SYSTEMS: Final = ("linux", "windows")
_HOST: Final = ("hostUsers", "hostPID", "hostIPC")
_CONTEXT_FIRST: Final = ("appArmorProfile", "seLinuxOptions")
_CONTEXT_NEXT: Final = ("seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls")
_CONTEXT_LAST: Final = (
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_NOT_ON_WINDOWS: Final = (*_CONTEXT_FIRST, *_CONTEXT_NEXT, *_CONTEXT_LAST, *_HOST, "shareProcessNamespace")
_NOT_ON_WINDOWS_BEFORE: Final = (*_CONTEXT_FIRST, *_HOST, *_CONTEXT_NEXT, "shareProcessNamespace", *_CONTEXT_LAST)
_HOST_FIELDS_APART_SINCE: Final = 37
"""Before it upstream kept the fields of the host's namespaces in the security context."""
_NOT_IN_WINDOWS_CONTAINERS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
_EMPTY_IS_ABSENT: Final = frozenset({"hostPID", "hostIPC", "sysctls"})
_SPEC_KIB: Final = 64
_DOMAIN_LENGTH: Final = 256
_USER_LENGTH: Final = 104
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS: Final = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""")
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_ONLY_DOTS: Final = re.compile("[. ]+")
_NOT_IN_USERS: Final = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""")


def validate_security_context(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Hold a container's security context against its rules, where privileged containers are allowed."""
    context = container.struct("securityContext")
    yield from _ids(context, "runAsUser", "runAsGroup")
    mount = context.pointer("procMount")
    yield from validate_word(context, "procMount", _PROC_MOUNTS)
    if mount == "Unmasked" and pod.host_users:
        yield invalid(context.at("procMount"), mount, "`hostUsers` must be false to use `Unmasked`")
    yield from validate_seccomp_profile(context)
    if context.flag("allowPrivilegeEscalation") is False:
        raising = ["`privileged` to true"] if context.flag("privileged") else []
        added = context.struct("capabilities").texts("add")
        raising.extend("`capabilities.Add` CAP_SYS_ADMIN" for one in added if one == "CAP_SYS_ADMIN")
        for one in raising:
            copied = copied_app_armor(container, pod.spec, pod.meta.texts_by_key("annotations")) if pod.is_pod else None
            shown = _as_go(context.content, _SHOWN) | ({} if copied is None else {"AppArmorProfile": copied})
            yield invalid(context.path, shown, f"cannot set `allowPrivilegeEscalation` to false and {one}")
    yield from validate_windows_options(context)
    yield from validate_app_armor_profile(context)


def _as_go(content: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A struct as Go's json.Marshal sees it."""
    return {
        _GO_NAMES.get(name, name[0].upper() + name[1:]): _go_value(content.get(name), absent)
        for name, absent in fields.items()
    }


def _go_value(value: Any, absent: Any) -> Any:
    if isinstance(absent, dict):
        return None if value is None else _as_go(value, absent)
    if isinstance(value, list):
        return [entry or "" for entry in value]
    if isinstance(value, float):
        return int(value)
    return absent if value is None else value


def validate_pod_security_context(pod: PodContext) -> Iterator[FieldError]:
    """Hold ``spec.securityContext`` and ``spec.shareProcessNamespace`` against their rules."""
    context, rules = pod.spec.struct("securityContext"), pod.rules
    if context.content:
        yield from _ids(context, "fsGroup", "runAsUser", "runAsGroup")
        for index, group in enumerate(context.numbers("supplementalGroups")):
            yield from _id(context.at(f"supplementalGroups[{index}]"), group)
    apart = rules.minor >= _SHARED_PROCESSES_APART_SINCE
    shared = pod.spec.flag("shareProcessNamespace") and pod.spec.flag("hostPID")
    place = (pod.spec if apart else context).at("shareProcessNamespace")
    conflict = [invalid(place, True, "ShareProcessNamespace and HostPID cannot both be enabled")] if shared else []
    if not apart:
        yield from conflict
    if context.content:
        yield from _sysctls(pod.spec, context)
        yield from validate_word(context, "fsGroupChangePolicy", _FS_GROUP_POLICIES)
        yield from validate_seccomp_profile(context)
        yield from validate_windows_options(context)
        yield from validate_app_armor_profile(context)
        yield from validate_word(context, "supplementalGroupsPolicy", _SUPPLEMENTAL_GROUPS_POLICIES)
        known = _SELINUX_POLICIES if rules.on("SELinuxMount") else _SELINUX_POLICIES_WITHOUT_MOUNT
        yield from validate_word(context, "seLinuxChangePolicy", known)
    if apart:
        yield from conflict


def _sysctls(spec: View, context: View) -> Iterator[FieldError]:
    seen: set[str] = set()
    for sysctl in context.structs("sysctls"):
        name, place = sysctl.text("name"), sysctl.at("name")
        if not name:
            yield required(place)
        elif size(name) > _SYSCTL_LENGTH or not re.fullmatch(_SYSCTL, name):
            yield invalid(place, name, f"must have at most {_SYSCTL_LENGTH} characters and match regex {_SYSCTL}")
        elif name in seen:
            yield duplicate(place, name)
        seen.add(name)
        # What a sysctl with slashes sets is found by its name with dots.
        first = re.search("[./]", name)
        dotted = name.translate(_SWAPPED_SEPARATORS) if first and first[0] == "/" else name
        known = dotted.partition("*")[0]
        host = "hostNetwork" if known.startswith("net.") else ""
        if known in _IPC_SYSCTLS or known.startswith("fs.mqueue."):
            host = "hostIPC"
        if host and spec.flag(host):
            yield invalid(place, name, f"may not be specified when '{host}' is true")


def _ids(context: View, *fields: str) -> Iterator[FieldError]:
    for field in fields:
        number = context.number(field)
        if number is not None:
            yield from _id(context.at(field), number)


def _id(place: str, number: int) -> Iterator[FieldError]:
    yield from malformed(place, number, in_range(number, 0, _MAX_ID))


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


def validate_seccomp_profile(context: View) -> Iterator[FieldError]:
    """Hold the ``seccompProfile`` of a security context against its rules."""
    if not context.has("seccompProfile"):
        return
    profile = context.struct("seccompProfile")
    kind, local, place = profile.text("type"), profile.pointer("localhostProfile"), profile.at("localhostProfile")
    if not kind:
        yield required(profile.at("type"), "type is required when seccompProfile is set")
    elif kind not in _TYPES:
        yield unsupported(profile.at("type"), kind, _TYPES)
    if kind != "Localhost":
        if local is not None:
            yield invalid(place, shown_profile(profile), "can only be set when seccomp type is Localhost")
    elif local is None:
        yield required(place, "must be set when seccomp type is Localhost")
    else:
        yield from malformed(place, local, relative_path(local))


def validate_app_armor_profile(context: View) -> Iterator[FieldError]:
    """Hold the ``appArmorProfile`` of a security context against its rules."""
    if not context.has("appArmorProfile"):
        return
    profile = context.struct("appArmorProfile")
    kind, local, place = profile.text("type"), profile.pointer("localhostProfile"), profile.at("localhostProfile")
    if kind == "Localhost":
        yield from _local_app_armor(place, local)
    elif not kind:
        yield required(profile.at("type"), "type is required when appArmorProfile is set")
    elif kind not in _TYPES:
        yield unsupported(profile.at("type"), kind, _TYPES)
    elif local is not None:
        yield invalid(place, TypedText(local), "can only be set when AppArmor type is Localhost")


def _local_app_armor(place: str, name: str | None) -> Iterator[FieldError]:
    if not name:
        yield required(place, "must be set when AppArmor type is Localhost")
        return
    if is_padded(name):
        yield invalid(place, name, "must not be padded with whitespace")
    if size(name) > _LONGEST_PATH:
        yield too_long(place, _LONGEST_PATH)


def shown_profile(profile: View) -> Mapping[str, str | None]:
    """A profile as Go writes it as JSON."""
    return {"Type": profile.text("type"), "LocalhostProfile": profile.pointer("localhostProfile")}


def app_armor_of_annotation(text: str) -> Mapping[str, str | None] | None:
    """The profile that an annotation of a Pod is copied to, as `shown_profile` has it; None where it is malformed."""
    if text == UNCONFINED:
        return {"Type": "Unconfined", "LocalhostProfile": None}
    if text in _APP_ARMOR_DEFAULTS:
        return {"Type": "RuntimeDefault", "LocalhostProfile": None}
    name = text.removeprefix(LOCALHOST)
    if name == text or any(_local_app_armor("", name)):
        return None
    return {"Type": "Localhost", "LocalhostProfile": name}


def copied_app_armor(container: View, spec: View, annotations: Mapping[str, str]) -> Mapping[str, str | None] | None:
    """The profile that a Pod's container without one takes from an annotation; None: none, or the pod has the same."""
    annotation = annotations.get(APP_ARMOR_CONTAINER + container.text("name"))
    own, shared = container.struct("securityContext"), spec.struct("securityContext")
    if annotation is None or own.has("appArmorProfile") or spec.struct("os").text("name") == "windows":
        return None
    copied = app_armor_of_annotation(annotation)
    same = shared.has("appArmorProfile") and copied == shown_profile(shared.struct("appArmorProfile"))
    return None if same else copied


def validate_seccomp_and_apparmor(pod: PodContext) -> Iterator[FieldError]:
    """Compare the profiles in annotations with those in fields."""
    annotations = pod.meta.texts_by_key("annotations")
    if SECCOMP_POD in annotations or any(key.startswith(SECCOMP_CONTAINER) for key in annotations):
        of_containers = [(one, SECCOMP_CONTAINER + one.text("name")) for one in pod.every_container()]
        for holder, key in ((pod.spec, SECCOMP_POD), *of_containers):
            context = holder.struct("securityContext")
            if key in annotations and context.has("seccompProfile"):
                profile = context.struct("seccompProfile")
                for field, what in _differences(profile, annotations[key], SECCOMP_DEFAULTS):
                    yield forbidden(profile.at(field), f"seccomp {what} in annotation and field must match")
    if pod.os != "windows" and any(key.startswith(APP_ARMOR_CONTAINER) for key in annotations):
        shared = pod.spec.struct("securityContext")
        for container in pod.every_container():
            annotation = annotations.get(APP_ARMOR_CONTAINER + container.text("name"))
            own = container.struct("securityContext")
            context = own if own.has("appArmorProfile") else shared
            copied = context is shared and pod.is_pod
            if annotation is None or (copied and app_armor_of_annotation(annotation)):
                continue
            for field, what in _differences(context.struct("appArmorProfile"), annotation, _APP_ARMOR_DEFAULTS):
                place = own.at(f"appArmorProfile.{field}")
                yield forbidden(place, f"apparmor {what} in annotation and field must match")


def _differences(profile: View, annotation: str, defaults: Collection[str]) -> Iterator[tuple[str, str]]:
    """The field in which a profile differs from an annotation, and what it is."""
    match profile.text("type"):
        case "Unconfined":
            differs = annotation != UNCONFINED
        case "RuntimeDefault":
            differs = annotation not in defaults
        case "Localhost":
            differs = not annotation.startswith(LOCALHOST)
            if not differs and profile.pointer("localhostProfile") != annotation.removeprefix(LOCALHOST):
                yield "localhostProfile", "profile"
        case _:
            differs = False
    if differs:
        yield "type", "type"


def validate_os(pod: PodContext) -> Iterator[FieldError]:
    """Hold the pod's operating system against its rules, and the pod's fields against those of the system."""
    spec = pod.spec
    if not spec.has("os"):
        return
    match pod.os:
        case "":
            yield required(spec.at("os.name"))
        case "linux":
            for holder in (spec, *pod.every_container()):
                context = holder.struct("securityContext")
                if context.has("windowsOptions"):
                    yield forbidden(context.at("windowsOptions"), "windows options cannot be set for a linux pod")
        case "windows":
            apart = pod.rules.minor >= _HOST_FIELDS_APART_SINCE
            yield from _not_on_windows(spec, _NOT_ON_WINDOWS if apart else _NOT_ON_WINDOWS_BEFORE)
            for container in pod.every_container():
                yield from _not_on_windows(container, _NOT_IN_WINDOWS_CONTAINERS)
        case other:
            yield unsupported(spec.at("os"), other, _SYSTEMS)


def _not_on_windows(holder: View, fields: Sequence[str]) -> Iterator[FieldError]:
    context = holder.struct("securityContext")
    for field in fields:
        owner = holder if field in (*_HOST, "shareProcessNamespace") else context
        if owner.content.get(field) if field in _EMPTY_IS_ABSENT else owner.has(field):
            yield forbidden(owner.at(field), "cannot be set for a windows pod")


def validate_windows_options(context: View) -> Iterator[FieldError]:
    """Hold the ``windowsOptions`` of a security context against their rules."""
    options = context.struct("windowsOptions")
    spec_name, spec = options.pointer("gmsaCredentialSpecName"), options.pointer("gmsaCredentialSpec")
    yield from malformed(
        options.at("gmsaCredentialSpecName"),
        TypedText(spec_name),
        dns_subdomain(spec_name) if spec_name is not None else (),
    )
    if spec == "":
        yield invalid(options.at("gmsaCredentialSpec"), "", "gmsaCredentialSpec cannot be an empty string")
    elif spec and size(spec) > _SPEC_KIB * 1024:
        words = f"gmsaCredentialSpec size must be under {_SPEC_KIB} KiB"
        yield invalid(options.at("gmsaCredentialSpec"), TypedText(spec), words)
    user = options.pointer("runAsUserName")
    for problem in _user_problems(user) if user is not None else ():
        yield invalid(options.at("runAsUserName"), TypedText(user), f"runAsUserName{problem}")


def _user_problems(name: str) -> Iterator[str]:
    domain, backslash, user = name.rpartition("\\")
    if not name:
        yield " cannot be an empty string"
    elif _CONTROL.search(name):
        yield " cannot contain control characters"
    elif "\\" in domain:
        yield " cannot contain more than one backslash"
    else:
        if size(domain) >= _DOMAIN_LENGTH:
            yield f"'s Domain length must be under {_DOMAIN_LENGTH} characters"
        if backslash and not _NETBIOS.fullmatch(domain) and not _DNS.fullmatch(domain):
            yield "'s Domain doesn't match the NetBios nor the DNS format"
        if not user:
            yield "'s User cannot be empty"
        elif size(user) > _USER_LENGTH:
            yield f"'s User length must not be longer than {_USER_LENGTH} characters"
        if _ONLY_DOTS.fullmatch(user):
            yield "'s User cannot contain only periods or spaces"
        if _NOT_IN_USERS.search(user):
            yield r"""'s User cannot contain the following characters: "/\:;|=,+*?<>@[]"""


def validate_windows_host_process(pod: PodContext) -> Iterator[FieldError]:
    """Hold the pod's host processes of Windows against their rules: all of the containers are, or none."""
    shared = _host_process(pod.spec)
    hosted: set[bool] = set()
    for container in pod.every_container():
        own = _host_process(container)
        if own is not None and shared is not None and own != shared:
            words = f"pod hostProcess value must be identical if both are specified, was {str(shared).lower()}"
            yield invalid(container.at("securityContext.windowsOptions.hostProcess"), own, words)
        hosted.add(bool(shared if own is None else own))
    if True not in hosted:
        return
    if False in hosted:
        words = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(pod.spec.path, "", words)
    if not pod.spec.flag("hostNetwork"):
        words = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid(pod.spec.at("hostNetwork"), False, words)


def _host_process(holder: View) -> bool | None:
    context: dict[str, Any] = holder.content.get("securityContext") or {}
    found: bool | None = (context.get("windowsOptions") or {}).get("hostProcess")
    return found
