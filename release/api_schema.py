"""Writes what is known of upstream's API types, from their Go structs: ``python -m release.api_schema MODULES``.

    api.json     the kinds that an API server serves, and the fields that its decoder knows, by version
    wire.json    the protobuf number and type of each field of the kinds that are read as protobuf

MODULES is Go's module cache with k8s.io/api, apimachinery, component-base, kube-scheduler, kubelet and kubernetes of
every version that answers were compared with. The OpenAPI v3 documents of k8s.io/kubernetes list the served kinds; the
configurations of kube-scheduler and kubelet are added. Their fields come from the Go structs, which also show the
decoder's name of a field's type, the embedded structs on the way to it, and its number in protobuf.

Fields that only some versions have contain the first and the last of them. Kinds with objects that are not read here
are listed without their fields.

Source: api/openapi-spec/v3 of k8s.io/kubernetes; types.go of k8s.io/api, of meta/v1 in k8s.io/apimachinery, and of
config in k8s.io/kube-scheduler, k8s.io/kubelet and k8s.io/component-base.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from cluster_io.kinds import ALL_KINDS, EVENTS
from podrules.api.features import VERIFIED

_FOLDER: Final = Path(__file__).resolve().parents[1] / "podrules/api/schema"
API: Final = _FOLDER / "api.json"
WIRE: Final = _FOLDER / "wire.json"
_META: Final = "k8s.io/apimachinery/pkg/apis/meta/v1"
_READ: Final = frozenset(
    [
        "Pod",
        "PodTemplate",
        "ReplicationController",
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
        "PriorityClass",
        "RuntimeClass",
        "LimitRange",
        "ResourceQuota",
        "Node",
        "Namespace",
        "Service",
        "ConfigMap",
        "PersistentVolumeClaim",
        "PersistentVolume",
        "StorageClass",
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "VolumeAttachment",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceSlice",
        "DeviceClass",
    ]
)
_CONFIGURATIONS: Final = (
    ("k8s.io/kube-scheduler/config/v1", re.compile("KubeSchedulerConfiguration|.*Args")),
    ("k8s.io/kubelet/config/v1beta1", re.compile("KubeletConfiguration")),
)
"""Kinds of files: no API server serves them."""
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAMED: Final = re.compile(r"^type (\w+) ((?:map\[|\[\]|\*)?[\w.\]]+)(?: //.*)?$", re.MULTILINE)
_FIELD: Final = re.compile(r'^\t(?:(\w+)\s+)?([\[\]*\w.]+)\s+`(?:[^`]*\s)?json:"([^"]*)"([^`]*)`', re.MULTILINE)
_PROTOBUF: Final = re.compile(r'protobuf:"\w+,(\d+)')
_IMPORT: Final = re.compile(r'^(?:import )?\s*(\w+)? ?"(k8s\.io/[^"]+)"$', re.MULTILINE)
_WORD: Final = re.compile(r"(?:(\w+)\.)?([A-Za-z]\w*)")
_PLAIN: Final = frozenset(
    {"string", "bool", "int32", "int64", "int", "float32", "float64", "byte", "uint8", "map", "uint32"}
)
_Name = tuple[str, str]
"""A type's package and its name in it."""


class _Field(NamedTuple):
    """A field as JSON has it."""

    type: str
    """In Go, each type name with its package: ``[]core.Container``."""
    through: str = ""
    """The embedded structs on the way to the field: ``VolumeSource``."""


class _GoField(NamedTuple):
    """A field as a struct declares it."""

    key: str
    """Its name in JSON; empty: JSON has the fields of the struct in its place."""
    type: str
    named: Sequence[_Name]
    """The types in it."""
    number: str
    """In protobuf; empty: it has none."""


class _GoType(NamedTuple):
    fields: Sequence[_GoField]
    stands_for: str
    """The underlying type of a type that is no struct."""
    named: Sequence[_Name]
    """The types in that."""


def api_schema(modules: Path, minors: Sequence[int] = tuple(sorted(VERIFIED))) -> Mapping[str, Any]:
    """The schema as plain data: ``kinds`` and ``types``.

    Args:
        modules: Go's module cache.
        minors: The versions, in order.
    """
    served = {minor: dict(_served(_documents(modules, minor))) for minor in minors}
    kinds: dict[str, dict[str, Any]] = {}
    for name in sorted({name for found in served.values() for name in found}):
        there = [minor for minor in minors if name in served[minor]]
        version, _, kind = name.rpartition(" ")
        kinds.setdefault(version, {})[kind] = _ranged("", there, minors)
    read = {minor: _fields(modules, minor, served[minor]) for minor in minors}
    types: dict[str, Any] = {}
    for name in sorted({name for found in read.values() for name in found}):
        types[name] = _merged({minor: read[minor].get(name, {}) for minor in minors})
    return {"kinds": kinds, "types": types}


def wire_fields(modules: Path, minors: Sequence[int] = tuple(sorted(VERIFIED))) -> Mapping[str, Mapping[str, str]]:
    """The fields of each message: ``2 core.PodSpec``, ``34 []core.EphemeralContainer``, ``2 <core.VolumeSource``.

    ``<`` is a message that JSON inlines into its parent. Types that stand for a scalar or a map are written as that.
    """
    by_minor = {}
    for minor in minors:
        sources = _Sources(modules, minor)
        found: dict[str, dict[str, _Field]] = {}
        waiting: list[_Name] = [
            (f"k8s.io/api/{kind.group.partition('.')[0] or 'core'}/{kind.version}", kind.kind)
            for kind in (*ALL_KINDS, EVENTS)
        ]
        while waiting:
            package, name = waiting.pop()
            if _shown(package, name) in found:
                continue
            message = found[_shown(package, name)] = {}
            for field in sources.package(package)[name].fields:
                if field.number:
                    kind, structs = sources.underlying(field.type, field.named)
                    if field.key:
                        message[field.key] = _Field(f"{field.number} {kind}")
                    else:
                        inner = structs[0][1]
                        message[inner[0].lower() + inner[1:]] = _Field(f"{field.number} <{kind}")
                    waiting += structs
        by_minor[minor] = found
    names = sorted({name for found in by_minor.values() for name in found})
    return {name: _merged({minor: by_minor[minor].get(name, {}) for minor in minors}) for name in names}


def _ranged(what: str, there: Iterable[int], minors: Iterable[int]) -> str:
    """Data with the first and the last minor that has it, if not all have: ``string 36-37``."""
    found = sorted(there)
    if found != list(range(found[0], found[-1] + 1)):
        raise ValueError(f"{what}: in {found}, with a gap")
    if found == list(minors):
        return what
    return f"{what} {found[0]}-{found[-1]}"


def _merged(by_minor: Mapping[int, Any]) -> Any:
    """The fields of a struct, or the type that another type stands for."""
    if any(isinstance(found, str) for found in by_minor.values()):
        (single,) = {found for found in by_minor.values() if found}
        return single
    has = [minor for minor, fields in by_minor.items() if fields]
    merged: dict[str, str] = {}
    for name in sorted({name for fields in by_minor.values() for name in fields}):
        there = {minor: fields[name] for minor, fields in by_minor.items() if name in fields}
        # If a type was renamed, the newest name counts.
        field = there[max(there)]
        ranged = field.type if list(there) == has else _ranged(field.type, there, by_minor)
        merged[name] = f"{field.through}~{ranged}" if field.through else ranged
    return merged


def _documents(modules: Path, minor: int) -> Iterator[Mapping[str, Any]]:
    folder = modules / f"k8s.io/kubernetes@v{VERIFIED[minor]}" / "api/openapi-spec/v3"
    for file in sorted(folder.glob("*.json")):
        yield json.loads(file.read_text(encoding="utf-8")).get("components", {}).get("schemas", {})


def _served(documents: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Each served kind, and its type in OpenAPI."""
    for schemas in documents:
        for name, schema in schemas.items():
            # The kinds of apimachinery are options and lists, which exist in every group.
            if not name.startswith("io.k8s.apimachinery."):
                for one in schema.get("x-kubernetes-group-version-kind", ()):
                    version = f"{one['group']}/{one['version']}".lstrip("/")
                    if not one["kind"].endswith("List"):
                        yield f"{version} {one['kind']}", name


def _fields(modules: Path, minor: int, served: Mapping[str, str]) -> Mapping[str, Any]:
    """The types of the kinds that are read, and all types that these reach."""
    sources = _Sources(modules, minor)
    waiting: list[_Name] = []
    for name, type_name in served.items():
        *_, group, version, kind = type_name.split(".")
        if name.rpartition(" ")[2] in _READ and type_name.startswith("io.k8s.api."):
            waiting.append((f"k8s.io/api/{group}/{version}", kind))
    for package, kinds in _CONFIGURATIONS:
        waiting += [(package, kind) for kind in sources.package(package) if kinds.fullmatch(kind)]
    found: dict[str, Any] = {}
    while waiting:
        package, name = waiting.pop()
        shown = _shown(package, name)
        if shown not in found:
            go_type = sources.package(package)[name]
            found[shown] = go_type.stands_for or {}
            waiting += go_type.named
            for through, field in sources.json_fields(package, name):
                found[shown][field.key] = _Field(field.type, ".".join(through))
                waiting += field.named
    return found


class _Sources:
    """The Go sources of one version."""

    def __init__(self, modules: Path, minor: int) -> None:
        self._modules = modules
        self._version = f"v0.{VERIFIED[minor].removeprefix('1.')}"

    @cache  # noqa: B019  # the process ends with it
    def package(self, package: str) -> Mapping[str, _GoType]:
        """The types of a package."""
        module = "/".join(package.split("/")[:2])
        folder = self._modules / f"{module}@{self._version}" / package.removeprefix(f"{module}/")
        found: dict[str, _GoType] = {}
        for file in sorted(folder.glob("*.go")):
            if not file.name.endswith("_test.go") and not file.name.startswith(("zz_", "generated.")):
                text = re.sub(r"^\s*//.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
                imports = {alias or path.rpartition("/")[2]: path for alias, path in _IMPORT.findall(text)}
                for name, body in _STRUCT.findall(text):
                    found[name] = _GoType(list(_declared(package, body, imports)), "", ())
                for name, stands_for in _NAMED.findall(text):
                    found.setdefault(name, _GoType((), *_resolved(package, stands_for, imports)))
        return found

    def json_fields(self, package: str, name: str) -> Iterator[tuple[tuple[str, ...], _GoField]]:
        """The fields that JSON has of a struct, each with the embedded structs on the way to it."""
        for field in self.package(package)[name].fields:
            if field.key:
                yield (), field
            else:
                ((path, inner),) = field.named
                for through, inside in self.json_fields(path, inner):
                    yield (inner, *through), inside

    def underlying(self, written: str, named: Iterable[_Name]) -> tuple[str, list[_Name]]:
        """A type in scalars, maps and structs, and the structs in it."""
        structs = []
        for package, name in named:
            go_type = self.package(package)[name]
            if go_type.stands_for:
                kind, inner = self.underlying(go_type.stands_for, go_type.named)
                written = re.sub(rf"{re.escape(_shown(package, name))}\b", kind, written)
                structs += inner
            else:
                structs.append((package, name))
        # Texts with a type of their own in Go, and slices behind a pointer: protobuf has neither.
        return re.sub(r"types\.\w+", "string", written).replace("*[]", "[]"), structs


def _declared(package: str, body: str, imports: Mapping[str, str]) -> Iterator[_GoField]:
    """The fields of a struct."""
    for go_name, go_type, json_tag, further_tags in _FIELD.findall(body):
        key, *options = json_tag.split(",")
        if key != "-":
            inlined = "inline" in options or (not go_name and not key)
            number = _PROTOBUF.search(further_tags)
            resolved = _resolved(package, go_type, imports)
            yield _GoField("" if inlined else key, *resolved, number[1] if number else "")


def _resolved(package: str, go_type: str, imports: Mapping[str, str]) -> tuple[str, list[_Name]]:
    """A type with each name's package, and the types in it that do not decode themselves."""
    named: list[_Name] = []

    def resolve(match: re.Match[str]) -> str:
        alias, name = match.groups()
        if alias is None and name in _PLAIN:
            return name
        path = imports[alias] if alias else package
        if not _decodes_itself(path, name):
            named.append((path, name))
        return _shown(path, name)

    return _WORD.sub(resolve, go_type), named


def _shown(package: str, name: str) -> str:
    """``core.Container``: the group, the version unless it is v1, and the name."""
    *_, group, version = package.split("/")
    if package == _META:
        return f"meta.{name}"
    if group == "api" or not re.fullmatch(r"v[0-9].*", version):
        return f"{version}.{name}"
    return f"{group}.{name}" if version == "v1" else f"{group}.{version}.{name}"


def _decodes_itself(package: str, name: str) -> bool:
    """Whether a type has its own UnmarshalJSON; the reader of the schema knows these types by name."""
    if package == _META:
        return name in {"Time", "MicroTime", "FieldsV1", "Duration"}
    return not re.match(r"k8s\.io/(api|[\w-]+/config)/", package)


def main() -> int:
    """Write both files."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    modules = Path(sys.argv[1])
    for file, data in ((API, api_schema(modules)), (WIRE, wire_fields(modules))):
        file.write_text(written(data), encoding="utf-8")
    return 0


def written(data: Mapping[str, Any]) -> str:
    """Data as the files have it."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    sys.exit(main())
