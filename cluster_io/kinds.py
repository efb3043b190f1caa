"""The kinds of API objects that the product reads: their API paths, their names on the command line, their models.

The kinds of dynamic resource allocation are in `cluster_io.device_kinds`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import NotFound
from podrules.admission.mutating_webhooks import MutatingPolicy, OurDeployment, WebhookConfiguration
from podrules.api.model.base import KubeObject
from podrules.api.model.event import Event
from podrules.api.model.node import CSINode, Lease, LeaseCandidate, Node, NodeMetrics, PodMetrics
from podrules.api.model.pod import Pod
from podrules.api.model.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass
from podrules.api.model.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from podrules.api.model.workload import ConfigMap, CronJob, ReplicationController, Service, Workload
from podrules.api.names import is_plain_name

T_co = TypeVar("T_co", bound=KubeObject, covariant=True)


class Kind(Struct, Generic[T_co], frozen=True):
    """One kind of API object."""

    kind: str
    """``Pod``."""
    plural: str
    """``pods``: the resource in paths and in RBAC."""
    short_names: tuple[str, ...]
    group: str
    """Empty for the core group."""
    version: str
    namespaced: bool
    model: type[T_co]
    part: str = ""
    """Names what the model reads of objects that another kind reads, too; a snapshot stores it apart."""

    @property
    def singular(self) -> str:
        """``pod``: the name that kubectl prints."""
        return self.kind.lower()

    @property
    def api_version(self) -> str:
        """``v1`` or ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def rbac_name(self) -> str:
        """``pods`` or ``deployments.apps``, as kubectl and Roles name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def captured_as(self) -> str:
        """How a snapshot names it."""
        return f"{self.rbac_name}/{self.part}" if self.part else self.rbac_name

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """The API path of one object, of a namespace's objects, or of all objects.

        Raises:
            NotFound: the namespace or the name is not plain, so no object has it.
        """
        for part in filter(None, (namespace, name)):
            if not is_plain_name(part):
                raise NotFound(self, name or "", namespace)
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = f"/{name}" if name else ""
        return f"{root}{inside}/{self.plural}{tail}"


PODS: Final = Kind("Pod", "pods", ("po",), "", "v1", namespaced=True, model=Pod)
EVENTS: Final = Kind("Event", "events", ("ev",), "", "v1", namespaced=True, model=Event)
CONFIG_MAPS: Final = Kind("ConfigMap", "configmaps", ("cm",), "", "v1", namespaced=True, model=ConfigMap)
NAMESPACES: Final = Kind("Namespace", "namespaces", ("ns",), "", "v1", namespaced=False, model=KubeObject)
NODES: Final = Kind("Node", "nodes", ("no",), "", "v1", namespaced=False, model=Node)
SERVICES: Final = Kind("Service", "services", ("svc",), "", "v1", namespaced=True, model=Service)
REPLICATION_CONTROLLERS: Final = Kind(
    "ReplicationController", "replicationcontrollers", ("rc",), "", "v1", namespaced=True, model=ReplicationController
)
DEPLOYMENTS: Final = Kind("Deployment", "deployments", ("deploy",), "apps", "v1", namespaced=True, model=Workload)
REPLICA_SETS: Final = Kind("ReplicaSet", "replicasets", ("rs",), "apps", "v1", namespaced=True, model=Workload)
STATEFUL_SETS: Final = Kind("StatefulSet", "statefulsets", ("sts",), "apps", "v1", namespaced=True, model=Workload)
DAEMON_SETS: Final = Kind("DaemonSet", "daemonsets", ("ds",), "apps", "v1", namespaced=True, model=Workload)
JOBS: Final = Kind("Job", "jobs", (), "batch", "v1", namespaced=True, model=Workload)
CRON_JOBS: Final = Kind("CronJob", "cronjobs", ("cj",), "batch", "v1", namespaced=True, model=CronJob)
PRIORITY_CLASSES: Final = Kind(
    "PriorityClass", "priorityclasses", ("pc",), "scheduling.k8s.io", "v1", namespaced=False, model=PriorityClass
)

LIMIT_RANGES: Final = Kind("LimitRange", "limitranges", ("limits",), "", "v1", namespaced=True, model=LimitRange)
RESOURCE_QUOTAS: Final = Kind(
    "ResourceQuota", "resourcequotas", ("quota",), "", "v1", namespaced=True, model=ResourceQuota
)
RUNTIME_CLASSES: Final = Kind(
    "RuntimeClass", "runtimeclasses", (), "node.k8s.io", "v1", namespaced=False, model=RuntimeClass
)
PDBS: Final = Kind(
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    ("pdb",),
    "policy",
    "v1",
    namespaced=True,
    model=PodDisruptionBudget,
)

LEASES: Final = Kind("Lease", "leases", (), "coordination.k8s.io", "v1", namespaced=True, model=Lease)
LEASE_CANDIDATES: Final = Kind(
    "LeaseCandidate",
    "leasecandidates",
    (),
    "coordination.k8s.io",
    "v1beta1",
    namespaced=True,
    model=LeaseCandidate,
)
"""Served with the feature gate CoordinatedLeaderElection, which is off by default."""
PERSISTENT_VOLUME_CLAIMS: Final = Kind(
    "PersistentVolumeClaim", "persistentvolumeclaims", ("pvc",), "", "v1", namespaced=True, model=PersistentVolumeClaim
)
PERSISTENT_VOLUMES: Final = Kind(
    "PersistentVolume", "persistentvolumes", ("pv",), "", "v1", namespaced=False, model=PersistentVolume
)
STORAGE_CLASSES: Final = Kind(
    "StorageClass", "storageclasses", ("sc",), "storage.k8s.io", "v1", namespaced=False, model=StorageClass
)
CSI_NODES: Final = Kind("CSINode", "csinodes", (), "storage.k8s.io", "v1", namespaced=False, model=CSINode)
CSI_DRIVERS: Final = Kind("CSIDriver", "csidrivers", (), "storage.k8s.io", "v1", namespaced=False, model=CSIDriver)
CSI_STORAGE_CAPACITIES: Final = Kind(
    "CSIStorageCapacity",
    "csistoragecapacities",
    (),
    "storage.k8s.io",
    "v1",
    namespaced=True,
    model=CSIStorageCapacity,
)
VOLUME_ATTACHMENTS: Final = Kind(
    "VolumeAttachment", "volumeattachments", (), "storage.k8s.io", "v1", namespaced=False, model=VolumeAttachment
)

NODE_METRICS: Final = Kind("NodeMetrics", "nodes", (), "metrics.k8s.io", "v1beta1", namespaced=False, model=NodeMetrics)
POD_METRICS: Final = Kind("PodMetrics", "pods", (), "metrics.k8s.io", "v1beta1", namespaced=True, model=PodMetrics)
NODE_PROXIES: Final = Kind("NodeProxyOptions", "nodes/proxy", (), "", "v1", namespaced=False, model=KubeObject)
"""The permission to reach a kubelet through the API server, as RBAC names it; the API server stores no such objects."""

_ADMISSION: Final = "admissionregistration.k8s.io"
MUTATING_WEBHOOKS: Final = Kind(
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    (),
    _ADMISSION,
    "v1",
    namespaced=False,
    model=WebhookConfiguration,
)
VALIDATING_WEBHOOKS: Final = replace(
    MUTATING_WEBHOOKS, kind="ValidatingWebhookConfiguration", plural="validatingwebhookconfigurations"
)
MUTATING_POLICIES: Final = Kind(
    "MutatingAdmissionPolicy", "mutatingadmissionpolicies", (), _ADMISSION, "v1", namespaced=False, model=MutatingPolicy
)
OUR_DEPLOYMENTS: Final = Kind(
    "Deployment", "deployments", (), "apps", "v1", namespaced=True, model=OurDeployment, part="arguments"
)
"""The Deployment of the webhook of kubectl qos, with its arguments."""
OUR_CONFIG_MAPS: Final = replace(CONFIG_MAPS, part="configuration")
"""The ConfigMap with the configuration file of the webhook of kubectl qos."""
OF_OUR_WEBHOOK: Final[frozenset[Kind[Any]]] = frozenset(
    {MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, OUR_DEPLOYMENTS, OUR_CONFIG_MAPS}
)
"""Kinds that a snapshot has only of our webhook."""

WORKLOADS: Final[tuple[Kind[Any], ...]] = (
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DAEMON_SETS,
    JOBS,
    CRON_JOBS,
    REPLICATION_CONTROLLERS,
)
"""Kinds that make pods from a template."""
RELATED: Final[tuple[Kind[Any], ...]] = (PERSISTENT_VOLUME_CLAIMS, PDBS, RESOURCE_QUOTAS, PRIORITY_CLASSES)
"""Kinds that decide about pods, and that `explain` takes."""
ALL_KINDS: Final[tuple[Kind[Any], ...]] = (
    PODS,
    NODES,
    *WORKLOADS,
    SERVICES,
    PRIORITY_CLASSES,
    LIMIT_RANGES,
    RESOURCE_QUOTAS,
    RUNTIME_CLASSES,
    PDBS,
    LEASES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
    STORAGE_CLASSES,
    CSI_NODES,
    CSI_DRIVERS,
    CSI_STORAGE_CAPACITIES,
    NAMESPACES,
)


def find_kind(name: str, among: Iterable[Kind[Any]] = ALL_KINDS) -> Kind[Any] | None:
    """The kind that a user means by ``po``, ``pod``, ``pods``, ``Pod``, ``deployments.apps`` or ``deploy``."""
    wanted = name.lower()
    resource, _, group = wanted.partition(".")
    for kind in among:
        if wanted in {kind.singular, kind.plural, *kind.short_names}:
            return kind
        full_group = {kind.group, f"{kind.version}.{kind.group}"}
        if group and group in full_group and resource in {kind.singular, kind.plural, *kind.short_names}:
            return kind
    return None
