"""The options of each command, and the connection to the cluster. Loads no rule, so that kubectl can start first."""

from __future__ import annotations

import subprocess
from enum import Enum
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from cluster_io.errors import Unreachable
from cluster_io.live.responses import MAX_ANSWER
from cluster_io.live.transport import KubectlProxy, LargeTransport, ProxySettings, kubectl_context
from kubectl_plugin.render.formats import FORMATS, Reads

if TYPE_CHECKING:
    from cluster_io.source import Source
    from kubectl_plugin.render.command import Target

STANDARD_OUTPUT: Final = "-"
"""The file name that means standard output."""
DEMO_SCHEDULER: Final = "configmap/kube-system/kube-scheduler"
"""The scheduler's configuration in the demo cluster, used without a flag."""


class Streams(NamedTuple):
    """Where a command reads and writes."""

    stdin: IO[str]
    out: IO[str]
    err: IO[str]
    columns: int | None = None
    """Width of the text, if ``out`` is a buffer; None: the width of ``out``."""

    def width(self) -> int:
        """The number of text columns on ``out``."""
        from kubectl_plugin.render.width import text_columns

        return text_columns(self.out) if self.columns is None else self.columns


class Output(NamedTuple):
    """The output that ``-o`` selects."""

    format: str = "table"
    """A name in `kubectl_plugin.render.formats.FORMATS`."""
    template: Any = None
    """The template, parsed by the format's parser; None: the format has none."""

    @property
    def reads(self) -> Reads:
        """Which part of an answer is printed."""
        return FORMATS[self.format].reads

    @property
    def wide(self) -> bool:
        """Whether the output is text with every detail."""
        return FORMATS[self.format].wide

    @property
    def in_words(self) -> bool:
        """Whether the output is text for people."""
        return self.reads is Reads.PAGES

    @property
    def brief(self) -> bool:
        """Whether the output is text in which several objects may get one line each instead of a page."""
        return self.in_words and not self.wide

    @property
    def whole(self) -> bool:
        """Whether the output must be complete: nothing is left out for brevity."""
        return not self.brief and self.reads is not Reads.NAMES

    @property
    def is_data(self) -> bool:
        """Whether an empty answer is also printed as data, without a sentence."""
        return self.reads not in {Reads.PAGES, Reads.NAMES}


class TypedCommand(NamedTuple):
    """The typed command, for suggestions that repeat it with another target."""

    command: str = ""
    flags: tuple[tuple[str, str], ...] = ()
    """Names and values, without the flags that choose a cluster or a namespace."""


class ClusterOptions(NamedTuple):
    """Cluster, user and namespace: kubectl's own flags, and the sources that need no cluster."""

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
    is_optional: bool = False
    """Whether the command has manifests to explain, and gives a shorter answer if no cluster answers."""
    typed: TypedCommand = TypedCommand()
    kubernetes_version: str | None = None
    """Version of API server and scheduler; None: they are asked."""
    feature_gates: tuple[str, ...] = ()
    """As typed: ``NAME=BOOL,…`` or ``@FILE``."""
    kubelet_config: str | None = None
    """The file with the kubelets' configuration; None: the kubelets are asked."""
    names_context: bool = False
    """Whether the answer names the context: kubectl is then asked for it even if the namespace was typed."""

    @property
    def live(self) -> bool:
        """Whether the objects come from a cluster."""
        return not (self.demo or self.snapshot or self.offline)

    def kubectl_flags(self) -> list[str]:
        """The flags for kubectl."""
        return [f"{name}={value}" for name, value in self._connection()]

    def target(self, scheduler_config: str | None = None) -> Target:
        """The flags with which suggested commands find the same objects.

        Args:
            scheduler_config: The value of ``--scheduler-config``, or its default.
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
            versions=self._versions(),
            kubelet_config=self.kubelet_config or "",
            live=self.live,
            command=self.typed.command,
            typed=self.typed.flags,
        )

    def _versions(self) -> tuple[tuple[str, str], ...]:
        version = (("--kubernetes-version", self.kubernetes_version),) if self.kubernetes_version else ()
        return (*version, *(("--feature-gates", gates) for gates in self.feature_gates))

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
    """The options that all commands share."""

    @property
    def cluster(self) -> ClusterOptions:
        """Where objects come from."""
        ...


class CommandFunction(Protocol):
    """The function ``run`` of a module in `kubectl_plugin.commands`."""

    def __call__(self, options: Any, source: Source, streams: Streams) -> int:
        """Print the answer and return the exit code.

        Args:
            options: The options of this command.
            source: Where objects come from.
            streams: Where to read and write.

        Raises:
            ClusterError: there is no answer.
        """
        ...


class Selection(NamedTuple):
    """The objects of a type that kubectl's flags select."""

    everywhere: bool = False
    """All namespaces."""
    labels: str = ""
    """``app=web,tier in (a,b)``; empty: any."""
    fields: str = ""
    """``status.phase=Pending``; empty: any."""

    @property
    def flags(self) -> str:
        """The typed flag; empty: none."""
        return "-A" if self.everywhere else "-l" if self.labels else "--field-selector" if self.fields else ""


NO_SELECTION: Final = Selection()


class Validation(Enum):
    """How a manifest with unknown fields is treated: kubectl's ``--validate``."""

    STRICT = "strict"
    """The manifest is refused."""
    WARN = "warn"
    IGNORE = "ignore"


class ExplainOptions(NamedTuple):
    """``kubectl qos explain``."""

    targets: tuple[str, ...]
    files: tuple[str, ...]
    output: Output
    colour: bool
    cluster: ClusterOptions
    placement: bool | None = None
    """Whether to predict the node; None: only for pods that have none."""
    scheduler_config: str | None = None
    """File or ``configmap/NAMESPACE/NAME`` with the KubeSchedulerConfiguration; None: kube-scheduler's defaults."""
    timeline: str | None = None
    """The way of ending to show: a value of `podrules.ending.timeline.Way`, or ``all``; None: none."""
    grace_period: int | None = None
    """Seconds that a DELETE of the timeline asks for; None: the pod's own period."""
    on: str | None = None
    """The node on which to predict a pod's position when memory runs out; None: none."""
    watch: float | None = None
    """Seconds between two answers; None: one answer is enough."""
    selection: Selection = NO_SELECTION
    """Selects among the objects of types without names."""
    validation: Validation = Validation.STRICT
    """The validation of ``files``."""
    dry_run: bool = False
    """Whether ``files`` are sent to the API server as a dry run."""


class DiedOptions(NamedTuple):
    """``kubectl qos died``."""

    targets: tuple[str, ...]
    """Empty: all pods of a namespace, or of all namespaces."""
    since: float | None
    """Seconds before now in which an end counts; None: any time for named objects, an hour for all others."""
    everywhere: bool
    output: Output
    colour: bool
    cluster: ClusterOptions


class PlaceOptions(NamedTuple):
    """``kubectl qos place``; the changes are as typed."""

    targets: tuple[str, ...]
    """Workloads and pods to add pods of, as typed."""
    files: tuple[str, ...]
    replicas: int | str | None
    """``max``: as many as fit; None: each file's own number, and one for each target."""
    exclude_nodes: tuple[str, ...]
    add_nodes: tuple[str, ...]
    without: tuple[str, ...]
    drain: tuple[str, ...]
    preemption: bool
    output: Output
    colour: bool
    cluster: ClusterOptions
    scheduler_config: str | None = None
    """As in `ExplainOptions`."""
    validation: Validation = Validation.STRICT
    """The validation of ``files``."""
    dry_run: bool = False
    """Whether ``files`` are sent to the API server as a dry run."""
    one_by_one: bool = False
    """Whether each drained node is back before the next is drained; else all are cordoned first."""


class SnapshotOptions(NamedTuple):
    """``kubectl qos snapshot``."""

    path: str
    """``-``: standard output."""
    anonymise: bool
    scheduler_config: tuple[str, str] | None
    """Namespace and name of a ConfigMap to capture; None: none."""
    colour: bool
    cluster: ClusterOptions


class PartitionsOptions(NamedTuple):
    """``kubectl qos partitions``."""

    output: Output
    colour: bool
    cluster: ClusterOptions
    watch: float | None = None
    """Seconds between two answers; None: one answer is enough."""


class VersionsOptions(NamedTuple):
    """``kubectl qos versions``."""

    to: str | None
    """The version to compare with; None: only the running versions are listed."""
    output: Output
    colour: bool
    scheduler_config: str | None
    cluster: ClusterOptions


class ReportOptions(NamedTuple):
    """``kubectl qos report``."""

    targets: tuple[str, ...]
    """``pod/NAME`` and ``node/NAME``; empty: the pods of a namespace, or all."""
    everything: bool
    """Whether the report covers the pods of all namespaces."""
    files: tuple[str, ...]
    path: str | None
    """The file of the HTML page, ``-`` for standard output; None: print in the format of ``output``."""
    output: Output
    compare: str | None
    """The file of an earlier report to compare with; None: none."""
    scheduler_config: str | None
    """As in `ExplainOptions`."""
    colour: bool
    cluster: ClusterOptions
    selection: Selection = NO_SELECTION
    """Selects among those pods."""
    validation: Validation = Validation.STRICT
    """The validation of ``files``."""


class NodeOptions(NamedTuple):
    """``kubectl qos node``."""

    nodes: tuple[str, ...]
    """``NODE`` or ``node/NODE``."""
    output: Output
    colour: bool
    cluster: ClusterOptions
    watch: float | None = None
    """Seconds between two answers; None: one answer is enough."""
    selection: Selection = NO_SELECTION
    """Selects among all nodes, if none is named."""


class DeletionOptions(NamedTuple):
    """``kubectl qos delete``."""

    targets: tuple[str, ...]
    grace_period: int | None
    """Seconds; None: the pod's own period."""
    confirm: bool
    dry_run: bool
    timeout: float | None
    """Seconds to wait for the end; None: the grace period and a minute."""
    output: Output
    colour: bool
    cluster: ClusterOptions


class FenceOptions(NamedTuple):
    """``kubectl qos fence`` and ``kubectl qos unfence``."""

    targets: tuple[str, ...]
    confirm: bool
    """Whether the fence command may run; for unfence: whether the taint may be removed."""
    powered_off: bool
    """Whether the user confirms that the machine is off."""
    fence_command: str
    """Program and arguments, to which the node's name is added; empty: none."""
    dry_run: bool
    timeout: float
    """Seconds to wait for the fence command, and again for the removal of pods and volumes."""
    output: Output
    colour: bool
    cluster: ClusterOptions


class WhyOptions(NamedTuple):
    """``kubectl qos why``."""

    words: tuple[str, ...]
    """A term or a message; ``-`` alone: standard input."""
    output: Output
    colour: bool
    cluster: ClusterOptions = ClusterOptions(offline=True)


class LintOptions(NamedTuple):
    """``kubectl qos lint``."""

    files: tuple[str, ...]
    severity: str
    """The lowest level that fails: a value of `podrules.lint.finding.Level`."""
    disabled: tuple[str, ...]
    """Rules to leave out, as typed."""
    namespace: str
    """The namespace of objects without one."""
    output: Output
    colour: bool
    cluster: ClusterOptions = ClusterOptions(offline=True)


class RightsOptions(NamedTuple):
    """``kubectl qos rights``."""

    commands: tuple[str, ...]
    """Empty: the commands that only read."""
    kubelets: bool
    namespace: str
    """The only namespace that may be read; empty: all may be read."""
    output: Output
    cluster: ClusterOptions = ClusterOptions(offline=True)


class ClusterConnection(NamedTuple):
    """A started transport, with the namespace and the context that a source needs."""

    transport: LargeTransport
    namespace: str | None
    asked_context: subprocess.Popen[bytes] | None

    def close(self) -> None:
        """Close the transport, and end a kubectl that still reads the context."""
        try:
            self.transport.close()
        finally:
            if self.asked_context is not None:
                with self.asked_context as asked:
                    asked.kill()


def connect(options: ClusterOptions) -> ClusterConnection:
    """Connect to the cluster through kubectl, or through the official client if kubectl is not installed.

    Raises:
        Unreachable: there is neither kubectl nor a configuration.
    """
    flags = options.kubectl_flags()
    try:
        proxy = KubectlProxy(flags, request_timeout=options.request_timeout)
    except FileNotFoundError:
        return _connect_without_kubectl(options)
    asked = kubectl_context(flags) if options.names_context or not options.namespace else None
    return ClusterConnection(proxy, options.namespace, asked)


def connect_for_changes(options: ClusterOptions, settings: ProxySettings) -> KubectlProxy:
    """Start a proxy that accepts only these changes.

    Raises:
        Unreachable: there is no kubectl.
    """
    try:
        return KubectlProxy(options.kubectl_flags(), request_timeout=options.request_timeout, settings=settings)
    except FileNotFoundError as error:
        raise Unreachable("changes are made through kubectl, which is not on PATH") from error


def _connect_without_kubectl(options: ClusterOptions) -> ClusterConnection:
    if options.as_user or options.as_groups or options.cluster or options.user:
        raise Unreachable("--as, --as-group, --cluster and --user need kubectl, which is not on PATH")
    from cluster_io.live.client import ClientTransport

    client = ClientTransport(
        context=options.context,
        kubeconfig=options.kubeconfig,
        request_timeout=options.request_timeout,
        longest=MAX_ANSWER,
    )
    return ClusterConnection(client, options.namespace or client.namespace, None)
