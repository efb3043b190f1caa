"""Values for which kube-scheduler refuses a configuration, beyond those that the models of `profile` refuse.

The fields have their types (`config_fields`). What is absent, null or zero has its default.

Source: pkg/scheduler/apis/config/validation/{validation,validation_pluginargs}.go and pkg/scheduler/extender.go of
k8s.io/kubernetes at v1.37.1; config/validation/validation.go of k8s.io/component-base at v0.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from podrules.model.affinity import NodeAffinity
from podrules.model.decode import from_object
from podrules.model.duration import parse_duration
from podrules.model.misfit import shown
from podrules.model.selectors import is_label_key
from podrules.resources import is_extended_resource_name
from podrules.scheduler.config_fields import entries
from podrules.scheduler.plugins.node_selector_problems import NodeSelectorProblem, preferred_problems, term_problems

__all__ = ["value_problems"]

_Struct = Mapping[str, Any]
_LEASE: Final = "leaseDuration"
_RENEW: Final = "renewDeadline"
_TIMES: Final = {_LEASE: timedelta(seconds=15), _RENEW: timedelta(seconds=10), "retryPeriod": timedelta(seconds=2)}
"""Of leader election, with their defaults."""
_LABEL: Final = "write a label name, as example.com/name"


def value_problems(configuration: _Struct) -> Iterator[str]:
    """Why kube-scheduler does not start, each with path, value and remedy."""
    burst = (configuration.get("clientConnection") or {}).get("burst") or 0
    if burst < 0:
        yield _invalid("clientConnection.burst", burst, "write 0 or more")
    yield from _leader_election(configuration.get("leaderElection") or {})
    yield from _extenders(tuple(entries(configuration, "extenders", "")))
    for path, profile in entries(configuration, "profiles", ""):
        for place, plugin in entries(profile, "pluginConfig", f"{path}."):
            check = _ARGS.get(plugin.get("name") or "")
            yield from () if check is None else check(plugin.get("args") or {}, f"{place}.args")


def _invalid(path: str, value: Any, problem: str) -> str:
    return f"{path}: Invalid value: {shown(value)}: {problem}"


def _leader_election(election: _Struct) -> Iterator[str]:
    if election.get("leaderElect") is False:
        return
    lock = election.get("resourceLock") or "leases"
    if lock != "leases":
        yield _invalid("leaderElection.resourceLock", lock, "write leases")
    given = {name: parse_duration(election.get(name) or "0") or usual for name, usual in _TIMES.items()}
    for name, time in given.items():
        if time < timedelta():
            yield _invalid(f"leaderElection.{name}", election[name], "write more than 0s")
    if given[_LEASE] <= given[_RENEW]:
        problem = f"must be more than {_RENEW}, {election.get(_RENEW) or '10s'}"
        yield _invalid(f"leaderElection.{_LEASE}", election.get(_LEASE) or "15s", problem)


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


def _fit(args: _Struct, path: str) -> Iterator[str]:
    for field in ("ignoredResources", "ignoredResourceGroups"):
        for index, name in enumerate(args.get(field) or ()):
            if not is_label_key(name or ""):
                yield _invalid(f"{path}.{field}[{index}]", name or "", _LABEL)
            elif "/" in name and field == "ignoredResourceGroups":
                yield _invalid(f"{path}.{field}[{index}]", name, f"write the group alone, {name.partition('/')[0]}")


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


def _devices(args: _Struct, path: str) -> Iterator[str]:
    for field, least in (("filterTimeout", "0s"), ("bindingTimeout", "1s")):
        given = args.get(field)
        if given is not None and parse_duration(given) < parse_duration(least):
            yield _invalid(f"{path}.{field}", given, f"write {least} or more")


_ARGS: Final[Mapping[str, Callable[[_Struct, str], Iterator[str]]]] = {
    "DynamicResources": _devices,
    "NodeAffinity": _affinity,
    "NodeResourcesFit": _fit,
}
