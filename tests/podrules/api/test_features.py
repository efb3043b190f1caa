"""Feature gates by version, compared with upstream's own table if its source is available."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podrules.api.features import CHANGES, GATES, REFERENCE, REFERENCE_VERSION, VERIFIED, Features, minor_of
from podrules.scheduling.scheduler.in_tree import IN_TREE, ExtensionPoint
from podrules.scheduling.scheduler.plugin_set import Plugins, enabled_plugins
from tests.recorded import MINORS
from tests.table import table
from tests.tree import ROOT
from tests.upstream import upstream_source

IN_1_33 = {"InPlacePodVerticalScaling"}
IN_1_34 = IN_1_33 | {
    "DRAAdminAccess",
    "DRAPrioritizedList",
    "DynamicResourceAllocation",
    "PodLevelResources",
    "VolumeAttributesClass",
}
IN_1_36 = IN_1_34 | {
    "CustomCPUCFSQuotaPeriod",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "NodeDeclaredFeatures",
}
IN_1_37 = IN_1_36 | {
    "MemoryQoS",
    "PodLevelResourcesFixDefaulting",
    "PodLevelResourcesFixKubeletQOSClass",
    "StorageCapacityScoring",
    "VolumeLimitScaling",
}
READ_BY_NO_RULE = {"DRASchedulerFilterTimeout"}
"""Gates of the scheduler's plugins with a different default."""


def on_by_default(minor: int) -> set[str]:
    features = Features.of_minor(minor)
    return {change.gate for field, change in GATES.items() if getattr(features, field)}


@table(
    "minor, gates",
    {
        "1.32: none": (32, set()),
        "1.33": (33, IN_1_33),
        "1.34": (34, IN_1_34),
        "1.35: as 1.34": (35, IN_1_34),
        "1.36": (36, IN_1_36),
        "1.37": (37, IN_1_37),
        "newer than the newest": (99, IN_1_37),
    },
)
def test_Q1_gates_that_are_on_by_default(minor: int, gates: set[str]) -> None:
    assert on_by_default(minor) == gates


def test_Q1_every_change_is_a_field() -> None:
    assert set(CHANGES) == set(Features.__struct_fields__) - {"minor", "emulated"}


def test_Q1_every_change_describes_its_effect() -> None:
    for field, change in CHANGES.items():
        assert change.rule in RULES, field
        assert not change.effect.endswith("."), field


RULES = set(IN_TREE) | {"QoS class", "Pod-level resources", "Requests", "OOM score", "Cgroups", "Eviction"}
"""The scheduler's plugins, and headings: a name that is not listed as a heading counts as a plugin."""


@pytest.fixture(scope="module", params=[34, 35, 36, 37])
def recorded(request: pytest.FixtureRequest) -> tuple[int, Any]:
    """A minor version with the recorded gates and plugins of its scheduler without a configuration."""
    text = (ROOT / "tests" / "testdata" / "profiles" / f"1.{request.param}.json").read_text(encoding="utf-8")
    return request.param, json.loads(text)


def test_gates_are_those_of_the_version(recorded: tuple[int, Any]) -> None:
    minor, found = recorded
    assert on_by_default(minor) == {change.gate for change in GATES.values() if found["featureGates"].get(change.gate)}


def test_plugins_are_those_of_the_version(recorded: tuple[int, Any]) -> None:
    minor, found = recorded
    ours = enabled_plugins(Plugins(), Features.of_minor(minor))
    # Placement of pod groups, which 1.34 and 1.35 do not have, is used by no rule.
    for point in set(ExtensionPoint) - {ExtensionPoint.PLACEMENT_GENERATE, ExtensionPoint.PLACEMENT_SCORE}:
        theirs = [entry if isinstance(entry, str) else entry["name"] for entry in found["plugins"].get(point, ())]
        assert list(ours.at[point]) == theirs, point
    assert ours.score_weights == {entry["name"]: entry["weight"] for entry in found["plugins"]["score"]}


def test_Q1_reference_is_the_version_that_the_rules_restate() -> None:
    assert VERIFIED[max(VERIFIED)] == REFERENCE_VERSION
    assert Features.of_minor(max(VERIFIED)) == REFERENCE


def test_versions_with_recorded_cases_are_verified() -> None:
    assert set(VERIFIED) == set(MINORS)
    assert [minor for minor in range(20, 50) if Features.of_minor(minor).verified] == sorted(VERIFIED)


@pytest.mark.parametrize(
    ("minor", "nearest"), [(23, "1.34.4"), (33, "1.34.4"), (35, "1.35.4"), (37, "1.37.1"), (99, "1.37.1")]
)
def test_nearest_verified_version(minor: int, nearest: str) -> None:
    assert Features.of_minor(minor).nearest_verified == nearest


@pytest.fixture(scope="module")
def upstream() -> Path:
    """The source of Kubernetes."""
    return upstream_source()


@pytest.fixture(scope="module")
def specs(upstream: Path) -> Mapping[str, Mapping[int, bool]]:
    """For each of upstream's gates, the minors that changed its default, and the new values."""
    text = (upstream / "pkg/features/kube_features.go").read_text()
    names = dict(re.findall(r'^\t(\w+)\s+featuregate\.Feature = "(\w+)"$', text, re.MULTILINE))
    entry = re.compile(r"^\t(\w+): \{\n((?:\t\t(?:\{Version: |//).*\n)+)\t\},", re.MULTILINE)
    # A default with a MinCompatibilityVersion does not apply if the component may have to work with an older one.
    change = re.compile(r'Version: version\.MustParse\("1\.(\d+)"\), Default: (true|false), PreRelease: [\w.]+\}')
    return {
        names[constant]: {int(minor): default == "true" for minor, default in change.findall(lines)}
        for constant, lines in entry.findall(text)
        if constant in names
    }


def default_of(changes: Mapping[int, bool], minor: int) -> bool:
    """A gate is off before it exists."""
    known = [since for since in changes if since <= minor]
    return changes[max(known)] if known else False


@pytest.mark.parametrize("minor", [33, *MINORS])
def test_defaults_are_upstreams(minor: int, specs: Mapping[str, Mapping[int, bool]]) -> None:
    wanted = {change.gate for change in GATES.values() if default_of(specs.get(change.gate, {}), minor)}
    assert on_by_default(minor) == wanted


def test_settable_gates_match_upstream(upstream: Path) -> None:
    text = (upstream / "pkg/features/kube_features.go").read_text()
    constants = re.findall(r'^\t(\w+)\s+featuregate\.Feature = "(\w+)"$', text, re.MULTILINE)
    names = {name: constant for constant, name in constants}
    for change in GATES.values():
        entry = rf"^\t{names[change.gate]}: \{{\n((?:\t\t(?:\{{Version: |//).*\n)+)\t\}},"
        found = re.search(entry, text, re.MULTILINE)
        assert found is not None, change.gate
        versions = re.findall(r'Version: version\.MustParse\("1\.(\d+)"\)(.*)', found[1])
        locked = [int(minor) for minor, rest in versions if "LockToDefault: true" in rest.partition("}")[0]]
        assert (change.introduced, change.locked) == (int(versions[0][0]), min(locked, default=None)), change.gate


def test_no_gate_of_the_schedulers_plugins_is_missing(upstream: Path, specs: Mapping[str, Mapping[int, bool]]) -> None:
    text = (upstream / "pkg/scheduler/framework/plugins/feature/feature.go").read_text()
    read = set(re.findall(r"featureGate\.Enabled\(features\.(\w+)\)", text))
    differing = {name for name in read if len({default_of(specs[name], minor) for minor in (33, *MINORS)}) > 1}
    assert differing - READ_BY_NO_RULE <= {change.gate for change in GATES.values()}
    assert differing >= READ_BY_NO_RULE


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("v1.36.3", 36),
        ("1.36.3", 36),
        ("1.36", 36),
        ("v1.30.4-eks-036c24b", 30),
        ("v1.33.1+k3s1", 33),
        ("v1.34.0-alpha.1", 34),
        ("v1.9.0", 9),
        ("v1.36-gke.5", 36),
        ("v2.1.0", None),
        ("v1.", None),
        ("v1.x", None),
        ("v1.1234.0", None),
        ("", None),
        ("kubelet v1.36.3", None),
    ],
)
def test_minor_of_a_version(version: str, minor: int | None) -> None:
    assert minor_of(version) == minor
