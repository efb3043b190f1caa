"""Every rule that manifests are held against: how grave it is and where Kubernetes says so.

    error     the API server refuses the object, or the pods that it makes
    warning   taken, and harmful by what Kubernetes does next
    notice    taken, and perhaps not what was meant

Sources are paths in k8s.io/kubernetes at v1.36.3.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

__all__ = ["RULES", "Level", "Rule"]


class Level(Enum):
    """How grave a finding is, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return list(Level).index(self)


class Rule(Struct, frozen=True):
    """One rule."""

    name: str
    level: Level
    source: str


_VALIDATION: Final = "pkg/apis/core/validation/validation.go"
_PRIORITY: Final = "plugin/pkg/admission/priority/admission.go"
_SPREAD: Final = "pkg/scheduler/framework/plugins/podtopologyspread"
_QOS: Final = "pkg/apis/core/v1/helper/qos/qos.go"
_DEFAULTS: Final = "pkg/apis/core/v1/defaults.go"
_EVICTION: Final = "pkg/registry/core/pod/storage/eviction.go"
_DISRUPTION: Final = "pkg/controller/disruption/disruption.go"

_ALL: Final = (
    Rule("invalid-field", Level.ERROR, "k8s.io/api (the Go types of the field)"),
    Rule("no-containers", Level.ERROR, f"{_VALIDATION} (validateContainers)"),
    Rule("negative-number", Level.ERROR, f"{_VALIDATION} (ValidateNonnegativeField, ValidateNonnegativeQuantity)"),
    Rule("request-over-limit", Level.ERROR, f"{_VALIDATION} (validateResourceRequirements)"),
    Rule("invalid-pod-resources", Level.ERROR, f"{_VALIDATION} (validatePodResourceConsistency)"),
    Rule("invalid-spread", Level.ERROR, f"{_VALIDATION} (validateTopologySpreadConstraints)"),
    Rule("readiness-probe-grace", Level.ERROR, f"{_VALIDATION} (validateReadinessProbe)"),
    Rule("prestop-over-grace", Level.ERROR, f"{_VALIDATION} (validateSleepAction)"),
    Rule("invalid-node-affinity", Level.ERROR, f"{_VALIDATION} (ValidateNodeSelectorRequirement)"),
    Rule("invalid-toleration", Level.ERROR, f"{_VALIDATION} (ValidateTolerations)"),
    Rule("priority-differs", Level.ERROR, f"{_PRIORITY} (admitPod)"),
    Rule("no-such-system-class", Level.ERROR, f"{_PRIORITY} (admitPod)"),
    Rule("invalid-priority-class", Level.ERROR, "pkg/apis/scheduling/validation/validation.go"),
    Rule("invalid-budget", Level.ERROR, "pkg/apis/policy/validation/validation.go"),
    Rule("invalid-access-modes", Level.ERROR, f"{_VALIDATION} (ValidatePersistentVolumeClaimSpec)"),
    Rule("selector-differs", Level.ERROR, "pkg/apis/apps/validation/validation.go"),
    Rule("best-effort", Level.WARNING, f"{_QOS} (ComputePodQOS)"),
    Rule("grace-zero", Level.WARNING, "pkg/registry/core/pod/strategy.go (CheckGracefulDelete)"),
    Rule("prestop-takes-grace", Level.WARNING, "pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)"),
    Rule("several-default-classes", Level.WARNING, f"{_PRIORITY} (validatePriorityClass)"),
    Rule("priority-without-class", Level.WARNING, f"{_PRIORITY} (admitPod)"),
    Rule("spread-misses-own-pod", Level.WARNING, f"{_SPREAD}/filtering.go (selfMatch)"),
    Rule("budget-blocks-drains", Level.WARNING, f"{_DISRUPTION} (getExpectedPodCount)"),
    Rule("two-budgets", Level.WARNING, f"{_EVICTION} (Create)"),
    Rule("rollout-waits-for-claim", Level.WARNING, "pkg/scheduler/framework/plugins/volumerestrictions"),
    Rule("claim-for-one", Level.WARNING, "kubernetes.io/docs: Access Modes; plugins/volumerestrictions"),
    Rule("two-writers", Level.WARNING, "pkg/controller/deployment/rolling.go; pkg/volume/util/util.go"),
    Rule("stays-on-silent-node", Level.WARNING, "pkg/controller/tainteviction/taint_eviction.go"),
    Rule("unusable-node-affinity", Level.WARNING, "pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go"),
    Rule("node-name-set", Level.WARNING, "pkg/scheduler/eventhandlers.go (assignedPod)"),
    Rule("almost-guaranteed", Level.NOTICE, f"{_QOS} (ComputePodQOS)"),
    Rule("limit-without-request", Level.NOTICE, f"{_DEFAULTS} (SetDefaults_Pod)"),
    Rule("request-without-limit", Level.NOTICE, "pkg/kubelet/qos/policy.go"),
    Rule("unknown-priority-class", Level.NOTICE, f"{_PRIORITY} (admitPod)"),
    Rule("spread-counts-old-pods", Level.NOTICE, f"{_SPREAD}/common.go; KEP-3243"),
    Rule("spread-is-redundant", Level.NOTICE, f"{_SPREAD}/filtering.go; plugins/interpodaffinity/filtering.go"),
    Rule("budget-selects-nothing", Level.NOTICE, f"{_DISRUPTION} (getPodsForPdb)"),
    Rule("host-port-replicas", Level.NOTICE, "pkg/scheduler/framework/plugins/nodeports"),
    Rule("bare-pod", Level.NOTICE, "staging/src/k8s.io/kubectl/pkg/drain/filters.go (unreplicatedFilter)"),
)

RULES: Final = {rule.name: rule for rule in _ALL}
"""By name, the gravest first."""
