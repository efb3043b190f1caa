"""Writes `cluster_io.wire.fields`: the protobuf field numbers of our models' fields.

Numbers and types come from the ``generated.proto`` files of the Go modules k8s.io/api and k8s.io/apimachinery at the
version of the control plane that is tested; which Go fields are pointers, and which are inlined in JSON, from the
``types.go`` beside them. `test_wire_fields` writes it again and compares, so models and numbers cannot drift apart.

    python -m tests.cluster_io.wire_fields
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields

from cluster_io.kinds import ALL_KINDS, EVENTS
from tests.controlplane.binaries import Unavailable
from tests.upstream import find_source

ROOT: Final = Path(__file__).resolve().parents[2]
FILE: Final = ROOT / "cluster_io" / "wire" / "fields.py"
MODULES: Final = ("k8s.io/api", "k8s.io/apimachinery")
_HEAD: Final = '''\
"""The field numbers of API objects in protobuf, as far as our models need them.

``python -m tests.cluster_io.wire_fields`` writes this module from upstream's .proto and .go files: do not edit it. A
field has its number and its type in Go's notation: ``*`` may be unset, ``[]`` is repeated, ``map[string]`` is a map;
``<`` is a message; JSON inlines its fields into its parent. None: this message lacks a field that others of its model
have.

Source: generated.proto and types.go of k8s.io/{api,apimachinery} at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["MESSAGES"]

'''
_MESSAGE: Final = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r"^  (optional |repeated |)(map<string, [\w.]+>|[\w.]+) (\w+) = (\d+);", re.MULTILINE)
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_TAGGED: Final = re.compile(
    r'^\t(?:\w+[ \t]+)?(\*?)[\w.\[\]*]+[ \t]+`json:"(\w*)[^"]*"(?: \w+:"[^"]*")*? protobuf:"\w+,(\d+),', re.MULTILINE
)
_FORMER: Final = {
    "core/v1.PodSpec": {"workloadRef": (42, "*core/v1.WorkloadReference")},
    "core/v1.WorkloadReference": {"name": (1, "string")},
}
"""Fields that older servers send and upstream has removed: their numbers stay reserved (k8s.io/api at v0.35.0)."""
_SCALARS: Final = frozenset({"string", "bool", "int32", "int64"})
_LEAVES: Final = frozenset({"meta/v1.Time", "meta/v1.MicroTime", "resource.Quantity", "intstr.IntOrString"})


class _Field(NamedTuple):
    number: int
    type: str


_Messages = Mapping[str, Mapping[str, _Field]]


def generate() -> str:
    """The module's text.

    Raises:
        LookupError: the sources are unavailable, or a model has a field that upstream does not have.
    """
    upstream = _upstream()
    kept: dict[str, dict[str, _Field | None]] = {}
    seen: dict[type[Struct], set[str]] = {}
    for kind in (*ALL_KINDS, EVENTS):
        _keep(kind.model, f"{kind.group.partition('.')[0] or 'core'}/{kind.version}.{kind.kind}", upstream, kept, seen)
    for model, found in seen.items():
        missing = {field.encode_name for field in fields(model)} - found
        if missing:
            raise LookupError(f"{model.__name__}: upstream has no {', '.join(sorted(missing))}")
    lines = ["MESSAGES: Final[Mapping[str, Mapping[str, tuple[int, str] | None]]] = {\n"]
    for message, entries in sorted(kept.items()):
        if not entries:
            lines.append(f"    {_quoted(message)}: {{}},\n")
            continue
        lines.append(f"    {_quoted(message)}: {{\n")
        for name, field in sorted(entries.items(), key=lambda entry: (entry[1] or _Field(1 << 30, ""), entry[0])):
            value = "None" if field is None else f"({field.number}, {_quoted(field.type)})"
            lines.append(f"        {_quoted(name)}: {value},\n")
        lines.append("    },\n")
    return _HEAD + "".join(lines) + "}\n"


def _keep(
    model: type[Struct],
    message: str,
    upstream: _Messages,
    kept: dict[str, dict[str, _Field | None]],
    seen: dict[type[Struct], set[str]],
) -> None:
    """Keep a model's fields of a message, and of the messages in it."""
    known = seen.setdefault(model, set())
    entries = kept.setdefault(message, {})
    for entry in fields(model):
        name = entry.encode_name
        holder, field = next(_holders(message, name, upstream), (message, None))
        if holder != message:
            inline = next(key for key, value in upstream[message].items() if value.type == f"<{holder}")
            entries[inline] = upstream[message][inline]
        place = kept.setdefault(holder, {})
        if field is None:
            place.setdefault(name, None)
            continue
        known.add(name)
        if place.get(name) is not None:
            continue
        place[name] = field
        inner = field.type.removeprefix("*").removeprefix("[]").removeprefix("map[string]").removeprefix("*")
        if inner not in _SCALARS | _LEAVES:
            _keep(_model_of(entry.type), inner, upstream, kept, seen)


def _holders(message: str, name: str, upstream: _Messages) -> Iterator[tuple[str, _Field]]:
    """Where a field of a JSON object is: in its message, or in one that is inlined."""
    if name in upstream[message]:
        yield message, upstream[message][name]
    for field in upstream[message].values():
        if field.type.startswith("<") and name in upstream[field.type[1:]]:
            yield field.type[1:], upstream[field.type[1:]][name]


def _model_of(annotation: Any) -> type[Struct]:
    """The model in ``X``, ``X | None``, ``tuple[X, ...]`` or ``dict[str, X]``."""
    while not (isinstance(annotation, type) and issubclass(annotation, Struct)):
        arguments = [entry for entry in get_args(annotation) if entry not in {NoneType, Ellipsis}]
        if not arguments or get_origin(annotation) not in {UnionType, tuple, dict}:
            raise LookupError(f"{annotation}: no model in it")
        annotation = arguments[-1]
    return annotation


def _upstream() -> _Messages:
    """All messages by package and name, their fields by the names that JSON has."""
    found: dict[str, dict[str, _Field]] = {}
    for folder in map(_folder, MODULES):
        for proto in sorted(folder.rglob("generated.proto")):
            package = _short(str(proto.parent.relative_to(folder)).replace("/", "."))
            go = "".join(file.read_text() for file in sorted(proto.parent.glob("*.go")) if "generated" not in file.name)
            tags = {struct: list(_TAGGED.findall(body)) for struct, body in _STRUCT.findall(go)}
            for message, body in _MESSAGE.findall(proto.read_text()):
                numbers = {
                    number: (name, _written(label, kind, package)) for label, kind, name, number in _FIELD.findall(body)
                }
                entries = found.setdefault(f"{package}.{message}", {})
                for pointer, json_name, number in tags.get(message, ()):
                    name, kind = numbers[number]
                    inline = "<" if not json_name else ""
                    entries[json_name or name] = _Field(int(number), f"{pointer}{inline}{kind}".replace("*[]", "[]"))
    for message, former in _FORMER.items():
        known = found.setdefault(message, {})
        known.update((name, _Field(*field)) for name, field in former.items() if name not in known)
    return found


def _written(label: str, kind: str, package: str) -> str:
    """A field's type in Go's notation."""
    if kind.startswith("map<"):
        return f"map[string]{_named(kind.removeprefix('map<string, ').removesuffix('>'), package)}"
    return ("[]" if label == "repeated " else "") + _named(kind, package)


def _named(kind: str, package: str) -> str:
    """A scalar, or a message with its package."""
    if kind in _SCALARS or "." not in kind:
        return kind if kind in {*_SCALARS, "bytes", "double", "uint32", "uint64"} else f"{package}.{kind}"
    path, _, name = kind.removeprefix(".").rpartition(".")
    return f"{_short(path.removeprefix('k8s.io.').removeprefix('apimachinery.').removeprefix('api.'))}.{name}"


def _short(path: str) -> str:
    """``core.v1`` and ``pkg.apis.meta.v1`` as ``core/v1`` and ``meta/v1``; ``pkg.api.resource`` as ``resource``."""
    *_, parent, last = ["", *path.split(".")]
    return f"{parent}/{last}" if re.fullmatch(r"v\d\w*", last) else last


def _folder(module: str) -> Path:
    match find_source(module):
        case Unavailable(reason=reason):
            raise LookupError(reason)
        case folder:
            return folder


def _quoted(text: str) -> str:
    return json.dumps(text)


def main() -> int:
    """Write the file."""
    FILE.write_text(generate())
    print(FILE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
