"""Flags that several commands share, and ``-o``: the formats that a command offers, templates, and files to write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from cluster_io.errors import UsageError
from kubectl_plugin.options import DEMO_SCHEDULER, ClusterOptions, Output, Selection, Validation
from kubectl_plugin.options.flag import KUBECTL, SOURCES, combined, flag, grace_seconds, seconds, switch
from kubectl_plugin.render.formats import FORMATS, Format, TemplateArgument, TemplateError, formats_of, load
from kubectl_plugin.render.width import allows_colour

_DEFAULT_INTERVAL: Final = 10.0
"""Seconds between two answers of ``--watch``."""
_MIN_INTERVAL: Final = 1.0
"""Seconds; shorter intervals would load the API server."""
_VALIDATION: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), "strict"),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), "ignore"),
}
"""kubectl's older values, as Go reads them."""
_OTHER_FORMATS: Final = frozenset({"html", "kyaml", "go-template", "go-template-file", "template", "templatefile"})
"""Formats of kubectl, or that people expect; they are never meant as file names."""
_MAX_TEMPLATE: Final = 100_000


FILES: Final = flag(
    "-f",
    "--filename",
    action="append",
    metavar="FILE",
    help="manifest file or folder, or -; may be repeated",
)
VALIDATION: Final = flag(
    "--validate",
    type=lambda text: _VALIDATION.get(text, text),
    choices=("strict", "warn", "ignore"),
    nargs="?",
    const="strict",
    metavar="MODE",
    default=Validation.STRICT,
    untyped="strict",
    read=lambda args: Validation(args.validation),
    help="unknown fields: strict (default), warn or ignore",
)
DRY_RUN: Final = flag(
    "--dry-run",
    choices=("server",),
    read=lambda args: args.dry_run is not None,
    help="send the change to the API server without storing it",
)
SCHEDULER_CONFIG: Final = flag(
    "--scheduler-config",
    metavar="WHERE",
    # The demo cluster has its own.
    read=lambda args: args.scheduler_config or (DEMO_SCHEDULER if args.demo else None),
    help="a file, or configmap/NAMESPACE/NAME",
)


COLOUR: Final = switch(
    "--no-color",
    read=lambda args: not args.colour and allows_colour(sys.stdout),
    help="disable colour, like NO_COLOR",
)
ALL: Final = switch(
    "--all",
    read=lambda args: args.every or not sys.stdout.isatty(),
    help="a row for each object; the default in a pipe",
)


def _dry_run_of_files(args: argparse.Namespace) -> bool:
    if args.dry_run != "server":
        return False
    if not args.files:
        raise UsageError("--dry-run=server is for manifests only", advice="Name a file with -f, or leave it out")
    where = next((flag for flag in ("demo", "snapshot", "offline") if getattr(args, flag, None)), "")
    if where:
        raise UsageError(
            f"--dry-run=server needs a cluster, and --{where} has none", advice=f"Leave --{where} or --dry-run out"
        )
    return True


DRY_RUN_OF_FILES: Final = flag(
    "--dry-run",
    choices=("none", "server"),
    default=False,
    untyped="none",
    read=_dry_run_of_files,
    help="server: the API server checks the files",
)


def _watch_interval(args: argparse.Namespace) -> float | None:
    if not args.watch:
        if args.watch_interval is not None:
            raise UsageError("--watch-interval needs --watch", advice="Add -w, or leave --watch-interval out")
        return None
    if args.demo or args.snapshot or getattr(args, "offline", False):
        raise UsageError(
            "--watch needs a cluster: the demo, a snapshot and --offline do not change", advice="Leave --watch out"
        )
    if "-" in getattr(args, "files", ()):
        raise UsageError(
            "--watch reads files again: standard input can be read only once", advice="Name a file with -f"
        )
    return float(max(_MIN_INTERVAL, _DEFAULT_INTERVAL if args.watch_interval is None else args.watch_interval))


WATCH: Final = combined(
    _watch_interval,
    watch=switch("-w", "--watch", help="print a new answer after each change"),
    watch_interval=flag(
        "--watch-interval",
        type=seconds,
        metavar="TIME",
        help="with -w: refresh at least this often (default 10s)",
    ),
)


def grace_period_flag(help_line: str) -> Any:
    """``--grace-period``. As in kubectl, a negative number means the pod's own."""
    return flag(
        "--grace-period",
        type=grace_seconds,
        metavar="SECONDS",
        read=lambda args: None if args.grace_period is None or args.grace_period < 0 else args.grace_period,
        help=help_line,
    )


def selection_flags(*, everywhere: bool = False, fields: str = "status.phase=Pending") -> Any:
    """``-l`` and ``--field-selector``.

    Args:
        everywhere: Whether to add ``-A``; not for Nodes, and not if the command has its own flag.
        fields: An example.
    """
    flags = Selection.all_flags()
    flags["fields"] = flags["fields"].but(help=f"with these fields, e.g. {fields}")
    if not everywhere:
        del flags["everywhere"]
    return combined(Selection.read, Selection(), **flags)


def connection(
    changes: Callable[[argparse.Namespace], Mapping[str, Any]] = lambda _: {}, *, snapshot: str | None = None
) -> Any:
    """The flags of commands that read a cluster.

    Args:
        changes: The values that differ for this command.
        snapshot: The help of ``--snapshot``, if it differs.
    """
    flags = {
        name: one
        for name, one in ClusterOptions.all_flags().items()
        if one.group in {SOURCES, KUBECTL} and name != "offline"
    }
    if snapshot is not None:
        flags["snapshot"] = flags["snapshot"].but(help=snapshot)
    return combined(lambda args: cluster_options(args).replace(**changes(args)), ClusterOptions(), **flags)


def cluster_options(args: argparse.Namespace) -> ClusterOptions:
    """Cluster, user and namespace, with the typed flags for suggestions."""
    return ClusterOptions.read(args, typed=args.typed)


class OutputFormats:
    """Reads the value of ``-o``: a format's name, or a template's kind and the template."""

    def __init__(self, formats: Sequence[Format]) -> None:
        """Accept these formats."""
        self._formats = {entry.name: entry for entry in formats}
        self.all = tuple(entry.typed for entry in formats)
        """The names as typed; formats that take a template end with =."""

    def __call__(self, text: str) -> Output:
        """The format, with its template read.

        Raises:
            argparse.ArgumentTypeError: the format is unknown, or its template or file cannot be read.
        """
        # As kubectl: JSON is json.
        plain = self._formats.get(text.lower())
        if plain is not None and not plain.template:
            return Output(format=plain.name)
        name, _, given = text.partition("=")
        entry = self._formats.get(name)
        if entry is None or entry.template is None:
            from kubectl_plugin.options.similar_words import not_one_of

            raise argparse.ArgumentTypeError(not_one_of(text, self.all))
        if not given:
            raise argparse.ArgumentTypeError(
                f"{name}: its template is missing\nWrite e.g. -o {name}={entry.template.example}"
            )
        return Output(format=name, template=_template(name, entry.template, given))


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
        problem = getattr(error, "strerror", None) or "it is not text"
        raise argparse.ArgumentTypeError(f"{name}={path}: {problem}\nName a file with a template") from error
    if len(text) > _MAX_TEMPLATE:
        problem = f"longer than {_MAX_TEMPLATE} characters: it is not a template"
        raise argparse.ArgumentTypeError(f"{name}={path}: {problem}\nName a file with a template")
    return text


def output_flags(*, wide: bool = False, names: bool = False, findings: bool = False) -> Any:
    """``-o`` of a command that prints reports, and ``--no-headers``.

    Args:
        wide: Whether its pages have a form with every detail.
        names: Whether its reports are about objects.
        findings: Whether it finds faults in manifests.
    """
    formats = OutputFormats(formats_of(wide=wide, names=names, findings=findings))
    return combined(
        _wanted_output,
        Output(),
        output=flag("-o", "--output", untyped="table", type=formats, metavar="FORMAT", help=", ".join(formats.all)),
        no_headers=switch("--no-headers", help="print custom-columns without headings"),
    )


def _wanted_output(args: argparse.Namespace) -> Output:
    chosen: Output = args.output
    if not args.no_headers:
        return chosen
    from kubectl_plugin.render.templates import CustomColumns

    columns = chosen.template
    if not isinstance(columns, CustomColumns):
        raise UsageError("--no-headers needs -o custom-columns=SPEC", advice="For names only, use -o name")
    return chosen.replace(template=columns._replace(shows_headings=False))


def _is_format(text: str) -> bool:
    name = text.partition("=")[0].lower()
    return name in FORMATS or name in _OTHER_FORMATS


def file_to_write(example: str) -> Any:
    """``-o`` of a command that writes one file.

    Args:
        example: A good name for the file.
    """

    def file_name(text: str) -> str:
        if _is_format(text):
            raise argparse.ArgumentTypeError(
                f'"{text}": a format, and this command has only one\n'
                f"Name the file to write (-o {example}), -o ./{text} for a file of that name, "
                "or -o - for standard output"
            )
        return text

    return flag(
        "-o",
        "--output",
        required=True,
        type=file_name,
        metavar="FILE",
        help="the file to write or replace; - is standard output",
    )


def page_or_output(example: str) -> Any:
    """``-o`` of a command that writes an HTML page, or prints the same answer in another format.

    Args:
        example: A good name for the page.
    """
    plain = tuple(entry.name for entry in formats_of(wide=True) if not entry.template)
    listed_formats = ", ".join(plain)

    def wanted(text: str) -> str | Output:
        if text in plain:
            return Output(format=text)
        if _is_format(text):
            raise argparse.ArgumentTypeError(
                f'"{text}": a format, and this command has only {listed_formats}\n'
                f"Name the HTML file to write (-o {example}), -o ./{text} for a file of that name, "
                "or -o - for standard output"
            )
        _check_page(text, plain, example)
        return text

    return flag(
        "-o",
        "--output",
        default=Output(),
        untyped="table",
        type=wanted,
        read=lambda args: Output() if isinstance(args.output, str) else args.output,
        metavar="FILE",
        help=f"the HTML file to write or replace, - for standard output; or one of: {listed_formats}",
    )


def _check_page(text: str, formats: Sequence[str], example: str) -> None:
    """Refuse a file name that is unusual for an HTML page, so that such a file is not overwritten.

    Raises:
        argparse.ArgumentTypeError: the name is that of a data file, or not a file name.
    """
    _, dot, suffix = text.rpartition("/")[2].rpartition(".")
    form = next((entry.name for entry in FORMATS.values() if suffix.lower() in entry.suffixes), "") if dot else ""
    if form:
        raise argparse.ArgumentTypeError(
            f'"{text}": -o FILE writes an HTML page, and this is a file name of {form}\n'
            f"Print the data with -o {form} > {text}, or name an HTML file: -o {example}"
        )
    if suffix not in {"html", "htm"} if dot else "/" not in text and text != "-":
        raise argparse.ArgumentTypeError(
            f'"{text}": neither a format nor the name of an HTML file\n'
            f"Use one of {', '.join(formats)}, or name the HTML file to write: -o {example}"
        )
