"""Taints and labels that Kubernetes, autoscalers, clouds, networks and device operators write, with their meaning.

A taint outside this table is the cluster's own: its author admits pods with a toleration. For a taint in the table a
toleration is often wrong: it places the pod on a node that will be removed, that is not ready, or that cannot run it.

Source: see each row of the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Final

from msgspec import Struct


class Meaning(Enum):
    """The meaning of a taint for its node."""

    TROUBLE = "Trouble"
    """The node has a problem. Kubernetes sets and removes the taint."""
    STARTING = "Starting"
    """The node is new. The owner of the taint removes it when the owner is ready there."""
    LEAVING = "Leaving"
    """The owner of the taint is about to remove the node."""
    OTHER_OS = "OtherOS"
    """The node runs another operating system."""
    HARDWARE = "Hardware"
    """The node is for pods that use its hardware."""
    RESERVED = "Reserved"
    """The node is for certain pods; others may be admitted."""


class KnownTaint(Struct, frozen=True):
    """A row of the table."""

    taint: str
    """A pattern of ``key`` or ``key=value``."""
    meaning: Meaning
    owner: str
    """The program that will remove the node or has to be ready there; or the pods that the node is for."""
    source: str
    uses: str = ""
    """A pattern of the resources with which pods request the hardware."""


_K8S: Final = "kubernetes.io/docs/reference/labels-annotations-taints"
_CA: Final = "kubernetes/autoscaler cluster-autoscaler/FAQ.md, utils/taints/taints.go"
_KARPENTER: Final = "kubernetes-sigs/karpenter pkg/apis/v1/taints.go"
_NTH: Final = "aws/aws-node-termination-handler pkg/node/node.go"
_GKE: Final = "cloud.google.com/kubernetes-engine/docs"
_AKS: Final = "learn.microsoft.com/azure/aks"

_TAINTS: Final = (
    KnownTaint(
        r"node\.kubernetes\.io/(not-ready|unreachable|network-unavailable|out-of-service|(memory|disk|pid)-pressure)",
        Meaning.TROUBLE,
        "Kubernetes",
        _K8S,
    ),
    KnownTaint(r"node\.cloudprovider\.kubernetes\.io/shutdown", Meaning.TROUBLE, "the cloud controller", _K8S),
    KnownTaint(r"node\.cloudprovider\.kubernetes\.io/uninitialized", Meaning.TROUBLE, "the cloud controller", _K8S),
    KnownTaint(
        r"(medik8s\.io/remediation|remediation\.medik8s\.io/.+)",
        Meaning.TROUBLE,
        "medik8s",
        "medik8s/self-node-remediation docs",
    ),
    KnownTaint(
        r"kubevirt\.io/drain", Meaning.TROUBLE, "KubeVirt", "kubevirt/user-guide docs/cluster_admin/node_maintenance.md"
    ),
    KnownTaint(r"ToBeDeletedByClusterAutoscaler", Meaning.LEAVING, "cluster-autoscaler", _CA),
    KnownTaint(r"DeletionCandidateOfClusterAutoscaler", Meaning.LEAVING, "cluster-autoscaler", _CA),
    KnownTaint(r"karpenter\.sh/(disrupted|disruption)", Meaning.LEAVING, "Karpenter", _KARPENTER),
    KnownTaint(
        r"aws-node-termination-handler/(spot-itn|scheduled-maintenance|asg-lifecycle-termination|rebalance-recommendation)",
        Meaning.LEAVING,
        "AWS",
        _NTH,
    ),
    KnownTaint(
        r"cloud\.google\.com/impending-node-termination", Meaning.LEAVING, "Google Cloud", f"{_GKE}/how-to/gpus"
    ),
    KnownTaint(
        r"remediator\.(kubernetes\.azure|aks\.microsoft)\.com/unschedulable",
        Meaning.LEAVING,
        "AKS",
        f"{_AKS}/node-auto-drain",
    ),
    KnownTaint(
        r"node\.cluster\.x-k8s\.io/outdated-revision",
        Meaning.LEAVING,
        "Cluster API",
        "kubernetes-sigs/cluster-api api/core/v1beta2/machine_types.go",
    ),
    KnownTaint(r"karpenter\.sh/unregistered", Meaning.STARTING, "Karpenter", _KARPENTER),
    KnownTaint(r"node\.cilium\.io/agent-not-ready", Meaning.STARTING, "Cilium's agent", "docs.cilium.io Taint Effects"),
    KnownTaint(r"cni\.istio\.io/not-ready", Meaning.STARTING, "Istio's CNI agent", "istio/istio pilot/pkg/features"),
    KnownTaint(
        r"(?P<owner>[a-z0-9.-]+)/agent-not-ready",
        Meaning.STARTING,
        "the agent of {owner}",
        "CSI drivers of AWS and Azure: kubernetes-sigs/aws-ebs-csi-driver docs/install.md",
    ),
    KnownTaint(
        r"(startup-taint|ignore-taint)\.cluster-autoscaler\.kubernetes\.io/(?P<owner>[\w.-]+)",
        Meaning.STARTING,
        "the owner of its taint {owner}",
        _CA,
    ),
    KnownTaint(
        r"node\.cluster\.x-k8s\.io/uninitialized",
        Meaning.STARTING,
        "Cluster API",
        "kubernetes-sigs/cluster-api api/core/v1beta2/machine_types.go",
    ),
    KnownTaint(
        r"node\.gardener\.cloud/critical-components-not-ready",
        Meaning.STARTING,
        "Gardener's node agent",
        "gardener/gardener docs/usage/advanced/node-readiness.md",
    ),
    KnownTaint(
        r"readiness\.k8s\.io/.+",
        Meaning.STARTING,
        "what node-readiness-controller waits for",
        "kubernetes-sigs/node-readiness-controller",
    ),
    KnownTaint(
        r"(?P<owner>[a-z0-9.-]+)/([\w.-]+[-.])?not-?ready",
        Meaning.STARTING,
        "the agent of {owner}",
        "the key itself: projectcalico.org/not-ready, for example",
    ),
    KnownTaint(
        r"((node\.)?kubernetes\.io/)?os=(?i:win).*",
        Meaning.OTHER_OS,
        "Windows",
        "kubernetes.io/docs/concepts/windows/user-guide",
    ),
    KnownTaint(r"nvidia\.com/gpu", Meaning.HARDWARE, "NVIDIA GPUs", f"{_GKE}/how-to/gpus", r"nvidia\.com/.+"),
    KnownTaint(r"amd\.com/gpu", Meaning.HARDWARE, "AMD GPUs", "ROCm/gpu-operator docs", r"amd\.com/.+"),
    KnownTaint(
        r"gpu\.intel\.com/.+",
        Meaning.HARDWARE,
        "Intel GPUs",
        "intel/intel-device-plugins-for-kubernetes",
        r"gpu\.intel\.com/.+",
    ),
    KnownTaint(r"habana\.ai/gaudi", Meaning.HARDWARE, "Gaudi accelerators", "docs.habana.ai", r"habana\.ai/.+"),
    KnownTaint(r"google\.com/tpu", Meaning.HARDWARE, "TPUs", f"{_GKE}/concepts/tpus", r"google\.com/tpu"),
    KnownTaint(
        r"aws\.amazon\.com/neuron(core|device)?",
        Meaning.HARDWARE,
        "AWS Neuron devices",
        "awsdocs-neuron containers/kubernetes-getting-started",
        r"aws\.amazon\.com/neuron.*",
    ),
    KnownTaint(r"sku=gpu", Meaning.HARDWARE, "GPUs", f"{_AKS}/use-nvidia-gpu", r".+/.*gpu.*"),
    KnownTaint(
        r"eks\.amazonaws\.com/compute-type=fargate",
        Meaning.HARDWARE,
        "a Fargate profile",
        "docs.aws.amazon.com/eks/latest/userguide/fargate.html",
    ),
    KnownTaint(r"node-role\.kubernetes\.io/(control-plane|master)", Meaning.RESERVED, "the control plane", _K8S),
    KnownTaint(r"node-role\.kubernetes\.io/(?P<owner>[\w.-]+)", Meaning.RESERVED, "the role {owner}", _K8S),
    KnownTaint(r"CriticalAddonsOnly", Meaning.RESERVED, "critical add-ons", f"{_AKS}/use-system-pools"),
    KnownTaint(
        r"components\.gke\.io/gke-managed-components",
        Meaning.RESERVED,
        "GKE's own components",
        f"{_GKE}/how-to/isolate-workloads",
    ),
    KnownTaint(r"sandbox\.gke\.io/runtime", Meaning.RESERVED, "pods in a GKE sandbox", f"{_GKE}/how-to/sandbox-pods"),
    KnownTaint(
        r"kubernetes\.azure\.com/scalesetpriority=spot",
        Meaning.RESERVED,
        "pods that may lose their spot node",
        f"{_AKS}/spot-node-pool",
    ),
    KnownTaint(
        r"cloud\.google\.com/gke-(spot|preemptible)",
        Meaning.RESERVED,
        "pods that may lose their spot node",
        f"{_GKE}/concepts/spot-vms",
    ),
    KnownTaint(
        r"kubernetes\.io/arch=(?P<owner>\w+)",
        Meaning.RESERVED,
        "images built for {owner}",
        f"{_GKE}/how-to/prepare-arm-workloads-for-deployment",
    ),
    KnownTaint(
        r"virtual-kubelet\.io/provider",
        Meaning.RESERVED,
        "pods that may run outside a real node",
        f"{_AKS}/virtual-nodes-cli",
    ),
    KnownTaint(
        r"node\.ocs\.openshift\.io/storage",
        Meaning.RESERVED,
        "OpenShift Data Foundation",
        "red-hat-storage/ocs-operator",
    ),
)

_LABELS: Final = {
    r"(nvidia|amd)\.com/(gpu|mig|cuda|vgpu)[./-].*": "NVIDIA/gpu-feature-discovery, ROCm/k8s-device-plugin",
    r"gpu\.intel\.com/.*": "intel/intel-device-plugins-for-kubernetes",
    r"feature\.node\.kubernetes\.io/.*": "kubernetes-sigs/node-feature-discovery",
    r"(beta|node)\.kubernetes\.io/instance-type": _K8S,
    r"(beta\.)?kubernetes\.io/arch": _K8S,
    r"cloud\.google\.com/(gke-|machine-family|compute-class).*": f"{_GKE}/how-to/creating-managing-labels",
    r"k8s\.amazonaws\.com/accelerator": "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
    r"karpenter\.k8s\.aws/.+": "aws/karpenter-provider-aws pkg/apis/v1/labels.go",
    r"karpenter\.azure\.com/.+": "Azure/karpenter-provider-azure pkg/apis/v1beta1/labels.go",
    r"karpenter\.sh/(nodepool|capacity-type|provisioner-name)": "kubernetes-sigs/karpenter pkg/apis/v1/labels.go",
    r"eks\.amazonaws\.com/(nodegroup|capacityType|compute-type|instance-.+)": "docs.aws.amazon.com/eks",
    r"kubernetes\.azure\.com/(agentpool|accelerator|mode|node-image-version|os-sku|scalesetpriority|storage.*)": _AKS,
    r"doks\.digitalocean\.com/.+": "docs.digitalocean.com/products/kubernetes",
    r"aws\.amazon\.com/neuron.*": "awsdocs-neuron",
    r"topology\.(?!kubernetes\.io/)[a-z0-9.-]+/.+": "kubernetes-csi.github.io/docs/topology.html",
}
"""Labels that describe the machine or its pool, with sources. Setting one by hand does not change the machine."""


_GO_NAMES: Final = {"x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "aarch64": "arm64"} | {
    name: name for name in ("amd64", "arm64", "linux", "windows")
}
_MAX_TEXT: Final = 512
"""The maximum length of keys and values in the API server."""
_MACHINE: Final = "|".join(_LABELS)
_KEYS: Final = [row.taint.partition("=")[0] for row in _TAINTS]
_PUBLIC: Final = "|".join((_MACHINE, *(key for key in _KEYS if "?P<owner>" not in key)))

SELECTOR_ANNOTATIONS: Final = ("openshift.io/node-selector", "scheduler.alpha.kubernetes.io/node-selector")
"""Annotations of namespaces: those of OpenShift's projects and of plugin PodNodeSelector. Both are ``key=value,…``.

Source: openshift/apiserver-library-go pkg/admission; kubernetes plugin/pkg/admission/podnodeselector at v1.36.3.
"""


def _literal_start(pattern: str) -> str:
    """The common prefix of all texts that a pattern matches."""
    plain = pattern.replace(r"\.", ".")
    end = next((place for place, letter in enumerate(plain) if letter in "()[]{}?*+|\\"), len(plain))
    return plain[: end - 1] if end and plain[end : end + 1] in {"?", "*", "+", "{"} else plain[:end]


@lru_cache(maxsize=1024)
def known_taint(key: str, value: str) -> KnownTaint | None:
    """The row of a taint, with its owner named; None: the cluster's own."""
    text = f"{key}={value}"
    for row in _TAINTS if len(text) <= _MAX_TEXT else ():
        # Compiling all patterns takes longer than all other work of a page.
        if text.startswith(_literal_start(row.taint)) and (found := re.fullmatch(rf"(?:{row.taint})(?:=.*)?", text)):
            return KnownTaint(row.taint, row.meaning, row.owner.format(**found.groupdict()), row.source, row.uses)
    return None


def uses_hardware(known: KnownTaint, resources: Iterable[str]) -> bool:
    """Whether one of these resources belongs to the node's hardware."""
    return bool(known.uses) and any(re.fullmatch(known.uses, resource[:_MAX_TEXT]) for resource in resources)


@lru_cache(maxsize=1024)
def is_of_the_machine(label: str) -> bool:
    """Whether a label describes the machine or its pool, so that only another node can have another value."""
    return re.fullmatch(_MACHINE, label[:_MAX_TEXT]) is not None


def meant_value(label: str, value: str) -> str:
    """The value that a kubelet writes instead of ``x86_64`` or ``Linux``, from Go; empty: it may write the value."""
    meant = _GO_NAMES.get(value.lower(), "")
    return meant if meant != value and re.fullmatch(r"(beta\.)?kubernetes\.io/(arch|os)", label) else ""


def is_public_key(key: str) -> bool:
    """Whether a key of a taint or label is in this table and contains no name of the cluster's own."""
    return len(key) <= _MAX_TEXT and re.fullmatch(_PUBLIC, key) is not None
