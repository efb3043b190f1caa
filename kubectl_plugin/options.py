"""What was typed, as values, and the connection that it asks for. Loads no rule: kubectl can start meanwhile."""

from __future__ import annotations

import subprocess
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from kubectl_plugin.render.formats import FORMATS, Reads
from podrules.cluster.errors import Unreachable
from podrules.cluster.transport import KubectlProxy, LargeTransport, ProxySettings, kubectl_context

if TYPE_CHECKING:
    from kubectl_plugin.render.command import Target
    from podrules.cluster.source import Source

__all__ = [
    "DEMO_SCHEDULER",
    "NO_SELECTION",
    "STANDARD_OUTPUT",
    "ClusterOptions",
    "Connection",
    "DeletionOptions",
    "ExplainOptions",
    "FenceOptions",
    "LintOptions",
    "NodeOptions",
    "Options",
    "Output",
    "PartitionsOptions",
    "PlaceOptions",
    "ReportOptions",
    "Run",
    "Selection",
    "SnapshotOptions",
    "Streams",
    "WhyOptions",
    "connect",
    "connect_for_changes",
]


STANDARD_OUTPUT: Final = "-"
"""In place of a file that is written."""
DEMO_SCHEDULER: Final = "configmap/kube-system/kube-scheduler"
"""Where the demo cluster has its scheduler's configuration: nobody has to name it."""


class Streams(NamedTuple):
    """Where a command reads and writes."""

    stdin: IO[str]
    out: IO[str]
    err: IO[str]
    columns: int | None = None
    """Of text, where ``out`` only keeps what is shown elsewhere; None: as many as ``out`` has."""

    def width(self) -> int:
        """Columns of text on ``out``."""
        from kubectl_plugin.render.width import text_columns

        return text_columns(self.out) if self.columns is None else self.columns


class Output(NamedTuple):
    """What ``-o`` asks for."""

    format: str = "table"
    """A name in `kubectl_plugin.render.formats.FORMATS`."""
    template: Any = None
    """What the format's parser made of the template; None: it has none."""

    @property
    def reads(self) -> Reads:
        """Which part of an answer is printed."""
        return FORMATS[self.format].reads

    @property
    def wide(self) -> bool:
        """Whether people read it, with every detail."""
        return FORMATS[self.format].wide

    @property
    def in_words(self) -> bool:
        """Whether people read it."""
        return self.reads is Reads.PAGES

    @property
    def brief(self) -> bool:
        """Whether people read it, and several objects may get a line each instead of a page."""
        return self.in_words and not self.wide

    @property
    def whole(self) -> bool:
        """Whether nothing may be left out for shortness."""
        return not self.brief and self.reads is not Reads.NAMES

    @property
    def is_data(self) -> bool:
        """Whether an empty answer is printed as data, too, and needs no sentence."""
        return self.reads not in {Reads.PAGES, Reads.NAMES}


class Again(NamedTuple):
    """What else was typed, for a command that is what was typed with another target."""

    command: str = ""
    flags: tuple[tuple[str, str], ...] = ()
    """Each with its value; without those that choose a cluster or a namespace."""


class ClusterOptions(NamedTuple):
    """Which cluster, as whom, in which namespace: kubectl's own flags, and the sources that need no cluster."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    cluster: str | None = None
    user: str | None = None
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()
    request_timeout: float = 30.0
    """Seconds."""
    demo: bool = False
    snapshot: str | None = None
    offline: bool = False
    can_do_without: bool = False
    """Whether less can be answered where none answers: manifests alone are asked about."""
    again: Again = Again()
    names_context: bool = False
    """Whether the answer names the context, so that kubectl is asked for it also where the namespace was typed."""

    @property
    def live(self) -> bool:
        """Whether a cluster has to be asked."""
        return not (self.demo or self.snapshot or self.offline)

    def kubectl_flags(self) -> list[str]:
        """The same for kubectl."""
        return [f"{name}={value}" for name, value in self._connection()]

    def target(self, scheduler_config: str | None = None) -> Target:
        """The flags that commands need which an answer suggests.

        Args:
            scheduler_config: What ``--scheduler-config`` said, or stands for it.
        """
        # Loaded with the answer, not before kubectl starts.
        from kubectl_plugin.render.command import Target

        demo = (("--demo", ""),) if self.demo else ()
        snapshot = (("--snapshot", self.snapshot),) if self.snapshot else ()
        known = self.demo and scheduler_config == DEMO_SCHEDULER
        return Target(
            connection=self._connection(),
            source=(*demo, *snapshot),
            namespace=self.namespace or "",
            scheduler_config="" if known else scheduler_config or "",
            live=self.live,
            command=self.again.command,
            typed=self.again.flags,
        )

    def _connection(self) -> tuple[tuple[str, str], ...]:
        given = (
            ("--context", self.context),
            ("--kubeconfig", self.kubeconfig),
            ("--cluster", self.cluster),
            ("--user", self.user),
            ("--as", self.as_user),
            *(("--as-group", group) for group in self.as_groups),
        )
        return tuple((name, value) for name, value in given if value)


class Options(Protocol):
    """What the options of every command hold."""

    @property
    def cluster(self) -> ClusterOptions:
        """Which cluster."""
        ...


class Run(Protocol):
    """What runs a command: ``run`` of its module in `kubectl_plugin.commands`."""

    def __call__(self, options: Any, source: Source, streams: Streams) -> int:
        """Answer, and return the exit code.

        Args:
            options: Those of this command.
            source: Where objects come from.
            streams: Where to read and write.

        Raises:
            ClusterError: nothing can be answered.
        """
        ...


class Selection(NamedTuple):
    """Which objects of a type, as kubectl's flags say it."""

    everywhere: bool = False
    """Of all namespaces."""
    labels: str = ""
    """``app=web,tier in (a,b)``; empty: any."""
    fields: str = ""
    """``status.phase=Pending``; empty: any."""

    @property
    def flags(self) -> str:
        """The flag that was typed, to be named; empty: none."""
        return "-A" if self.everywhere else "-l" if self.labels else "--field-selector" if self.fields else ""


NO_SELECTION: Final = Selection()


class ExplainOptions(NamedTuple):
    """``kubectl qos explain``."""

    targets: tuple[str, ...]
    files: tuple[str, ...]
    output: Output
    colour: bool
    cluster: ClusterOptions
    placement: bool | None = None
    """Whether to tell where the scheduler would put a pod; None: of pods that have no node."""
    scheduler_config: str | None = None
    """File or ``configmap/NAMESPACE/NAME`` with the KubeSchedulerConfiguration; None: kube-scheduler's defaults."""
    timeline: str | None = None
    """Which way to tell when what happens, a value of `podrules.timeline.Way`, or ``all``; None: none."""
    on: str | None = None
    """The node to which pods are thought of as coming, for their place when it runs short."""
    watch: float | None = None
    """Seconds between two looks; None: one is enough."""
    selection: Selection = NO_SELECTION
    """Of types without names."""


class PlaceOptions(NamedTuple):
    """``kubectl qos place``; what-if changes as they were typed."""

    targets: tuple[str, ...]
    """Of which there are to be more pods; as they were typed."""
    files: tuple[str, ...]
    replicas: int | str | None
    """``max``: as many as fit; None: each spec's own number, one more of each target."""
    exclude_nodes: tuple[str, ...]
    add_nodes: tuple[str, ...]
    without: tuple[str, ...]
    drain: str | None
    preemption: bool
    output: Output
    colour: bool
    cluster: ClusterOptions
    scheduler_config: str | None = None
    """As for explain."""


class SnapshotOptions(NamedTuple):
    """``kubectl qos snapshot``."""

    path: str
    """``-``: standard output."""
    anonymise: bool
    scheduler_config: tuple[str, str] | None
    """Namespace and name of the ConfigMap that is captured too."""
    colour: bool
    cluster: ClusterOptions


class PartitionsOptions(NamedTuple):
    """``kubectl qos partitions``."""

    output: Output
    colour: bool
    cluster: ClusterOptions
    watch: float | None = None
    """Seconds between two looks; None: one is enough."""


class ReportOptions(NamedTuple):
    """``kubectl qos report``."""

    targets: tuple[str, ...]
    """``pod/NAME`` and ``node/NAME``; none: a namespace's pods, or all."""
    everything: bool
    """Pods of all namespaces."""
    files: tuple[str, ...]
    path: str | None
    """Of the HTML page, ``-`` for standard output; None: the answer is printed as ``output`` says."""
    output: Output
    compare: str | None
    """File of an earlier report; None: none."""
    scheduler_config: str | None
    """As for explain."""
    colour: bool
    cluster: ClusterOptions
    selection: Selection = NO_SELECTION
    """Which of those pods."""


class NodeOptions(NamedTuple):
    """``kubectl qos node``."""

    nodes: tuple[str, ...]
    """``NODE`` or ``node/NODE``."""
    output: Output
    colour: bool
    cluster: ClusterOptions
    watch: float | None = None
    """Seconds between two looks; None: one is enough."""
    selection: Selection = NO_SELECTION
    """Of all nodes, where none is named."""


class DeletionOptions(NamedTuple):
    """``kubectl qos delete``."""

    targets: tuple[str, ...]
    grace_period: int | None
    """Seconds; None: the pod's own."""
    confirm: bool
    dry_run: bool
    timeout: float | None
    """Seconds to follow it; None: its grace period and a minute."""
    output: Output
    colour: bool
    cluster: ClusterOptions


class FenceOptions(NamedTuple):
    """``kubectl qos fence`` and ``kubectl qos unfence``."""

    targets: tuple[str, ...]
    confirm: bool
    """The fence command may run; of unfence: the taint may go."""
    powered_off: bool
    """Somebody vouches that the machine is off."""
    fence_command: str
    """Program and arguments; the node's name is added. Empty: none."""
    dry_run: bool
    timeout: float
    """Seconds for the fence command, and for pods and volumes to go."""
    output: Output
    colour: bool
    cluster: ClusterOptions


class WhyOptions(NamedTuple):
    """``kubectl qos why``."""

    words: tuple[str, ...]
    """A term or a message; ``-`` alone: it stands in standard input."""
    output: Output
    colour: bool
    cluster: ClusterOptions = ClusterOptions(offline=True)


class LintOptions(NamedTuple):
    """``kubectl qos lint``."""

    files: tuple[str, ...]
    severity: str
    """The least grave level that fails: a value of `podrules.checks.rules.Level`."""
    disabled: tuple[str, ...]
    """Rules that are left out, as they were typed."""
    namespace: str
    """Of objects that name none."""
    output: Output
    colour: bool
    cluster: ClusterOptions = ClusterOptions(offline=True)


class Connection(NamedTuple):
    """A transport that has been started, and what else its source needs to know."""

    transport: LargeTransport
    namespace: str | None
    asked_context: subprocess.Popen[bytes] | None

    def close(self) -> None:
        """Give up the transport, and a question that nobody waits for any more."""
        try:
            self.transport.close()
        finally:
            if self.asked_context is not None:
                with self.asked_context as asked:
                    asked.kill()


def connect(options: ClusterOptions) -> Connection:
    """Start reaching the cluster: kubectl where it is, else the official client's configuration.

    Raises:
        Unreachable: neither is there.
    """
    flags = options.kubectl_flags()
    try:
        proxy = KubectlProxy(flags, request_timeout=options.request_timeout)
    except FileNotFoundError:
        return _connect_without_kubectl(options)
    asked = kubectl_context(flags) if options.names_context or not options.namespace else None
    return Connection(proxy, options.namespace, asked)


def connect_for_changes(options: ClusterOptions, doors: ProxySettings) -> KubectlProxy:
    """Start what carries changes: a proxy that lets nothing else through.

    Raises:
        Unreachable: there is no kubectl.
    """
    try:
        return KubectlProxy(options.kubectl_flags(), request_timeout=options.request_timeout, doors=doors)
    except FileNotFoundError as error:
        raise Unreachable("changes are made through kubectl, which is not on PATH") from error


def _connect_without_kubectl(options: ClusterOptions) -> Connection:
    if options.as_user or options.as_groups or options.cluster or options.user:
        raise Unreachable("--as, --as-group, --cluster and --user need kubectl, which is not on PATH")
    from podrules.cluster.client import ClientTransport

    client = ClientTransport(
        context=options.context, kubeconfig=options.kubeconfig, request_timeout=options.request_timeout
    )
    return Connection(client, options.namespace or client.namespace, None)
