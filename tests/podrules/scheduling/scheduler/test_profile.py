"""KubeSchedulerConfiguration: the default constraints of each scheduler, and refusals."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.api.model.pod import TopologySpreadConstraint
from podrules.scheduling.scheduler.plugin_set import Plugin, Plugins, PluginSet
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULT_CONSTRAINTS
from podrules.scheduling.scheduler.profile import ConfigurationError, Profile, read_profiles
from tests.objects import make_constraint
from tests.table import row, table

KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
ZONE = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
BY_ZONE = (make_constraint(1, "zone", "DoNotSchedule"),)


def make_configuration(*profiles: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {**KIND, "profiles": [dict(profile) for profile in profiles], **fields}


def make_profile(name: str | None = None, *, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A profile; ``args`` are PodTopologySpread's."""
    named = {} if name is None else {"schedulerName": name}
    return named if args is None else {**named, "pluginConfig": [{"name": "PodTopologySpread", "args": dict(args)}]}


def plugins(enabled: Sequence[str] = (), disabled: Sequence[str] = ()) -> dict[str, Any]:
    return {"enabled": [{"name": name} for name in enabled], "disabled": [{"name": name} for name in disabled]}


def make_list(*constraints: Mapping[str, Any]) -> dict[str, Any]:
    return {"defaultingType": "List", "defaultConstraints": [dict(entry) for entry in constraints]}


@table(
    "configuration, expected",
    {
        "no profiles": row(KIND, {"default-scheduler": SYSTEM_DEFAULT_CONSTRAINTS}),
        "an empty list of profiles": row(make_configuration(), {"default-scheduler": SYSTEM_DEFAULT_CONSTRAINTS}),
        "one profile without a name": row(
            make_configuration(make_profile(args=make_list(ZONE))), {"default-scheduler": BY_ZONE}
        ),
        "one with a name": row(make_configuration(make_profile("mine", args=make_list(ZONE))), {"mine": BY_ZONE}),
        "several profiles": row(
            make_configuration(
                make_profile("default-scheduler"),
                make_profile("dense", args=make_list()),
                make_profile("spread", args=make_list(ZONE)),
                make_profile("system", args={"defaultingType": "System"}),
            ),
            {
                "default-scheduler": SYSTEM_DEFAULT_CONSTRAINTS,
                "dense": (),
                "spread": BY_ZONE,
                "system": SYSTEM_DEFAULT_CONSTRAINTS,
            },
        ),
        "empty args": row(make_configuration(make_profile("mine", args={})), {"mine": SYSTEM_DEFAULT_CONSTRAINTS}),
        "args of null": row(
            make_configuration({"pluginConfig": [{"name": "PodTopologySpread", "args": None}]}),
            {"default-scheduler": SYSTEM_DEFAULT_CONSTRAINTS},
        ),
        "other plugins and fields are skipped": row(
            make_configuration(
                {
                    "pluginConfig": [
                        {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
                        {
                            "name": "PodTopologySpread",
                            "args": {
                                "apiVersion": "kubescheduler.config.k8s.io/v1",
                                "kind": "PodTopologySpreadArgs",
                                **make_list(ZONE),
                            },
                        },
                    ]
                },
                leaderElection={"leaderElect": True},
                percentageOfNodesToScore=100,
            ),
            {"default-scheduler": BY_ZONE},
        ),
    },
)
def test_S4_read_profiles(
    configuration: Mapping[str, Any], expected: Mapping[str, tuple[TopologySpreadConstraint, ...]]
) -> None:
    profiles = read_profiles(configuration)
    assert {name: profile.pod_topology_spread.constraints for name, profile in profiles.items()} == expected
    assert {profile.scheduler_name for profile in profiles.values()} == set(expected)


PLACE = "profiles[0].pluginConfig[0].args"


@table(
    "configuration, errors",
    {
        "wrong apiVersion": row(
            KIND | {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
            "apiVersion and kind: kubescheduler.config.k8s.io/v1beta3 KubeSchedulerConfiguration: "
            "write kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration",
        ),
        "another kind": row(
            {"apiVersion": "v1", "kind": "ConfigMap"},
            "apiVersion and kind: v1 ConfigMap: write kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration",
        ),
        "neither field": row({}, "apiVersion and kind: nothing: write kubescheduler.config.k8s.io/v1"),
        "a list": row(["a"], "this is a list; write a mapping"),
        "a string": row("profiles: []", '"profiles: []" is a string; write a mapping'),
        "empty": row(None, "nothing stands here; write a mapping"),
        "profiles, a mapping": row(KIND | {"profiles": {"a": 1}}, "profiles: this is a mapping; write a list"),
        "a number in quotes": row(
            make_configuration(make_profile(args={"defaultConstraints": [{**ZONE, "maxSkew": "1"}]})),
            f'{PLACE}.defaultConstraints[0].maxSkew: "1" is a string; write a whole number (1)',
        ),
        "several errors of one constraint": row(
            make_configuration(make_profile(args=make_list({**ZONE, "maxSkew": 0, "topologyKey": ""}))),
            f"{PLACE}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)\n"
            f"{PLACE}.defaultConstraints[0].topologyKey: Required value: can not be empty",
        ),
        "errors of two profiles": row(
            make_configuration(
                make_profile("a", args=make_list({**ZONE, "labelSelector": {"matchLabels": {"a": "b"}}})),
                make_profile("b", args={"defaultConstraints": [ZONE]}),
            ),
            "profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: Forbidden: \n"
            'profiles[1].pluginConfig[0].args.defaultingType: Invalid value: "System": ',
        ),
        "two profiles of one name": row(
            make_configuration(make_profile("a"), make_profile("b"), make_profile("a")),
            'profiles[2].schedulerName: Duplicate value: "a"',
        ),
        "one of two without a name": row(
            make_configuration(make_profile("a"), {}), "profiles[1].schedulerName: Required value"
        ),
        "an empty name": row(make_configuration({"schedulerName": ""}), "profiles[0].schedulerName: Required value"),
        "args twice": row(
            make_configuration({"pluginConfig": [{"name": "PodTopologySpread"}] * 2}),
            'profiles[0].pluginConfig[1]: Duplicate value: "PodTopologySpread"',
        ),
        "a typo in args": row(
            make_configuration(make_profile(args={"defaultingType": "List", "defaultConstraint": [ZONE]})),
            f'unknown field "{PLACE}.defaultConstraint" ([{{"maxSkew": 1, "topologyKey": "zone", …): write default',
        ),
        "maxSkew beyond int32": row(
            make_configuration(make_profile(args=make_list({**ZONE, "maxSkew": 3_000_000_000}))),
            f"{PLACE}.defaultConstraints[0].maxSkew: 3000000000 is out of range; write a whole number",
        ),
        "args of another kind": row(
            make_configuration(make_profile(args={"kind": "NodeAffinityArgs", "defaultingType": "List"})),
            f"{PLACE}: kubescheduler.config.k8s.io/v1 NodeAffinityArgs: has to match plugin args of",
        ),
        "percentages out of range": row(
            make_configuration({"percentageOfNodesToScore": 101}, percentageOfNodesToScore=-1),
            "profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]\n"
            "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
        ),
        "a percentage in quotes": row(
            make_configuration({"percentageOfNodesToScore": "50"}),
            'profiles[0].percentageOfNodesToScore: "50" is a string; write a whole number (50)',
        ),
        "a typo in a profile": row(
            make_configuration({"percentageOfNodesToScores": 50}),
            'unknown field "profiles[0].percentageOfNodesToScores" (50): write percentageOfNodesToScore',
        ),
        "a point that does not exist": row(
            make_configuration({"plugins": {"preFilters": {}}}),
            'unknown field "profiles[0].plugins.preFilters" ({}): write preFilter',
        ),
        "a weight beyond int32": row(
            make_configuration({"plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": 2**31}]}}}),
            "profiles[0].plugins.score.enabled[0].weight: 2147483648 is out of range; write a whole number",
        ),
        "plugins of two profiles": row(
            make_configuration(
                {
                    "schedulerName": "a",
                    "plugins": {"filter": {"enabled": [{"name": "NodeName"}, {"name": "NodeName"}]}},
                },
                {"schedulerName": "b", "plugins": {"bind": {"disabled": [{"name": "*"}]}}},
            ),
            'profiles[0].plugins.filter.enabled[1].name: Duplicate value: "NodeName"\n'
            "profiles[1].plugins.bind: Required value: no plugin is left",
        ),
        "args of a plugin that was removed": row(
            make_configuration({"pluginConfig": [{"name": "EBSLimits"}]}),
            'profiles[0].pluginConfig[0]: Invalid value: "EBSLimits": there is no such plugin any more',
        ),
        "two ways to sort one queue": row(
            make_configuration(
                make_profile("a"),
                {"schedulerName": "b", "plugins": {"queueSort": plugins(["Custom"], ["PrioritySort"])}},
            ),
            "profiles[1].plugins.queueSort: Invalid value: Custom: must be the same for all profiles",
        ),
        "other args for the plugin that sorts it": row(
            make_configuration(
                make_profile("a"),
                {"schedulerName": "b", "pluginConfig": [{"name": "PrioritySort", "args": {"by": "age"}}]},
            ),
            "profiles[1].pluginConfig: Invalid value: args of PrioritySort: must be the same for all profiles",
        ),
    },
)
def test_S4_configuration_that_is_refused(configuration: Any, errors: str) -> None:
    pattern = "; ".join(f"{re.escape(error)}[^;]*" for error in errors.splitlines())
    with pytest.raises(ConfigurationError, match=pattern):
        read_profiles(configuration)


def test_profiles_have_their_plugins_and_percentages() -> None:
    configuration = make_configuration(
        {"schedulerName": "own", "percentageOfNodesToScore": 0, "plugins": {"score": plugins(["Custom"], ["*"])}},
        {"schedulerName": "given"},
        percentageOfNodesToScore=30,
    )
    profiles = read_profiles(configuration)
    assert profiles["own"] == Profile(
        "own", plugins=Plugins(score=PluginSet((Plugin("Custom"),), (Plugin("*"),))), percentage_of_nodes_to_score=0
    )
    assert profiles["given"] == Profile("given", percentage_of_nodes_to_score=30)


def test_profile_without_configuration_is_the_default() -> None:
    assert read_profiles(KIND) == {"default-scheduler": Profile("default-scheduler")}


def test_profiles_share_a_queue_of_their_own() -> None:
    sorting = {"queueSort": plugins(["Custom"], ["PrioritySort"])}
    config = {"pluginConfig": [{"name": "Custom", "args": {"by": "age"}}], "plugins": sorting}
    read = read_profiles(make_configuration({"schedulerName": "a", **config}, {"schedulerName": "b", **config}))
    assert list(read) == ["a", "b"]


def test_profiles_are_read_without_arrays() -> None:
    """The webhook reads them and starts with little memory."""
    program = "import sys, webhook.serving.backend; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
