"""How the API server validates a container's environment: its variables, their sources, and the fields they read.

The downward API's volumes read the same fields, by `validate_field_selector` and `validate_resource_field_selector`.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (ValidateEnv, ValidateEnvFrom, validateEnvVarValueFrom,
validateObjectFieldSelector, validateContainerResourceFieldSelector, validateContainerResourceDivisor,
validateConfigMapKeySelector, validateFileKeySelector, validateFileKeyRefVolumes); pkg/apis/core/pods/helpers.go
(ConvertDownwardAPIFieldLabel); pkg/fieldpath/fieldpath.go (SplitMaybeSubscriptedPath).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from podrules.admission.validation.errors import invalid, not_found, required, unsupported, validate_format
from podrules.admission.validation.formats import (
    config_map_key,
    dns_label,
    dns_subdomain,
    env_var_name,
    name_prefix,
    path_without_backsteps,
    qualified_name,
)
from podrules.admission.validation.view import Rules, View
from podrules.api.model.misfit import FieldError

_FIELDS: Final = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
"""The fields of a pod that a variable can hold."""
_LABELS: Final = frozenset(
    {
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.phase",
        "status.podIP",
        "status.podIPs",
    }
)
"""The fields of a pod that the API can select by."""
_OLD_LABELS: Final = {"spec.host": "spec.nodeName"}
_SUBSCRIPTED: Final = frozenset({"metadata.annotations", "metadata.labels"})
_RESOURCES: Final = {
    "limits.cpu": "cpu",
    "limits.ephemeral-storage": "local ephemeral storage",
    "limits.memory": "memory",
    "requests.cpu": "cpu",
    "requests.ephemeral-storage": "local ephemeral storage",
    "requests.memory": "memory",
}
"""What can be read of a container's resources, and what the API server calls it."""
_ONLY_ONE: Final = "may not have more than one field specified at a time"
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS: Final = ("1m", "1")
_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def validate_field_selector(selector: View, expressions: Collection[str], rules: Rules) -> Iterator[FieldError]:
    """Hold a ``fieldRef`` against the fields that can be read in its place.

    Args:
        selector: The ``fieldRef``.
        expressions: The fields that can be read whole; a label or an annotation can be read everywhere.
        rules: The API server's version.
    """
    version, written = selector.text("apiVersion", "v1"), selector.text("fieldPath")
    if not written:
        yield required(selector.at("fieldPath"))
        return
    path, subscript = _split(written)
    problem = _unconvertible(version, written, path, subscript)
    if problem:
        yield invalid(selector.at("fieldPath"), written, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        key = subscript.lower() if path == "metadata.annotations" else subscript
        for words in qualified_name(key, rules):
            yield invalid(selector.path, key, words)
    else:
        known = _OLD_LABELS.get(path, path)
        if known not in expressions:
            yield unsupported(selector.at("fieldPath"), known, sorted(expressions), typed=False)


def _split(path: str) -> tuple[str, str | None]:
    """The path and the key of ``metadata.labels['key']``; None: there is no key."""
    if path.endswith("']"):
        before, bracket, subscript = path[:-2].partition("['")
        if before and bracket:
            return before, subscript
    return path, None


def _unconvertible(version: str, written: str, path: str, subscript: str | None) -> str:
    """Why a field of that version of the API is none that can be selected; empty: it is one."""
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        return "" if path in _SUBSCRIPTED else f"field label does not support subscript: {written}"
    return "" if path in _LABELS or path in _OLD_LABELS else f"field label not supported: {written}"


def validate_resource_field_selector(selector: View, *, volume: bool) -> Iterator[FieldError]:
    """Hold a ``resourceFieldRef`` against the resources that can be read, and the units for them.

    Args:
        selector: The ``resourceFieldRef``.
        volume: Whether it is in a volume, where it has to name its container.
    """
    resource = selector.text("resource")
    huge = resource.startswith(_HUGE_PAGES)
    if volume and not selector.text("containerName"):
        yield required(selector.at("containerName"))
    elif not resource:
        yield required(selector.at("resource"))
    elif resource not in _RESOURCES and not huge:
        yield unsupported(selector.at("resource"), resource, _RESOURCES, typed=False)
    what = "hugepages" if huge else _RESOURCES.get(resource)
    if what is not None:
        yield from _divisor(selector, resource, what)


def _divisor(selector: View, resource: str, what: str) -> Iterator[FieldError]:
    divisor = selector.quantity("divisor")
    if divisor is None or divisor.is_zero:
        return
    known = _CPU_DIVISORS if what == "cpu" else _DIVISORS
    if str(divisor) not in known:
        values = " and ".join(known) if what == "cpu" else ", ".join(known)
        words = f"only divisor's values {values} are supported with the {what} resource"
        yield invalid(selector.at("divisor"), resource, words)


def validate_env(container: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a container's variables against the rules of their names and of what they read."""
    if not container.has("env"):
        return
    for variable in container.structs("env"):
        if not variable.text("name"):
            yield required(variable.at("name"))
        yield from validate_format(variable, "name", env_var_name)
        if variable.has("valueFrom"):
            yield from _value_from(variable, rules)


def _value_from(variable: View, rules: Rules) -> Iterator[FieldError]:
    source = variable.struct("valueFrom")
    kinds = [kind for kind in _SOURCES if kind != "fileKeyRef" or rules.on("EnvFiles")]
    found = [kind for kind in kinds if source.has(kind)]
    for kind in found:
        yield from _SOURCES[kind](source.struct(kind), rules)
    if not found:
        *others, last = (f"`{kind}`" for kind in kinds)
        yield invalid(source.path, "", f"must specify one of: {', '.join(others)} or {last}")
    elif variable.text("value"):
        yield invalid(source.path, "", "may not be specified when `value` is not empty")
    elif len(found) > 1:
        yield invalid(source.path, "", _ONLY_ONE)


def _field(selector: View, rules: Rules) -> Iterator[FieldError]:
    return validate_field_selector(selector, _FIELDS, rules)


def _resource_field(selector: View, _: Rules) -> Iterator[FieldError]:
    return validate_resource_field_selector(selector, volume=False)


def _key(selector: View, _: Rules) -> Iterator[FieldError]:
    """Hold a reference to a key of a ConfigMap or a Secret against its rules."""
    name = selector.text("name")
    for problem in dns_subdomain(name):
        yield invalid(selector.at("name"), name, problem)
    if not selector.text("key"):
        yield required(selector.at("key"))
    yield from validate_format(selector, "key", config_map_key)


def _file_key(selector: View, _: Rules) -> Iterator[FieldError]:
    for name, check in (("key", env_var_name), ("volumeName", dns_label), ("path", path_without_backsteps)):
        if not selector.text(name):
            yield required(selector.at(name))
        yield from validate_format(selector, name, check)


_SOURCES: Final[Mapping[str, Callable[[View, Rules], Iterator[FieldError]]]] = {
    "fieldRef": _field,
    "resourceFieldRef": _resource_field,
    "configMapKeyRef": _key,
    "secretKeyRef": _key,
    "fileKeyRef": _file_key,
}
"""What a variable can be read from."""


def validate_env_from(container: View) -> Iterator[FieldError]:
    """Hold a container's ``envFrom`` against its rules."""
    if not container.has("envFrom"):
        return
    path = container.at("envFrom")
    for source in container.structs("envFrom"):
        yield from validate_format(source, "prefix", env_var_name)
        found = [source.struct(kind) for kind in ("configMapRef", "secretRef") if source.has(kind)]
        for reference in found:
            name = reference.text("name")
            if not name:
                yield required(reference.at("name"))
            for problem in name_prefix(name, dns_subdomain) if name else ():
                yield invalid(reference.at("name"), name, problem)
        if not found:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(found) > 1:
            yield invalid(path, "", _ONLY_ONE)


def validate_file_key_volumes(spec: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the variables that are read from a file against the volume that the file is in: an ``emptyDir``.

    Args:
        spec: The pod's spec.
        rules: The API server's version.
    """
    if not rules.on("EnvFiles"):
        return
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.structs(kind) if spec.has(kind) else ():
            for variable in container.structs("env") if container.has("env") else ():
                source = variable.struct("valueFrom")
                if source.has("fileKeyRef"):
                    yield from _file_key_volume(source.struct("fileKeyRef"), spec)


def _file_key_volume(selector: View, spec: View) -> Iterator[FieldError]:
    name = selector.text("volumeName")
    named = [volume for volume in spec.structs("volumes") if volume.text("name") == name]
    if not named:
        yield not_found(selector.at("volumeName"), name)
    elif not _is_empty_dir(named[-1]):
        yield invalid(selector.at("volumeName"), name, "referenced volume must be of type emptyDir")


def _is_empty_dir(volume: View) -> bool:
    """Whether a volume is an ``emptyDir``, as one is that names no source."""
    return volume.has("emptyDir") or all(volume.content[name] is None for name in volume.content if name != "name")
