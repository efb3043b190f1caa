"""The README lists each value with its comment in values.yaml; `make docs` rewrites the table."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from msgspec.json import encode

from tests.charts.chart import CHART
from tests.golden import check
from webhook.settings import Settings

README = CHART / "README.md"
REFERENCE = CHART.parents[1] / "docs" / "webhook" / "reference.md"
TABLE = re.compile(r"(<!-- values -->\n).*?(<!-- end of values -->)", re.DOTALL)
KEY = re.compile(r"^( *)([A-Za-z]+):")
OPTIONAL = {
    "": {
        "global",
        "imagePullSecrets",
        "resources",
        "priorityClassName",
        "nodeSelector",
        "tolerations",
        "affinity",
        "topologySpreadConstraints",
        "extraEnv",
    },
    "resources.": {"requests", "limits"},
    "affinity.": {"nodeAffinity", "podAffinity", "podAntiAffinity"},
    "forceDeletion.": {"exemptNodeControllers"},
}
"""The values that may be null, by the path of their parent."""


def documented() -> dict[str, str]:
    """The ``# --`` comment of each value, by path."""
    found: dict[str, str] = {}
    path: list[str] = []
    comment = ""
    for line in (CHART / "values.yaml").read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text.startswith("# -- "):
            comment = text.removeprefix("# -- ")
        elif key := KEY.match(line):
            path = [*path[: len(key[1]) // 2], key[2]]
            if comment:
                found[".".join(path)] = comment
            comment = ""
    return found


@functools.cache
def values() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return loaded


def at(path: str, value: Any = None) -> Any:
    value = values() if value is None else value
    for key in path.split("."):
        value = value[key]
    return value


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, inside in value.items():
            yield from leaves(inside, (*path, key))
    else:
        yield ".".join(path)


def schema_paths(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    """The deepest objects of the schema that list their properties, and all other values."""
    for name, inside in schema["properties"].items():
        if "properties" in inside:
            yield from schema_paths(inside, (*path, name))
        else:
            yield ".".join((*path, name))


def test_table_is_generated() -> None:
    lines = ["| value | default | |", "| --- | --- | --- |"]
    lines += [f"| `{path}` | `{json.dumps(at(path))}` | {comment} |" for path, comment in documented().items()]
    text = README.read_text(encoding="utf-8")
    check(README, TABLE.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text))
    assert TABLE.search(text)


def test_every_value_has_a_comment() -> None:
    described = documented()
    for leaf in leaves(values()):
        assert any(leaf == path or leaf.startswith(f"{path}.") for path in described), f"{leaf} has no # -- comment"


def test_schema_and_values_know_the_same() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    known = set(schema_paths(schema)) - {"global"}
    described = documented()
    assert {path for path in known if not path.startswith(("affinity.", "resources."))} == set(described) - {
        "affinity",
        "resources",
    }


def test_schema_is_strict() -> None:
    """Helm removes a value that is null. A value is optional only if null means the same as empty."""

    def check_strict(part: Mapping[str, Any], path: str) -> None:
        optional = {name for name in part.get("properties", {}) if name not in part.get("required", ())}
        assert optional <= OPTIONAL.get(path, set()), path
        for name, inside in part.get("properties", {}).items():
            if "properties" in inside:
                assert inside["additionalProperties"] is False, f"{path}{name}"
                check_strict(inside, f"{path}{name}.")

    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert schema["additionalProperties"] is False
    check_strict(schema, "")


def test_reference_names_the_keys_of_the_file() -> None:
    """With "as in the chart" only where the program's default is the chart's."""
    table = REFERENCE.read_text(encoding="utf-8").partition("## Without the chart")[2]
    defaults = json.loads(encode(Settings()))
    same = set()
    for keys, default in re.findall(r"^\| (`.+?) \| .+? \| (.*) \|$", table, re.MULTILINE):
        parent, _, names = keys.rpartition(": ")
        paths = {".".join(filter(None, (parent.strip("`"), name))) for name in re.findall(r"`(\w+)`", names)}
        same |= paths if default.startswith("as in the chart") else set()
    assert {path: at(path, defaults) for path in same} == {path: at(path) for path in same}
    assert {"priorityClasses", "tls", "forceDeletion.mode", "clusterDefaultConstraints.namespaces"} < same
    assert all(f"`{key}" in table for key in defaults.keys() - {"apiVersion", "kind"})
    assert all(f"`{key}`" in table or f".{key}`" in table for key in defaults["forceDeletion"])
