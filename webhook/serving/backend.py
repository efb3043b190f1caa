"""The backend of the application: caches, configuration and certificate, for a live cluster or the demo cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from cluster_io.errors import Unreachable
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import CONFIG_MAPS
from cluster_io.live.reflector import Reflector, StreamTransport
from cluster_io.live.responses import Response
from podrules.api.model.decode import from_object
from podrules.api.model.workload import ConfigMap
from podrules.qos_webhook.rules import ObjectRef
from webhook.certificates.election import Election, WritingTransport, own_identity
from webhook.certificates.keeper import CertificateKeeper
from webhook.certificates.pair import make_pair
from webhook.certificates.serving import Certificate, ServingContext, WatchedFiles
from webhook.cluster.cached import Caches, SpreadDefaults
from webhook.cluster.view import Cluster, live_sources
from webhook.reviews.events import Events
from webhook.serving.audit import Audit
from webhook.serving.metrics import Metrics
from webhook.settings import Settings

_REQUEST_SECONDS: Final = 10.0
_LONGEST_ANSWER: Final = 16 << 20
"""Bytes: an object of 1.5 MiB in etcd may have 10 MiB in JSON, where a byte of text can become six."""
_LIVE_BYTES: Final = 32 << 20
"""For all answers that are read for reviews at a time: clients that forge reviews choose the number of reads."""
_LEASE_SECONDS: Final = 15
"""client-go's usual duration."""
_STAND_IN_NAMES: Final = ("localhost", "127.0.0.1")
_CERTIFICATE: Final = "certificate"
_CONFIGURATION: Final = "a scheduler configuration that kube-scheduler accepts"
DEMO_SCHEDULER_CONFIG: Final = ObjectRef("kube-system", "kube-scheduler")


class Backend(NamedTuple):
    """What the application and the server need."""

    cluster: Cluster
    waiting_for: Callable[[], Sequence[str]]
    """Returns what is missing before requests can be answered."""
    serving: ServingContext
    certificate: Certificate | None
    """The certificate that is kept; None: a temporary one is served."""
    caches: Sequence[Reflector[Any]]
    """All caches that are kept."""
    events: Events | None = None
    """Creates Events of force deletions; None: no Events are created."""


def start_backend(settings: Settings, metrics: Metrics | None = None) -> Backend:
    """Start to fill the caches and to keep the certificate, in separate threads; return at once.

    Args:
        settings: The settings of the command line.
        metrics: For the audit of pods and the counts of Events and configurations; None: these do not run.

    Raises:
        Unreachable: there is no configuration for a cluster.
        OSError: certificate files cannot be read, or are not a certificate with its key.
    """
    serving = ServingContext(settings.clients.ca_file, settings.tls)
    files = None
    if settings.certificate.files is not None:
        files = WatchedFiles(settings.certificate.files, serving)
        _in_thread(files.run)
    else:
        # Until the kept one arrives, clients that verify it do not connect, but the kubelet's probes do.
        stand_in = make_pair(_STAND_IN_NAMES, now=datetime.now(UTC), lifetime=timedelta(days=3650))
        serving.load(stand_in.certificate, stand_in.key)
    note = metrics.note_configuration if metrics is not None else lambda _: None
    defaults = settings.cluster_default_constraints
    spread = SpreadDefaults(write_system_defaults=defaults.write_system_defaults, note=note)
    if settings.demo:
        return _demo(settings, spread, serving, files)
    certificate: Certificate | None = files
    from cluster_io.live.client import ClientTransport

    connect = partial(
        ClientTransport,
        kubeconfig=settings.kubeconfig,
        request_timeout=_REQUEST_SECONDS,
        connections=16,
        longest=_LONGEST_ANSWER,
    )
    transport, live = connect(), connect(most=_LIVE_BYTES)
    caches = Caches.over(transport, node_labels=settings.lint.topology_keys)
    reflectors = caches.kept(default_constraints=defaults.enabled)
    if defaults.config_map is not None:
        spread.missing = True
        reflectors.append(_scheduler_config(transport, defaults.config_map, spread))
    keeper = None
    if (kept := settings.certificate.kept) is not None:
        certificate = keeper = CertificateKeeper(transport, kept, serving)
        reflectors.extend(keeper.watched)
        _in_thread(keeper.run)
    for reflector in reflectors:
        _in_thread(reflector.run)

    def waiting_for() -> Sequence[str]:
        missing = [reflector.name for reflector in reflectors if not reflector.synced]
        missing += [_CONFIGURATION] if spread.missing else []
        return missing if certificate is None or certificate.ready else [*missing, _CERTIFICATE]

    cluster = Cluster(
        caches,
        live_sources(live),
        spread,
        lambda: datetime.now(UTC),
        settings.force_deletion,
        options=settings,
        knows_clients=settings.clients.ca_file is not None,
    )
    if metrics is not None and settings.audited is not None:
        configuration, lease = settings.audited
        audit = Audit(transport, cluster, metrics, _elected(transport, lease, keeper), configuration=configuration)
        _in_thread(lambda: audit.run(waiting_for, settings.audit.interval_seconds))
    events = None
    if metrics is not None and settings.force_deletion.events:
        events = Events(transport, metrics.count_event)
        _in_thread(events.run)
    return Backend(cluster, waiting_for, serving, certificate, reflectors, events)


def _elected(transport: WritingTransport, lease: ObjectRef, keeper: CertificateKeeper | None) -> Callable[[], bool]:
    """Return a function that says whether this replica is elected: the one that writes the certificate, if one does."""
    if keeper is not None:
        return lambda: keeper.elected
    election = Election(
        transport,
        lease,
        identity=own_identity(),
        duration=_LEASE_SECONDS,
        clock=lambda: datetime.now(UTC),
        on_change=lambda: None,
    )
    _in_thread(election.run)
    return lambda: election.held


def _scheduler_config(
    transport: StreamTransport, config_map: ObjectRef, spread: SpreadDefaults
) -> Reflector[ConfigMap]:
    reflector: Reflector[ConfigMap] = Reflector(
        transport,
        CONFIG_MAPS,
        ConfigMap,
        namespace=config_map.namespace,
        name=config_map.name,
        on_change=lambda: spread.take(reflector.get(config_map.name, config_map.namespace)),
    )
    return reflector


def _demo(
    settings: Settings, spread: SpreadDefaults, serving: ServingContext, certificate: Certificate | None
) -> Backend:
    from cluster_io.demo import DEMO_NOW, demo_objects

    objects = demo_objects()
    caches = Caches.over(_Nowhere(), node_labels=settings.lint.topology_keys)
    config = _scheduler_config(_Nowhere(), DEMO_SCHEDULER_CONFIG, spread)
    reflectors: list[Reflector[Any]] = [*caches, config]
    for reflector in reflectors:
        kind = reflector.kind
        reflector.fill(
            from_object(entry, reflector.model)
            for entry in objects
            if (entry["apiVersion"], entry["kind"]) == (kind.api_version, kind.kind)
        )
    constraints = replace(settings.cluster_default_constraints, config_map=DEMO_SCHEDULER_CONFIG)
    now = datetime.fromisoformat(DEMO_NOW)
    source = MemorySource(objects, description="the demo cluster", now=now)
    cluster = Cluster(
        caches,
        lambda _: source,
        spread,
        lambda: now,
        settings.force_deletion,
        options=replace(settings, cluster_default_constraints=constraints),
        # The demo cluster has no private data.
        knows_clients=True,
    )
    return Backend(cluster, lambda: (), serving, certificate, reflectors)


class _Nowhere:
    """A transport without an API server: only the caches have data."""

    def get(self, path: str, accept: str = "application/json") -> Response:
        del accept
        raise Unreachable(f"{path}: the demo cluster has no API server")

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        del idle_timeout
        raise Unreachable(f"{path}: the demo cluster has no API server")


def _in_thread(run: Callable[[], None]) -> None:
    threading.Thread(target=run, daemon=True).start()
