"""The tables that `cluster_io.demo`'s files are written from: `make docs` writes them.

Tables say what there is (`platform`, `shop`, `backends`, `policies`, `nodes`). Builders expand a row as the API server
would store it (`pods`, `controllers`, `storage`, `events`, `kubelets`). `states` holds what can happen to a pod.
"""

from __future__ import annotations

from typing import Final

from tests.demo_cluster.backends import BACKENDS
from tests.demo_cluster.base import Obj
from tests.demo_cluster.controllers import controllers_of
from tests.demo_cluster.events import events_about
from tests.demo_cluster.kubelets import kubelets
from tests.demo_cluster.nodes import nodes_with_leases
from tests.demo_cluster.platform import PLATFORM
from tests.demo_cluster.pods import give_addresses, pods_of
from tests.demo_cluster.policies import disruption_budgets, namespaces, priority_classes, scheduler_config
from tests.demo_cluster.shop import SHOP
from tests.demo_cluster.storage import storage_classes, volumes_of

_WORKLOADS: Final = (*PLATFORM, *SHOP, *BACKENDS)


def objects_written() -> list[Obj]:
    """Every object of the demo cluster, newly made, referred ones before those that refer to them."""
    pods: list[Obj] = []
    controllers: list[Obj] = []
    volumes: list[Obj] = []
    attachments: list[Obj] = []
    for workload in _WORKLOADS:
        own = pods_of(workload)
        pods += own
        controllers += controllers_of(workload, own)
        claimed, attached = volumes_of(workload, own)
        volumes += claimed
        attachments += attached
    give_addresses(pods)
    return [
        *namespaces(),
        *priority_classes(),
        scheduler_config(),
        *storage_classes(),
        *nodes_with_leases(pods, attachments),
        *volumes,
        *attachments,
        *controllers,
        *disruption_budgets(pods),
        *pods,
        *events_about(pods),
    ]


def kubelets_written() -> dict[str, dict[str, Obj]]:
    """What the kubelets of most nodes say, by node and path: ``stats/summary`` and ``configz``."""
    return kubelets(pod for workload in _WORKLOADS for pod in pods_of(workload))
