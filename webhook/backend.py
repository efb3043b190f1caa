"""What stands behind the application: caches, configuration, certificate; of a live cluster or the demo cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from podrules.cluster.errors import Unreachable
from podrules.cluster.kinds import CONFIG_MAPS
from podrules.cluster.memory import MemorySource
from podrules.cluster.reflector import Reflector, StreamTransport
from podrules.cluster.transport import Response
from podrules.model.decode import from_object
from webhook.cached import Caches
from webhook.certificates.keeper import CertificateKeeper
from webhook.certificates.pair import make_pair
from webhook.certificates.serving import ServingContext
from webhook.cluster import Cluster, live_sources
from webhook.scheduler_config import CachedConfigMap, SpreadDefaults
from webhook.settings import CertificateFiles, KeptCertificate, ObjectRef, Settings

__all__ = ["Backend", "start_backend"]

_REQUEST_SECONDS: Final = 10.0
_STAND_IN_NAMES: Final = ("localhost", "127.0.0.1")
_CERTIFICATE: Final = "certificate"
DEMO_SCHEDULER_CONFIG: Final = ObjectRef("kube-system", "kube-scheduler")


class Backend(NamedTuple):
    """What the application and the server need."""

    cluster: Cluster
    waiting_for: Callable[[], Sequence[str]]
    """What is missing before requests can be answered."""
    serving: ServingContext


def start_backend(settings: Settings) -> Backend:
    """Begin to fill the caches and to keep the certificate, in threads of their own; returns at once.

    Raises:
        Unreachable: there is no configuration for a cluster.
        OSError: certificate files cannot be read.
    """
    serving = ServingContext()
    if isinstance(settings.certificate, CertificateFiles):
        serving.load_files(settings.certificate.certificate, settings.certificate.key)
    else:
        # Until the kept one arrives nobody who checks will talk to us, but the kubelet's probes do.
        stand_in = make_pair(_STAND_IN_NAMES, now=datetime.now(UTC), lifetime=timedelta(days=3650))
        serving.load(stand_in.certificate, stand_in.key)
    spread = SpreadDefaults(write_system_defaults=settings.write_system_defaults)
    return _demo(spread, serving) if settings.demo else _live(settings, spread, serving)


def _live(settings: Settings, spread: SpreadDefaults, serving: ServingContext) -> Backend:
    from podrules.cluster.client import ClientTransport

    transport = ClientTransport(kubeconfig=settings.kubeconfig, request_timeout=_REQUEST_SECONDS, connections=16)
    caches = Caches.over(transport)
    reflectors: list[Reflector[Any]] = [*caches]
    if settings.scheduler_config is not None:
        reflectors.append(_scheduler_config(transport, settings.scheduler_config, spread))
    keeper = None
    if isinstance(settings.certificate, KeptCertificate):
        keeper = CertificateKeeper(transport, settings.certificate, serving)
        reflectors.extend(keeper.watched)
        _in_thread(keeper.run)
    for reflector in reflectors:
        _in_thread(reflector.run)

    def waiting_for() -> Sequence[str]:
        missing = [reflector.name for reflector in reflectors if not reflector.synced]
        return missing if keeper is None or keeper.ready else [*missing, _CERTIFICATE]

    cluster = Cluster(caches, live_sources(transport), spread, lambda: datetime.now(UTC))
    return Backend(cluster, waiting_for, serving)


def _scheduler_config(
    transport: StreamTransport, config_map: ObjectRef, spread: SpreadDefaults
) -> Reflector[CachedConfigMap]:
    reflector: Reflector[CachedConfigMap] = Reflector(
        transport,
        CONFIG_MAPS,
        CachedConfigMap,
        namespace=config_map.namespace,
        name=config_map.name,
        on_change=lambda: spread.take(reflector.get(config_map.name, config_map.namespace)),
    )
    return reflector


def _demo(spread: SpreadDefaults, serving: ServingContext) -> Backend:
    from podrules.cluster.demo import DEMO_NOW, demo_objects

    objects = demo_objects()
    caches = Caches.over(_Nowhere())
    config = _scheduler_config(_Nowhere(), DEMO_SCHEDULER_CONFIG, spread)
    reflectors: list[Reflector[Any]] = [*caches, config]
    for reflector in reflectors:
        kind = reflector.kind
        reflector.fill(
            from_object(entry, reflector.model)
            for entry in objects
            if (entry["apiVersion"], entry["kind"]) == (kind.api_version, kind.kind)
        )
    now = datetime.fromisoformat(DEMO_NOW)
    source = MemorySource(objects, description="the demo cluster", now=now)
    return Backend(Cluster(caches, lambda: source, spread, lambda: now), lambda: (), serving)


class _Nowhere:
    """No API server: what is not in the caches by now does not come."""

    def get(self, path: str, accept: str = "application/json") -> Response:
        del accept
        raise Unreachable(f"{path}: the demo cluster has no API server")

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        del idle_timeout
        raise Unreachable(f"{path}: the demo cluster has no API server")


def _in_thread(run: Callable[[], None]) -> None:
    threading.Thread(target=run, daemon=True).start()
