"""The verdict of every answer as data: its text is the page's text, its code is in the documented list."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from msgspec.structs import replace

from cluster_io.demo import demo_objects
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict
from kubectl_plugin.reports.workload import WorkloadReport
from kubectl_plugin.views.verdict import verdict
from kubectl_plugin.views.workload import workload_verdict
from tests.kubectl_plugin.running import run, write_cluster

FORMATS: Final = Path(__file__).resolve().parents[3] / "docs" / "formats.md"
ANSWERS: Final = [
    ("explain", "--demo", "-n", "shop", "pod/db-0"),
    ("explain", "--demo", "-n", "shop", "pod/db-1"),
    ("explain", "--demo", "-n", "data", "pod/postgres-0"),
    ("explain", "--demo", "-n", "shop", "deployment/checkout"),
    ("explain", "--demo", "node/node-a3"),
    ("explain", "--demo", "node/node-c3"),
    ("node", "--demo", "node-a1"),
    ("node", "--demo", "node-c3"),
    ("partitions", "--demo"),
    ("place", "--demo", "-f", "tests/testdata/manifests/checkout.yaml", "--replicas", "9"),
    ("delete", "--demo", "-n", "shop", "pod/db-1", "--grace-period=0"),
    ("fence", "--demo", "node/node-c3"),
    ("unfence", "--demo", "node/node-c3"),
    ("lint", "-f", "tests/testdata/manifests/checkout.yaml"),
]


def _verdict(*arguments: str) -> dict[str, Any]:
    printed = json.loads(run(*arguments, "-o", "json").out)
    verdict: dict[str, Any] = printed["verdict"]
    return verdict


def _codes_of_the_docs() -> list[str]:
    section = FORMATS.read_text(encoding="utf-8").partition("\n## Verdict\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_every_code_is_documented_once() -> None:
    written = [code for code in _codes_of_the_docs() if code not in {"text", "severity", "code", "lacks"}]
    assert sorted(written) == sorted(code.value for code in VerdictCode)


@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_text_is_what_the_page_begins_with(arguments: tuple[str, ...]) -> None:
    verdict = _verdict(*arguments)
    assert sorted(verdict) == ["code", "lacks", "severity", "text"]
    assert verdict["lacks"] == [], "the demo cluster is whole"
    page = " ".join(run(*arguments).out.split())
    assert " ".join(verdict["text"].split()) in page
    assert "\x1b" not in verdict["text"]
    assert "\n" not in verdict["text"]
    assert verdict["code"] in {code.value for code in VerdictCode}
    assert verdict["severity"] in {severity.value for severity in Severity}


def test_templates_and_columns_have_the_verdict() -> None:
    asked = ("explain", "--demo", "-n", "shop", "pod/db-1", "-o")
    assert run(*asked, "jsonpath={.verdict.code}").out == "TerminatingStuck"
    assert run(*asked, "custom-columns=NAME:.name,CODE:.verdict.code,HOW:.verdict.severity").out.split() == [
        *("NAME", "CODE", "HOW"),
        *("db-1", "TerminatingStuck", "trouble"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "severity"),
    [
        (("explain", "--demo", "-n", "shop", "pod/db-0"), "Running", "fine"),
        (("explain", "--demo", "-n", "data", "pod/postgres-0"), "NearMemoryLimit", "notice"),
        (("node", "--demo", "node-a1"), "NearEviction", "notice"),
        (("explain", "--demo", "node/node-a3"), "RequestsOverAllocatable", "notice"),
        (("explain", "--demo", "node/node-c3"), "NodeSilent", "trouble"),
        (("partitions", "--demo"), "NodesLost", "trouble"),
        (("explain", "--demo", "-n", "shop", "deployment/checkout"), "PodsUnschedulable", "trouble"),
        (("explain", "--demo", "-n", "shop", "deployment/cart"), "AllReady", "fine"),
        (("explain", "--demo", "-n", "shop", "deployment/image-resizer"), "PodsBroken", "trouble"),
        (("explain", "--demo", "-n", "shop", "statefulset/db"), "PodsStuck", "trouble"),
        (("explain", "--demo", "-n", "monitoring", "daemonset/log-agent"), "PodsUnreachable", "trouble"),
        (("explain", "--demo", "-n", "batch", "job/video-encode"), "JobRunning", "fine"),
        (("explain", "--demo", "-n", "ml", "job/evaluate"), "PodsPending", "notice"),
        (("explain", "--demo", "-f", "tests/testdata/cases/cli/nomem.yaml"), "Planned", "fine"),
        (("place", "--demo", "-f", "tests/testdata/cases/cli/nomem.yaml"), "Fits", "fine"),
        (
            ("place", "--demo", "-f", "tests/testdata/manifests/checkout.yaml", "--replicas", "999"),
            "DoesNotFit",
            "trouble",
        ),
        (("lint", "-f", "tests/testdata/manifests/checkout.yaml"), "Findings", "notice"),
        (("delete", "--demo", "-n", "shop", "pod/db-1", "--grace-period=0"), "NotConfirmed", "trouble"),
        (
            ("delete", "--demo", "-n", "shop", "pod/image-resizer-t7fpjd79c-t6pxj", "--grace-period=0"),
            "NotConfirmed",
            "fine",
        ),
        (("fence", "--demo", "node/node-c3"), "NotConfirmed", "notice"),
        (("unfence", "--demo", "node/node-c3"), "Done", "fine"),
    ],
    ids=str,
)
def test_codes_of_the_demo(arguments: tuple[str, ...], code: str, severity: str) -> None:
    verdict = _verdict(*arguments)
    assert (verdict["code"], verdict["severity"]) == (code, severity)


@pytest.mark.parametrize("answers", [True, False])
def test_returned_node(answers: bool, tmp_path: Path) -> None:
    """The Lease is renewed: the node was declared out of service meanwhile, or Ready is still Unknown."""
    objects = demo_objects()
    for entry in objects:
        if entry["metadata"]["name"] == "node-c3" and entry["kind"] == "Lease":
            entry["spec"]["renewTime"] = "2026-10-17T03:10:58.318442Z"
        if entry["metadata"]["name"] == "node-c3" and entry["kind"] == "Node" and answers:
            taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
            entry["spec"]["taints"].append(taint)
    file = tmp_path / "cluster.json"
    write_cluster(file, objects)
    verdict = _verdict("explain", "node/node-c3", "--snapshot", str(file))
    assert verdict["code"] == ("NodeBack" if answers else "NodeReturning")
    assert verdict["severity"] == ("trouble" if answers else "notice")


def test_term_has_no_verdict() -> None:
    assert "verdict" not in json.loads(run("why", "OOMKilled", "-o", "json").out)


def test_worst_part_gives_code_and_all_give_sentences() -> None:
    parts = (
        Verdict(VerdictCode.RUNNING, Severity.FINE, ("One.",)),
        Verdict(VerdictCode.NODE_PRESSURE, Severity.NOTICE, ("Two.",)),
        Verdict(VerdictCode.NEAR_MEMORY_LIMIT, Severity.NOTICE, ("Three.",)),
    )
    assert joined_verdict(parts) == Verdict(
        VerdictCode.NODE_PRESSURE, Severity.NOTICE, ("One.", "Two.", "Three."), "Two.", more=1
    )


def _workload(target: str, namespace: str) -> WorkloadReport:
    printed = run("explain", "--demo", "-n", namespace, target, "-o", "json").out
    return msgspec.json.decode(printed, type=WorkloadReport)


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"starting": 1}, VerdictCode.PODS_STARTING),
        ({"not_ready": 1}, VerdictCode.PODS_NOT_READY),
        ({"missing": 1}, VerdictCode.PODS_MISSING),
        ({"not_ready": 1, "missing": 1}, VerdictCode.PODS_NOT_READY),
    ],
    ids=str,
)
def test_codes_of_a_workload(counts: dict[str, int], code: VerdictCode) -> None:
    report = _workload("deployment/cart", "shop")
    assert report.counts is not None
    said = workload_verdict(replace(report, counts=replace(report.counts, **counts)), None)
    assert (said.code, said.severity) == (code, Severity.NOTICE)


@pytest.mark.parametrize(
    ("ended", "code", "severity"),
    [
        ("Complete", VerdictCode.JOB_COMPLETE, Severity.FINE),
        ("Failed", VerdictCode.JOB_FAILED, Severity.TROUBLE),
    ],
)
def test_codes_of_a_job(ended: str, code: VerdictCode, severity: Severity) -> None:
    report = _workload("job/video-encode", "batch")
    assert report.job is not None
    said = workload_verdict(replace(report, job=replace(report.job, ended=ended)), None)
    assert (said.code, said.severity) == (code, severity)


@pytest.mark.parametrize(
    ("changed", "code", "severity"),
    [
        ({"resize": "Deferred"}, VerdictCode.RESIZE_PENDING, Severity.NOTICE),
        ({"disruption": "it is evicted."}, VerdictCode.DISRUPTED, Severity.TROUBLE),
    ],
    ids=str,
)
def test_codes_of_a_pod(changed: dict[str, Any], code: VerdictCode, severity: Severity) -> None:
    printed = run("explain", "--demo", "-n", "shop", "pod/db-0", "-o", "json").out
    report = msgspec.json.decode(printed, type=PodReport)
    assert report.status is not None
    said = verdict(replace(report, status=replace(report.status, **changed)), None)
    assert (said.code, said.severity) == (code, severity)
    refused = verdict(replace(report, priority=replace(report.priority, rejected="no such class.")), None)
    assert (refused.code, refused.severity) == (VerdictCode.ADMISSION_REFUSED, Severity.TROUBLE)
