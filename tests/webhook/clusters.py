"""Clusters for handlers: caches that are filled by hand, and a source of live reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from webhook.cluster.cached import Caches, SpreadDefaults
from webhook.cluster.view import Cluster
from webhook.settings import ForceDeletion

Object = dict[str, Any]
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

    def get(self, *_: Any) -> NoReturn:
        """See `Source.get`."""
        raise Unreachable("the time for live reads is over")

    def list(self, *_: Any, **__: Any) -> NoReturn:
        """See `Source.list`."""
        raise Unreachable("the time for live reads is over")

    def names(self, *_: Any) -> NoReturn:
        """See `Source.names`."""
        raise Unreachable("the time for live reads is over")

    def kubelet(self, *_: Any) -> NoReturn:
        """See `Source.kubelet`."""
        raise Unreachable("the time for live reads is over")


class _NoTransport:
    def get(self, path: str, accept: str = "application/json") -> NoReturn:
        raise Unreachable(f"{path}: {accept}: what is not in the caches does not come")

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        raise Unreachable(f"{path}: {idle_timeout}: what is not in the caches does not come")


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


def pod_rules(**keys: Any) -> PodRules:
    """Rules with these keys of the configuration file; by default an annotation can set constraints."""
    return read_rules({"clusterDefaultConstraints": {"annotations": True}, **keys}, PodRules)


def make_namespace(name: str = "shop", **labels: str) -> Object:
    """A stored Namespace; underscores in a label's name stand for characters that Python's names cannot have."""
    marked = {f"kubectl-qos.io/{label.replace('_', '-')}": value for label, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": marked}}


def make_class(name: str, value: int, *, default: bool = False, policy: str = "PreemptLowerPriority") -> Object:
    """A stored PriorityClass."""
    stored: Object = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "value": value,
        "preemptionPolicy": policy,
    }
    return stored | {"globalDefault": True} if default else stored
