"""Reasons for which a kubelet rejects a pod: what is wrong, and what helps.

The scheduler does not check sysctls, AppArmor, NUMA nodes and CPU cores: another such pod is rejected again.

Source, at v1.36.3: pkg/kubelet/kubelet.go (admissionRejectionReasons), pkg/kubelet/lifecycle/predicate.go,
pkg/kubelet/lifecycle/handlers.go, pkg/kubelet/sysctl, pkg/kubelet/cm/{topologymanager,cpumanager}.
"""

from __future__ import annotations

from typing import Final

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
