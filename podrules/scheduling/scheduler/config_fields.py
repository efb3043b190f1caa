"""The fields of a KubeSchedulerConfiguration, as kube-scheduler decodes them.

    unknown   refused at every level, also in the arguments of its own plugins; upper and lower case count
    args      of kube-scheduler's own plugins have the kind that the plugin's name gives; of others they are anything
    versions  v1 only. A field that only older versions have is named with the one that replaced it

Source: cmd/kube-scheduler/app/options/configfile.go and pkg/scheduler/apis/config/scheme at v1.37.1;
k8s.io/kube-scheduler/config at v0.17.17 (v1alpha1), v0.22.17 (v1beta1, v1beta2), v0.28.15 (v1beta3), v0.37.1 (v1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podrules.api.features import REFERENCE
from podrules.api.model.misfit import shown, unfit
from podrules.api.schema.strict import Misfit, UndefinedField, decode_struct, unknown_field
from podrules.api.schema.table import schema
from podrules.api.similar_names import nearest_word
from podrules.scheduling.scheduler.in_tree import REMOVED_PLUGINS, no_such_plugin

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
_INDEX: Final = re.compile(r"\[[0-9]+\]")
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
    for struct, value, path in (("", configuration, ""), *_arguments(configuration)):
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
    yield from map(_unknown, unknown)
    yield from (f"{one.field}: {one.problem}" for one in misfits)


def _arguments(configuration: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Kind, value and path of the arguments of kube-scheduler's own plugins."""
    for path, profile in entries(configuration, "profiles", ""):
        for place, plugin in entries(profile, "pluginConfig", f"{path}."):
            kind = f"{plugin.get('name')}{_ARGS}"
            if plugin.get("args") is not None and _KNOWN.has(f"config.{kind}"):
                yield kind, plugin["args"], f"{place}.args"


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


def _unknown(field: UndefinedField) -> str:
    lower = {one.lower(): one for one in field.known}
    name = field.field.rpartition(".")[2].lower()
    meant = lower.get(name) or lower.get(nearest_word(name, lower, closeness=_CLOSE))
    remedy = _REMOVED.get(_INDEX.sub("[]", field.field)) or (f"write {meant}" if meant else "remove it")
    # A field that was off or empty needs no replacement.
    remedy = "remove it" if field.value in (None, "") or field.value is False else remedy
    return f"{unknown_field(field.field)} ({shown(field.value)}): {remedy}"
