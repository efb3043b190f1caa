"""How the API server validates seccomp and AppArmor profiles, which stand in fields or in old annotations.

Source: pkg/apis/core/validation/validation.go (validateSeccompProfileField, ValidateAppArmorProfileField,
validateSeccompAnnotationsAndFields, validateAppArmorAnnotationsAndFieldsMatchOnCreate), pkg/api/pod/util.go
(ApparmorFieldForAnnotation) and pkg/registry/core/pod/strategy.go (applyAppArmorVersionSkew) of k8s.io/kubernetes at
v1.37.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from podrules.admission.validation.errors import TypedText, forbidden, invalid, required, too_long, unsupported
from podrules.admission.validation.formats import is_padded, relative_path, size
from podrules.admission.validation.view import PodContext, View
from podrules.api.model.field_error import FieldError

SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR_CONTAINER: Final = "container.apparmor.security.beta.kubernetes.io/"
LOCALHOST: Final = "localhost/"
UNCONFINED: Final = "unconfined"
SECCOMP_DEFAULTS: Final = frozenset({"runtime/default", "docker/default"})
_APP_ARMOR_DEFAULTS: Final = frozenset({"runtime/default"})
_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PATH: Final = 4095


def validate_seccomp_profile(context: View) -> Iterator[FieldError]:
    """Hold the ``seccompProfile`` of a security context against its rules."""
    if not context.has("seccompProfile"):
        return
    profile = context.struct("seccompProfile")
    kind, local, place = profile.text("type"), profile.pointer("localhostProfile"), profile.at("localhostProfile")
    if not kind:
        yield required(profile.at("type"), "type is required when seccompProfile is set")
    elif kind not in _TYPES:
        yield unsupported(profile.at("type"), kind, _TYPES)
    if kind != "Localhost":
        if local is not None:
            yield invalid(place, shown_profile(profile), "can only be set when seccomp type is Localhost")
    elif local is None:
        yield required(place, "must be set when seccomp type is Localhost")
    else:
        for problem in relative_path(local):
            yield invalid(place, local, problem)


def validate_app_armor_profile(context: View) -> Iterator[FieldError]:
    """Hold the ``appArmorProfile`` of a security context against its rules."""
    if not context.has("appArmorProfile"):
        return
    profile = context.struct("appArmorProfile")
    kind, local, place = profile.text("type"), profile.pointer("localhostProfile"), profile.at("localhostProfile")
    if kind == "Localhost":
        yield from _local_app_armor(place, local)
    elif not kind:
        yield required(profile.at("type"), "type is required when appArmorProfile is set")
    elif kind not in _TYPES:
        yield unsupported(profile.at("type"), kind, _TYPES)
    elif local is not None:
        yield invalid(place, TypedText(local), "can only be set when AppArmor type is Localhost")


def _local_app_armor(place: str, name: str | None) -> Iterator[FieldError]:
    if not name:
        yield required(place, "must be set when AppArmor type is Localhost")
        return
    if is_padded(name):
        yield invalid(place, name, "must not be padded with whitespace")
    if size(name) > _LONGEST_PATH:
        yield too_long(place, _LONGEST_PATH)


def shown_profile(profile: View) -> Mapping[str, str | None]:
    """A profile as Go writes it as JSON."""
    return {"Type": profile.text("type"), "LocalhostProfile": profile.pointer("localhostProfile")}


def app_armor_of_annotation(text: str) -> Mapping[str, str | None] | None:
    """The profile that an annotation of a Pod is copied to, as `shown_profile` has it; None where it is malformed."""
    if text == UNCONFINED:
        return {"Type": "Unconfined", "LocalhostProfile": None}
    if text in _APP_ARMOR_DEFAULTS:
        return {"Type": "RuntimeDefault", "LocalhostProfile": None}
    name = text.removeprefix(LOCALHOST)
    if name == text or any(_local_app_armor("", name)):
        return None
    return {"Type": "Localhost", "LocalhostProfile": name}


def validate_seccomp_and_apparmor(pod: PodContext) -> Iterator[FieldError]:
    """Compare the profiles in annotations with those in fields."""
    annotations = pod.meta.texts_by_key("annotations")
    if SECCOMP_POD in annotations or any(key.startswith(SECCOMP_CONTAINER) for key in annotations):
        yield from _seccomp_matches(pod, annotations)
    if pod.os != "windows" and any(key.startswith(APP_ARMOR_CONTAINER) for key in annotations):
        yield from _app_armor_matches(pod, annotations)


def _seccomp_matches(pod: PodContext, annotations: Mapping[str, str]) -> Iterator[FieldError]:
    yield from _seccomp_match(pod.spec, annotations.get(SECCOMP_POD))
    for container in pod.every_container():
        yield from _seccomp_match(container, annotations.get(SECCOMP_CONTAINER + container.text("name")))


def _seccomp_match(holder: View, annotation: str | None) -> Iterator[FieldError]:
    context = holder.struct("securityContext")
    if annotation is not None and context.has("seccompProfile"):
        profile = context.struct("seccompProfile")
        for field, what in _differences(profile, annotation, SECCOMP_DEFAULTS):
            yield forbidden(profile.at(field), f"seccomp {what} in annotation and field must match")


def _app_armor_matches(pod: PodContext, annotations: Mapping[str, str]) -> Iterator[FieldError]:
    shared = pod.spec.struct("securityContext")
    for container in pod.every_container():
        annotation = annotations.get(APP_ARMOR_CONTAINER + container.text("name"))
        own = container.struct("securityContext")
        context = own if own.has("appArmorProfile") else shared
        copied = context is shared and pod.is_pod
        if annotation is None or (copied and app_armor_of_annotation(annotation)):
            continue
        profile = context.struct("appArmorProfile")
        for field, what in _differences(profile, annotation, _APP_ARMOR_DEFAULTS):
            place = own.at(f"appArmorProfile.{field}")
            yield forbidden(place, f"apparmor {what} in annotation and field must match")


def _differences(profile: View, annotation: str, defaults: Collection[str]) -> Iterator[tuple[str, str]]:
    """The field in which a profile differs from an annotation, and what it is."""
    match profile.text("type"):
        case "Unconfined":
            differs = annotation != UNCONFINED
        case "RuntimeDefault":
            differs = annotation not in defaults
        case "Localhost":
            differs = not annotation.startswith(LOCALHOST)
            if not differs and profile.pointer("localhostProfile") != annotation.removeprefix(LOCALHOST):
                yield "localhostProfile", "profile"
        case _:
            differs = False
    if differs:
        yield "type", "type"
