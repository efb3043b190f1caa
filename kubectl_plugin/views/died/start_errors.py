"""Why a container could not start, and why a kubelet rejected a pod: what is wrong, and what helps.

Start errors are recognised by the text of the kubelet or the runtime, rejections by the kubelet's reason.

Source, at v1.36.3: pkg/kubelet/kuberuntime/security_context.go (verifyRunAsNonRoot), pkg/kubelet/kubelet_pods.go
(makeEnvironmentVariables, makeMounts), pkg/kubelet/kubelet.go (admissionRejectionReasons), pkg/kubelet/lifecycle/
predicate.go, pkg/kubelet/lifecycle/handlers.go, pkg/kubelet/sysctl, pkg/kubelet/cm/{topologymanager,cpumanager}; runc
and containerd for other start errors.

The scheduler does not check sysctls, AppArmor, NUMA nodes and CPU cores: another such pod is rejected again.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_MAX_READ: Final = 8_192
"""The most characters that are read from a message, at its end."""
_USER: Final = "or use an image with a numeric USER other than 0"
_OPTIONAL: Final = "or mark the reference optional"
_ROWS: Final = (
    (
        r"runAsNonRoot and image will run as root",
        "runAsNonRoot is set, and its image runs as root",
        f"set runAsUser to a number other than 0, {_USER}",
    ),
    (
        r"image has non-numeric user \(([^)]{1,60})\)",
        'runAsNonRoot is set, and its image names user "{0}", not a number',
        f"set runAsUser to the number of that user, {_USER}",
    ),
    (
        r"runAsUser breaks non-root policy|regarded as root identity",
        "runAsNonRoot is set, and its own user is root",
        "set runAsUser to a number other than 0, or remove runAsNonRoot",
    ),
    (
        r'([Cc]onfig[Mm]ap|[Ss]ecret) "([^"]{1,253})" not found',
        '{0} "{1}" was not found',
        f"create it in the pod's namespace, {_OPTIONAL}",
    ),
    (
        r"couldn't find key (\S{1,253}) in (ConfigMap|Secret) (\S{1,320})",
        "{1} {2} has no key {0}",
        f"add the key, {_OPTIONAL}",
    ),
    (
        r"[sS]ubPath",
        "its subPath could not be prepared",
        "check the path in the volume, and that it can be created there",
    ),
    (
        r"memory(\.limit_in_bytes|\.max): device or resource busy|[Mm]inimum memory limit allowed",
        "its memory limit is too small for the runtime",
        "raise its memory limit{limit}: the runtime needs some MiB to start a container",
    ),
    (
        r"apparmor failed to apply profile|attr/(?:apparmor/)?exec: no such file",
        "its AppArmor profile is not loaded on the node",
        "load the profile on each node that may get the pod, or change appArmorProfile",
    ),
    (
        r'failed to stat "([^"]{1,500})": no such file or directory',
        'path "{0}" does not exist on the node',
        "create it there, or let hostPath.type create it: DirectoryOrCreate, FileOrCreate",
    ),
    (r"no command specified", "it has no command", "set command in the spec, or use an image with ENTRYPOINT or CMD"),
    (
        r"exec format error",
        "its command is for another processor",
        "use an image for the node's architecture; a script needs a first line such as #!/bin/sh",
    ),
    (
        r'exec: "[^"]{1,500}": permission denied',
        "its command is not executable",
        "make the file executable in the image, or name its interpreter in command",
    ),
    (
        r"mkdir (/[^\s:]{1,300}): not a directory",
        "folder {0} of its workingDir or a mount lies below a file",
        "correct workingDir, or what is mounted in that path",
    ),
    (
        r"no match for platform in manifest",
        "its image has no build for the platform of its node",
        "set nodeSelector kubernetes.io/os (linux or windows) and kubernetes.io/arch to what the image is built for",
    ),
    (
        r"Are you trying to mount a directory onto a file|not a directory",
        "a volume does not fit its mountPath",
        "mount one file with subPath, or a folder at another mountPath",
    ),
    (
        r'executable file not found|exec:? "?[^":]{1,500}"?: (stat .{1,300}: )?no such file or directory',
        "its command, or its interpreter, is not in the image",
        "check that the command exists in the image and is executable",
    ),
    (
        r"no space left on device",
        "a disk of the node is full",
        "free space on the disk where the runtime of the node keeps containers",
    ),
    (
        r"unable to find (?:user|group) ([^\s:]{1,60})",
        'its image has no user "{0}"',
        "use a number in runAsUser, or a user of the image",
    ),
    (r"chdir to cwd", "its workingDir cannot be entered", "correct workingDir, or the permissions of that folder"),
    (
        r"is reserved for|failed to reserve (container|sandbox) name|context deadline exceeded|DeadlineExceeded",
        "the runtime did not create it in time",
        "check the node's runtime, disk and load: an earlier attempt may still be under way",
    ),
)
"""A pattern, what is wrong, and what helps; patterns are compiled when they are first needed."""
_UNSUPPORTED: Final = (
    "it needs a feature that this kubelet does not have",
    "upgrade the node, or keep the pod off such nodes",
)
_LABELS: Final = "compare the labels of {node} (kubectl get node --show-labels) with its nodeSelector and node affinity"
_OTHER_SYSTEM: Final = (
    "its operating system is not that of {node}",
    "set its nodeSelector kubernetes.io/os to the system of its image",
)
_PORTS: Final = ("another pod on {node} uses its host port", "use another hostPort, or spread such pods over nodes")
_SELECTED: Final = ("the labels of {node} do not match its node selector or affinity", _LABELS)
REJECTION_REASONS: Final = {
    "SysctlForbidden": (
        "{node} does not allow a sysctl of the pod",
        "list the sysctl in allowedUnsafeSysctls of the kubelet, or remove it from securityContext.sysctls",
    ),
    "AppArmor": (
        "{node} cannot enforce its AppArmor profile",
        "enable AppArmor and load the profile on each node that may get the pod, or change appArmorProfile",
    ),
    "TopologyAffinityError": (
        "its CPUs and devices do not fit into the NUMA nodes of {node}",
        "request less, or change topologyManagerPolicy of the kubelet: the scheduler does not count NUMA nodes",
    ),
    "SMTAlignmentError": (
        "it does not request whole physical CPU cores",
        "request a multiple of the threads of a core: the kubelet sets full-pcpus-only",
    ),
    "PodLevelResourcesNotSupported": _UNSUPPORTED,
    "PodFeatureUnsupported": _UNSUPPORTED,
    "InitContainerRestartPolicyForbidden": _UNSUPPORTED,
    "SupplementalGroupsPolicyNotSupported": (
        "the runtime of {node} does not support supplementalGroupsPolicy Strict",
        "upgrade the container runtime, or set the policy to Merge",
    ),
    "PodOSNotSupported": _OTHER_SYSTEM,
    "PodOSSelectorNodeLabelDoesNotMatch": _OTHER_SYSTEM,
    "NodeAffinity": _SELECTED,
    "MatchNodeSelector": _SELECTED,
    "NodePorts": _PORTS,
    "PodFitsHostPorts": _PORTS,
}
"""What is wrong and what helps, by the kubelet's reason."""


class StartError(NamedTuple):
    """The meaning of a message, and what helps."""

    what: str
    remedy: str


def start_error(message: str) -> StartError | None:
    """The error that a message shows; None if no pattern matches."""
    text = message[-_MAX_READ:]
    for pattern, what, remedy in _ROWS:
        if found := re.search(pattern, text):
            return StartError(what.format(*found.groups()), remedy)
    return None
