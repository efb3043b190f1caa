"""``-o jsonpath`` and ``-o custom-columns``: templates for the data that ``-o json`` prints."""

from __future__ import annotations

from typing import Any

import msgspec

from kubectl_plugin.render.columns import CustomColumns
from kubectl_plugin.render.escape import escape
from kubectl_plugin.render.formats import Medium, PrintedAnswer
from kubectl_plugin.render.jsonpath import JSONPathTemplate
from kubectl_plugin.render.structured import content, render_json_list


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
