"""The plugins that a profile runs: merging with the defaults, MultiPoint's expansion, weights, refusals.

Cases of default_plugins_test.go and framework_test.go keep their names; kube-scheduler's own plugins replace its
test plugins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podrules.api.features import REFERENCE, Features
from podrules.api.model.decode import from_object
from podrules.scheduling.scheduler.framework.interface import (
    FilterPlugin,
    GatedPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from podrules.scheduling.scheduler.in_tree import IN_TREE, ExtensionPoint
from podrules.scheduling.scheduler.plugin_set import (
    EnabledPlugins,
    Plugin,
    Plugins,
    PluginSet,
    default_multi_point,
    disabled_by,
    enabled_plugins,
    merge_plugin_set,
    plugin_problems,
)
from podrules.scheduling.scheduler.runtime import PLUGINS
from tests.table import row, table

UPSTREAM_FILTER = [
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
]
UPSTREAM_SCORE = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
DEFAULT = enabled_plugins(Plugins())
FILTER, SCORE = DEFAULT.at[ExtensionPoint.FILTER], DEFAULT.score_weights
"""Of the default profile; one test compares them with upstream's, the others use them as the expectation."""


def plugin_set(*entries: str) -> PluginSet:
    """``name``, ``name=weight``, or ``-name`` for a disabled one."""
    enabled = [entry.partition("=") for entry in entries if not entry.startswith("-")]
    disabled = [Plugin(entry[1:]) for entry in entries if entry.startswith("-")]
    written = [Plugin(name, int(weight)) if weight else Plugin(name) for name, _, weight in enabled]
    return PluginSet(tuple(written), tuple(disabled))


def only(*enabled: str) -> PluginSet:
    """MultiPoint with these plugins, and those that every profile needs."""
    return plugin_set(*enabled, "PrioritySort", "DefaultBinder", "-*")


def enabled(*names: str) -> Mapping[str, Any]:
    """A point as it is written."""
    return {"enabled": [{"name": name} for name in names]}


def run(**points: PluginSet) -> EnabledPlugins:
    plugins = Plugins(**points)
    assert plugin_problems(plugins, "plugins") == ()
    return enabled_plugins(plugins)


def test_default_profile() -> None:
    found = run()
    assert found.at == {
        ExtensionPoint.PRE_ENQUEUE: ("SchedulingGates", "DynamicResources", "DefaultPreemption"),
        ExtensionPoint.QUEUE_SORT: ("PrioritySort",),
        ExtensionPoint.PRE_FILTER: tuple(UPSTREAM_FILTER),
        ExtensionPoint.FILTER: tuple(UPSTREAM_FILTER),
        ExtensionPoint.POST_FILTER: ("DynamicResources", "DefaultPreemption"),
        ExtensionPoint.PRE_SCORE: tuple(
            name for name in UPSTREAM_SCORE if name not in {"DynamicResources", "ImageLocality"}
        ),
        ExtensionPoint.SCORE: tuple(UPSTREAM_SCORE),
        ExtensionPoint.RESERVE: ("VolumeBinding", "DynamicResources"),
        ExtensionPoint.PERMIT: (),
        ExtensionPoint.PRE_BIND: ("VolumeBinding", "DynamicResources"),
        ExtensionPoint.BIND: ("DefaultBinder",),
        ExtensionPoint.POST_BIND: (),
        ExtensionPoint.PLACEMENT_GENERATE: (),
        ExtensionPoint.PLACEMENT_SCORE: ("NodeResourcesFit",),
    }
    assert (found.score_weights, found.unknown) == (UPSTREAM_SCORE, ())


def test_every_default_plugin_that_judges_or_scores_is_restated() -> None:
    # The newest version has every plugin at each of its points.
    at = enabled_plugins(Plugins(), Features.of_minor(37)).at
    restated: dict[ExtensionPoint, Any] = {
        ExtensionPoint.PRE_ENQUEUE: PreEnqueuePlugin,
        ExtensionPoint.PRE_FILTER: PreFilterPlugin,
        ExtensionPoint.FILTER: FilterPlugin,
        ExtensionPoint.PRE_SCORE: PreScorePlugin,
        ExtensionPoint.SCORE: ScorePlugin,
    }
    for point, protocol in restated.items():
        # DefaultPreemption delays only pods for which it is preempting.
        expected = {*at[point]} - ({"DefaultPreemption"} if point is ExtensionPoint.PRE_ENQUEUE else set())
        if point is ExtensionPoint.PRE_FILTER:
            # Upstream's plugin acts only under a gate that is off: for a pod with a deferred resize.
            expected -= {"NodeUnschedulable", "TaintToleration"}
        assert {name for name, plugin in PLUGINS.items() if isinstance(plugin, protocol)} == expected, point


def test_each_descriptor_names_its_own_implementation() -> None:
    assert {name: plugin.name for name, plugin in PLUGINS.items()} == {name: name for name in PLUGINS}


def test_descriptor_and_its_plugin_name_the_same_gate() -> None:
    gates = {name: plugin.gate for name, plugin in PLUGINS.items() if isinstance(plugin, GatedPlugin)}
    named = {name: IN_TREE[name].gate for name in PLUGINS if IN_TREE[name].gate}
    assert named
    assert named.items() <= gates.items()


def test_plugin_at_an_unsupported_point() -> None:
    own = plugin_set("NodePorts")
    (problem,) = plugin_problems(Plugins(score=own), "plugins")
    assert problem.endswith('"NodePorts": it has no score, only preFilter, filter')


@table(
    "default, custom, merged",
    {
        "AppendCustomPlugin": row("D1 D2", "Custom", "D1 D2 Custom"),
        "InsertAfterDefaultPlugins2": row("D1 D2", "Custom D2 -D2", "D1 Custom D2 -D2"),
        "InsertBeforeAllPlugins": row("D1 D2", "Custom D1 D2 -*", "Custom D1 D2 -*"),
        "ReorderDefaultPlugins": row("D1 D2", "D2 D1 -*", "D2 D1 -*"),
        "ApplyNilCustomPlugin": row("D1 D2", "", "D1 D2"),
        "CustomPluginOverrideDefaultPlugin": row("P1 P2 P3", "P1=2 P3=3", "P1=2 P2 P3=3"),
        "OrderPreserveAfterOverride": row("P1 P2 P3", "P2=2 P1=1", "P1=1 P2=2 P3"),
        "RepeatedCustomPlugin": row("P1 P2 P3", "P1 P2=2 P3 P2=4", "P1 P2=4 P3 P2=2"),
        "Append disabled Multipoint plugins": row("D1 D2", "C1 C2 -D2", "D1 C1 C2 -D2"),
        "override default MultiPoint plugins with custom value": row("Default", "Default=5", "Default=5"),
        "disabled MultiPoint plugin in default set": row("Default -D2", "Custom", "Default Custom -D2"),
        "multipoint with only disabled gets merged": row("Default", "-Default", "-Default"),
    },
)
def test_merge_plugins(default: str, custom: str, merged: str) -> None:
    given, own, expected = (plugin_set(*text.split()) for text in (default, custom, merged))
    assert merge_plugin_set(given, own) == expected


FIT, SPREAD, IMAGES = "NodeResourcesFit", "PodTopologySpread", "ImageLocality"


@table(
    "points, pre_score, score",
    {
        "plugin expansion": row({"multi_point": only(f"{FIT}=5")}, [FIT], {FIT: 5}),
        "disable MultiPoint plugin at some extension points": row(
            {"multi_point": only(FIT), "pre_score": plugin_set(f"-{FIT}"), "score": plugin_set(f"-{FIT}")}, [], {}
        ),
        "Multiple MultiPoint plugins": row({"multi_point": only(FIT, SPREAD)}, [FIT, SPREAD], {FIT: 1, SPREAD: 1}),
        "disable MultiPoint extension": row(
            {"multi_point": only(FIT, SPREAD), "pre_score": plugin_set("-*")}, [], {FIT: 1, SPREAD: 1}
        ),
        "Reorder MultiPoint plugins (specified extension takes precedence)": row(
            {"multi_point": only(IMAGES, FIT, SPREAD), "score": plugin_set(SPREAD, FIT)},
            [FIT, SPREAD],
            {SPREAD: 1, FIT: 1, IMAGES: 1},
        ),
        "Reorder MultiPoint plugins (specified extension only takes precedence when it exists in MultiPoint)": row(
            {"multi_point": only(FIT, SPREAD), "score": plugin_set(IMAGES, SPREAD, FIT)},
            [FIT, SPREAD],
            {SPREAD: 1, FIT: 1, IMAGES: 1},
        ),
        "Override MultiPoint plugins weights": row(
            {"multi_point": only(FIT, SPREAD), "score": plugin_set(f"{SPREAD}=5", f"{FIT}=3")},
            [FIT, SPREAD],
            {SPREAD: 5, FIT: 3},
        ),
        "disable and enable MultiPoint plugins with '*'": row(
            {"multi_point": plugin_set("PrioritySort", "DefaultBinder", SPREAD, "-*")}, [SPREAD], {SPREAD: 1}
        ),
        "disable and enable MultiPoint plugin by name": row(
            {"multi_point": plugin_set("DefaultBinder", "PrioritySort", SPREAD, "-*", f"-{SPREAD}")},
            [SPREAD],
            {SPREAD: 1},
        ),
        "Override MultiPoint plugins weights and avoid a plugin being loaded multiple times": row(
            {"multi_point": only(FIT, SPREAD), "score": plugin_set(f"{SPREAD}=5", f"{IMAGES}=5", f"{FIT}=3")},
            [FIT, SPREAD],
            {SPREAD: 5, FIT: 3, IMAGES: 5},
        ),
    },
)
def test_new_framework_multi_point_expansion(
    points: Mapping[str, PluginSet], pre_score: Sequence[str], score: Mapping[str, int]
) -> None:
    found = run(**points)
    assert list(found.at[ExtensionPoint.PRE_SCORE]) == pre_score
    assert list(found.at[ExtensionPoint.SCORE]) == list(score)
    assert found.score_weights == score
    has_fit = any(plugin.name == FIT for plugin in points["multi_point"].enabled)
    assert (FIT in found.at[ExtensionPoint.FILTER], FIT in found.at[ExtensionPoint.PRE_FILTER]) == (has_fit, has_fit)


@table(
    "points, changed",
    {
        "Score's own": row({"score": plugin_set(f"{FIT}=9")}, {FIT: 9}),
        "Score's own, not given": row({"score": plugin_set("TaintToleration")}, {"TaintToleration": 1}),
        "MultiPoint's": row({"multi_point": plugin_set(f"{FIT}=9")}, {FIT: 9}),
        "MultiPoint's, of 0": row({"multi_point": plugin_set(f"{SPREAD}=0")}, {SPREAD: 1}),
        "both: Score's": row({"multi_point": plugin_set(f"{FIT}=9"), "score": plugin_set(f"{FIT}=4")}, {FIT: 4}),
    },
)
def test_weights(points: Mapping[str, PluginSet], changed: Mapping[str, int]) -> None:
    found = run(**points)
    assert found.score_weights == {**SCORE, **changed}
    moved = [name for name in changed if "score" in points]
    assert list(found.at[ExtensionPoint.SCORE]) == [*moved, *(name for name in SCORE if name not in moved)]


@table(
    "own, expected",
    {
        "one disabled": row(plugin_set("-NodePorts", "-Unknown"), [name for name in FILTER if name != "NodePorts"]),
        "all disabled": row(plugin_set("-*"), []),
        "all but two": row(plugin_set("NodePorts", "NodeName", "-*"), ["NodePorts", "NodeName"]),
        "moved to the end": row(
            plugin_set("NodePorts", "-NodePorts"), [*(name for name in FILTER if name != "NodePorts"), "NodePorts"]
        ),
        "moved to the front": row(
            plugin_set("NodePorts"), ["NodePorts", *(name for name in FILTER if name != "NodePorts")]
        ),
        "one that is not kube-scheduler's": row(plugin_set("Custom"), [*FILTER, "Custom"]),
    },
)
def test_changes_at_one_point(own: PluginSet, expected: Sequence[str]) -> None:
    found = run(filter=own)
    assert list(found.at[ExtensionPoint.FILTER]) == expected
    assert found.at[ExtensionPoint.PRE_FILTER] == run().at[ExtensionPoint.PRE_FILTER]


@table(
    "points, unknown, score",
    {
        "at a point": row({"score": plugin_set("Custom=4")}, ("Custom",), {**SCORE, "Custom": 4}),
        "at MultiPoint: position unknown": row({"multi_point": plugin_set("Custom")}, ("Custom",), SCORE),
        "at both: it scores first": row(
            {"multi_point": plugin_set("Custom=7"), "score": plugin_set("Custom")}, ("Custom",), {"Custom": 1, **SCORE}
        ),
        "several": row({"multi_point": plugin_set("B"), "permit": plugin_set("C", "A", "B")}, ("B", "C", "A"), SCORE),
        "disabled: it is not there": row({"filter": plugin_set("-Custom")}, (), SCORE),
    },
)
def test_plugins_that_are_not_kube_schedulers(
    points: Mapping[str, PluginSet], unknown: tuple[str, ...], score: Mapping[str, int]
) -> None:
    found = run(**points)
    assert found.unknown == unknown
    assert list(found.at[ExtensionPoint.SCORE]) == list(score)
    assert found.score_weights == score


def test_multi_point_plugin_may_be_the_only_one() -> None:
    """Whether it sorts the queue and binds is unknown here."""
    assert run(multi_point=plugin_set("Custom", "-*")).unknown == ("Custom",)


@table(
    "points, problems",
    {
        "duplicate plugin name": row(
            {"preFilter": enabled(FIT, FIT)},
            'preFilter.enabled[1].name: Duplicate value: "NodeResourcesFit": enable it once',
        ),
        "duplicate of an unknown plugin": row(
            {"permit": enabled("Custom", "Custom")}, 'permit.enabled[1].name: Duplicate value: "Custom": enable it once'
        ),
        "Expect 'already registered' error": row(
            {"multiPoint": enabled(FIT, FIT)},
            'multiPoint.enabled[1].name: Duplicate value: "NodeResourcesFit": enable it once',
        ),
        "twice at MultiPoint, and no point gets it from there": row(
            {
                "multiPoint": enabled("NodePorts", "NodePorts"),
                "preFilter": {"disabled": [{"name": "NodePorts"}]},
                "filter": enabled("NodePorts"),
            },
            "",
        ),
        "enabled Score plugin doesn't extend the ScorePlugin interface": row(
            {"filter": enabled(IMAGES)},
            'filter.enabled[0].name: Invalid value: "ImageLocality": it has no filter, only score',
        ),
        "no name": row(
            {"score": enabled("*"), "bind": {"enabled": [{}]}},
            'score.enabled[0].name: Invalid value: "*": disables only; name each plugin that is to run\n'
            "bind.enabled[0].name: Required value: name a plugin",
        ),
        "a plugin that was removed": row(
            {"filter": enabled("EBSLimits")},
            'filter.enabled[0].name: Invalid value: "EBSLimits": there is no such plugin any more; '
            "NodeVolumeLimits does its work",
        ),
        "two plugins sort the queue": row(
            {"queueSort": enabled("Custom")},
            "queueSort: Invalid value: PrioritySort, Custom: only one can be enabled; disable the others",
        ),
        "no plugin remains": row(
            {"multiPoint": {"disabled": [{"name": "*"}]}},
            "queueSort: Required value: no plugin is left; enable PrioritySort or another one\n"
            "bind: Required value: no plugin is left; enable DefaultBinder or another one",
        ),
        "more than one PlacementGeneratePlugin": row(
            {"placementGenerate": enabled("TopologyPlacementGenerator", "Custom")},
            "placementGenerate: Invalid value: TopologyPlacementGenerator, Custom: only one can be enabled; "
            "disable the others",
        ),
        "a weight below 0": row(
            {"score": {"enabled": [{"name": IMAGES, "weight": -3}]}},
            "score: Invalid value: -3 of ImageLocality: total score could overflow; give weights of 1 or more",
        ),
        "a weight below 0 with a positive sum": row(
            {"score": {"enabled": [{"name": FIT, "weight": 5}, {"name": IMAGES, "weight": -3}]}}, ""
        ),
    },
)
def test_plugins_that_are_refused(points: Mapping[str, Any], problems: str) -> None:
    found = plugin_problems(from_object(points, Plugins), "profiles[0].plugins")
    assert found == tuple(f"profiles[0].plugins.{problem}" for problem in problems.splitlines())


def test_defaults_are_kube_schedulers_own() -> None:
    assert {plugin.name for plugin in default_multi_point(REFERENCE).enabled} | {
        "GangScheduling",
        "PodGroupPodsCount",
        "TopologyPlacementGenerator",
    } == set(IN_TREE)


@table(
    "points, field",
    {
        "the defaults": row({}, ""),
        "by the point": row({"post_filter": plugin_set("-DefaultPreemption")}, "postFilter"),
        "with all of the point": row({"post_filter": plugin_set("-*")}, "postFilter"),
        "by MultiPoint": row({"multi_point": plugin_set("-DefaultPreemption")}, "multiPoint"),
        "at another point": row({"pre_enqueue": plugin_set("-DefaultPreemption")}, ""),
        "by MultiPoint and enabled at the point": row(
            {"multi_point": plugin_set("-DefaultPreemption"), "post_filter": plugin_set("DefaultPreemption")}, ""
        ),
        "enabled beside all": row({"post_filter": plugin_set("DefaultPreemption", "-*")}, ""),
    },
)
def test_P2_what_keeps_a_default_plugin_from_a_point(points: Mapping[str, PluginSet], field: str) -> None:
    expected = f"plugins.{field}.disabled" if field else ""
    assert disabled_by(Plugins(**points), "DefaultPreemption", ExtensionPoint.POST_FILTER) == expected
