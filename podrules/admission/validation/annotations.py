"""How the API server validates the annotations that mean something for a pod.

Source: pkg/apis/core/validation/validation.go (ValidatePodSpecificAnnotations, ValidateTolerationsInPodAnnotations,
ValidateSeccompPodAnnotations, ValidateAppArmorPodAnnotations) and pkg/apis/core/helper/helpers.go
(GetDeletionCostFromPodAnnotations) of k8s.io/kubernetes at v1.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from podrules.admission.validation.errors import invalid, quoted
from podrules.admission.validation.formats import relative_path
from podrules.admission.validation.go_decoding import GoJsonError, decode_structs
from podrules.admission.validation.profiles import (
    APP_ARMOR_CONTAINER,
    LOCALHOST,
    SECCOMP_CONTAINER,
    SECCOMP_DEFAULTS,
    SECCOMP_POD,
    UNCONFINED,
)
from podrules.admission.validation.tolerations import validate_tolerations
from podrules.admission.validation.view import PodContext, View
from podrules.api.model.field_error import FieldError
from podrules.pod.priority import CONFIG_MIRROR

_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
_TOLERATION_FIELDS: Final[Mapping[str, str]] = {
    "Key": "string",
    "Operator": "core.TolerationOperator",
    "Value": "string",
    "Effect": "core.TaintEffect",
    "TolerationSeconds": "int64",
}
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_INT32: Final = range(-(2**31), 2**31)
_APP_ARMOR_PROFILES: Final = frozenset({"", "runtime/default", UNCONFINED})


def validate_pod_annotations(pod: PodContext) -> Iterator[FieldError]:
    """Hold the annotations of a Pod or a template that its server reads against their rules."""
    if not pod.meta.has("annotations"):
        return
    path, annotations = pod.meta.at("annotations"), pod.meta.texts_by_key("annotations")
    if CONFIG_MIRROR in annotations and not pod.spec.text("nodeName"):
        words = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{CONFIG_MIRROR}]", annotations[CONFIG_MIRROR], words)
    if annotations.get(_TOLERATIONS):
        yield from _tolerations(path, annotations[_TOLERATIONS], pod)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_cost(cost):
        yield invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    if SECCOMP_POD in annotations:
        yield from _seccomp(f"{path}.{SECCOMP_POD}", annotations[SECCOMP_POD])
    for key, profile in annotations.items():
        if key.startswith(SECCOMP_CONTAINER):
            yield from _seccomp(f"{path}.{key}", profile)
    for key, profile in annotations.items():
        if key.startswith(APP_ARMOR_CONTAINER):
            yield from _app_armor(f"{path}[{key}]", key.removeprefix(APP_ARMOR_CONTAINER), profile, pod)


def _tolerations(path: str, text: str, pod: PodContext) -> Iterator[FieldError]:
    try:
        found = decode_structs(text, "core.Toleration", _TOLERATION_FIELDS)
    except GoJsonError as error:
        yield invalid(path, _TOLERATIONS, str(error))
        return
    tolerations = [{field[0].lower() + field[1:]: value for field, value in item.items()} for item in found]
    for field, problem in validate_tolerations(View({"tolerations": tolerations}, ""), pod.rules):
        yield FieldError(f"{path}.{_TOLERATIONS}{field.removeprefix('tolerations')}", problem)


def _is_cost(text: str) -> bool:
    return re.fullmatch("0|-0{0,99}[0-9]{1,10}|[1-9][0-9]{0,9}", text) is not None and int(text) in _INT32


def _seccomp(place: str, profile: str) -> Iterator[FieldError]:
    if profile in SECCOMP_DEFAULTS or profile == UNCONFINED:
        return
    if not profile.startswith(LOCALHOST):
        yield invalid(place, profile, "must be a valid seccomp profile")
        return
    local = profile.removeprefix(LOCALHOST)
    for problem in relative_path(local):
        yield invalid(place, local, problem)


def _app_armor(place: str, name: str, profile: str, pod: PodContext) -> Iterator[FieldError]:
    if all(container.text("name") != name for container in pod.every_container()):
        yield invalid(place, name, "container not found")
    if profile not in _APP_ARMOR_PROFILES and not profile.startswith(LOCALHOST):
        yield invalid(place, profile, f"invalid AppArmor profile name: {quoted(profile)}")
