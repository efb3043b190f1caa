"""How the API server validates a Job and a CronJob: their numbers, when a Job fails, succeeds and replaces its pods.

Before a Job is validated, it gets a selector and labels of its own. Its UID in them is drawn at random: zeros stand for
it here.

Source: pkg/apis/batch/validation/validation.go (ValidateJobCreate, ValidateCronJobCreate and what they call),
pkg/apis/batch/v1/defaults.go and pkg/registry/batch at v1.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from podrules.admission.validation.errors import (
    TypedText,
    duplicate,
    invalid,
    malformed,
    quoted,
    required,
    too_long,
    too_many,
    unsupported,
    validate_enum,
    validate_nonnegative,
    validate_required,
    validate_word,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain, qualified_name, size
from podrules.admission.validation.metadata import (
    selects,
    shown_labels,
    shown_selector,
    validate_label_selector,
    validate_object_meta,
)
from podrules.admission.validation.pod import validate_pod_template
from podrules.admission.validation.schedules import schedule_problem, time_zone_problem
from podrules.admission.validation.view import Rules, View
from podrules.api.controllers import controllers_labels
from podrules.api.model.misfit import FieldError
from podrules.api.model.quantity import whole_number
from podrules.workload.made_pod import NO_UID

_DECLARED_SINCE: Final = 37
"""The minor since which that a schedule has to be there is declared, and comes last."""
_UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
_INDEXED: Final = "Indexed"
_NON_INDEXED: Final = "NonIndexed"
_MAX_INDEXED: Final = 100_000
"""The most pods at once, failed indexes, and indexes without further rules."""
_MAX_FOR_MANY: Final = 10_000
"""The most pods at once and failed indexes of a Job with more indexes."""
_MAX_MANAGER: Final = 63
_MAX_CRON_JOB_NAME: Final = 52
_NUMBERS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_ZONE_PART: Final = r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}"
_CONCURRENCY: Final = ("Allow", "Forbid", "Replace")
_MAX_RULES: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_CONDITIONS: Final = 20
_MAX_INDEXES: Final = 64 * 1024
_FAIL_INDEX: Final = "FailIndex"
_ACTIONS: Final = ("Count", _FAIL_INDEX, "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")
"""With a pod failure policy only the first is supported."""


def validate_job(job: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a Job against its rules."""
    spec, meta = _prepared(job)
    yield from validate_object_meta(meta, rules, dns_subdomain)
    if not spec.flag("manualSelector"):
        yield from _generated(spec, meta.text("name"), rules)
    yield from _job_spec(spec, rules)
    selector, template = spec.struct("selector"), spec.struct("template")
    problems = tuple(validate_label_selector(selector, rules))
    if not spec.has("selector"):
        yield required(selector.path)
    yield from problems
    labels = template.struct("metadata")
    selected = spec.has("selector") and not problems and selects(selector, labels.texts_by_key("labels"))
    if not problems and not selected:
        path = labels.at("labels")
        yield invalid(path, shown_labels(labels, "labels"), "`selector` does not match template `labels`")
    # The pods of an Indexed Job have their names as host names.
    name, completions = meta.text("name"), spec.number("completions") or 0
    host = f"{name}-{completions - 1}"
    if spec.pointer("completionMode") == _INDEXED and completions > 0 and dns_label(host):
        yield invalid(meta.at("name"), name, f"will not able to create pod with invalid DNS label: {host}")


def _prepared(job: View) -> tuple[View, View]:
    """The spec and the metadata of a Job, with its defaults and with what is drawn for it."""
    spec, meta, template = job.struct("spec"), job.struct("metadata"), job.struct("spec").struct("template")
    content = dict(spec.content)
    if not spec.has("parallelism"):
        content["parallelism"] = 1
        if not spec.has("completions"):
            content["completions"] = 1
    if not spec.has("completionMode"):
        content["completionMode"] = _NON_INDEXED
    own = template.struct("metadata")
    labels: Mapping[str, str] | None = own.texts_by_key("labels") if own.has("labels") else None
    inherited = labels is not None and not meta.content.get("labels")
    if not spec.flag("manualSelector"):
        labels = _expected(meta.text("name")) | dict(labels or {})
        content["template"] = {**template.content, "metadata": {**own.content, "labels": labels}}
        selector = spec.struct("selector")
        wanted = {_UID_LABEL: NO_UID} | dict(selector.texts_by_key("matchLabels"))
        content["selector"] = {**selector.content, "matchLabels": wanted}
    if inherited:
        # The API server puts what it draws into a map that both of them have.
        meta = View({**meta.content, "labels": labels}, meta.path)
    return View(content, spec.path), meta


def _expected(name: str) -> dict[str, str]:
    """The labels of a template without any, in upstream's order."""
    return controllers_labels("job", name, 0, NO_UID)


def _generated(spec: View, name: str, rules: Rules) -> Iterator[FieldError]:
    """Whether labels and selector are those that are drawn."""
    meta, expected = spec.struct("template").struct("metadata"), _expected(name)
    labels = meta.texts_by_key("labels")
    for label, value in expected.items():
        if labels[label] != value:
            yield invalid(meta.at(f"labels[{label}]"), shown_labels(meta, "labels"), f"must be '{value}'")
    selector = spec.struct("selector")
    if next(validate_label_selector(selector, rules), None) is None and not selects(selector, expected):
        yield invalid(selector.path, shown_selector(selector), "`selector` not auto-generated")


def validate_cron_job(cron_job: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a CronJob against its rules."""
    spec, meta = cron_job.struct("spec"), cron_job.struct("metadata")
    yield from validate_object_meta(meta, rules, dns_subdomain)
    schedule, path = spec.text("schedule"), spec.at("schedule")
    if schedule:
        problem = schedule_problem(schedule)
        if problem:
            yield invalid(path, schedule, problem)
        if "TZ" in schedule:
            yield invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif rules.minor < _DECLARED_SINCE:
        yield required(path)
    yield from validate_nonnegative(spec, "startingDeadlineSeconds")
    yield from _time_zone(spec)
    yield from validate_enum(spec, "concurrencyPolicy", _CONCURRENCY, _CONCURRENCY[0])
    job = spec.struct("jobTemplate").struct("spec")
    yield from _job_spec(job, rules)
    selector = job.struct("selector")
    if job.has("selector"):
        yield invalid(selector.path, shown_selector(selector), "`selector` will be auto-generated")
    if job.flag("manualSelector"):
        yield unsupported(job.at("manualSelector"), value=True, supported=("nil", "false"))
    yield from validate_nonnegative(spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    name = meta.text("name")
    if size(name) > _MAX_CRON_JOB_NAME:
        yield invalid(meta.at("name"), name, f"must be no more than {_MAX_CRON_JOB_NAME} characters")
    if not schedule and rules.minor >= _DECLARED_SINCE:
        yield required(path)


def _time_zone(spec: View) -> Iterator[FieldError]:
    zone, path = spec.pointer("timeZone"), spec.at("timeZone")
    if zone is None:
        return
    shown = TypedText(zone)
    if not zone:
        yield invalid(path, shown, "timeZone must be nil or non-empty string")
    elif any(part in {".", ".."} or not re.fullmatch(_ZONE_PART, part) for part in zone.split("/")):
        yield invalid(path, shown, f"unknown time zone {zone}")
    else:
        if zone.lower() == "local":
            words = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
            yield invalid(path, shown, words)
        problem = time_zone_problem(zone)
        if problem:
            yield invalid(path, shown, problem)


def _job_spec(spec: View, rules: Rules) -> Iterator[FieldError]:
    yield from validate_nonnegative(spec, *_NUMBERS)
    if spec.has("maxFailedIndexes") and not spec.has("backoffLimitPerIndex"):
        yield required(spec.at("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    yield from _managed_by(spec)
    mode = spec.pointer("completionMode")
    if mode == _INDEXED:
        yield from _indexed(spec)
    elif mode in {None, _NON_INDEXED}:
        for name in filter(spec.has, ("backoffLimitPerIndex", "maxFailedIndexes")):
            yield invalid(spec.at(name), spec.number(name), "requires indexed completion mode")
    else:
        yield unsupported(spec.at("completionMode"), mode, (_NON_INDEXED, _INDEXED))
    yield from _pod_failure_policy(spec, rules)
    if spec.has("successPolicy") and mode == _INDEXED:
        yield from _success_policy(spec.struct("successPolicy"), spec.number("completions"))
    elif spec.has("successPolicy"):
        own = spec.struct("successPolicy")
        shown = [
            {"SucceededIndexes": entry.pointer("succeededIndexes"), "SucceededCount": entry.number("succeededCount")}
            for entry in own.structs("rules")
        ]
        yield invalid(own.path, {"Rules": shown if own.has("rules") else None}, "requires indexed completion mode")
    yield from validate_word(spec, "podReplacementPolicy", _REPLACEMENTS[: 1 if spec.has("podFailurePolicy") else 2])
    yield from validate_pod_template(spec.struct("template"), rules)
    pod = spec.struct("template").struct("spec")
    policy, path = pod.text("restartPolicy", "Always"), pod.at("restartPolicy")
    if policy == "Always":
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in {"OnFailure", "Never"}:
        yield unsupported(path, policy, ("OnFailure", "Never"))
    elif policy != "Never" and spec.has("podFailurePolicy"):
        yield invalid(path, TypedText(policy), 'only "Never" is supported when podFailurePolicy is specified')


def _managed_by(spec: View) -> Iterator[FieldError]:
    manager, path = spec.pointer("managedBy"), spec.at("managedBy")
    if manager is None:
        return
    domain, _, rest = manager.partition("/")
    if not manager:
        yield required(path)
    elif not domain or not rest:
        yield invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from malformed(path, domain, dns_subdomain(domain))
        if not re.fullmatch(_HTTP_PATH, rest):
            yield invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")
    if size(manager) > _MAX_MANAGER:
        yield too_long(path, _MAX_MANAGER)


def _indexed(spec: View) -> Iterator[FieldError]:
    completions, failed = spec.number("completions"), spec.number("maxFailedIndexes")
    if completions is None:
        yield required(spec.at("completions"), f"when completion mode is {_INDEXED}")
    yield from _at_most(spec, "parallelism", _MAX_INDEXED, f" when completion mode is {_INDEXED}")
    if completions is not None and failed is not None and failed > completions:
        yield invalid(spec.at("maxFailedIndexes"), failed, "must be less than or equal to completions")
    yield from _at_most(spec, "maxFailedIndexes", _MAX_INDEXED, "")
    if completions is None or completions <= _MAX_INDEXED or not spec.has("backoffLimitPerIndex"):
        return
    if failed is None:
        yield required(spec.at("maxFailedIndexes"), f"must be specified when completions is above {_MAX_INDEXED}")
    when = f" when completions are above {_MAX_INDEXED} and used with backoff limit per index"
    yield from _at_most(spec, "parallelism", _MAX_FOR_MANY, when)
    yield from _at_most(spec, "maxFailedIndexes", _MAX_FOR_MANY, when)


def _at_most(spec: View, name: str, most: int, when: str) -> Iterator[FieldError]:
    number = spec.number(name)
    if number is not None and number > most:
        yield invalid(spec.at(name), number, f"must be less than or equal to {most}{when}")


def _pod_failure_policy(spec: View, rules: Rules) -> Iterator[FieldError]:
    policy, pod = spec.struct("podFailurePolicy"), spec.struct("template").struct("spec")
    entries = policy.structs("rules")
    if len(entries) > _MAX_RULES:
        yield too_many(policy.at("rules"), len(entries), _MAX_RULES)
    names = {container.text("name") for name in ("containers", "initContainers") for container in pod.structs(name)}
    for entry in entries:
        action = entry.text("action")
        if not action:
            yield required(entry.at("action"), _valid(_ACTIONS))
        elif action == _FAIL_INDEX and not spec.has("backoffLimitPerIndex"):
            yield invalid(entry.at("action"), TypedText(action), "requires the backoffLimitPerIndex to be set")
        elif action not in _ACTIONS:
            yield unsupported(entry.at("action"), action, _ACTIONS)
        codes, conditions = entry.has("onExitCodes"), entry.structs("onPodConditions")
        if codes:
            yield from _exit_codes(entry.struct("onExitCodes"), names)
        if len(conditions) > _MAX_CONDITIONS:
            yield too_many(entry.at("onPodConditions"), len(conditions), _MAX_CONDITIONS)
        for condition in conditions:
            kind = condition.text("type")
            yield from malformed(condition.at("type"), kind, qualified_name(kind, rules))
            yield from validate_enum(condition, "status", _STATUSES, "True")
        if codes == bool(conditions):
            words = "both OnExitCodes and OnPodConditions is not supported"
            if not codes:
                words = "one of OnExitCodes and OnPodConditions is required"
            yield FieldError(entry.path, f"Invalid value: specifying {words}")


def _valid(words: Iterable[str]) -> str:
    return f"valid values: [{' '.join(map(quoted, words))}]"


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


def _success_policy(policy: View, completions: int | None) -> Iterator[FieldError]:
    """Hold the policy of an Indexed Job against its rules; without completions nothing is said of indexes."""
    words = "at least one rules must be specified when the successPolicy is specified"
    yield from validate_required(policy, "rules", detail=words)
    entries = policy.structs("rules")
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
    yield from validate_nonnegative(entry, "succeededCount")
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
        first, *rest = interval.split("-")
        if len(rest) > 1:
            words = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise ValueError(f"the fragment {quoted(interval)} {words}")
        start = end = _index(first, completions)
        if rest:
            end = _index(rest[0], completions)
            if start >= end:
                raise ValueError(f"non-increasing order, previous: {start}, current: {end}")
        if last is not None and last >= start:
            raise ValueError(f"non-increasing order, previous: {last}, current: {start}")
        total += end - start + 1
        last = end
    return total


def _index(text: str, completions: int) -> int:
    number = whole_number(text) if re.fullmatch(r"\+?[0-9]+", text) else 2**63
    if number >= 2**63:
        raise ValueError(f"cannot convert string to integer for index: {quoted(text)}")
    if number >= completions:
        raise ValueError(f"too large index: {quoted(text)}")
    return number
