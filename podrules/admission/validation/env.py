"""How the API server validates a container's environment: its variables, their sources, and the fields they read.

The downward API's volumes read the same fields, by `validate_field_selector` and `validate_resource_field_selector`.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (ValidateEnv, ValidateEnvFrom, validateEnvVarValueFrom,
validateObjectFieldSelector, validateContainerResourceFieldSelector, validateContainerResourceDivisor,
validateConfigMapKeySelector, validateFileKeySelector, validateFileKeyRefVolumes); pkg/apis/core/pods/helpers.go
(ConvertDownwardAPIFieldLabel); pkg/fieldpath/fieldpath.go (SplitMaybeSubscriptedPath).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from podrules.admission.validation.errors import (
    invalid,
    malformed,
    not_found,
    required,
    unsupported,
    validate_format,
    validate_required,
)
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
    """Hold a ``fieldRef`` against the fields that can be read whole in its place; a label can be read everywhere."""
    version, written = selector.text("apiVersion", "v1"), selector.text("fieldPath")
    if not written:
        yield required(selector.at("fieldPath"))
        return
    # ``metadata.labels['key']``
    subscripted = re.fullmatch(r"(?!\[')(.+?)\['(.*)'\]", written, re.DOTALL)
    path, subscript = subscripted.groups() if subscripted else (written, None)
    problem = ""
    if version != "v1":
        problem = f"unsupported pod version: {version}"
    elif subscript is not None and path not in _SUBSCRIPTED:
        problem = f"field label does not support subscript: {written}"
    elif subscript is None and path not in _LABELS and path not in _OLD_LABELS:
        problem = f"field label not supported: {written}"
    if problem:
        yield invalid(selector.at("fieldPath"), written, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        key = subscript.lower() if path == "metadata.annotations" else subscript
        yield from malformed(selector.path, key, qualified_name(key, rules))
    else:
        known = _OLD_LABELS.get(path, path)
        if known not in expressions:
            yield unsupported(selector.at("fieldPath"), known, sorted(expressions), typed=False)


def validate_resource_field_selector(selector: View, *, volume: bool) -> Iterator[FieldError]:
    """Hold a ``resourceFieldRef`` against the resources and their units; in a volume it names its container."""
    resource, divisor = selector.text("resource"), selector.quantity("divisor")
    huge = resource.startswith(_HUGE_PAGES)
    if volume and not selector.text("containerName"):
        yield required(selector.at("containerName"))
    elif not resource:
        yield required(selector.at("resource"))
    elif resource not in _RESOURCES and not huge:
        yield unsupported(selector.at("resource"), resource, _RESOURCES, typed=False)
    what = "hugepages" if huge else _RESOURCES.get(resource)
    known, conjunction = (_CPU_DIVISORS, " and ") if what == "cpu" else (_DIVISORS, ", ")
    if what is not None and divisor is not None and not divisor.is_zero and str(divisor) not in known:
        words = f"only divisor's values {conjunction.join(known)} are supported with the {what} resource"
        yield invalid(selector.at("divisor"), resource, words)


def validate_env(container: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a container's variables against the rules of their names and of what they read."""
    kinds = [kind for kind in _SOURCES if kind != "fileKeyRef" or rules.on("EnvFiles")]
    for variable in container.structs("env"):
        yield from validate_required(variable, "name")
        yield from validate_format(variable, "name", env_var_name)
        source = variable.struct("valueFrom")
        found = list(filter(source.has, kinds))
        for kind in found:
            yield from _SOURCES[kind](source.struct(kind), rules)
        if not variable.has("valueFrom"):
            continue
        if not found:
            *others, last = (f"`{kind}`" for kind in kinds)
            yield invalid(source.path, "", f"must specify one of: {', '.join(others)} or {last}")
        elif variable.text("value"):
            yield invalid(source.path, "", "may not be specified when `value` is not empty")
        elif len(found) > 1:
            yield invalid(source.path, "", _ONLY_ONE)


def _key(selector: View, _: Rules) -> Iterator[FieldError]:
    """Hold a reference to a key of a ConfigMap or a Secret against its rules."""
    name = selector.text("name")
    yield from malformed(selector.at("name"), name, dns_subdomain(name))
    yield from validate_required(selector, "key")
    yield from validate_format(selector, "key", config_map_key)


def _file_key(selector: View, _: Rules) -> Iterator[FieldError]:
    for name, check in (("key", env_var_name), ("volumeName", dns_label), ("path", path_without_backsteps)):
        yield from validate_required(selector, name)
        yield from validate_format(selector, name, check)


_SOURCES: Final[Mapping[str, Callable[[View, Rules], Iterator[FieldError]]]] = {
    "fieldRef": lambda selector, rules: validate_field_selector(selector, _FIELDS, rules),
    "resourceFieldRef": lambda selector, _: validate_resource_field_selector(selector, volume=False),
    "configMapKeyRef": _key,
    "secretKeyRef": _key,
    "fileKeyRef": _file_key,
}
"""What a variable can be read from."""


def validate_env_from(container: View) -> Iterator[FieldError]:
    """Hold a container's ``envFrom`` against its rules."""
    path = container.at("envFrom")
    for source in container.structs("envFrom"):
        yield from validate_format(source, "prefix", env_var_name)
        found = [source.struct(kind) for kind in ("configMapRef", "secretRef") if source.has(kind)]
        for reference in found:
            yield from validate_required(reference, "name")
            yield from validate_format(reference, "name", lambda name: name_prefix(name, dns_subdomain))
        if not found:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(found) > 1:
            yield invalid(path, "", _ONLY_ONE)


def validate_file_key_volumes(spec: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the variables that are read from a file against the volume that the file is in: an ``emptyDir``."""
    if not rules.on("EnvFiles"):
        return
    volumes = {volume.text("name"): volume for volume in spec.structs("volumes")}
    containers = [one for kind in ("initContainers", "containers", "ephemeralContainers") for one in spec.structs(kind)]
    for variable in (one for container in containers for one in container.structs("env")):
        source = variable.struct("valueFrom")
        if not source.has("fileKeyRef"):
            continue
        selector = source.struct("fileKeyRef")
        name = selector.text("volumeName")
        volume = volumes.get(name)
        if volume is None:
            yield not_found(selector.at("volumeName"), name)
        elif not volume.has("emptyDir") and any(volume.has(field) for field in volume.content if field != "name"):
            # A volume that names no source is an emptyDir, too.
            yield invalid(selector.at("volumeName"), name, "referenced volume must be of type emptyDir")
