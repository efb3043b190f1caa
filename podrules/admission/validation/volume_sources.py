"""How the API server validates each source of a volume, and claims and templates for them.

A claim's dataSource and dataSourceRef are made equal before they are validated, and a dataSource that is neither a
claim nor a snapshot is dropped.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (validateVolumeSource and the function of each source,
ValidateCSIDriverName, ValidatePersistentVolumeClaim, ValidatePersistentVolumeClaimSpec, validateDataSource,
validateDataSourceRef, ValidatePersistentVolumeClaimTemplate, ValidateTemplateObjectMeta); pkg/apis/core/v1/defaults.go
and zz_generated.defaults.go; pkg/registry/core/persistentvolumeclaim/strategy.go and
pkg/api/persistentvolumeclaim/util.go (DropDisabledFields, EnforceDataSourceBackwardsCompatibility,
NormalizeDataSources).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from podrules.admission.validation.errors import (
    forbidden,
    invalid,
    malformed,
    required,
    too_long,
    unsupported,
    validate_enum,
    validate_format,
    validate_required,
    validate_word,
)
from podrules.admission.validation.formats import (
    dns_label,
    dns_subdomain,
    in_range,
    path_without_backsteps,
    relative_path,
    size,
)
from podrules.admission.validation.metadata import (
    validate_annotations,
    validate_label_selector,
    validate_labels,
    validate_object_meta,
)
from podrules.admission.validation.projections import validate_downward_api, validate_key_files, validate_projected
from podrules.admission.validation.view import Rules, View
from podrules.api.model.misfit import FieldError
from podrules.api.model.quantity import MILLI


class VolumeContext(Struct, frozen=True):
    """What the rules of one pod's volumes share."""

    pod_name: str
    """Empty: it is not known yet, or the volumes are a template's."""
    rules: Rules
    is_pod: bool


_Rule = Callable[[View, VolumeContext], Iterable[FieldError]]

_PATHS: Final = {"gcePersistentDisk": "persistentDisk"}
"""Sources with another path in their errors."""
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_MOST_UNIT: Final = 255
"""The highest number of a partition and of a logical unit."""
_ISCSI_NAMES: Final = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[-0-9A-Za-z.]+:[^,;*&$|\t\n\f\r ]+\Z"),
    "eui": re.compile(r"eui.[0-9A-Za-z]{16}\Z"),
    "naa": re.compile(r"naa.[0-9A-Za-z]{32}\Z"),
}
_MOST_TENANT: Final = 64
_HOST_AND_PORT: Final = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
_RESERVED_DOMAINS: Final = (".kubernetes.io", ".k8s.io")
_CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_URI: Final = (
    "/subscriptions/",
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
)
_BLOB_URI: Final = ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
_MOST_DRIVER: Final = 63
_DRIVER_REQUIRED_ONLY_SINCE: Final = 35
"""Before it a driver's empty name is malformed, too."""
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_REFERENCE_IN_TEMPLATES_SINCE: Final = 37
"""The minor since which a template's image has to be named."""
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ONE_POD: Final = "ReadWriteOncePod"
_VOLUME_MODES: Final = ("Block", "Filesystem")
_CLAIM_KIND: Final = "PersistentVolumeClaim"
_TEXTS: Final = ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation")
"""Fields of the metadata that are not set when they are empty or 0."""
_POINTERS: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
"""Fields that are set once they are there."""
_GO_NAMES: Final = {"uid": "uID"}
"""Fields with a name in Go that differs in more than its first letter."""
_SOURCES: Final = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})
"""Group and kind of what dataSource may name."""


def _nothing(_source: View, _: VolumeContext) -> Iterable[FieldError]:
    return ()


def _empty_dir(source: View, _: VolumeContext) -> Iterator[FieldError]:
    limit = source.quantity("sizeLimit")
    if limit is not None and limit.sign < 0:
        yield forbidden(source.at("sizeLimit"), "SizeLimit field must be a valid resource quantity")


def _host_path(source: View, _: VolumeContext) -> Iterator[FieldError]:
    yield from validate_format(source, "path", path_without_backsteps)
    if source.text("path"):
        yield from validate_enum(source, "type", _HOST_PATH_TYPES)


def _partition(source: View, _: VolumeContext) -> Iterator[FieldError]:
    partition = source.number("partition") or 0
    if not 0 <= partition <= _MOST_UNIT:
        yield invalid(source.at("partition"), partition, f"must be between 1 and {_MOST_UNIT}, inclusive")


def _nfs(source: View, _: VolumeContext) -> Iterator[FieldError]:
    path = source.text("path")
    if not path.startswith("/"):
        yield invalid(source.at("path"), path, "must be an absolute path")


def _iscsi(source: View, _: VolumeContext) -> Iterator[FieldError]:
    if source.text("iqn"):
        yield from _iscsi_name(source.text("iqn"), source.at("iqn"))
    unit = source.number("lun") or 0
    yield from malformed(source.at("lun"), unit, in_range(unit, 0, _MOST_UNIT))
    if (source.flag("chapAuthDiscovery") or source.flag("chapAuthSession")) and not source.has("secretRef"):
        yield required(source.at("secretRef"))
    initiator = source.pointer("initiatorName")
    if initiator is not None:
        yield from _iscsi_name(initiator, source.at("initiatorname"))


def _iscsi_name(name: str, path: str) -> Iterator[FieldError]:
    form = _ISCSI_NAMES.get(name[:3])
    if form is None:
        yield invalid(path, name, "must be valid format starting with iqn, eui, or naa")
    elif not (form.search if name.startswith("iqn") else form.match)(name):
        yield invalid(path, name, "must be valid format")


def _flocker(source: View, _: VolumeContext) -> Iterator[FieldError]:
    name, uuid = source.text("datasetName"), source.text("datasetUUID")
    if not name and not uuid:
        yield required(source.path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        yield invalid(source.path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(source.at("datasetName"), name, "must not contain '/'")


def _secret_name(source: View, _: VolumeContext) -> Iterator[FieldError]:
    if source.has("secretRef") and not source.struct("secretRef").text("name"):
        yield required(source.at("secretRef.name"))


def _quobyte(source: View, _: VolumeContext) -> Iterator[FieldError]:
    registry, words = source.text("registry"), "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        yield required(source.at("registry"), words)
    elif size(source.text("tenant")) > _MOST_TENANT:
        yield required(source.at("tenant"), f"must be a UUID and may not exceed a length of {_MOST_TENANT} characters")
    elif not all(_HOST_AND_PORT.fullmatch(pair) for pair in registry.split(",")):
        yield invalid(source.at("registry"), registry, words)
    yield from validate_required(source, "volume")


def _fibre_channel(source: View, _: VolumeContext) -> Iterator[FieldError]:
    names, ids = source.texts("targetWWNs"), source.texts("wwids")
    if not names and not ids:
        yield required(source.at("targetWWNs"), "must specify either targetWWNs or wwids, but not both")
    if names and ids:
        yield invalid(source.at("targetWWNs"), names, "targetWWNs and wwids can not be specified simultaneously")
    unit = source.number("lun")
    if names and unit is None:
        yield required(source.at("lun"), "lun is required if targetWWNs is specified")
    elif names and unit is not None:
        yield from malformed(source.at("lun"), unit, in_range(unit, 0, _MOST_UNIT))


def _flex_volume(source: View, _: VolumeContext) -> Iterator[FieldError]:
    for key in source.texts_by_key("options"):
        if f".{key.partition('/')[0].lower()}".endswith(_RESERVED_DOMAINS):
            yield invalid(source.at(f"options[{key}]"), key, "kubernetes.io and k8s.io namespaces are reserved")


def _azure_disk(source: View, _: VolumeContext) -> Iterator[FieldError]:
    yield from validate_word(source, "cachingMode", _CACHING_MODES)
    yield from validate_word(source, "kind", _DISK_KINDS)
    prefix, form = _MANAGED_URI if source.pointer("kind") == "Managed" else _BLOB_URI
    uri = source.text("diskURI")
    if not uri.startswith(prefix):
        yield unsupported(source.at("diskURI"), uri, (form,), typed=False)


def _storage_os(source: View, context: VolumeContext) -> Iterator[FieldError]:
    for field in ("volumeName", "volumeNamespace"):
        yield from validate_format(source, field, dns_label)
    yield from _secret_name(source, context)


def _csi(source: View, context: VolumeContext) -> Iterator[FieldError]:
    driver = source.text("driver")
    if size(driver) > _MOST_DRIVER:
        yield too_long(source.at("driver"), _MOST_DRIVER)
    if driver or context.rules.minor < _DRIVER_REQUIRED_ONLY_SINCE:
        yield from malformed(source.at("driver"), driver, dns_subdomain(driver.lower()))
    if source.has("nodePublishSecretRef"):
        secret = source.struct("nodePublishSecretRef")
        yield from validate_required(secret, "name")
        yield from validate_format(View(secret.content, source.path), "name", dns_subdomain)


def _ephemeral(source: View, context: VolumeContext) -> Iterator[FieldError]:
    if source.has("volumeClaimTemplate"):
        yield from validate_claim_template(source.struct("volumeClaimTemplate"), context.rules)
    else:
        yield required(source.at("volumeClaimTemplate"))


def _image(source: View, context: VolumeContext) -> Iterator[FieldError]:
    always = context.is_pod or context.rules.minor >= _REFERENCE_IN_TEMPLATES_SINCE
    yield from validate_required(source, *(["reference"] if always else ()))
    yield from validate_enum(source, "pullPolicy", _PULL_POLICIES, "Always")


SOURCES: Final[Mapping[str, tuple[tuple[str, ...], _Rule]]] = {
    "emptyDir": ((), _empty_dir),
    "hostPath": (("path",), _host_path),
    "gitRepo": (("repository",), lambda source, _: validate_format(source, "directory", relative_path)),
    "gcePersistentDisk": (("pdName",), _partition),
    "awsElasticBlockStore": (("volumeID",), _partition),
    "secret": (("secretName",), lambda source, _: validate_key_files(source)),
    "nfs": (("server", "path"), _nfs),
    "iscsi": (("targetPortal", "iqn"), _iscsi),
    "glusterfs": (("endpoints", "path"), _nothing),
    "flocker": ((), _flocker),
    "persistentVolumeClaim": (("claimName",), _nothing),
    "rbd": (("monitors", "image"), _nothing),
    "cinder": (("volumeID",), _secret_name),
    "cephfs": (("monitors",), _nothing),
    "quobyte": ((), _quobyte),
    "downwardAPI": ((), lambda source, context: validate_downward_api(source, context.rules)),
    "fc": ((), _fibre_channel),
    "flexVolume": (("driver",), _flex_volume),
    "configMap": (("name",), lambda source, _: validate_key_files(source)),
    "azureFile": (("secretName", "shareName"), _nothing),
    "vsphereVolume": (("volumePath",), _nothing),
    "photonPersistentDisk": (("pdID",), _nothing),
    "portworxVolume": (("volumeID",), _nothing),
    "azureDisk": (("diskName", "diskURI"), _azure_disk),
    "storageos": (("volumeName",), _storage_os),
    "projected": ((), lambda source, context: validate_projected(source, context.rules)),
    "scaleIO": (("gateway", "system", "volumeName"), _nothing),
    "csi": (("driver",), _csi),
    "ephemeral": ((), _ephemeral),
    "image": ((), _image),
}
"""The sources in the API server's order: the texts and lists that each has to have, and its other rules."""


def validate_source(name: str, volume: View, context: VolumeContext) -> Iterator[FieldError]:
    """Hold one source of a volume against its rules."""
    source = View(volume.content[name], volume.at(_PATHS.get(name, name)))
    needed, rule = SOURCES[name]
    yield from validate_required(source, *needed)
    yield from rule(source, context)


def validate_claim_template(template: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a template for claims against its rules: of the metadata it may have labels and annotations."""
    meta = template.struct("metadata")
    if meta.content:
        yield from validate_annotations(meta.texts_by_key("annotations"), meta.at("annotations"), rules)
        yield from validate_labels(meta.texts_by_key("labels"), meta.at("labels"), rules)
        found = [name for name in _TEXTS if meta.content.get(name)] + [name for name in _POINTERS if meta.has(name)]
        for name in found:
            yield forbidden(meta.at(_GO_NAMES.get(name, name)), "cannot be set")
    yield from validate_claim_spec(template.struct("spec"), rules)


def validate_claim_spec(spec: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the spec of a claim against its rules."""
    modes = spec.texts("accessModes")
    if not modes:
        yield required(spec.at("accessModes"), "at least 1 access mode is required")
    if spec.has("selector"):
        yield from validate_label_selector(spec.struct("selector"), rules)
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield unsupported(spec.at("accessModes"), mode, _ACCESS_MODES)
    if _ONE_POD in modes and any(mode in _ACCESS_MODES and mode != _ONE_POD for mode in modes):
        yield forbidden(spec.at("accessModes"), f"may not use {_ONE_POD} with other access modes")
    path = spec.at("resources[storage]")
    storage = spec.struct("resources").amounts("requests").get("storage")
    if storage is None:
        yield required(path)
    elif storage.sign <= 0:
        yield invalid(path, storage.round_up(MILLI), "must be greater than zero")
    yield from validate_format(spec, "storageClassName", dns_subdomain)
    yield from validate_word(spec, "volumeMode", _VOLUME_MODES)
    yield from _data_sources(spec)
    yield from validate_format(spec, "volumeAttributesClassName", dns_subdomain)


def _data_sources(spec: View) -> Iterator[FieldError]:
    found = [spec.struct(field) for field in ("dataSource", "dataSourceRef") if spec.has(field)]
    for source in found:
        yield from validate_required(source, "name", "kind")
        kind = source.text("kind")
        if not source.text("apiGroup") and kind != _CLAIM_KIND:
            yield invalid(source.path, kind, f"must be '{_CLAIM_KIND}' when referencing the default apiGroup")
        yield from validate_format(source, "apiGroup", dns_subdomain)
    if not spec.has("dataSourceRef"):
        return
    reference = found[-1]
    namespace = reference.text("namespace")
    yield from validate_format(reference, "namespace", dns_label)
    if namespace and spec.has("dataSource"):
        yield invalid(spec.path, {}, "may not be specified when dataSourceRef.namespace is specified")
    named = [(source.pointer("apiGroup"), source.text("kind"), source.text("name")) for source in found]
    if not namespace and named[0] != named[-1]:
        yield invalid(spec.path, {}, "must match dataSourceRef")


def validate_persistent_volume_claim(claim: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a claim against the rules of its creation."""
    yield from validate_object_meta(claim.struct("metadata"), rules, dns_subdomain)
    spec = claim.struct("spec")
    content = dict(spec.content)
    if spec.struct("dataSourceRef").text("namespace"):
        del content["dataSourceRef"]
    source, reference = content.get("dataSource"), content.get("dataSourceRef")
    if reference is not None:
        content["dataSource"] = reference if source is None else source
    elif source is not None:
        own = spec.struct("dataSource")
        known = (own.text("apiGroup"), own.text("kind")) in _SOURCES
        content["dataSource"] = content["dataSourceRef"] = source if known else None
    yield from validate_claim_spec(View(content, spec.path), rules)
