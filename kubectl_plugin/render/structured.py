"""Reports as JSON and YAML, and the names of their objects.

JSON and YAML are pure ASCII: the formats' own escapes keep every other character.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from kubectl_plugin.render.formats import Medium, PrintedAnswer
from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.verdict import Verdict
from podrules.api.escape import escape


def render_json(answer: PrintedAnswer, medium: Medium) -> str:
    """One report, or a List of them, as JSON."""
    del medium
    return _json(content(answer), indent=2)


def render_json_list(values: Sequence[Any]) -> str:
    """Values as JSON, indented like kubectl's output of templates."""
    return _json(list(values), indent=4)


def _json(data: Any, *, indent: int) -> str:
    import json

    try:
        # Several times as fast as the json module with an indent.
        text: str = msgspec.json.format(json.dumps(data), indent=indent)
    except msgspec.DecodeError:
        # Half a surrogate pair, in the name or the content of a file.
        text = json.dumps(data, indent=indent)
    # DEL is the only control character that JSON does not escape.
    return text.replace("\x7f", "\\u007f") + "\n"


def render_yaml(answer: PrintedAnswer, medium: Medium) -> str:
    """The same as YAML."""
    import yaml

    del medium

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(content(answer), Dumper=dumper, sort_keys=False, width=120)
    return text


def content(answer: PrintedAnswer) -> dict[str, Any]:
    """One report, or a List of them, in the types of JSON; each with its headline, if it has one."""
    plain = [_ordered(report, verdict) for report, verdict in answer.reports]
    if not answer.as_list and len(plain) == 1:
        return plain[0]
    # kubectl can apply a List of Kubernetes objects.
    version = API_VERSION if all(entry["apiVersion"] == API_VERSION for entry in plain) else "v1"
    return {"apiVersion": version, "kind": "List", "items": plain}


def _ordered(report: Struct, verdict: Verdict | None) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(report, str_keys=True)
    head = {"apiVersion": data["apiVersion"], "kind": data["kind"]}
    if verdict is not None:
        head["verdict"] = msgspec.to_builtins(verdict.as_data(getattr(report, "lacks", ())))
    return {**head, **data}


def render_names(answer: PrintedAnswer, medium: Medium) -> str:
    """``pod/web-0``, one per line."""
    del medium
    return "".join(f"{escape(name)}\n" for name in answer.names)
