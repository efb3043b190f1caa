"""``-o custom-columns``, a line for each report with cells found by JSONPath, and ``-o jsonpath``.

Source: pkg/cmd/get/customcolumn.go of k8s.io/kubectl, pkg/printers/tabwriter.go of k8s.io/cli-runtime (the widths),
both at v0.36.3. Text from the cluster is escaped, as in every table: a line break in it does not start a new row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kubectl_plugin.render.formats import Medium, PrintedAnswer
from kubectl_plugin.render.jsonpath import JSONPathError, JSONPathTemplate, go_print, parse
from kubectl_plugin.render.structured import content, render_json_list
from podrules.api.escape import escape

_RELAXED: Final = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
_PADDING: Final = 3
_LEAST_WIDTH: Final = 6


class CustomColumns(NamedTuple):
    """Headings, and the paths of their values."""

    headings: tuple[str, ...]
    paths: tuple[JSONPathTemplate, ...]
    fields: tuple[str, ...]
    """The paths as typed."""
    shows_headings: bool = True

    def render(self, items: Sequence[Any]) -> str:
        """The headings, if requested, and a line for each item.

        Raises:
            JSONPathError: a path does not fit an item.
        """
        rows = [self.headings] if self.shows_headings else []
        rows += [
            tuple(",".join(escape(go_print(value)) for value in path.find(item)) or "<none>" for path in self.paths)
            for item in items
        ]
        widths = [max(_LEAST_WIDTH, _PADDING + max(map(len, column))) for column in zip(*rows, strict=True)]
        return "".join(f"{_line(row, widths)}\n" for row in rows)

    def missing(self, items: Sequence[Any]) -> tuple[str, ...]:
        """The paths that find nothing in any item: every cell of their columns is ``<none>``.

        Raises:
            JSONPathError: a path does not fit an item.
        """
        found = zip(self.fields, self.paths, strict=True)
        return tuple(field for field, path in found if items and not any(path.find(item) for item in items))


def columns_from_spec(spec: str) -> CustomColumns:
    """``NAME:.name,CLASS:.qos.class``.

    Raises:
        JSONPathError: it cannot be read.
    """
    pairs = [part.partition(":") for part in spec.split(",")]
    for heading, colon, _ in pairs:
        if not colon:
            raise JSONPathError(f"column {heading!r}: write HEADING:PATH, e.g. NAME:.name,CLASS:.qos.class")
    return _columns([heading for heading, _, _ in pairs], [path for _, _, path in pairs])


def columns_from_lines(text: str) -> CustomColumns:
    """A line of headings and a line of paths, with spaces between them.

    Raises:
        JSONPathError: it cannot be read.
    """
    headings, paths = [line.split() for line in [*text.splitlines(), "", ""][:2]]
    if not headings or len(headings) != len(paths):
        raise JSONPathError(
            f"headings in the first line: {len(headings)}, paths in the second: {len(paths)}; write as many of each"
        )
    return _columns(headings, paths)


def _columns(headings: Sequence[str], paths: Sequence[str]) -> CustomColumns:
    return CustomColumns(tuple(headings), tuple(parse(_braced(path)) for path in paths), tuple(paths))


def _braced(path: str) -> str:
    """The path in its full form: ``name``, ``.name``, ``{name}`` and ``{.name}`` are the same."""
    if not path:
        return ""
    found = _RELAXED.fullmatch(path)
    if found is None:
        raise JSONPathError(f"{path!r}: a column is one path: name, .name, {{name}} or {{.name}}")
    return f"{{.{found[1] or found[2]}}}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    *cells, last = row
    return "".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)) + last


def render_jsonpath(answer: PrintedAnswer, medium: Medium) -> str:
    """The values that the template names, as text."""
    template: JSONPathTemplate = medium.template
    # A program gets texts unchanged; on a terminal, they must not move the cursor.
    return template.render(_data(answer), escape if medium.terminal else str)


def render_jsonpath_values(answer: PrintedAnswer, medium: Medium) -> str:
    """The values that the template names, as a JSON list for each action."""
    template: JSONPathTemplate = medium.template
    return "".join(map(render_json_list, template.values(_data(answer))))


def render_columns(answer: PrintedAnswer, medium: Medium) -> str:
    """A line for each report; a note names the paths without any value."""
    columns: CustomColumns = medium.template
    data = _data(answer)
    items = data["items"] if data["kind"] == "List" else [data]
    # A mistyped path looks like a missing field.
    where = "the object has no" if len(items) == 1 else f"none of the {len(items)} objects has"
    for field in dict.fromkeys(columns.missing(items)):
        medium.note(f"{where} {field}: -o json shows the fields")
    return columns.render(items)


def _data(answer: PrintedAnswer) -> Any:
    # Templates expect the types of JSON: lists, not tuples.
    return msgspec.json.decode(msgspec.json.encode(content(answer)))
