"""How the API server validates a pod's volumes, and the mounts and block devices in its containers.

Some errors of mounts are at the list, not at its entry: ``volumeMounts.subPath``.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (ValidateVolumes, validateVolumeSource, ValidateVolumeMounts,
validateMountPropagation, validateMountRecursiveReadOnly, ValidateVolumeDevices); pkg/api/pod/util.go
(dropImageVolumes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from podrules.admission.validation.errors import (
    duplicate,
    forbidden,
    invalid,
    malformed,
    not_found,
    quoted,
    validate_format,
    validate_required,
    validate_word,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain, path_without_backsteps, relative_path, size
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.admission.validation.volume_sources import SOURCES, VolumeContext, validate_source
from podrules.api.model.misfit import FieldError

_SECOND_PATHS: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""The paths of some sources that a volume has beside another."""
_POD_SPEC: Final = "spec"
"""The path of the spec in a Pod; a template's is longer."""
_IMAGE_GATE: Final = "ImageVolume"
_MOST_PORTAL: Final = 64
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def named_volumes(spec: View, meta: View, rules: Rules) -> Mapping[str, View]:
    """The volumes that break no rule, by name: containers find no others."""
    return {volume.text("name"): volume for volume, errors in _checked(spec, meta, rules) if not errors}


def validate_volumes(spec: View, meta: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the volumes of a pod against their rules; claims of ephemeral volumes are named after the pod."""
    pod_name = meta.text("name") if spec.path == _POD_SPEC else ""
    ephemeral = [volume for volume in kept_volumes(spec, rules) if volume.has("ephemeral") and pod_name]
    created = {f"{pod_name}-{volume.text('name')}" for volume in ephemeral}
    for volume, errors in _checked(spec, meta, rules):
        yield from errors
        claim = volume.struct("persistentVolumeClaim")
        name = claim.text("claimName")
        if name in created:
            words = "must not reference a PVC that gets created for an ephemeral volume"
            yield invalid(claim.at("claimName"), name, words)


def kept_volumes(spec: View, rules: Rules) -> Sequence[View]:
    """The volumes that the API server does not drop, with their index among these."""
    volumes = spec.structs("volumes")
    if rules.on(_IMAGE_GATE):
        return volumes
    return _numbered([volume for volume in volumes if not volume.has("image")], spec.at("volumes"))


def kept_mounts(container: View, pod: PodContext) -> Sequence[View]:
    """The mounts that the API server does not drop, with their index among these."""
    mounts = container.structs("volumeMounts")
    if not mounts or pod.rules.on(_IMAGE_GATE):
        return mounts
    images = {volume.text("name") for volume in pod.spec.structs("volumes") if volume.has("image")}
    return _numbered([mount for mount in mounts if mount.text("name") not in images], container.at("volumeMounts"))


def _numbered(entries: Sequence[View], path: str) -> Sequence[View]:
    return [View(entry.content, f"{path}[{index}]") for index, entry in enumerate(entries)]


def _checked(spec: View, meta: View, rules: Rules) -> Iterator[tuple[View, Sequence[FieldError]]]:
    """Each volume with its own errors."""
    is_pod = spec.path == _POD_SPEC
    context = VolumeContext(meta.text("name") if is_pod else "", rules, is_pod)
    names: set[str] = set()
    for volume in kept_volumes(spec, rules):
        name, path = volume.text("name"), volume.at("name")
        errors = [*_sources(volume, context), *validate_required(volume, "name")]
        errors += validate_format(volume, "name", dns_label)
        if name in names:
            errors.append(duplicate(path, name))
        if not errors:
            names.add(name)
        yield volume, errors


def _sources(volume: View, context: VolumeContext) -> Iterator[FieldError]:
    """Hold the sources of a volume against their rules; one without a source is an ``emptyDir``."""
    name, place = volume.text("name"), volume.at("name")
    for index, source in enumerate(filter(volume.has, SOURCES)):
        if index:
            words = "may not specify more than 1 volume type"
            yield forbidden(volume.at(_SECOND_PATHS.get(source, source)), words)
        else:
            yield from validate_source(source, volume, context)
        if source == "iscsi":
            iscsi = volume.struct("iscsi")
            if iscsi.has("initiatorName") and size(f"{name}:{iscsi.text('targetPortal')}") > _MOST_PORTAL:
                words = (
                    f"Total length of <volume name>:<iscsi.targetPortal> must be under {_MOST_PORTAL} characters if "
                    "iscsi.initiatorName is specified."
                )
                yield invalid(place, name, words)
        elif source == "ephemeral" and not index and context.pod_name and name:
            claim = f"{context.pod_name}-{name}"
            yield from malformed(place, name, (f"PVC name {quoted(claim)}: {one}" for one in dns_subdomain(claim)))


def validate_volume_mounts(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Hold the mounts of a container against their rules, and against the pod's volumes."""
    path = container.at("volumeMounts")
    devices = {device.text("name"): device.text("devicePath") for device in container.structs("volumeDevices")}
    privileged = bool(container.struct("securityContext").flag("privileged"))
    seen: set[str] = set()
    for mount in kept_mounts(container, pod):
        name, mount_path = mount.text("name"), mount.text("mountPath")
        yield from validate_required(mount, "name")
        if name not in pod.volumes:
            yield not_found(mount.at("name"), name)
        yield from validate_required(mount, "mountPath")
        if mount_path in seen:
            yield invalid(mount.at("mountPath"), mount_path, "must be unique")
        seen.add(mount_path)
        yield from _overlap(mount, "mountPath", devices, "volumeDevices")
        sub_path, expression = mount.text("subPath"), mount.text("subPathExpr")
        yield from malformed(f"{path}.subPath", sub_path, relative_path(sub_path))
        if expression and sub_path:
            yield invalid(mount.at("subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive")
        yield from malformed(f"{path}.subPathExpr", expression, relative_path(expression))
        at_list = View(mount.content, path)
        propagation = mount.pointer("mountPropagation")
        yield from validate_word(at_list, "mountPropagation", _PROPAGATIONS)
        if propagation == "Bidirectional" and not privileged:
            words = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(at_list.at("mountPropagation"), words)
        yield from validate_word(at_list, "recursiveReadOnly", _RECURSIVE)
        if mount.pointer("recursiveReadOnly") in ("Enabled", "IfPossible"):
            place = at_list.at("recursiveReadOnly")
            if not mount.flag("readOnly"):
                yield forbidden(place, "may only be specified when readOnly is true")
            if propagation not in {None, "None"}:
                yield forbidden(place, "may only be specified when mountPropagation is None or not specified")


def _overlap(entry: View, field: str, others: Mapping[str, str], where: str) -> Iterator[FieldError]:
    """Hold a mount against the devices of its container, or a device against the mounts."""
    name, path = entry.text("name"), entry.text(field)
    if name in others:
        yield invalid(entry.at("name"), name, f"must not already exist in {where}")
    if path in others.values():
        yield invalid(entry.at(field), path, f"must not already exist as a path in {where}")


def validate_volume_devices(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Hold the block devices of a container against their rules, and against the pod's volumes."""
    mounts = {mount.text("name"): mount.text("mountPath") for mount in kept_mounts(container, pod)}
    names: set[str] = set()
    paths: set[str] = set()
    for device in container.structs("volumeDevices"):
        name, place, path = device.text("name"), device.at("name"), device.text("devicePath")
        yield from validate_required(device, "name")
        if name in names:
            yield invalid(place, name, "must be unique")
        volume = pod.volumes.get(name)
        if volume is None:
            yield not_found(place, name)
        elif not volume.has("persistentVolumeClaim") and not volume.has("ephemeral"):
            words = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(place, name, words)
        names |= {name} - {""}
        yield from validate_required(device, "devicePath")
        if path in paths:
            yield invalid(device.at("devicePath"), path, "must be unique")
        if path_without_backsteps(path):
            yield invalid(device.at("devicePath"), path, "can not contain backsteps ('..')")
        else:
            paths.add(path)
        yield from _overlap(device, "devicePath", mounts, "volumeMounts")
