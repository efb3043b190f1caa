"""The fields of a KubeSchedulerConfiguration, as kube-scheduler decodes them, and values for which it does not start.

    unknown   refused at every level, also in the arguments of its own plugins; upper and lower case count
    args      of kube-scheduler's own plugins have the kind that the plugin's name gives; of others they are anything
    versions  v1 only. A field that only older versions have is named with the one that replaced it

Source: cmd/kube-scheduler/app/options/configfile.go and pkg/scheduler/apis/config/scheme at v1.37.1;
k8s.io/kube-scheduler/config at v0.17.17 (v1alpha1), v0.22.17 (v1beta1, v1beta2), v0.28.15 (v1beta3), v0.37.1 (v1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from podrules.api.features import REFERENCE
from podrules.api.model.decode import from_object
from podrules.api.model.instant import parse_duration
from podrules.api.model.misfit import shown, unfit
from podrules.api.model.selectors import NodeAffinity, is_label_key
from podrules.api.names import nearest_word
from podrules.api.schema.strict import Misfit, UndefinedField, decode_struct, unknown_field
from podrules.api.schema.table import schema
from podrules.pod.resources import is_extended_resource_name
from podrules.scheduling.scheduler.in_tree import REMOVED_PLUGINS, no_such_plugin
from podrules.scheduling.scheduler.plugins.requirement import NodeSelectorProblem, preferred_problems, term_problems

_GROUP: Final = "kubescheduler.config.k8s.io"
API_VERSION: Final = f"{_GROUP}/v1"
KIND: Final = "KubeSchedulerConfiguration"
_REMOVED: Final[Mapping[str, str]] = {
    "algorithmSource": "remove it: each profile begins with the default plugins, which profiles[].plugins changes",
    "bindTimeoutSeconds": "write it in profiles[].pluginConfig, name VolumeBinding, args.bindTimeoutSeconds",
    "disablePreemption": "write profiles[].plugins.postFilter.disabled: [{name: DefaultPreemption}]",
    "featureGates": "write kube-scheduler's flag --feature-gates",
    "hardPodAffinitySymmetricWeight": (
        "write it in profiles[].pluginConfig, name InterPodAffinity, args.hardPodAffinityWeight"
    ),
    "healthzBindAddress": "write kube-scheduler's flags --bind-address and --secure-port",
    "metricsBindAddress": "write kube-scheduler's flags --bind-address and --secure-port",
    "pluginConfig": "write profiles[].pluginConfig",
    "plugins": "write profiles[].plugins",
    "schedulerName": "write profiles[].schedulerName",
    "leaderElection.lockObjectName": "write leaderElection.resourceName",
    "leaderElection.lockObjectNamespace": "write leaderElection.resourceNamespace",
    "profiles[].plugins.normalizeScore": "write profiles[].plugins.score",
    "profiles[].plugins.unreserve": "write profiles[].plugins.reserve",
}
"""The replacements of fields that v1 does not have, by path."""
_WEIGHTS: Final = "; weights of InterPodAffinity, NodeAffinity and TaintToleration were 1 by default"
_BETAS: Final[Mapping[str, str]] = {
    f"{_GROUP}/v1beta1": f" (in a copy, if a scheduler of 1.19 to 1.22 runs it{_WEIGHTS})",
    f"{_GROUP}/v1beta2": f" (in a copy, if a scheduler of 1.22 to 1.27 runs it{_WEIGHTS})",
    f"{_GROUP}/v1beta3": " (in a copy, if a scheduler of 1.23 to 1.28 runs it)",
}
"""Versions that a scheduler may still read, while v1 came with 1.25: such a file is rewritten for the answer alone."""
_ARGS: Final = "Args"
_CLOSE: Final = 0.75
_INDEX: Final = r"\[[0-9]+\]"
_KNOWN: Final = schema(REFERENCE.minor)
"""The newest version: no field was removed since the oldest one known here."""
_MAX_GIVEN: Final = 100


def field_problems(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Why kube-scheduler does not decode a configuration, each with path, value and remedy."""
    version, kind = configuration.get("apiVersion"), configuration.get("kind")
    if (version, kind) != (API_VERSION, KIND):
        given = " ".join(str(one) for one in (version, kind) if one) or "nothing"
        yield f"apiVersion and kind: {given[:_MAX_GIVEN]}: write {API_VERSION} {KIND}{_BETAS.get(str(version), '')}"
        yield from _removed_plugins(configuration)
        if kind != KIND or str(version).partition("/")[0] != _GROUP:
            return
    unknown: list[UndefinedField] = []
    misfits: list[Misfit] = []
    structs: list[tuple[str, Any, str]] = [("", configuration, "")]
    for path, profile in entries(configuration, "profiles", ""):
        for place, plugin in entries(profile, "pluginConfig", f"{path}."):
            struct = f"{plugin.get('name')}{_ARGS}"
            if plugin.get("args") is not None and _KNOWN.has(f"config.{struct}"):
                structs.append((struct, plugin["args"], f"{place}.args"))
    for struct, value, path in structs:
        if not isinstance(value, Mapping):
            yield f"{path}: {unfit(value, 'object')}"
            continue
        if struct:
            version, kind = value.get("apiVersion") or API_VERSION, value.get("kind") or struct
            if (version, kind) != (API_VERSION, struct):
                yield f"{path}: {version} {kind}: has to match plugin args of {struct.removesuffix(_ARGS)}: remove both"
        found = decode_struct(value, f"config.{struct or KIND}", _KNOWN, path)
        misfits += found[0]
        unknown += found[1]
    for field in unknown:
        lower = {one.lower(): one for one in field.known}
        name = field.field.rpartition(".")[2].lower()
        meant = lower.get(name) or lower.get(nearest_word(name, lower, closeness=_CLOSE))
        remedy = _REMOVED.get(re.sub(_INDEX, "[]", field.field)) or (f"write {meant}" if meant else "remove it")
        # A field that was off or empty needs no replacement.
        remedy = "remove it" if field.value in (None, "") or field.value is False else remedy
        yield f"{unknown_field(field.field)} ({shown(field.value)}): {remedy}"
    yield from (f"{one.field}: {one.problem}" for one in misfits)


def _removed_plugins(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Plugins of an older version that v1 does not have, with what replaced them."""
    for path, profile in entries(configuration, "profiles", ""):
        own = profile.get("plugins")
        points = own.items() if isinstance(own, Mapping) else ()
        sets = [(f"{path}.plugins.{point}.", "enabled", entry) for point, entry in points if isinstance(entry, Mapping)]
        for parent, field, value in (*sets, (f"{path}.", "pluginConfig", profile)):
            for place, plugin in entries(value, field, parent):
                if (name := str(plugin.get("name"))) in REMOVED_PLUGINS:
                    yield f'{place}: "{name}": {no_such_plugin(name)}'


def entries(value: Mapping[str, Any], field: str, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The mappings in a list, with their paths; null is an empty one."""
    found = value.get(field)
    for index, entry in enumerate(found if isinstance(found, list) else ()):
        if entry is None or isinstance(entry, Mapping):
            yield f"{path}{field}[{index}]", entry or {}


# Values for which kube-scheduler rejects a configuration, beyond those that the models of `profile` reject.
#
# The fields have their types. What is absent, null or zero has its default.
#
# Source: pkg/scheduler/apis/config/validation/{validation,validation_pluginargs}.go and pkg/scheduler/extender.go of
# k8s.io/kubernetes at v1.37.1; config/validation/validation.go of k8s.io/component-base at v0.37.1.

_Struct = Mapping[str, Any]
_SECOND: Final = timedelta(seconds=1)
_FEW: Final = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
_BACKOFFS: Final = (("podInitialBackoffSeconds", 1), ("podMaxBackoffSeconds", 10))
_LEASE: Final = "leaseDuration"
_RENEW: Final = "renewDeadline"
_TIMES: Final = {_LEASE: timedelta(seconds=15), _RENEW: timedelta(seconds=10), "retryPeriod": timedelta(seconds=2)}
"""Of leader election, with their defaults."""
_MAX_DEPTH: Final = 32
"""Of fields that are known; arguments of other projects' plugins may go deeper."""
_Rule = tuple[Callable[[Any], bool], str]
_LABEL: Final = "write a label name, as example.com/name"
_SHARE: Final[_Rule] = (lambda share: 0 <= share <= 100), "not in valid range [0-100]"
_OF_NODES: Final[_Rule] = _SHARE[0], f"{_SHARE[1]}: write 0 to go by the number of nodes"
_RULES: Final[Mapping[str, _Rule]] = {
    "clientConnection.burst": (lambda burst: burst >= 0, "write 0 or more"),
    "clientConnection.qps": (lambda qps: abs(qps) < 2.0**128, "write a number that fits 32 bits"),
    "parallelism": (lambda workers: workers >= 1, "write 1 or more"),
    "percentageOfNodesToScore": _OF_NODES,
    "podInitialBackoffSeconds": (lambda seconds: seconds >= 1, "write 1 or more"),
    "profiles[].percentageOfNodesToScore": _OF_NODES,
    "DefaultPreemption.args.minCandidateNodesAbsolute": (lambda nodes: nodes >= 0, "not in valid range [0-inf)"),
    "DefaultPreemption.args.minCandidateNodesPercentage": _SHARE,
    "DynamicResources.args.bindingTimeout": (lambda time: parse_duration(time) >= _SECOND, "write 1s or more"),
    "DynamicResources.args.filterTimeout": (lambda time: parse_duration(time) >= timedelta(), "write 0s or more"),
    "NodeResourcesFit.args.ignoredResources[]": (is_label_key, _LABEL),
    "NodeResourcesFit.args.ignoredResourceGroups[]": (
        lambda group: is_label_key(group) and "/" not in group,
        "write the group alone, as example.com",
    ),
}
"""Of single values, by field; an argument begins with the name of its plugin."""


def value_problems(configuration: _Struct) -> Iterator[str]:
    """Why kube-scheduler does not start, each with path, value and remedy."""
    for path, field, value in _values(configuration):
        rule = _RULES.get(field)
        if rule is not None and not rule[0](value):
            yield _invalid(path, value, rule[1])
    least, most = (usual if (given := configuration.get(name)) is None else given for name, usual in _BACKOFFS)
    if most < least:
        yield _invalid("podMaxBackoffSeconds", most, f"less than podInitialBackoffSeconds, {least}")
    election = configuration.get("leaderElection") or {}
    if election.get("leaderElect") is not False:
        if (lock := election.get("resourceLock") or "leases") != "leases":
            yield _invalid("leaderElection.resourceLock", lock, "write leases")
        times = {name: parse_duration(election.get(name) or "0") or usual for name, usual in _TIMES.items()}
        for name in (name for name, time in times.items() if time < timedelta()):
            yield _invalid(f"leaderElection.{name}", election[name], "write more than 0s")
        if times[_LEASE] <= times[_RENEW]:
            problem = f"must be more than {_RENEW}, {election.get(_RENEW) or '10s'}"
            yield _invalid(f"leaderElection.{_LEASE}", election.get(_LEASE) or "15s", problem)
    yield from _extenders(tuple(entries(configuration, "extenders", "")))
    for path, profile in entries(configuration, "profiles", ""):
        for place, plugin in entries(profile, "pluginConfig", f"{path}."):
            args = plugin.get("args") or {}
            if plugin.get("name") == "NodeAffinity":
                yield from _affinity(args, f"{place}.args")
            elif plugin.get("name") == "DefaultPreemption" and args.get(_FEW[0]) == args.get(_FEW[1]) == 0:
                yield _invalid(f"{place}.args.{_FEW[0]}", 0, f"{_FEW[1]} is 0 too")


def _values(value: Any, path: str = "", field: str = "", depth: int = _MAX_DEPTH) -> Iterator[tuple[str, str, Any]]:
    """Each value with its path and its field."""
    match value:
        case dict() if depth:
            for name, entry in value.items():
                below = f"{value.get('name')}.args" if name == "args" else f"{field}.{name}".lstrip(".")
                yield from _values(entry, f"{path}.{name}".lstrip("."), below, depth - 1)
        case list() if depth:
            for index, entry in enumerate(value):
                yield from _values("" if entry is None else entry, f"{path}[{index}]", f"{field}[]", depth - 1)
        case str() | int() | float():
            yield path, field, value


def _invalid(path: str, value: Any, problem: str) -> str:
    return f"{path}: Invalid value: {shown(value)}: {problem}"


def _extenders(extenders: Sequence[tuple[str, _Struct]]) -> Iterator[str]:
    managed: set[str] = set()
    first, *more = [path for path, extender in extenders if extender.get("bindVerb")] or [""]
    for path in more:
        yield f"{path}.bindVerb: Forbidden: only one extender can bind, and {first} does"
    for path, extender in extenders:
        weight, tls = extender.get("weight") or 0, extender.get("tlsConfig") or {}
        if extender.get("prioritizeVerb") and weight <= 0:
            yield _invalid(f"{path}.weight", weight, "prioritizeVerb needs a weight of 1 or more")
        if tls.get("insecure") and (tls.get("caFile") or tls.get("caData")):
            yield f"{path}.tlsConfig.insecure: Forbidden: it does not go with caFile or caData"
        for place, resource in entries(extender, "managedResources", f"{path}."):
            name = resource.get("name") or ""
            if not is_extended_resource_name(name):
                yield _invalid(f"{place}.name", name, "write an extended resource, as example.com/name")
            elif name in managed:
                yield f"{place}.name: Duplicate value: {shown(name)}: one extender manages it already"
            managed.add(name)


def _affinity(args: _Struct, path: str) -> Iterator[str]:
    added = from_object(args.get("addedAffinity") or {}, NodeAffinity)
    required = added.required_during_scheduling_ignored_during_execution
    place = f"{path}.addedAffinity"
    found: list[NodeSelectorProblem] = []
    for index, term in enumerate(required.node_selector_terms if required else ()):
        at = f"{place}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{index}]"
        found += term_problems(term, at)
    yield from map(str, found)
    for problem in preferred_problems(added.preferred_during_scheduling_ignored_during_execution):
        yield f"{place}.preferredDuringSchedulingIgnoredDuringExecution{problem}"
