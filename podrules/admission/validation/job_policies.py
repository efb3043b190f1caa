"""How the API server validates the policies of a Job: when it fails, when it succeeds, and when pods are replaced.

Source: pkg/apis/batch/validation/validation.go at v1.37.1 (validatePodFailurePolicy, validateSuccessPolicy,
validatePodReplacementPolicy, validateIndexesFormat).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import (
    TypedText,
    duplicate,
    invalid,
    quoted,
    required,
    too_long,
    too_many,
    unsupported,
    validate_word,
)
from podrules.admission.validation.formats import qualified_name, size
from podrules.admission.validation.view import Rules, View
from podrules.api.model.field_error import FieldError
from podrules.api.model.quantity import whole_number

_MAX_RULES: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_CONDITIONS: Final = 20
_MAX_INDEXES: Final = 64 * 1024
_FAIL_INDEX: Final = "FailIndex"
_ACTIONS: Final = ("Count", _FAIL_INDEX, "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_FAILED: Final = "Failed"
_REPLACEMENTS: Final = (_FAILED, "TerminatingOrFailed")


def validate_pod_failure_policy(spec: View, rules: Rules) -> Iterator[FieldError]:
    """Hold ``podFailurePolicy`` of a Job's spec against its rules; one that is absent breaks none."""
    if not spec.has("podFailurePolicy"):
        return
    policy, pod = spec.struct("podFailurePolicy"), spec.struct("template").struct("spec")
    entries = policy.structs("rules")
    if len(entries) > _MAX_RULES:
        yield too_many(policy.at("rules"), len(entries), _MAX_RULES)
    names = {container.text("name") for name in ("containers", "initContainers") for container in pod.structs(name)}
    for entry in entries:
        yield from _action(entry, per_index=spec.has("backoffLimitPerIndex"))
        yield from _rule(entry, names, rules)


def _action(entry: View, *, per_index: bool) -> Iterator[FieldError]:
    action, path = entry.text("action"), entry.at("action")
    if not action:
        yield required(path, _valid(_ACTIONS))
    elif action == _FAIL_INDEX:
        if not per_index:
            yield invalid(path, TypedText(action), "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield unsupported(path, action, _ACTIONS)


def _valid(words: Iterable[str]) -> str:
    return f"valid values: [{' '.join(map(quoted, words))}]"


def _rule(entry: View, names: Collection[str], rules: Rules) -> Iterator[FieldError]:
    codes, conditions = entry.has("onExitCodes"), entry.structs("onPodConditions")
    if codes:
        yield from _exit_codes(entry.struct("onExitCodes"), names)
    if len(conditions) > _MAX_CONDITIONS:
        yield too_many(entry.at("onPodConditions"), len(conditions), _MAX_CONDITIONS)
    for condition in conditions:
        yield from _condition(condition, rules)
    if codes and conditions:
        words = "specifying both OnExitCodes and OnPodConditions is not supported"
        yield FieldError(entry.path, f"Invalid value: {words}")
    if not codes and not conditions:
        words = "specifying one of OnExitCodes and OnPodConditions is required"
        yield FieldError(entry.path, f"Invalid value: {words}")


def _condition(condition: View, rules: Rules) -> Iterator[FieldError]:
    kind, status = condition.text("type"), condition.text("status", "True")
    for problem in qualified_name(kind, rules):
        yield invalid(condition.at("type"), kind, problem)
    if status not in _STATUSES:
        yield unsupported(condition.at("status"), status, _STATUSES)


def _exit_codes(codes: View, names: Collection[str]) -> Iterator[FieldError]:
    operator, container, path = codes.text("operator"), codes.pointer("containerName"), codes.at("values")
    if not operator:
        yield required(codes.at("operator"), _valid(_OPERATORS))
    elif operator not in _OPERATORS:
        yield unsupported(codes.at("operator"), operator, _OPERATORS)
    if container is not None and container not in names:
        words = "must be one of the container or initContainer names in the pod template"
        yield invalid(codes.at("containerName"), container, words)
    values = codes.numbers("values")
    if not values:
        yield invalid(path, values if codes.has("values") else None, "at least one value is required")
    elif len(values) > _MAX_EXIT_CODES:
        yield too_many(path, len(values), _MAX_EXIT_CODES)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{path}[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(f"{path}[{index}]", value)
        seen.add(value)
    if list(values) != sorted(values):
        yield invalid(path, values, "must be ordered")


def validate_success_policy(policy: View, completions: int | None) -> Iterator[FieldError]:
    """Hold the ``successPolicy`` of an Indexed Job against its rules.

    Args:
        policy: The policy.
        completions: The Job's; None: it lacks them, so that nothing is said of indexes.
    """
    entries = policy.structs("rules")
    if not entries:
        yield required(policy.at("rules"), "at least one rules must be specified when the successPolicy is specified")
    if len(entries) > _MAX_RULES:
        yield too_many(policy.at("rules"), len(entries), _MAX_RULES)
    for entry in entries:
        count, indexes = entry.number("succeededCount"), entry.pointer("succeededIndexes")
        if count is None and indexes is None:
            yield required(entry.path, "at least one of succeededCount or succeededIndexes must be specified")
        if completions is not None:
            yield from _success(entry, count, indexes, completions)


def _success(entry: View, count: int | None, indexes: str | None, completions: int) -> Iterator[FieldError]:
    total = 0
    if indexes is not None:
        path = entry.at("succeededIndexes")
        if size(indexes) > _MAX_INDEXES:
            yield too_long(path, _MAX_INDEXES)
        try:
            total = _count(indexes, completions)
        except ValueError as wrong:
            yield invalid(path, indexes, f"error parsing succeededIndexes: {wrong}")
    if count is None:
        return
    path = entry.at("succeededCount")
    if count < 0:
        yield invalid(path, count, "must be greater than or equal to 0")
    if count > completions:
        words = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(path, count, words)
    if indexes is not None and count > total:
        words = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        yield invalid(path, count, words)


def _count(indexes: str, completions: int) -> int:
    """How many indexes a text such as ``0,3-5`` names.

    Raises:
        ValueError: What is wrong with it.
    """
    last, total = None, 0
    for interval in indexes.split(",") if indexes else ():
        first, end = _interval(interval, completions)
        if last is not None and last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def _interval(text: str, completions: int) -> tuple[int, int]:
    first, *rest = text.split("-")
    if len(rest) > 1:
        words = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise ValueError(f"the fragment {quoted(text)} {words}")
    start = end = _index(first, completions)
    if rest:
        end = _index(rest[0], completions)
        if start >= end:
            raise ValueError(f"non-increasing order, previous: {start}, current: {end}")
    return start, end


def _index(text: str, completions: int) -> int:
    number = whole_number(text) if re.fullmatch(r"\+?[0-9]+", text) else 2**63
    if number >= 2**63:
        raise ValueError(f"cannot convert string to integer for index: {quoted(text)}")
    if number >= completions:
        raise ValueError(f"too large index: {quoted(text)}")
    return number


def shown_success_policy(policy: View) -> Mapping[str, Any]:
    """The policy as Go writes its internal type as JSON."""
    shown = [
        {"SucceededIndexes": entry.pointer("succeededIndexes"), "SucceededCount": entry.number("succeededCount")}
        for entry in policy.structs("rules")
    ]
    return {"Rules": shown if policy.has("rules") else None}


def validate_pod_replacement_policy(spec: View) -> Iterator[FieldError]:
    """Hold ``podReplacementPolicy`` of a Job's spec against its rule; one that is absent breaks none."""
    supported = (_FAILED,) if spec.has("podFailurePolicy") else _REPLACEMENTS
    yield from validate_word(spec, "podReplacementPolicy", supported)
