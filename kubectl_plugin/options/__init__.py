"""The options of the commands: each struct declares its flags. Loads no rule, so that kubectl can start first.

flag               the declaration of a flag, and the types of values
shared             flags of several commands
*_commands         the flags, help and options of the commands
similar_words      the word that was probably meant
"""

from __future__ import annotations

import argparse
from enum import Enum
from typing import IO, TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

from kubectl_plugin.options.flag import KUBECTL, SOURCES, OptionsStruct, flag, seconds, switch, version

if TYPE_CHECKING:
    from cluster_io.source import Source
    from kubectl_plugin.render.command import Target
    from kubectl_plugin.render.formats import Format, Reads

STANDARD_OUTPUT: Final = "-"
"""The file name that means standard output."""
DEMO_SCHEDULER: Final = "configmap/kube-system/kube-scheduler"
"""The scheduler's configuration in the demo cluster, used without a flag."""


class Streams:
    """Where a command reads and writes."""

    def __init__(self, stdin: IO[str], out: IO[str], err: IO[str], columns: int | None = None) -> None:
        """Take the streams, and the width of the text, if ``out`` is a buffer; None: the width of ``out``."""
        self.stdin, self.out, self.err, self.columns = stdin, out, err, columns

    def width(self) -> int:
        """The number of text columns on ``out``."""
        from kubectl_plugin.render.width import text_columns

        return text_columns(self.out) if self.columns is None else self.columns


class Output(OptionsStruct):
    """The output that ``-o`` selects."""

    format: str = "table"
    """A name in `kubectl_plugin.render.formats.FORMATS`."""
    template: Any = None
    """The template, parsed by the format's parser; None: the format has none."""

    @property
    def _selected(self) -> Format:
        # Loaded on demand: nothing asks for it before a command runs.
        from kubectl_plugin.render.formats import FORMATS

        return FORMATS[self.format]

    @property
    def reads(self) -> Reads:
        """Which part of an answer is printed."""
        return self._selected.reads

    @property
    def wide(self) -> bool:
        """Whether the output is text with every detail."""
        return self._selected.wide

    @property
    def in_words(self) -> bool:
        """Whether the output is text for people."""
        return self._selected.in_words

    @property
    def brief(self) -> bool:
        """Whether the output is text in which several objects may get one line each instead of a page."""
        return self.in_words and not self.wide

    @property
    def whole(self) -> bool:
        """Whether the output must be complete: nothing is left out for brevity."""
        return self.wide or self.is_data

    @property
    def is_data(self) -> bool:
        """Whether an empty answer is also printed as data, without a sentence."""
        return self._selected.is_data


class TypedCommand(OptionsStruct):
    """The typed command, for suggestions that repeat it with another target."""

    command: str = ""
    flags: tuple[tuple[str, str], ...] = ()
    """Names and values, without the flags that choose a cluster or a namespace."""


class ClusterOptions(OptionsStruct):
    """Cluster, user and namespace: kubectl's own flags, and the sources that need no cluster."""

    demo: bool = switch("--demo", group=SOURCES, help="use the built-in demo cluster")
    snapshot: str | None = flag(
        "--snapshot",
        group=SOURCES,
        metavar="FILE",
        help="a snapshot, or a List of `kubectl get -A -o json`",
    )
    namespace: str | None = flag(
        "-n", "--namespace", group=KUBECTL, completes="namespaces", metavar="NAME", help="default: the context's"
    )
    context: str | None = flag(
        "--context", group=KUBECTL, completes="contexts", metavar="NAME", help="context of the kubeconfig"
    )
    kubeconfig: str | None = flag(
        "--kubeconfig", group=KUBECTL, metavar="FILE", help="default: $KUBECONFIG or ~/.kube/config"
    )
    cluster: str | None = flag(
        "--cluster", group=KUBECTL, completes="clusters", metavar="NAME", help="cluster of the kubeconfig"
    )
    user: str | None = flag("--user", group=KUBECTL, completes="users", metavar="NAME", help="user of the kubeconfig")
    as_user: str | None = flag("--as", group=KUBECTL, metavar="USER", help="act as this user")
    as_groups: tuple[str, ...] = flag(
        "--as-group",
        group=KUBECTL,
        action="append",
        metavar="GROUP",
        help="with --as: and as this group; may be repeated",
    )
    request_timeout: float = flag(
        "--request-timeout",
        group=KUBECTL,
        type=seconds,
        default=30.0,
        metavar="TIME",
        help="for one request (default 30s)",
    )
    """Seconds."""
    kubelet_config: str | None = flag(
        "--kubelet-config",
        metavar="FILE",
        help="KubeletConfiguration of all nodes (default: read)",
    )
    """The file with the kubelets' configuration; None: the kubelets are asked."""
    kubernetes_version: str | None = flag(
        "--kubernetes-version",
        type=version,
        metavar="1.MINOR",
        help="of API server and scheduler (default: read)",
    )
    """Version of API server and scheduler; None: they are asked."""
    feature_gates: tuple[str, ...] = flag(
        "--feature-gates",
        action="append",
        metavar="NAME=BOOL,…",
        help="of the cluster; @FILE: of a KubeletConfiguration",
    )
    """As typed: ``NAME=BOOL,…`` or ``@FILE``."""
    offline: bool = switch("--offline", group=SOURCES, help="with -f: use no cluster")
    is_optional: bool = False
    """Whether the command has manifests to explain, and gives a shorter answer if no cluster answers."""
    typed: TypedCommand = TypedCommand()
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


class CommandOptions(OptionsStruct):
    """The options of a command, its flags in the order of the help."""

    of_command: ClassVar[dict[str, type[CommandOptions]]] = {}
    """By the name of the command; the others are not loaded."""
    description: ClassVar[str]
    """The help above the flags."""
    examples: ClassVar[str]
    """The help below the flags."""
    cluster: ClusterOptions = ClusterOptions(offline=True)

    def __init_subclass__(cls, *, command: str, words: str) -> None:
        """Register the options of a command.

        Args:
            command: Its name.
            words: The description, and from ``examples:`` the text below the flags.
        """
        super().__init_subclass__()
        cls.description, heading, examples = words.partition("\nexamples:\n")
        cls.examples = heading.lstrip("\n") + examples
        CommandOptions.of_command[command] = cls

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags.

        Raises:
            UsageError: they are inconsistent.
        """

    @classmethod
    def parsed(cls, args: argparse.Namespace) -> Self:
        """The options of a parsed command line.

        Raises:
            UsageError: flags are inconsistent.
        """
        cls.check(args)
        return cls.read(args)


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


class Selection(OptionsStruct):
    """The objects of a type that kubectl's flags select."""

    everywhere: bool = switch("-A", "--all-namespaces", help="all namespaces")
    labels: str = flag(
        "-l", "--selector", default="", metavar="LABELS", help="with these labels, e.g. app=web,tier!=test"
    )
    fields: str = flag(
        "--field-selector", default="", metavar="FIELDS", help="with these fields, e.g. status.phase=Pending"
    )

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
