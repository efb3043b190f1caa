"""KubeSchedulerConfiguration from files and ConfigMaps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cluster_io.demo import demo_objects
from cluster_io.errors import ClusterError, Forbidden, ManifestError, NotFound, UsageError
from cluster_io.in_memory import MemorySource
from cluster_io.scheduler_config import read_scheduler_configuration
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinityArgs
from tests.cluster_io.recording import RecordingSource
from tests.table import table

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 70
profiles:
- pluginConfig:
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 7}
"""
WHERE = "configmap/kube-system/scheduler"


def make_source(data: Mapping[str, str]) -> MemorySource:
    metadata = {"name": "scheduler", "namespace": "kube-system"}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}
    return MemorySource([config_map], description="the cluster")


@pytest.mark.parametrize("other", [{}, {"empty.json": ""}, {"app.yaml": "apiVersion: v1\nkind: Pod\n"}])
def test_a_config_map(other: Mapping[str, str]) -> None:
    profile = read_scheduler_configuration(make_source({"config.yaml": CONFIG, **other}), WHERE)["default-scheduler"]
    assert profile.args == {"InterPodAffinity": InterPodAffinityArgs(hard_pod_affinity_weight=7)}
    assert profile.percentage_of_nodes_to_score == 70


def test_the_config_map_of_the_demo_cluster() -> None:
    source = MemorySource(demo_objects(), description="the demo cluster")
    assert "default-scheduler" in read_scheduler_configuration(source, "configmap/kube-system/kube-scheduler")


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIG)
    source = RecordingSource()
    profile = read_scheduler_configuration(source, str(file))["default-scheduler"]
    assert profile.percentage_of_nodes_to_score == 70
    assert source.asked == []


@table(
    "data, message",
    {
        "nothing": ({}, f"{WHERE}: data: 0 documents of kind KubeSchedulerConfiguration: it needs one"),
        "two": (
            {"a": CONFIG, "b": CONFIG},
            f"{WHERE}: data: 2 documents of kind KubeSchedulerConfiguration: it needs one",
        ),
        "no YAML": ({"a": "{a: b"}, f"{WHERE}: data.a, line 2, column 1: not valid YAML: "),
        "a value that kube-scheduler refuses": (
            {"a": CONFIG.replace("70", "170")},
            f"{WHERE}: percentageOfNodesToScore: Invalid value: 170: not in valid range [0-100]",
        ),
    },
)
def test_config_map_without_a_configuration(data: Mapping[str, str], message: str) -> None:
    with pytest.raises(ManifestError) as raised:
        read_scheduler_configuration(make_source(data), WHERE)
    assert str(raised.value).startswith(message)


def test_file_without_a_configuration(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIG.replace("70", "-1"))
    with pytest.raises(ManifestError) as raised:
        read_scheduler_configuration(make_source({}), str(file))
    assert str(raised.value).startswith(f"{file}: percentageOfNodesToScore: Invalid value: -1: ")
    file.write_text("apiVersion: v1\nkind: ConfigMap\n")
    with pytest.raises(ManifestError) as raised:
        read_scheduler_configuration(make_source({}), str(file))
    assert str(raised.value) == f"{file}: data: 0 documents of kind KubeSchedulerConfiguration: it needs one"
    with pytest.raises(ManifestError, match="No such file or directory"):
        read_scheduler_configuration(make_source({}), str(tmp_path / "none.yaml"))


@table(
    "where, kind, message",
    {
        "another name": (
            "configmap/kube-system/schedule",
            NotFound,
            'no configmap "schedule" in kube-system',
        ),
        "no namespace": ("configmap/scheduler", UsageError, '"configmap/scheduler": no ConfigMap is named so'),
        "no name": ("configmap/kube-system/", UsageError, '"configmap/kube-system/": no ConfigMap is named so'),
    },
)
def test_a_config_map_that_cannot_be_read(where: str, kind: type[ClusterError], message: str) -> None:
    with pytest.raises(kind) as raised:
        read_scheduler_configuration(make_source({}), where)
    assert str(raised.value).startswith(message)


def test_a_config_map_that_may_not_be_read() -> None:
    with pytest.raises(Forbidden, match="you may not get configmaps in namespace kube-system"):
        read_scheduler_configuration(RecordingSource(forbidden={"configmaps"}), WHERE)


def _manifest(key: str, text: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.strip().splitlines())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: scheduler}}\ndata:\n  {key}: |\n{lines}"


def test_a_file_may_hold_the_config_map_that_holds_it(tmp_path: Path) -> None:
    file = tmp_path / "spread.yaml"
    file.write_text(_manifest("config.yaml", CONFIG))
    profile = read_scheduler_configuration(make_source({}), str(file))["default-scheduler"]
    assert profile.args == {"InterPodAffinity": InterPodAffinityArgs(hard_pod_affinity_weight=7)}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            _manifest("pod", "apiVersion: v1\nkind: Pod"),
            "data: 0 documents of kind KubeSchedulerConfiguration, and Pod",
        ),
        ("apiVersion: v1\nkind: ConfigMap\n", "data: 0 documents of kind KubeSchedulerConfiguration: it needs one"),
        (
            "apiVersion: v1\nkind: Service\n",
            "0 documents of kind KubeSchedulerConfiguration, and Service: it needs one",
        ),
    ],
)
def test_other_content_of_a_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "spread.yaml"
    file.write_text(text)
    with pytest.raises(ManifestError, match=f"spread.yaml: {problem}"):
        read_scheduler_configuration(make_source({}), str(file))
