"""``-o``: the formats that a command offers, templates, and names of files to write."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kubectl_plugin.render.formats import FORMATS, Format, TemplateArgument, TemplateError, formats_of, load

if TYPE_CHECKING:
    from kubectl_plugin.options import Output

_OTHER_FORMATS: Final = frozenset({"html", "kyaml", "go-template", "go-template-file", "template", "templatefile"})
"""Formats of kubectl, or that people expect; they are never meant as file names."""
_MAX_TEMPLATE: Final = 100_000


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
        problem = getattr(error, "strerror", None) or "it is not text"
        raise argparse.ArgumentTypeError(f"{name}={path}: {problem}\nName a file with a template") from error
    if len(text) > _MAX_TEMPLATE:
        problem = f"longer than {_MAX_TEMPLATE} characters: it is not a template"
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
    parser.add_argument("--no-headers", action="store_true", help="print custom-columns without headings")


def wanted_output(args: argparse.Namespace) -> Output:
    """The output that ``-o`` and ``--no-headers`` select.

    Raises:
        UsageError: they are inconsistent.
    """
    output: Output = args.output
    if not args.no_headers:
        return output
    from kubectl_plugin.render.templates import CustomColumns

    columns = output.template
    parser: argparse.ArgumentParser = args.command_parser
    if not isinstance(columns, CustomColumns):
        parser.error("--no-headers needs -o custom-columns=SPEC\nFor names only, use -o name")
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
                f'"{text}": a format, and this command has only one\n'
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
                f'"{text}": a format, and this command has only {listed_formats}\n'
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
    if not dot and "/" not in text and text != "-":
        raise argparse.ArgumentTypeError(
            f'"{text}": neither a format nor the name of an HTML file\n'
            f"Use one of {', '.join(formats)}, or name the HTML file to write: -o {example}"
        )
