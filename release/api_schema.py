"""Writes the API server decoder's schema of each kind: ``python -m release.api_schema MODULES > FILE``.

MODULES is Go's module cache with k8s.io/api, apimachinery, component-base, kube-scheduler, kubelet and kubernetes of
every version that answers were compared with. The OpenAPI v3 documents of k8s.io/kubernetes list the served kinds; the
configurations of kube-scheduler and kubelet are added. Their fields come from the Go structs, which also show the
decoder's name of a field's type, and the embedded structs on the way to it.

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

from podrules.api.features import VERIFIED

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
_FIELD: Final = re.compile(r'^\t(?:(\w+)\s+)?([\[\]*\w.]+)\s+`(?:[^`]*\s)?json:"([^"]*)"', re.MULTILINE)
_IMPORT: Final = re.compile(r'^(?:import )?\s*(\w+)? ?"(k8s\.io/[^"]+)"$', re.MULTILINE)
_WORD: Final = re.compile(r"(?:(\w+)\.)?([A-Za-z]\w*)")
_PLAIN: Final = frozenset(
    {"string", "bool", "int32", "int64", "int", "float32", "float64", "byte", "uint8", "map", "uint32"}
)


class _Field(NamedTuple):
    type: str
    """In Go, each type name with its package: ``[]core.Container``."""
    through: str
    """The embedded structs on the way to the field: ``VolumeSource``."""


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
    sources = _Sources(modules, f"v0.{VERIFIED[minor].removeprefix('1.')}")
    waiting = []
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
        if shown in found:
            continue
        definition = sources.package(package).get(name)
        if definition is None:
            raise LookupError(f"{package}: no type {name}")
        found[shown] = definition[0]
        waiting += definition[1]
    return found


class _Sources:
    """The Go sources of one version."""

    def __init__(self, modules: Path, version: str) -> None:
        self._modules = modules
        self._version = version

    @cache  # noqa: B019  # the process ends with it
    def package(self, package: str) -> Mapping[str, tuple[Any, list[tuple[str, str]]]]:
        """The types of the version: their fields or underlying type, and the types that they name."""
        module = "/".join(package.split("/")[:2])
        folder = self._modules / f"{module}@{self._version}" / package.removeprefix(f"{module}/")
        found: dict[str, tuple[Any, list[tuple[str, str]]]] = {}
        for file in sorted(folder.glob("*.go")):
            if not file.name.endswith("_test.go") and not file.name.startswith(("zz_", "generated.")):
                text = re.sub(r"^\s*//.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
                imports = {alias or path.rpartition("/")[2]: path for alias, path in _IMPORT.findall(text)}
                self._read(package, text, imports, found)
        return found

    def _read(
        self, package: str, text: str, imports: Mapping[str, str], found: dict[str, tuple[Any, list[tuple[str, str]]]]
    ) -> None:
        def resolved(go_type: str) -> tuple[str, list[tuple[str, str]]]:
            named: list[tuple[str, str]] = []

            def one(match: re.Match[str]) -> str:
                alias, name = match.groups()
                if alias is None and name in _PLAIN:
                    return name
                path = imports[alias] if alias else package
                if not _decodes_itself(path, name):
                    named.append((path, name))
                return _shown(path, name)

            return _WORD.sub(one, go_type), named

        for name, body in _STRUCT.findall(text):
            fields: dict[str, _Field] = {}
            reached: list[tuple[str, str]] = []
            for go_name, go_type, tag in _FIELD.findall(body):
                key = tag.partition(",")[0]
                shown, named = resolved(go_type)
                if key == "-":
                    continue
                if "inline" in tag.split(",")[1:] or (not go_name and not key):
                    path, inner = named[0]
                    own = found if path == package else self.package(path)
                    fields |= self._inlined(own, path, inner, text, imports)
                    reached += own[inner][1] if inner in own else self._later(path, inner, text, imports)[1]
                else:
                    fields[key] = _Field(shown, "")
                    reached += named
            found[name] = (fields, reached)
        for name, stands_for in _NAMED.findall(text):
            if name not in found:
                found[name] = resolved(stands_for)

    def _inlined(
        self, own: Mapping[str, Any], path: str, inner: str, text: str, imports: Mapping[str, str]
    ) -> dict[str, _Field]:
        fields = own[inner][0] if inner in own else self._later(path, inner, text, imports)[0]
        return {
            key: _Field(field.type, ".".join(filter(None, (inner, field.through)))) for key, field in fields.items()
        }

    def _later(self, package: str, name: str, text: str, imports: Mapping[str, str]) -> tuple[Any, Any]:
        """A struct that follows further down in the same file."""
        body = next(body for struct, body in _STRUCT.findall(text) if struct == name)
        alone: dict[str, tuple[Any, list[tuple[str, str]]]] = {}
        self._read(package, f"type {name} struct {{\n{body}}}", imports, alone)
        return alone[name]


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
    """Write the schema to standard output."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    json.dump(api_schema(Path(sys.argv[1])), sys.stdout, separators=(",", ":"), sort_keys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
