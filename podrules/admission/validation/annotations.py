"""How the API server validates the annotations that mean something for a pod.

Source: pkg/apis/core/validation/validation.go (ValidatePodSpecificAnnotations, ValidateTolerationsInPodAnnotations,
ValidateSeccompPodAnnotations, ValidateAppArmorPodAnnotations) and pkg/apis/core/helper/helpers.go
(GetDeletionCostFromPodAnnotations) of k8s.io/kubernetes at v1.37.1; encoding/json of Go 1.26 (scanner.go, decode.go),
which says in its own words why an annotation is no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from podrules.admission.validation.affinity import validate_tolerations
from podrules.admission.validation.errors import invalid, malformed, quoted
from podrules.admission.validation.formats import relative_path
from podrules.admission.validation.security import (
    APP_ARMOR_CONTAINER,
    LOCALHOST,
    SECCOMP_CONTAINER,
    SECCOMP_DEFAULTS,
    SECCOMP_POD,
    UNCONFINED,
)
from podrules.admission.validation.view import PodContext, View
from podrules.api.model.misfit import FieldError
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
_INT64: Final = range(-(2**63), 2**63)
_KINDS: Final[Mapping[type, str]] = {bool: "bool", str: "string", list: "array", tuple: "object"}


def validate_pod_annotations(pod: PodContext) -> Iterator[FieldError]:
    """Hold the annotations of a Pod or a template that its server reads against their rules."""
    if not pod.meta.has("annotations"):
        return
    path, annotations = pod.meta.at("annotations"), pod.meta.texts_by_key("annotations")
    if CONFIG_MIRROR in annotations and not pod.spec.text("nodeName"):
        words = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{CONFIG_MIRROR}]", annotations[CONFIG_MIRROR], words)
    if annotations.get(_TOLERATIONS):
        try:
            found = decode_structs(annotations[_TOLERATIONS], "core.Toleration", _TOLERATION_FIELDS)
        except GoJsonError as error:
            yield invalid(path, _TOLERATIONS, str(error))
        else:
            tolerations = [{field[0].lower() + field[1:]: value for field, value in item.items()} for item in found]
            for field, problem in validate_tolerations(View({"tolerations": tolerations}, ""), pod.rules):
                yield FieldError(f"{path}.{_TOLERATIONS}{field.removeprefix('tolerations')}", problem)
    cost = annotations.get(_DELETION_COST)
    number = re.fullmatch("0|-0{0,99}[0-9]{1,10}|[1-9][0-9]{0,9}", cost or "")
    if cost is not None and (number is None or int(number[0]) not in _INT32):
        yield invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    for key in (SECCOMP_POD, *(key for key in annotations if key.startswith(SECCOMP_CONTAINER))):
        profile = annotations.get(key, UNCONFINED)
        local = profile.removeprefix(LOCALHOST)
        if local != profile:
            yield from malformed(f"{path}.{key}", local, relative_path(local))
        elif profile not in SECCOMP_DEFAULTS and profile != UNCONFINED:
            yield invalid(f"{path}.{key}", profile, "must be a valid seccomp profile")
    for key, profile in annotations.items():
        if key.startswith(APP_ARMOR_CONTAINER):
            place, name = f"{path}[{key}]", key.removeprefix(APP_ARMOR_CONTAINER)
            if all(container.text("name") != name for container in pod.every_container()):
                yield invalid(place, name, "container not found")
            if profile not in _APP_ARMOR_PROFILES and not profile.startswith(LOCALHOST):
                yield invalid(place, profile, f"invalid AppArmor profile name: {quoted(profile)}")


class GoJsonError(ValueError):
    """A text is no JSON, or not of the type that is asked for."""


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def decode_structs(text: str, name: str, fields: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """Decode a list of structs of a type such as ``core.Toleration``, with the type of each field in Go.

    Returns:
        For each item its fields that are there, by their names in Go.

    Raises:
        GoJsonError: the text is no JSON, or something in it has another type.
    """
    try:
        _Scanner(text).check()
        items = json.loads(text, object_pairs_hook=tuple, parse_int=_Number, parse_float=_Number)
    except RecursionError as error:
        raise GoJsonError("exceeded max depth") from error
    if items is None:
        return []
    if not isinstance(items, list):
        raise _misfit(items, f"Go value of type []{name}")
    folded = {field.casefold(): field for field in fields}
    found: list[dict[str, Any]] = []
    for item in items:
        if item is not None and not isinstance(item, tuple):
            raise _misfit(item, f"Go value of type {name}")
        found.append({})
        for key, value in item or ():
            field = key if key in fields else folded.get(key.casefold())
            if field is None or value is None:
                continue
            place = f"Go struct field {name.rpartition('.')[2]}.{field} of type {fields[field]}"
            is_number = fields[field] == "int64"
            if not isinstance(value, _Number if is_number else str) or isinstance(value, _Number) != is_number:
                raise _misfit(value, place)
            if is_number and not (re.fullmatch("-?[0-9]{1,19}", value) and int(value) in _INT64):
                raise GoJsonError(f"json: cannot unmarshal number {value} into {place}")
            found[-1][field] = int(value) if is_number else value
    return found


def _misfit(value: Any, place: str) -> GoJsonError:
    return GoJsonError(f"json: cannot unmarshal {_KINDS.get(type(value), 'number')} into {place}")


class _Scanner:
    """Reads JSON up to what Go does not accept. Go reads a space after the end before it says that the text ends."""

    def __init__(self, text: str) -> None:
        self._text = text.encode("utf-8", "surrogatepass") + b" "
        self._at = 0

    def check(self) -> None:
        """Raise an error where the text is no JSON."""
        self._value()
        self._take("[ \t\r\n]*")
        if self._at < len(self._text):
            self._fail("after top-level value")

    def _take(self, pattern: str) -> bytes:
        found = re.compile(pattern.encode()).match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found[0] if found else b""

    def _need(self, pattern: str, where: str) -> None:
        if not self._take(pattern):
            self._fail(where)

    def _token(self, pattern: str, where: str) -> bytes:
        self._take("[ \t\r\n]*")
        found = self._take(pattern)
        return found or self._fail(where)

    def _fail(self, where: str) -> NoReturn:
        rest = self._text[self._at : self._at + 1].decode("latin-1")
        if not rest:
            raise GoJsonError("unexpected end of JSON input")
        shown = {"'": r"'\''", '"': "'\"'"}.get(rest) or f"'{quoted(rest)[1:-1]}'"
        raise GoJsonError(f"invalid character {shown} {where}")

    def _value(self) -> None:
        first = self._token(r'[{\["tfn]|[-0-9]', "looking for beginning of value")
        match first:
            case b"{":
                self._items(b"}", self._member, "after object key:value pair")
            case b"[":
                self._items(b"]", self._value, "after array element")
            case b'"':
                self._string()
            case b"t" | b"f" | b"n":
                word = {b"t": "true", b"f": "false", b"n": "null"}[first]
                for letter in word[1:]:
                    self._need(letter, f"in literal {word} (expecting {letter!r})")
            case _:
                self._number(first)

    def _items(self, end: bytes, item: Callable[[], None], where: str) -> None:
        closing = re.escape(end.decode())
        self._take("[ \t\r\n]*")
        if self._take(closing):
            return
        item()
        while self._token(f",|{closing}", where) != end:
            item()

    def _member(self) -> None:
        self._token('"', "looking for beginning of object key string")
        self._string()
        self._token(":", "after object key")
        self._value()

    def _string(self) -> None:
        while True:
            self._take(r'[^"\\\x00-\x1f]*')
            if self._take('"'):
                return
            self._need(r"\\", "in string literal")
            if self._take("u"):
                for _ in range(4):
                    self._need("[0-9A-Fa-f]", r"in \u hexadecimal character escape")
            else:
                self._need(r'["\\/bfnrt]', "in string escape code")

    def _number(self, first: bytes) -> None:
        if first == b"-":
            first = self._take("[0-9]") or self._fail("in numeric literal")
        if first != b"0":
            self._take("[0-9]*")
        if self._take(r"\."):
            self._need("[0-9]+", "after decimal point in numeric literal")
        if self._take("[eE]"):
            self._take("[+-]")
            self._need("[0-9]+", "in exponent of numeric literal")
