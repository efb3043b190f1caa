"""The kinds that an API server serves, and the fields of those that are read here, by version.

Types are written as in Go, each name with its package: ``[]core.Container``, ``map[string]string``. A field that is
reached through embedded structs has them before it: ``VolumeSource~*core.NFSVolumeSource``. What only some versions
have ends with the first and the last of them: ``string 36-37``.

For the kinds that large lists hold there are also the numbers of the fields in protobuf.

Source: ``api.json`` and ``wire.json`` (`release.api_schema`), from k8s.io/kubernetes, k8s.io/api and k8s.io/kubelet at
1.34.4, 1.35.4, 1.36.3 and 1.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pkgutil import get_data
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from podrules.api.features import VERIFIED

Shape = str
"""``struct list map string bytes bool int float quantity intOrString time duration raw``."""

_INTEGERS: Final = {"int32": 32, "int64": 64, "int": 64}
_THEIR_OWN: Final[Mapping[str, Shape]] = {
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "intOrString",
    "meta.Time": "time",
    "meta.MicroTime": "time",
    "meta.Duration": "duration",
    "meta.FieldsV1": "raw",
    "runtime.RawExtension": "raw",
    "v1.LoggingConfiguration": "raw",
    "v1.TracingConfiguration": "raw",
}
"""Types that decode themselves, and two of k8s.io/component-base that are not read."""
_VERSION: Final = r"v([0-9]+)(?:(alpha|beta)([0-9]+))?"
_LIST: Final = "List"
_SINGLE: Final[Mapping[str, Shape]] = {
    "string": "string",
    "types.UID": "string",
    "bool": "bool",
    "float32": "float",
    "float64": "float",
}
_ONCE_BUILT_IN: Final = frozenset({"auditregistration.k8s.io", "extensions", "settings.k8s.io"})
"""Groups that are no longer served."""


class GoType(Struct, frozen=True):
    """What a value is decoded into."""

    shape: Shape
    printed: str
    """As Go's messages print it: ``[]v1.Container``."""
    struct: str = ""
    """The name of a struct in the schema: ``core.Container``."""
    item: str = ""
    """The type of a list's items, or of a map's values."""
    bits: int = 0
    """The size of an integer."""
    null: bool = True
    """Whether null fits: a Duration that is no pointer reads it as an empty text."""


class Field(Struct, frozen=True):
    """One field of a struct."""

    type: str
    through: tuple[str, ...]
    """The embedded structs on the way to it."""


class WireField(NamedTuple):
    """One field of a message in protobuf."""

    number: int
    type: str
    """As in Go; ``<`` is a message that JSON inlines into its parent."""


class _Data(Struct, frozen=True):
    kinds: Mapping[str, Mapping[str, str]]
    types: Mapping[str, Mapping[str, str] | str]


class Schema(Struct, frozen=True, eq=False):
    """What one version of the API server knows."""

    minor: int
    complete: bool
    """Whether it lacks no field of the version: versions newer than the schema are checked against its newest."""
    exact: bool
    """Whether the version is one of those that it has."""
    asked: int
    """The version that was asked about."""
    _data: _Data

    def serves(self, api_version: str, kind: str) -> bool | None:
        """Whether a kind is served in a version; None: unknown.

        Unknown are lists, groups that are not Kubernetes' own and have a dot in their names, and kinds that a version
        missing from the schema may serve.
        """
        group = api_version.rpartition("/")[0]
        found = self._data.kinds.get(api_version, {}).get(kind)
        if found is not None and _has(found, self.minor):
            return True
        if group in _ONCE_BUILT_IN:
            return False
        if group not in _groups():
            return None if "." in group else False
        return False if self.exact and not kind.endswith(_LIST) else None

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that it serves."""
        served = self._data.kinds.values()
        return frozenset(kind for kinds in served for kind, entry in kinds.items() if _has(entry, self.minor))

    def versions_of(self, kind: str) -> tuple[str, ...]:
        """The apiVersions in which a kind is served, the stable and newest ones first."""
        found = [version for version, kinds in self._data.kinds.items() if kind in kinds]
        there = [version for version in found if _has(self._data.kinds[version][kind], self.minor)]
        return tuple(sorted(there, key=_by_age))

    def root(self, api_version: str, kind: str) -> str | None:
        """The struct of a kind; None: its fields are not known here."""
        group, _, version = api_version.rpartition("/")
        name = struct_of(group, version, kind)
        return name if self.serves(api_version, kind) and isinstance(self._data.types.get(name), Mapping) else None

    def has(self, struct: str) -> bool:
        """Whether it has a struct."""
        return struct in self._data.types

    def fields(self, struct: str) -> Mapping[str, Field]:
        """The fields of a struct in this version."""
        return _fields(self.minor, struct)

    def type(self, written: str) -> GoType:
        """What a type stands for."""
        return _go_type(written)


@cache
def _data() -> _Data:
    return msgspec.json.decode(_read("api.json"), type=_Data)


def _read(file: str) -> bytes:
    # `importlib.resources` would take longer to load than both files.
    return get_data(__package__, file) or b""


def struct_of(group: str, version: str, kind: str) -> str:
    """The name of a kind's struct: ``core.Pod``, ``autoscaling.v2.HorizontalPodAutoscaler``."""
    package = group.partition(".")[0] or "core"
    return f"{package}.{kind}" if version == "v1" else f"{package}.{version}.{kind}"


@cache
def _messages() -> Mapping[str, Mapping[str, str]]:
    return msgspec.json.decode(_read("wire.json"), type=dict[str, dict[str, str]])


@cache
def wire_fields(struct: str) -> Mapping[str, WireField]:
    """The fields that a struct has in protobuf in any version; empty: it is not read as protobuf."""
    # A number is never used again, so the fields of all versions can stand side by side.
    entries = {name: entry.split(" ") for name, entry in _messages().get(struct, {}).items()}
    return {name: WireField(int(number), kind) for name, (number, kind, *_) in entries.items()}


@cache
def schema(minor: int) -> Schema:
    """The schema of a version, or of the nearest one that is known."""
    nearest = min(max(minor, min(VERIFIED)), max(VERIFIED))
    return Schema(nearest, complete=minor <= nearest, exact=minor == nearest, asked=minor, _data=_data())


@cache
def _groups() -> frozenset[str]:
    return frozenset(version.rpartition("/")[0] for version in _data().kinds)


def _by_age(api_version: str) -> tuple[str, int, int, str]:
    """Stable versions first, then beta, then alpha; of each the newest first."""
    found = re.fullmatch(_VERSION, api_version.rpartition("/")[2])
    major, stage, number = found.groups() if found else ("0", "alpha", "0")
    return {None: "0", "beta": "1"}.get(stage, "2"), -int(major), -int(number or 0), api_version


def _has(entry: str, minor: int) -> bool:
    first, _, last = entry.rpartition(" ")[2].partition("-")
    return not last or int(first) <= minor <= int(last)


@cache
def _fields(minor: int, struct: str) -> Mapping[str, Field]:
    written = _data().types[struct]
    found: dict[str, Field] = {}
    for name, entry in written.items() if isinstance(written, Mapping) else ():
        if " " not in entry or _has(entry, minor):
            through, _, kind = entry.partition(" ")[0].rpartition("~")
            found[name] = Field(kind, tuple(through.split(".")) if through else ())
    return found


@cache
def _go_type(written: str) -> GoType:
    name = written.removeprefix("*")
    if name == "[]byte":
        return GoType("bytes", "[]uint8")
    if name.startswith("[]"):
        item = name.removeprefix("[]")
        return GoType("list", f"[]{_printed(item)}", item=item)
    if name.startswith("map["):
        key, _, item = name.removeprefix("map[").partition("]")
        return GoType("map", f"map[{_printed(key)}]{_printed(item)}", item=item)
    if name in _THEIR_OWN:
        return GoType(_THEIR_OWN[name], name, null=written != "meta.Duration")
    if name in _INTEGERS:
        return GoType("int", name, bits=_INTEGERS[name])
    if name in _SINGLE:
        return GoType(_SINGLE[name], name)
    stands_for = _data().types[name]
    if isinstance(stands_for, Mapping):
        return GoType("struct", _printed(name), struct=name)
    found = _go_type(stands_for)
    return GoType(found.shape, _printed(name), found.struct, found.item, found.bits)


def _printed(name: str) -> str:
    """A type as Go prints it: with the last part of its package's path, which is the version of the API."""
    if name.startswith(("*", "[]")):
        mark = "*" if name.startswith("*") else "[]"
        return mark + _printed(name.removeprefix(mark))
    if "." not in name or name in {"resource.Quantity", "intstr.IntOrString", "types.UID", "runtime.RawExtension"}:
        return name
    *package, own = name.split(".")
    return f"{package[1] if len(package) > 1 else 'v1'}.{own}"
