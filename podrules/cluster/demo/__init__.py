"""The built-in cluster: one that everybody has, to try each command on and to show it in the documentation.

Twelve nodes in three zones and about 120 pods, as of `DEMO_NOW`, three in the morning. At 03:02 node-c3 went silent;
at 03:07:56 its pods were evicted, and what follows from that is still under way. Tables say what there is
(`platform`, `shop`, `backends`, `policies`, `nodes`), builders expand a row as the API server would store it (`pods`,
`controllers`, `storage`, `events`, `kubelets`), and `states` holds what may befall a pod.
"""

from __future__ import annotations

from typing import Final

from podrules.cluster.demo.backends import BACKENDS
from podrules.cluster.demo.base import DEMO_NOW, Obj
from podrules.cluster.demo.controllers import controllers_of
from podrules.cluster.demo.events import events_about
from podrules.cluster.demo.kubelets import kubelets
from podrules.cluster.demo.nodes import nodes_with_leases
from podrules.cluster.demo.platform import PLATFORM
from podrules.cluster.demo.pods import give_addresses, pods_of
from podrules.cluster.demo.policies import disruption_budgets, namespaces, priority_classes, scheduler_config
from podrules.cluster.demo.shop import SHOP
from podrules.cluster.demo.storage import storage_classes, volumes_of

__all__ = ["DEMO_NOW", "demo_kubelets", "demo_objects"]

_WORKLOADS: Final = (*PLATFORM, *SHOP, *BACKENDS)


def demo_objects() -> list[Obj]:
    """Every object of the demo cluster, made anew, referred ones before those that refer to them."""
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


def demo_kubelets() -> dict[str, dict[str, Obj]]:
    """What the kubelets of most nodes say, by node and path: ``stats/summary`` and ``configz``."""
    return kubelets(pod for workload in _WORKLOADS for pod in pods_of(workload))
