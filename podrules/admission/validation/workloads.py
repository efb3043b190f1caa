"""How the API server validates the workloads with pods that run until they are stopped.

Source: pkg/apis/apps/validation/validation.go, pkg/apis/apps/v1/defaults.go and pkg/registry/apps at v1.37.1;
pkg/apis/core/validation/validation.go (ValidateReplicationController), pkg/apis/core/v1/defaults.go and
pkg/apis/core/v1/zz_generated.validations.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import (
    IntOrPercent,
    TypedText,
    forbidden,
    int_or_percent,
    invalid,
    required,
    unsupported,
    validate_enum,
    validate_format,
    validate_nonnegative,
    validate_not_more_than_all,
    validate_positive_int_or_percent,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain, long_name
from podrules.admission.validation.metadata import (
    is_empty_selector,
    selects,
    shown_labels,
    shown_selector,
    validate_label_selector,
    validate_object_meta,
)
from podrules.admission.validation.pod import validate_pod_template
from podrules.admission.validation.view import Rules, View
from podrules.admission.validation.volume_sources import validate_claim_spec
from podrules.api.model.misfit import FieldError

_LONG_NAME_SINCE: Final = 35
"""The minor since which a ReplicationController's name has the words of declared rules, and generateName none."""
_DECLARED_SINCE: Final = 37
"""The minor since which some rules of a ReplicationController are declared."""
_DECLARED: Final = ("metadata.name", "spec.replicas", "spec.minReadySeconds")
"""Fields with such rules; their errors come last and in this order."""
_ROLLING: Final = "RollingUpdate"
_RECREATE: Final = "Recreate"
_ON_DELETE: Final = "OnDelete"
_QUARTER: Final = "25%"
_PROGRESS_DEADLINE: Final = 600
_POD_MANAGEMENT: Final = ("OrderedReady", "Parallel")
_RETENTION: Final = ("Retain", "Delete")


def validate_replication_controller(controller: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a ReplicationController against its rules: it has the template's labels where it has none of its own."""
    found = tuple(_replication_controller(controller, rules))
    # No declared rule says that a value is missing.
    declared = [
        error for name in _DECLARED for error in found if error.field == name and "Required" not in error.problem[:8]
    ]
    if rules.minor < _DECLARED_SINCE:
        declared = []
    yield from (error for error in found if error not in declared)
    yield from declared


def _replication_controller(controller: View, rules: Rules) -> Iterator[FieldError]:
    spec, meta = controller.struct("spec"), controller.struct("metadata")
    template = spec.struct("template")
    labels = template.struct("metadata").texts_by_key("labels")
    if not meta.content.get("labels"):
        meta = View({**meta.content, "labels": labels}, meta.path)
    if rules.minor < _LONG_NAME_SINCE:
        yield from validate_object_meta(meta, rules, dns_subdomain)
    else:
        named = View({**meta.content, "generateName": ""}, meta.path) if meta.text("name") else meta
        yield from validate_object_meta(named, rules, long_name)
    yield from validate_nonnegative(spec, "minReadySeconds")
    selector = spec.texts_by_key("selector") or labels
    if not selector:
        yield required(spec.at("selector"))
    yield from validate_nonnegative(spec, "replicas")
    if not spec.has("template"):
        yield required(template.path)
        return
    if not selector.items() <= labels.items():
        yield _unselected(template)
    yield from validate_pod_template(template, rules)
    yield from _only_always(template, "ReplicationController")


def validate_replica_set(replica_set: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a ReplicaSet against its rules."""
    yield from validate_object_meta(replica_set.struct("metadata"), rules, dns_subdomain)
    spec = replica_set.struct("spec")
    yield from validate_nonnegative(spec, "replicas", "minReadySeconds")
    yield from _selected_template(spec, spec.struct("template"), "deployment", "invalid label selector", rules)


def validate_deployment(deployment: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a Deployment against its rules."""
    yield from validate_object_meta(deployment.struct("metadata"), rules, dns_subdomain)
    spec = deployment.struct("spec")
    yield from validate_nonnegative(spec, "replicas")
    yield from _selected_template(spec, spec.struct("template"), "deployment", "invalid label selector", rules)
    strategy = spec.struct("strategy")
    kind, rolling = strategy.text("type", _ROLLING), strategy.struct("rollingUpdate")
    if kind == _RECREATE:
        if strategy.has("rollingUpdate"):
            yield forbidden(rolling.path, f"may not be specified when strategy `type` is '{_RECREATE}'")
    elif kind != _ROLLING:
        yield unsupported(strategy.path, _shown_strategy(strategy), (_RECREATE, _ROLLING))
    else:
        unavailable, surge = _value(rolling, "maxUnavailable", _QUARTER), _value(rolling, "maxSurge", _QUARTER)
        path = rolling.at("maxUnavailable")
        yield from validate_positive_int_or_percent(unavailable, path)
        yield from validate_positive_int_or_percent(surge, rolling.at("maxSurge"))
        if int_or_percent(unavailable) == 0 and int_or_percent(surge) == 0:
            yield invalid(path, _typed(unavailable), "may not be 0 when `maxSurge` is 0")
        yield from validate_not_more_than_all(unavailable, path)
    yield from validate_nonnegative(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.number("progressDeadlineSeconds")
    deadline = _PROGRESS_DEADLINE if deadline is None else deadline
    if deadline <= (spec.number("minReadySeconds") or 0):
        yield invalid(spec.at("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds")


def validate_stateful_set(stateful_set: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a StatefulSet against its rules."""
    yield from validate_object_meta(stateful_set.struct("metadata"), rules, dns_label)
    spec = stateful_set.struct("spec")
    management = spec.text("podManagementPolicy", _POD_MANAGEMENT[0])
    if management not in _POD_MANAGEMENT:
        words = f"must be '{_POD_MANAGEMENT[0]}' or '{_POD_MANAGEMENT[1]}'"
        yield invalid(spec.at("podManagementPolicy"), TypedText(management), words)
    yield from _stateful_strategy(spec.struct("updateStrategy"), rules)
    retention = spec.struct("persistentVolumeClaimRetentionPolicy")
    for name in ("whenDeleted", "whenScaled"):
        yield from validate_enum(retention, name, _RETENTION, "Retain")
    for claim in spec.structs("volumeClaimTemplates"):
        yield from validate_claim_spec(claim.struct("spec"), rules)
    yield from validate_nonnegative(spec, "replicas", "minReadySeconds")
    yield from validate_nonnegative(spec.struct("ordinals"), "start")
    yield from validate_format(spec, "serviceName", dns_label)
    # The template has a volume for each claim, and not the fields that the controller sets for each pod.
    template, pod = spec.struct("template"), spec.struct("template").struct("spec")
    claims = dict.fromkeys(claim.struct("metadata").text("name") for claim in spec.structs("volumeClaimTemplates"))
    content = {name: value for name, value in pod.content.items() if name not in {"hostname", "subdomain"}}
    if claims:
        own = [volume.content for volume in pod.structs("volumes") if volume.text("name") not in claims]
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        content["volumes"] = made + own
    whole = View({**template.content, "spec": content}, template.path)
    yield from _selected_template(spec, whole, "statefulset", "", rules)
    yield from _only_always(spec.struct("template"), "StatefulSet")


def validate_daemon_set(daemon_set: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a DaemonSet against its rules."""
    yield from validate_object_meta(daemon_set.struct("metadata"), rules, dns_subdomain)
    spec = daemon_set.struct("spec")
    selector, template = spec.struct("selector"), spec.struct("template")
    problems = tuple(validate_label_selector(selector, rules))
    yield from problems
    if not problems and not _selected(spec, template):
        yield _unselected(template)
    if spec.has("selector") and is_empty_selector(selector):
        yield invalid(selector.path, {}, "empty selector is invalid for daemonset")
    yield from validate_pod_template(template, rules)
    yield from _only_always(template, "DaemonSet")
    yield from validate_nonnegative(spec, "minReadySeconds")
    yield from _daemon_strategy(spec.struct("updateStrategy"))
    yield from validate_nonnegative(spec, "revisionHistoryLimit")


def _selected_template(spec: View, template: View, kind: str, problem: str, rules: Rules) -> Iterator[FieldError]:
    """The selector, which has to be there and may not be empty, and the template that it selects.

    Each kind has its own words for an empty selector, and a ReplicaSet those of a Deployment. `problem` is what the API
    server says once more about a malformed selector.
    """
    selector = spec.struct("selector")
    problems = tuple(validate_label_selector(selector, rules))
    if not spec.has("selector"):
        yield required(selector.path)
    else:
        yield from problems
        if is_empty_selector(selector):
            yield invalid(selector.path, {}, f"empty selector is invalid for {kind}")
    if problems:
        yield invalid(selector.path, shown_selector(selector), problem)
        return
    if not _selected(spec, template):
        yield _unselected(template)
    yield from validate_pod_template(template, rules)
    if kind == "deployment":
        yield from _only_always(template, "ReplicaSet")


def _selected(spec: View, template: View) -> bool:
    """Whether the selector selects the template; one that is absent selects nothing."""
    labels = template.struct("metadata").texts_by_key("labels")
    return spec.has("selector") and selects(spec.struct("selector"), labels)


def _unselected(template: View) -> FieldError:
    shown = shown_labels(template.struct("metadata"), "labels")
    return invalid(template.at("metadata.labels"), shown, "`selector` does not match template `labels`")


def _only_always(template: View, kind: str) -> Iterator[FieldError]:
    """What only pods have that end by themselves."""
    spec = template.struct("spec")
    policy = spec.text("restartPolicy", "Always")
    if policy != "Always":
        yield unsupported(spec.at("restartPolicy"), policy, ("Always",))
    if spec.has("activeDeadlineSeconds"):
        words = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden(spec.at("activeDeadlineSeconds"), words)


def _stateful_strategy(strategy: View, rules: Rules) -> Iterator[FieldError]:
    kind, rolling = strategy.text("type", _ROLLING), strategy.struct("rollingUpdate")
    most = rolling.port("maxUnavailable") if rules.on("MaxUnavailableStatefulSet") else None
    shown = {"Partition": rolling.number("partition") or 0, "MaxUnavailable": most}
    if kind == _ON_DELETE:
        if strategy.has("rollingUpdate"):
            yield invalid(rolling.path, shown, f"only allowed for updateStrategy '{_ROLLING}'")
    elif kind != _ROLLING:
        whole = {"Type": kind, "RollingUpdate": shown if strategy.has("rollingUpdate") else None}
        yield invalid(strategy.path, whole, f"must be '{_ROLLING}' or '{_ON_DELETE}'")
    else:
        yield from validate_nonnegative(rolling, "partition")
        if most is not None:
            path = rolling.at("maxUnavailable")
            yield from validate_positive_int_or_percent(most, path)
            if int_or_percent(most) == 0:
                yield invalid(path, _typed(most), "cannot be 0")
            yield from validate_not_more_than_all(most, path)


def _daemon_strategy(strategy: View) -> Iterator[FieldError]:
    kind, rolling = strategy.text("type", _ROLLING), strategy.struct("rollingUpdate")
    if kind == _ON_DELETE:
        return
    if kind != _ROLLING:
        yield unsupported(strategy.path, _shown_strategy(strategy), (_ROLLING, _ON_DELETE))
        return
    values = {"maxUnavailable": _value(rolling, "maxUnavailable", 1), "maxSurge": _value(rolling, "maxSurge", 0)}
    for check in (validate_positive_int_or_percent, validate_not_more_than_all):
        for name, value in values.items():
            yield from check(value, rolling.at(name))
    unavailable, surge = (int_or_percent(value) != 0 for value in values.values())
    if unavailable and surge:
        yield invalid(
            rolling.at("maxSurge"), _typed(values["maxSurge"]), "may not be set when maxUnavailable is non-zero"
        )
    if not unavailable and not surge:
        yield required(rolling.at("maxUnavailable"), "cannot be 0 when maxSurge is 0")


def _value(rolling: View, name: str, default: IntOrPercent) -> IntOrPercent:
    found = rolling.port(name)
    return default if found is None else found


def _typed(value: IntOrPercent) -> IntOrPercent:
    return TypedText(value) if isinstance(value, str) else value


def _shown_strategy(strategy: View) -> Mapping[str, Any]:
    """The strategy of a Deployment or DaemonSet as Go writes its internal type as JSON, where its type is unknown."""
    rolling = strategy.struct("rollingUpdate")
    shown = {"MaxUnavailable": _value(rolling, "maxUnavailable", 0), "MaxSurge": _value(rolling, "maxSurge", 0)}
    return {"Type": strategy.text("type"), "RollingUpdate": shown if strategy.has("rollingUpdate") else None}
