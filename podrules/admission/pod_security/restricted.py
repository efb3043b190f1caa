"""The checks that the level restricted adds to baseline's, or with which it replaces them.

Source: policy/check_allowPrivilegeEscalation.go, check_capabilities_restricted.go, check_restrictedVolumes.go,
check_runAsNonRoot.go, check_runAsUser.go and check_seccompProfile_restricted.go of k8s.io/pod-security-admission at
v0.37.1; pkg/apis/core/v1/defaults.go (SetDefaults_Volume) of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

from typing import Final

from podrules.admission.pod_security.baseline import seccomp_profile, unallowed_seccomp
from podrules.admission.pod_security.pods import SecuredPod, Violation, containers_that, named, quoted_list, setters
from podrules.admission.validation.view import View

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


def allow_privilege_escalation(pod: SecuredPod) -> Violation | None:
    """Every container sets allowPrivilegeEscalation to false."""
    names = containers_that(pod, lambda context: context.flag("allowPrivilegeEscalation") is not False)
    if not names:
        return None
    detail = f"{named('container', names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


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
    found = [(volume.text("name"), _restricted_source(volume)) for volume in pod.volumes]
    names = [name for name, source in found if source]
    if not names:
        return None
    verb = "uses" if len(names) == 1 else "use"
    sources = sorted({source for _, source in found if source})
    detail = f"{named('volume', names)} {verb} {named('restricted volume type', sources)}"
    return Violation("restricted volume types", detail)


def _restricted_source(volume: View) -> str:
    """The restricted source of a volume; empty: it has none. A volume without a source is an emptyDir."""
    if any(volume.has(source) for source in _ALLOWED_SOURCES):
        return ""
    return next(filter(volume.has, _RESTRICTED_SOURCES), "")


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


def run_as_user(pod: SecuredPod) -> Violation | None:
    """Neither the pod nor a container runs as user 0."""
    who = setters(pod, lambda context: context.number("runAsUser") == 0)
    return Violation("runAsUser=0", f"{' and '.join(who)} must not set runAsUser=0") if who else None


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
