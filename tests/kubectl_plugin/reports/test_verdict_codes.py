"""The verdict of every answer as data: its text is the page's text, its code is in the documented list."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from msgspec.structs import replace

from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict
from kubectl_plugin.reports.workload import WorkloadReport
from kubectl_plugin.views.pod.verdict import verdict
from kubectl_plugin.views.workload import workload_verdict
from tests.kubectl_plugin.answers import data, said
from tests.kubectl_plugin.running import run

FORMATS: Final = Path(__file__).resolve().parents[3] / "docs" / "formats.md"
ANSWERS: Final = (
    *(f"explain --demo -n shop {name}" for name in ("pod/db-0", "pod/db-1", "deployment/checkout")),
    *("explain --demo -n data pod/postgres-0", "explain --demo node/node-a3", "explain --demo node/node-c3"),
    *("node --demo node-a1", "node --demo node-c3", "partitions --demo", "fence --demo node/node-c3"),
    "place --demo -f tests/testdata/manifests/checkout.yaml --replicas 9",
    *("delete --demo -n shop pod/db-1 --grace-period=0", "unfence --demo node/node-c3"),
    "lint -f tests/testdata/manifests/checkout.yaml",
)


def _verdict(*arguments: str) -> dict[str, Any]:
    return dict(data(*arguments)["verdict"])


def _codes_of_the_docs() -> list[str]:
    section = FORMATS.read_text(encoding="utf-8").partition("\n## Verdict\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_every_code_is_documented_once() -> None:
    written = [code for code in _codes_of_the_docs() if code not in {"text", "severity", "code", "lacks"}]
    assert sorted(written) == sorted(code.value for code in VerdictCode)


@pytest.mark.parametrize("typed", ANSWERS)
def test_text_is_what_the_page_begins_with(typed: str) -> None:
    verdict = _verdict(*typed.split())
    assert sorted(verdict) == ["code", "lacks", "severity", "text"]
    assert verdict["lacks"] == [], "the demo cluster is whole"
    assert " ".join(verdict["text"].split()) in said(*typed.split())
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
    ("typed", "code", "severity"),
    [
        ("place --demo -f tests/testdata/manifests/checkout.yaml --replicas 999", "DoesNotFit", "trouble"),
        ("delete --demo -n shop pod/db-1 --grace-period=0", "NotConfirmed", "trouble"),
        ("delete --demo -n shop pod/image-resizer-t7fpjd79c-t6pxj --grace-period=0", "NotConfirmed", "fine"),
    ],
)
def test_severity_depends_on_what_is_at_stake(typed: str, code: str, severity: str) -> None:
    verdict = _verdict(*typed.split())
    assert (verdict["code"], verdict["severity"]) == (code, severity)


def test_term_has_no_verdict() -> None:
    assert "verdict" not in json.loads(run("why", "OOMKilled", "-o", "json").out)


def test_worst_part_gives_code_and_all_give_sentences() -> None:
    parts = (
        Verdict(VerdictCode.RUNNING, Severity.FINE, ("One.",)),
        Verdict(VerdictCode.NODE_PRESSURE, Severity.NOTICE, ("Two.",)),
        Verdict(VerdictCode.NEAR_MEMORY_LIMIT, Severity.NOTICE, ("Three.",)),
    )
    assert joined_verdict(parts) == Verdict(
        VerdictCode.NODE_PRESSURE, Severity.NOTICE, ("Two.", "One.", "Three."), more=1
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
    found = workload_verdict(replace(report, counts=replace(report.counts, **counts)), None)
    assert (found.code, found.severity) == (code, Severity.NOTICE)


def test_codes_of_a_job() -> None:
    report = _workload("job/video-encode", "batch")
    assert report.job is not None
    for ended, code, severity in (
        ("Complete", VerdictCode.JOB_COMPLETE, Severity.FINE),
        ("Failed", VerdictCode.JOB_FAILED, Severity.TROUBLE),
    ):
        found = workload_verdict(replace(report, job=replace(report.job, ended=ended)), None)
        assert (found.code, found.severity) == (code, severity)


def test_codes_of_a_pod() -> None:
    report = msgspec.json.decode(run("explain", "--demo", "-n", "shop", "pod/db-0", "-o", "json").out, type=PodReport)
    assert report.status is not None
    for changed, code, severity in (
        (replace(report.status, resize="Deferred"), VerdictCode.RESIZE_PENDING, Severity.NOTICE),
        (replace(report.status, disruption="it is evicted."), VerdictCode.DISRUPTED, Severity.TROUBLE),
    ):
        found = verdict(replace(report, status=changed), None)
        assert (found.code, found.severity) == (code, severity)
    refused = verdict(replace(report, priority=replace(report.priority, rejected="no such class.")), None)
    assert (refused.code, refused.severity) == (VerdictCode.ADMISSION_REFUSED, Severity.TROUBLE)
