"""How the API server validates the operating system that a pod names, what Windows accepts, and its host processes.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (validateOS, validateLinux,
validateWindows, validateWindowsSecurityContextOptions, validateWindowsHostProcessPod).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from podrules.admission.validation.errors import TypedText, forbidden, invalid, required, unsupported
from podrules.admission.validation.formats import dns_subdomain, size
from podrules.admission.validation.view import PodContext, View
from podrules.api.model.field_error import FieldError

_SYSTEMS: Final = ("linux", "windows")
_HOST: Final = ("hostUsers", "hostPID", "hostIPC")
_CONTEXT_FIRST: Final = ("securityContext.appArmorProfile", "securityContext.seLinuxOptions")
_CONTEXT_NEXT: Final = (
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
)
_CONTEXT_LAST: Final = (
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)
_NOT_ON_WINDOWS: Final = (*_CONTEXT_FIRST, *_CONTEXT_NEXT, *_CONTEXT_LAST, *_HOST, "shareProcessNamespace")
_NOT_ON_WINDOWS_BEFORE: Final = (*_CONTEXT_FIRST, *_HOST, *_CONTEXT_NEXT, "shareProcessNamespace", *_CONTEXT_LAST)
_HOST_FIELDS_APART_SINCE: Final = 37
"""Before it upstream kept the fields of the host's namespaces in the security context."""
_NOT_IN_WINDOWS_CONTAINERS: Final = (
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "securityContext.seccompProfile",
    "securityContext.capabilities",
    "securityContext.readOnlyRootFilesystem",
    "securityContext.privileged",
    "securityContext.allowPrivilegeEscalation",
    "securityContext.procMount",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
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
                place = holder.at("securityContext.windowsOptions")
                if holder.struct("securityContext").has("windowsOptions"):
                    yield forbidden(place, "windows options cannot be set for a linux pod")
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
        parent, _, name = field.rpartition(".")
        value = (context if parent else holder).content.get(name)
        if value if name in _EMPTY_IS_ABSENT else value is not None:
            yield forbidden(holder.at(field), "cannot be set for a windows pod")


def validate_windows_options(context: View) -> Iterator[FieldError]:
    """Hold the ``windowsOptions`` of a security context against their rules."""
    if not context.has("windowsOptions"):
        return
    options = context.struct("windowsOptions")
    spec_name, spec = options.pointer("gmsaCredentialSpecName"), options.pointer("gmsaCredentialSpec")
    for problem in dns_subdomain(spec_name) if spec_name is not None else ():
        yield invalid(options.at("gmsaCredentialSpecName"), TypedText(spec_name), problem)
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
        yield from _user_part_problems(user)


def _user_part_problems(user: str) -> Iterator[str]:
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
