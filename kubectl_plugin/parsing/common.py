"""Flags that several commands share, and their values."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from kubectl_plugin.render.formats import FORMATS, Format, TemplateArgument, TemplateError, formats_of, load

if TYPE_CHECKING:
    from kubectl_plugin.options import ClusterOptions, Output

__all__ = [
    "OutputFormats",
    "add_common",
    "add_dry_run",
    "add_file_to_write",
    "add_files",
    "add_output",
    "add_scheduler_config",
    "add_timeout",
    "add_watch",
    "cluster_options",
    "scheduler_config",
    "seconds",
    "wanted_output",
    "wants_colour",
    "watch_interval",
]

_OTHER_FORMATS: Final = frozenset({"html", "kyaml", "go-template", "go-template-file", "template", "templatefile"})
"""Formats of kubectl, or that people expect; nobody means a file by them."""
_MAX_TEMPLATE: Final = 100_000
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})")
"""Seconds without a unit; no ``inf``, ``nan`` or exponent, which Python's float would accept."""
_MAX_SECONDS: Final = 365 * 86400.0
"""Seconds."""
_DEFAULT_INTERVAL: Final = 10.0
"""Seconds between two looks of ``--watch``."""
_MIN_INTERVAL: Final = 1.0
"""Seconds; shorter intervals would load the API server."""
_TARGET_FLAGS: Final = frozenset(
    {
        *("-n", "--namespace", "-A", "--all-namespaces", "--context", "--kubeconfig", "--cluster", "--user"),
        *("--as", "--as-group", "--demo", "--snapshot"),
    }
)
"""Flags that a suggested command gets from its target."""
_LONG_NAMES: Final = {"-f": "--filename", "-o": "--output", "-l": "--selector"}
"""The long forms, which take their value after a ``=``."""


def add_files(parser: argparse.ArgumentParser) -> None:
    """``-f``."""
    parser.add_argument(
        "-f",
        "--filename",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="manifest file or folder, - for standard input; may be repeated",
    )


class OutputFormats:
    """Reads the value of ``-o``: a format's name, or a template's kind and the template."""

    def __init__(self, formats: Sequence[Format]) -> None:
        """Accept these formats."""
        self._formats = {entry.name: entry for entry in formats}
        self.all = tuple(entry.typed for entry in formats)
        """Their names as they are typed; those that take a template end with =."""

    def __call__(self, text: str) -> Output:
        """The format, with its template read.

        Raises:
            argparse.ArgumentTypeError: there is no such format, or its template or file cannot be read.
        """
        from kubectl_plugin.options import Output

        # As kubectl: JSON is json.
        plain = self._formats.get(text.lower())
        if plain is not None and not plain.template:
            return Output(plain.name)
        name, _, given = text.partition("=")
        entry = self._formats.get(name)
        if entry is None or entry.template is None:
            from kubectl_plugin.parsing.similar_words import not_one_of

            raise argparse.ArgumentTypeError(not_one_of(text, self.all))
        if not given:
            raise argparse.ArgumentTypeError(
                f"{name}: its template is missing\nWrite e.g. -o {name}={entry.template.example}"
            )
        return Output(name, _template(name, entry.template, given))


def _template(name: str, expected: TemplateArgument, given: str) -> Any:
    plain = name.removesuffix("-file")
    try:
        text = given if name == plain else _read_template(name, given)
        return load(expected.parser)(text)
    except TemplateError as error:
        template = FORMATS[plain].template
        example = f"\nWrite e.g. -o {plain}={template.example}" if template is not None else ""
        raise argparse.ArgumentTypeError(f"{name}: {error}{example}") from error


def _read_template(name: str, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs start-up time
            text = file.read(_MAX_TEMPLATE + 1)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it is no text"
        raise argparse.ArgumentTypeError(f"{name}={path}: {problem}\nName a file with a template") from error
    if len(text) > _MAX_TEMPLATE:
        problem = f"longer than {_MAX_TEMPLATE} characters: it is no template"
        raise argparse.ArgumentTypeError(f"{name}={path}: {problem}\nName a file with a template")
    return text


def add_output(
    parser: argparse.ArgumentParser, *, wide: bool = False, names: bool = False, findings: bool = False
) -> None:
    """``-o``.

    Args:
        parser: The parser of a command that prints reports.
        wide: Whether its pages have a form with every detail.
        names: Whether its reports are about objects.
        findings: Whether it finds faults in manifests.
    """
    formats = OutputFormats(formats_of(wide=wide, names=names, findings=findings))
    parser.add_argument(
        "-o", "--output", default="table", type=formats, metavar="FORMAT", help=f"one of: {', '.join(formats.all)}"
    )
    parser.add_argument("--no-headers", action="store_true", help="custom-columns without headings")


def wanted_output(args: argparse.Namespace) -> Output:
    """The output that ``-o`` and ``--no-headers`` ask for.

    Raises:
        UsageError: they do not fit together.
    """
    output: Output = args.output
    if not args.no_headers:
        return output
    from kubectl_plugin.render.columns import Columns

    columns = output.template
    parser: argparse.ArgumentParser = args.command_parser
    if not isinstance(columns, Columns):
        parser.error("--no-headers goes with -o custom-columns=SPEC\nFor names alone use -o name")
    return output._replace(template=columns._replace(shows_headings=False))


def _is_format(text: str) -> bool:
    name = text.partition("=")[0].lower()
    return name in FORMATS or name in _OTHER_FORMATS


def add_file_to_write(parser: argparse.ArgumentParser, example: str) -> None:
    """``-o`` of a command that writes one file.

    Args:
        parser: The parser of that command.
        example: A good name for the file.
    """

    def file_name(text: str) -> str:
        if _is_format(text):
            raise argparse.ArgumentTypeError(
                f'"{text}": a format, and this command has one only\n'
                f"Name the file to write (-o {example}), -o ./{text} for a file of that name, "
                "or -o - for standard output"
            )
        return text

    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=file_name,
        metavar="FILE",
        help="the file to write or replace; - is standard output",
    )


def add_page_or_output(parser: argparse.ArgumentParser, example: str) -> None:
    """``-o`` of a command that writes an HTML page, or prints the same answer in another format.

    Args:
        parser: The parser of that command.
        example: A good name for the page.
    """
    plain = tuple(entry.name for entry in formats_of() if not entry.template)
    listed_formats = ", ".join(plain)

    def page_or_output(text: str) -> str | Output:
        if text in plain:
            from kubectl_plugin.options import Output

            return Output(text)
        if _is_format(text):
            raise argparse.ArgumentTypeError(
                f'"{text}": a format, and this command has {listed_formats} only\n'
                f"Name the HTML file to write (-o {example}), -o ./{text} for a file of that name, "
                "or -o - for standard output"
            )
        _check_page(text, plain, example)
        return text

    parser.add_argument(
        "-o",
        "--output",
        default="table",
        type=page_or_output,
        metavar="FILE",
        help=f"the HTML file to write or replace, - for standard output; or one of: {listed_formats}",
    )


def _check_page(text: str, formats: Sequence[str], example: str) -> None:
    """Refuse a name that nobody gives an HTML page, so that such a file is not overwritten.

    Raises:
        argparse.ArgumentTypeError: the name is that of a data file, or no file name at all.
    """
    _, dot, suffix = text.rpartition("/")[2].rpartition(".")
    form = next((entry.name for entry in FORMATS.values() if suffix.lower() in entry.suffixes), "") if dot else ""
    if form:
        raise argparse.ArgumentTypeError(
            f'"{text}": -o FILE writes an HTML page, and this is a name of {form}\n'
            f"Ask for the data with -o {form} > {text}, or name an HTML file: -o {example}"
        )
    if not dot and "/" not in text and text != "-":
        raise argparse.ArgumentTypeError(
            f'"{text}": no format, and no name of an HTML file\n'
            f"Use one of {', '.join(formats)}, or name the HTML file to write: -o {example}"
        )


def add_scheduler_config(parser: argparse.ArgumentParser) -> None:
    """``--scheduler-config``."""
    parser.add_argument(
        "--scheduler-config",
        metavar="WHERE",
        help="the scheduler's KubeSchedulerConfiguration: a file, or configmap/NAMESPACE/NAME; its defaults otherwise",
    )


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """``--dry-run=server``."""
    parser.add_argument("--dry-run", choices=["server"], help="let the API server do everything but store it")


def add_timeout(parser: argparse.ArgumentParser, default: float | None, what: str) -> None:
    """``--timeout``."""
    parser.add_argument("--timeout", type=seconds, default=default, metavar="TIME", help=what)


_SNAPSHOT: Final = "what `kubectl qos snapshot` wrote"
_OR_A_LIST: Final = "or a List as `kubectl get nodes,pods,… -A -o json|yaml` prints"


def add_common(parser: argparse.ArgumentParser, *, lists: bool = True) -> argparse._MutuallyExclusiveGroup:
    """Flags of every command that reads a cluster; returns the group that says where objects come from.

    Args:
        parser: The parser of one command.
        lists: Whether ``--snapshot`` takes a List, too, which does not say what is missing in it.
    """
    parser.add_argument("--no-color", action="store_true", help="no colour; NO_COLOR does the same")
    sources = parser.add_argument_group("where objects come from").add_mutually_exclusive_group()
    sources.add_argument("--demo", action="store_true", help="the built-in demo cluster; needs no cluster")
    sources.add_argument(
        "--snapshot",
        metavar="FILE",
        help=f"{_SNAPSHOT}; {_OR_A_LIST}" if lists else _SNAPSHOT,
    )
    group = parser.add_argument_group("as in kubectl")
    group.add_argument("-n", "--namespace", metavar="NAME")
    group.add_argument("--context", metavar="NAME")
    group.add_argument("--kubeconfig", metavar="FILE")
    group.add_argument("--cluster", metavar="NAME")
    group.add_argument("--user", metavar="NAME")
    group.add_argument("--as", dest="as_user", metavar="USER", help="act as this user")
    group.add_argument("--as-group", dest="as_groups", action="append", default=[], metavar="GROUP")
    group.add_argument("--request-timeout", type=seconds, default=30.0, metavar="TIME", help="for one request; 30s")
    return sources


def cluster_options(args: argparse.Namespace, *, is_optional: bool = False) -> ClusterOptions:
    """Cluster, user and namespace.

    Args:
        args: What was typed.
        is_optional: Whether the command still answers, with less, if no cluster does.
    """
    from kubectl_plugin.options import ClusterOptions, TypedCommand

    return ClusterOptions(
        typed=TypedCommand(args.typed_command, tuple(_flags_to_repeat(args.typed_flags))),
        namespace=args.namespace,
        context=args.context,
        kubeconfig=args.kubeconfig,
        cluster=args.cluster,
        user=args.user,
        as_user=args.as_user,
        as_groups=tuple(args.as_groups),
        request_timeout=args.request_timeout,
        demo=args.demo,
        snapshot=args.snapshot,
        offline=getattr(args, "offline", False),
        is_optional=is_optional,
    )


def _flags_to_repeat(flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The typed flags with their values, without those that choose a cluster or a namespace."""
    from kubectl_plugin.parsing import FLAGS_WITH_VALUE

    words = iter(flags)
    for word in words:
        name, _, value = word.partition("=")
        if not word.startswith("--"):
            name, value = word[:2], word[2:].removeprefix("=")
        if name in FLAGS_WITH_VALUE and name == word:
            value = next(words, "")
        if name not in _TARGET_FLAGS:
            yield _LONG_NAMES.get(name, name), value


def scheduler_config(args: argparse.Namespace) -> str | None:
    """The place of the scheduler's configuration; the demo cluster has its own."""
    from kubectl_plugin.options import DEMO_SCHEDULER

    given: str | None = args.scheduler_config
    return given or (DEMO_SCHEDULER if args.demo else None)


def wants_colour(args: argparse.Namespace) -> bool:
    """Colour on a terminal, unless the user or the terminal says otherwise (no-color.org)."""
    if args.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def add_watch(parser: argparse.ArgumentParser) -> None:
    """``--watch`` and ``--watch-interval``."""
    parser.add_argument("-w", "--watch", action="store_true", help="go on: draw it anew when something changes")
    parser.add_argument(
        "--watch-interval",
        type=seconds,
        metavar="TIME",
        help="with --watch: look again after this time at the latest, for usage and clocks; 10s",
    )


def watch_interval(args: argparse.Namespace) -> float | None:
    """Seconds between two looks; None: one look is enough.

    Raises:
        UsageError: the objects do not change, or cannot be read twice.
    """
    if not args.watch:
        if args.watch_interval is not None:
            args.command_parser.error("--watch-interval goes with --watch only\nAdd -w, or leave --watch-interval out")
        return None
    if args.demo or args.snapshot or getattr(args, "offline", False):
        args.command_parser.error(
            "--watch is for a cluster: the demo, a snapshot and --offline do not change\nLeave --watch out"
        )
    if "-" in getattr(args, "files", ()):
        args.command_parser.error(
            "--watch reads files again: standard input can be read once only\nName a file with -f"
        )
    return float(max(_MIN_INTERVAL, _DEFAULT_INTERVAL if args.watch_interval is None else args.watch_interval))


def seconds(text: str) -> float:
    """A number of seconds, or a duration of Go: ``30``, ``500ms``, ``1h30m``; 0 means no limit, which is an hour here.

    Raises:
        argparse.ArgumentTypeError: it is neither, or negative, or longer than a year.
    """
    value = float(text) if _NUMBER.fullmatch(text) else _go_duration(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f'"{text}": negative\nWrite e.g. 30s')
    if value > _MAX_SECONDS:
        raise argparse.ArgumentTypeError(f'"{text}": longer than a year\nWrite e.g. 1h30m')
    return value or 3600.0


def _go_duration(text: str) -> float:
    from podrules.model.duration import DurationError, parse_duration

    try:
        return parse_duration(text).total_seconds()
    except DurationError:
        raise argparse.ArgumentTypeError(f'"{text}": not a time\nWrite e.g. 30s, 500ms or 1h30m') from None
