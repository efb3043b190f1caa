"""How the API server validates a pod's volumes, and the mounts and block devices in its containers.

Some errors of mounts are at the list, not at its entry: ``volumeMounts.subPath``.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (ValidateVolumes, validateVolumeSource, ValidateVolumeMounts,
validateMountPropagation, validateMountRecursiveReadOnly, ValidateVolumeDevices); pkg/api/pod/util.go
(dropImageVolumes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from podrules.admission.validation.errors import duplicate, forbidden, invalid, not_found, quoted, required, unsupported
from podrules.admission.validation.formats import dns_label, dns_subdomain, path_without_backsteps, relative_path, size
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.admission.validation.volume_sources import SOURCES, VolumeContext, validate_source
from podrules.api.model.misfit import FieldError

_ORDER: Final = {source: index for index, source in enumerate(SOURCES)}
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
    context = _context(spec, meta, rules)
    return {
        volume.text("name"): volume for volume, errors in _checked(kept_volumes(spec, rules), context) if not errors
    }


def validate_volumes(spec: View, meta: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the volumes of a pod against their rules.

    Args:
        spec: The pod's spec.
        meta: The metadata; claims of ephemeral volumes are named after a pod.
        rules: The API server's version.
    """
    volumes = kept_volumes(spec, rules)
    context = _context(spec, meta, rules)
    created: frozenset[str] = frozenset()
    if context.pod_name:
        created = frozenset(context.claim_name(volume.text("name")) for volume in volumes if volume.has("ephemeral"))
    for volume, errors in _checked(volumes, context):
        yield from errors
        claim = volume.struct("persistentVolumeClaim")
        name = claim.text("claimName")
        if name in created:
            words = "must not reference a PVC that gets created for an ephemeral volume"
            yield invalid(claim.at("claimName"), name, words)


def _context(spec: View, meta: View, rules: Rules) -> VolumeContext:
    is_pod = spec.path == _POD_SPEC
    return VolumeContext(meta.text("name") if is_pod else "", rules, is_pod)


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


def _checked(volumes: Sequence[View], context: VolumeContext) -> Iterator[tuple[View, Sequence[FieldError]]]:
    """Each volume with its own errors."""
    names: set[str] = set()
    for volume in volumes:
        name = volume.text("name")
        errors = [*_sources(volume, context)]
        if not name:
            errors.append(required(volume.at("name")))
        else:
            errors += [invalid(volume.at("name"), name, problem) for problem in dns_label(name)]
        if name in names:
            errors.append(duplicate(volume.at("name"), name))
        if not errors:
            names.add(name)
        yield volume, errors


def _sources(volume: View, context: VolumeContext) -> Iterator[FieldError]:
    """Hold the sources of a volume against their rules; one without a source is an ``emptyDir``."""
    found = sorted((field for field in volume.content if field in _ORDER and volume.has(field)), key=_ORDER.__getitem__)
    for index, source in enumerate(found):
        if index:
            words = "may not specify more than 1 volume type"
            yield forbidden(volume.at(_SECOND_PATHS.get(source, source)), words)
        else:
            yield from validate_source(source, volume, context)
        if source == "iscsi":
            yield from _portal(volume)
        elif source == "ephemeral" and not index:
            yield from _claim_name(volume, context)


def _portal(volume: View) -> Iterator[FieldError]:
    source, name = volume.struct("iscsi"), volume.text("name")
    if source.has("initiatorName") and size(f"{name}:{source.text('targetPortal')}") > _MOST_PORTAL:
        words = (
            f"Total length of <volume name>:<iscsi.targetPortal> must be under {_MOST_PORTAL} characters if "
            "iscsi.initiatorName is specified."
        )
        yield invalid(volume.at("name"), name, words)


def _claim_name(volume: View, context: VolumeContext) -> Iterator[FieldError]:
    name = volume.text("name")
    if context.pod_name and name:
        claim = context.claim_name(name)
        for problem in dns_subdomain(claim):
            yield invalid(volume.at("name"), name, f"PVC name {quoted(claim)}: {problem}")


def validate_volume_mounts(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Hold the mounts of a container against their rules, and against the pod's volumes."""
    mounts = kept_mounts(container, pod)
    if not mounts:
        return
    path = container.at("volumeMounts")
    devices = {device.text("name"): device.text("devicePath") for device in container.structs("volumeDevices")}
    privileged = bool(container.struct("securityContext").flag("privileged"))
    seen: set[str] = set()
    for mount in mounts:
        yield from _mount_name(mount, pod)
        yield from _mount_path(mount, seen)
        yield from _overlap(mount, "mountPath", devices, "volumeDevices")
        yield from _sub_paths(mount, path)
        yield from _propagation(mount, f"{path}.mountPropagation", privileged=privileged)
        yield from _recursive_read_only(mount, f"{path}.recursiveReadOnly")


def _mount_name(mount: View, pod: PodContext) -> Iterator[FieldError]:
    name = mount.text("name")
    if not name:
        yield required(mount.at("name"))
    if name not in pod.volumes:
        yield not_found(mount.at("name"), name)


def _mount_path(mount: View, seen: set[str]) -> Iterator[FieldError]:
    path = mount.text("mountPath")
    if not path:
        yield required(mount.at("mountPath"))
    if path in seen:
        yield invalid(mount.at("mountPath"), path, "must be unique")
    seen.add(path)


def _overlap(entry: View, field: str, others: Mapping[str, str], where: str) -> Iterator[FieldError]:
    """Hold a mount against the devices of its container, or a device against the mounts."""
    if not others:
        return
    name, path = entry.text("name"), entry.text(field)
    if name in others:
        yield invalid(entry.at("name"), name, f"must not already exist in {where}")
    if path in others.values():
        yield invalid(entry.at(field), path, f"must not already exist as a path in {where}")


def _sub_paths(mount: View, path: str) -> Iterator[FieldError]:
    sub_path, expression = mount.text("subPath"), mount.text("subPathExpr")
    for problem in relative_path(sub_path):
        yield invalid(f"{path}.subPath", sub_path, problem)
    if expression and sub_path:
        yield invalid(mount.at("subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive")
    for problem in relative_path(expression):
        yield invalid(f"{path}.subPathExpr", expression, problem)


def _propagation(mount: View, path: str, *, privileged: bool) -> Iterator[FieldError]:
    propagation = mount.pointer("mountPropagation")
    if propagation is not None and propagation not in _PROPAGATIONS:
        yield unsupported(path, propagation, _PROPAGATIONS)
    if propagation == "Bidirectional" and not privileged:
        yield forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _recursive_read_only(mount: View, path: str) -> Iterator[FieldError]:
    recursive = mount.pointer("recursiveReadOnly")
    if recursive is None or recursive == "Disabled":
        return
    if recursive not in _RECURSIVE:
        yield unsupported(path, recursive, _RECURSIVE)
        return
    if not mount.flag("readOnly"):
        yield forbidden(path, "may only be specified when readOnly is true")
    if mount.pointer("mountPropagation") not in {None, "None"}:
        yield forbidden(path, "may only be specified when mountPropagation is None or not specified")


def validate_volume_devices(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Hold the block devices of a container against their rules, and against the pod's volumes."""
    devices = container.structs("volumeDevices")
    if not devices:
        return
    mounts = {mount.text("name"): mount.text("mountPath") for mount in kept_mounts(container, pod)}
    names: set[str] = set()
    paths: set[str] = set()
    for device in devices:
        yield from _device_name(device, pod, names)
        yield from _device_path(device, paths)
        yield from _overlap(device, "devicePath", mounts, "volumeMounts")


def _device_name(device: View, pod: PodContext, seen: set[str]) -> Iterator[FieldError]:
    name = device.text("name")
    path = device.at("name")
    if not name:
        yield required(path)
    if name in seen:
        yield invalid(path, name, "must be unique")
    volume = pod.volumes.get(name)
    if volume is None:
        yield not_found(path, name)
    elif not volume.has("persistentVolumeClaim") and not volume.has("ephemeral"):
        words = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield invalid(path, name, words)
    if name:
        seen.add(name)


def _device_path(device: View, seen: set[str]) -> Iterator[FieldError]:
    path = device.text("devicePath")
    if not path:
        yield required(device.at("devicePath"))
    if path in seen:
        yield invalid(device.at("devicePath"), path, "must be unique")
    if path_without_backsteps(path):
        yield invalid(device.at("devicePath"), path, "can not contain backsteps ('..')")
    else:
        seen.add(path)
