"""How the API server validates a Job and a CronJob.

Before a Job is validated, it gets a selector and labels of its own. Its UID in them is drawn at random: zeros stand for
it here.

Source: pkg/apis/batch/validation/validation.go (ValidateJobCreate, ValidateCronJobCreate),
pkg/apis/batch/v1/defaults.go and pkg/registry/batch at v1.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from podrules.admission.validation.errors import (
    TypedText,
    invalid,
    required,
    too_long,
    unsupported,
    validate_nonnegative,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain, size
from podrules.admission.validation.job_policies import (
    shown_success_policy,
    validate_pod_failure_policy,
    validate_pod_replacement_policy,
    validate_success_policy,
)
from podrules.admission.validation.metadata import (
    selects,
    shown_labels,
    shown_selector,
    validate_label_selector,
    validate_object_meta,
)
from podrules.admission.validation.pod import validate_pod_template
from podrules.admission.validation.schedules import schedule_problem
from podrules.admission.validation.time_zones import time_zone_problem
from podrules.admission.validation.view import Rules, View
from podrules.api.controller_labels import controllers_labels
from podrules.api.model.field_error import FieldError
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
    yield from _host_names(spec, meta)


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
    """What is put into a template that has none of them, in upstream's order."""
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


def _host_names(spec: View, meta: View) -> Iterator[FieldError]:
    """Whether the pods of an Indexed Job can have their names as host names."""
    name, completions = meta.text("name"), spec.number("completions") or 0
    if spec.pointer("completionMode") != _INDEXED or completions <= 0:
        return
    host = f"{name}-{completions - 1}"
    if dns_label(host):
        yield invalid(meta.at("name"), name, f"will not able to create pod with invalid DNS label: {host}")


def validate_cron_job(cron_job: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a CronJob against its rules."""
    spec, meta = cron_job.struct("spec"), cron_job.struct("metadata")
    yield from validate_object_meta(meta, rules, dns_subdomain)
    schedule, path = spec.text("schedule"), spec.at("schedule")
    if schedule:
        yield from _schedule(schedule, path)
    elif rules.minor < _DECLARED_SINCE:
        yield required(path)
    yield from validate_nonnegative(spec, "startingDeadlineSeconds")
    yield from _time_zone(spec)
    policy = spec.text("concurrencyPolicy", _CONCURRENCY[0])
    if policy not in _CONCURRENCY:
        yield unsupported(spec.at("concurrencyPolicy"), policy, _CONCURRENCY)
    yield from _job_template(spec.struct("jobTemplate").struct("spec"), rules)
    yield from validate_nonnegative(spec, "successfulJobsHistoryLimit")
    yield from validate_nonnegative(spec, "failedJobsHistoryLimit")
    name = meta.text("name")
    if size(name) > _MAX_CRON_JOB_NAME:
        yield invalid(meta.at("name"), name, f"must be no more than {_MAX_CRON_JOB_NAME} characters")
    if not schedule and rules.minor >= _DECLARED_SINCE:
        yield required(path)


def _job_template(spec: View, rules: Rules) -> Iterator[FieldError]:
    yield from _job_spec(spec, rules)
    selector = spec.struct("selector")
    if spec.has("selector"):
        yield invalid(selector.path, shown_selector(selector), "`selector` will be auto-generated")
    if spec.flag("manualSelector"):
        yield unsupported(spec.at("manualSelector"), value=True, supported=("nil", "false"))


def _schedule(schedule: str, path: str) -> Iterator[FieldError]:
    problem = schedule_problem(schedule)
    if problem:
        yield invalid(path, schedule, problem)
    if "TZ" in schedule:
        yield invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


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
    for name in _NUMBERS:
        yield from validate_nonnegative(spec, name)
    if spec.has("maxFailedIndexes") and not spec.has("backoffLimitPerIndex"):
        yield required(spec.at("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    yield from _managed_by(spec)
    yield from _completion_mode(spec)
    yield from validate_pod_failure_policy(spec, rules)
    if spec.has("successPolicy"):
        policy = spec.struct("successPolicy")
        if spec.pointer("completionMode") == _INDEXED:
            yield from validate_success_policy(policy, spec.number("completions"))
        else:
            yield invalid(policy.path, shown_success_policy(policy), "requires indexed completion mode")
    yield from validate_pod_replacement_policy(spec)
    yield from validate_pod_template(spec.struct("template"), rules)
    yield from _restart_policy(spec)


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
        for problem in dns_subdomain(domain):
            yield invalid(path, domain, problem)
        if not re.fullmatch(_HTTP_PATH, rest):
            yield invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")
    if size(manager) > _MAX_MANAGER:
        yield too_long(path, _MAX_MANAGER)


def _completion_mode(spec: View) -> Iterator[FieldError]:
    mode = spec.pointer("completionMode")
    if mode == _INDEXED:
        yield from _indexed(spec)
    elif mode in {None, _NON_INDEXED}:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            number = spec.number(name)
            if number is not None:
                yield invalid(spec.at(name), number, "requires indexed completion mode")
    else:
        yield unsupported(spec.at("completionMode"), mode, (_NON_INDEXED, _INDEXED))


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


def _restart_policy(spec: View) -> Iterator[FieldError]:
    pod = spec.struct("template").struct("spec")
    policy, path = pod.text("restartPolicy", "Always"), pod.at("restartPolicy")
    if policy == "Always":
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in {"OnFailure", "Never"}:
        yield unsupported(path, policy, ("OnFailure", "Never"))
    elif policy != "Never" and spec.has("podFailurePolicy"):
        yield invalid(path, TypedText(policy), 'only "Never" is supported when podFailurePolicy is specified')
