"""Clusters for handlers: caches that are filled by hand, and a source of live reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from cluster_io.errors import Unreachable
from cluster_io.in_memory import MemorySource
from cluster_io.live.reflector import Reflector
from cluster_io.source import Source
from podrules.api.model.decode import from_object
from podrules.api.model.workload import ConfigMap
from podrules.pod.versions import NOTHING_STATED
from podrules.qos_webhook.rules import PodRules, read_rules
from tests.controlplane.client import Object
from tests.objects import raw_object, raw_priority_class
from webhook.cluster.cached import Caches, SpreadDefaults
from webhook.cluster.view import Cluster
from webhook.settings import ForceDeletion

NOW = datetime(2026, 11, 21, 3, 11, tzinfo=UTC)


class SilentSource:
    """An API server that does not answer."""

    description = "the cluster"
    namespace = "default"
    git_version = None
    emulates = ""
    schedulers = None
    stated = NOTHING_STATED
    now = None
    is_plain_list = False
    side_by_side = False

    def get(self, *_: Any, **__: Any) -> NoReturn:
        """See `Source.get`."""
        raise Unreachable("the time for live reads is over")

    list = names = kubelet = get


class _NoTransport:
    def get(self, path: str, *_: Any, **__: Any) -> NoReturn:
        raise Unreachable(f"{path}: what is not in the caches does not come")

    lines = get


def make_cluster(
    cached: Iterable[Object] = (),
    *,
    live: Iterable[Object] | Source | None = None,
    scheduler_config: str = "",
    write_system_defaults: bool = False,
    now: datetime = NOW,
    force_deletion: ForceDeletion | None = None,
    options: PodRules | None = None,
    knows_clients: bool = True,
) -> Cluster:
    """A cluster as handlers see it.

    Args:
        cached: The objects in the caches.
        live: The objects of live reads; the same when not given.
        scheduler_config: The KubeSchedulerConfiguration, YAML.
        write_system_defaults: Whether default constraints of type System are written.
        now: The time.
        force_deletion: The rules for force deletions; the program's default when not given.
        options: The rules for new pods; the program's defaults when not given.
        knows_clients: Whether the caller has shown a certificate.
    """
    objects = list(cached)
    options = options or pod_rules()
    caches = Caches.over(_NoTransport(), node_labels=options.lint.topology_keys)
    reflectors: list[Reflector[Any]] = [*caches]
    for reflector in reflectors:
        kind = reflector.kind
        reflector.fill(
            from_object(entry, reflector.model)
            for entry in objects
            if (entry["apiVersion"], entry["kind"]) == (kind.api_version, kind.kind)
        )
    spread = SpreadDefaults(write_system_defaults=write_system_defaults)
    if scheduler_config:
        spread.take(from_object({"data": {"config.yaml": scheduler_config}}, ConfigMap))
    live = objects if live is None else live
    source = MemorySource(live, description="the cluster") if isinstance(live, Sequence) else live
    assert not isinstance(source, Iterable)
    return Cluster(
        caches,
        lambda _: source,
        spread,
        lambda: now,
        force_deletion or ForceDeletion(),
        options=options,
        knows_clients=knows_clients,
    )


def in_doubt(cluster: Cluster) -> Cluster:
    """The same; the watch of PriorityClasses has been silent for a minute."""
    cache = cluster._caches.priority_classes
    assert cache.heard_at is not None
    cache.heard_at -= 60
    return cluster


def pod_rules(**keys: Any) -> PodRules:
    """Rules with these keys of the configuration file; by default an annotation can set constraints."""
    return read_rules({"clusterDefaultConstraints": {"annotations": True}, **keys}, PodRules)


def make_namespace(name: str = "shop", **labels: str) -> Object:
    """A stored Namespace; underscores in a label's name stand for characters that Python's names cannot have."""
    marked = {f"kubectl-qos.io/{label.replace('_', '-')}": value for label, value in labels.items()}
    return raw_object("Namespace", name, metadata={"labels": marked})


def make_class(name: str, value: int, *, default: bool = False, policy: str = "PreemptLowerPriority") -> Object:
    """A stored PriorityClass."""
    more = {"globalDefault": True} if default else {}
    stored = raw_priority_class(name, value, preemptionPolicy=policy, **more)
    return {**stored, "metadata": {"name": name, "uid": f"uid-{name}"}}
