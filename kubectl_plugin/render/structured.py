"""Reports as JSON and YAML. Both are pure ASCII: what is not is escaped by the format itself, and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from kubectl_plugin.reports import API_VERSION

__all__ = ["render_json", "render_yaml"]


def render_json(reports: Sequence[Struct], *, as_list: bool) -> str:
    """One report, or a List of them."""
    import json

    # DEL is the one control character that JSON does not escape.
    return json.dumps(_content(reports, as_list=as_list), indent=2).replace("\x7f", "\\u007f") + "\n"


def render_yaml(reports: Sequence[Struct], *, as_list: bool) -> str:
    """The same as YAML."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(_content(reports, as_list=as_list), Dumper=dumper, sort_keys=False, width=120)
    return text


def _content(reports: Sequence[Struct], *, as_list: bool) -> Any:
    plain = [_ordered(msgspec.to_builtins(report, str_keys=True)) for report in reports]
    if not as_list and len(plain) == 1:
        return plain[0]
    return {"apiVersion": API_VERSION, "kind": "List", "items": plain}


def _ordered(report: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": report["apiVersion"], **report}
