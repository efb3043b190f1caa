"""Whole recorded outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.golden import check
from tests.kubectl_plugin.running import run

GOLDEN = Path(__file__).resolve().parents[1] / "testdata" / "golden"
MANIFESTS = Path(__file__).resolve().parents[1] / "testdata" / "manifests"
STATES = Path(__file__).resolve().parents[1] / "testdata/cases/cli/states.json"

LIMITS_ONLY = str(MANIFESTS / "limits-only.yaml")
CHECKOUT = str(MANIFESTS / "checkout.yaml")
DEMO = {
    "pending-spread": ["-n", "shop", "pod/checkout-mv9cgvs6p-x2x7p"],
    "pending-gates": ["-n", "ml", "pod/evaluate-j3xhf"],
    "pending-memory": ["-n", "ml", "pod/trainer-v9c4m"],
    "stuck-on-silent-node": ["-n", "shop", "pod/db-1"],
    "running-on-silent-node": ["-n", "monitoring", "pod/log-agent-fwj7l"],
    "guaranteed-by-pod-resources": ["-n", "shop", "pod/catalog-8wstmlzv2-9jd4z"],
    "guaranteed": ["-n", "payments", "pod/ledger-0"],
    "best-effort": ["-n", "monitoring", "pod/log-agent-vqkbz"],
    "sidecar-and-long-grace": ["-n", "data", "pod/postgres-0"],
    "grace-zero": ["-n", "shop", "pod/price-feed"],
    "static-pod": ["-n", "kube-system", "pod/etcd-cp-a1"],
    "evicted": ["-n", "batch", "pod/report-export-kjj87m522-zr4gw"],
    "preempted": ["-n", "batch", "pod/nightly-index-w5k9d"],
    "finished": ["-n", "batch", "pod/nightly-report-29870100-wm6rq"],
    "wide": ["-n", "shop", "pod/checkout-mv9cgvs6p-m2n4z", "-o", "wide"],
    "deployment": ["-n", "shop", "deployment/checkout"],
    "cronjob": ["-n", "batch", "cronjob/nightly-report"],
    "oom-killed": ["-n", "shop", "pod/image-resizer-t7fpjd79c-t6pxj"],
    "resize-deferred": ["-n", "ml", "pod/feature-store-0"],
    "being-preempted": ["-n", "ml", "pod/embed-n6d8t"],
    "class-deleted": ["-n", "shop", "pod/loyalty-sxffnn9hq-f2drd"],
    "prestop-over-grace": ["-n", "shop", "pod/web-wkmm8tk5p-7ql9d"],
    "node": ["node/node-b2"],
    "node-over-requested": ["node/node-a3"],
    "node-wide": ["node/node-b4", "-o", "wide"],
    "node-silent": ["node/node-c3"],
    "node-cordoned": ["no/node-c1"],
    "manifest-on-node": ["-f", LIMITS_ONLY, "--on", "node-a1", "--no-placement"],
}
NODES = {
    "qos-node": ["node-a1"],
    "qos-node-wide": ["node/node-a3", "-o", "wide"],
    "qos-node-soft": ["node-b2"],
    "qos-node-unmeasured": ["node-b4"],
    "qos-node-silent": ["node-c3"],
}
PLANS = {
    "place": ["-f", CHECKOUT],
    "place-max": ["-f", CHECKOUT, "--replicas", "max", "--no-preemption"],
    "place-preempting": ["-f", CHECKOUT, "--replicas", "12", "--exclude-node", "node-b2"],
    "place-added": ["-f", CHECKOUT, "--replicas", "3", "--add-node", "like=node-a1,count=2", "-o", "wide"],
    "place-more": ["deployment/web", "--replicas", "3"],
    "place-more-pending": ["deployment/checkout", "--replicas", "3"],
    "place-drained": ["--drain", "node/node-a1"],
}
PENDING = {"place-preempting", "place-more-pending", "place-drained"}


@pytest.mark.parametrize(
    ("command", "name", "words"),
    [
        (command, name, words)
        for command, table in (("explain", DEMO), ("node", NODES), ("place", PLANS))
        for name, words in table.items()
    ],
)
def test_demo(command: str, name: str, words: list[str]) -> None:
    ran = run(command, "--demo", *words)
    assert (ran.code, ran.err) == (7 if name in PENDING else 0, "")
    # Commands to paste and names of cgroups are not wrapped.
    unwrapped = ("kubectl ", "kubepods")
    prose = [line for line in ran.out.splitlines() if not any(words in line for words in unwrapped)]
    assert max(map(len, prose)) <= 80 or name == "manifest-on-node"
    check(GOLDEN / f"{name}.txt", ran.out)


@pytest.mark.parametrize("columns", [80, 200])
def test_states(columns: int) -> None:
    """The first lines of a pod's page in each state."""
    pods = [item["metadata"]["name"] for item in json.loads(STATES.read_text())["items"] if item["kind"] == "Pod"]
    env = {**os.environ, "COLUMNS": str(columns)}
    pages = [run("explain", f"pod/{name}", "--snapshot", str(STATES), env=env).out for name in pods]
    check(GOLDEN / f"states-{columns}.txt", "\n".join(f"{_head(page)}\n" for page in pages))


@pytest.mark.parametrize("name", ["node-a1", "node-a3"])
def test_node_at_200_columns(name: str) -> None:
    """One node is near an eviction; one is over its requests and has a container at its limit."""
    check(GOLDEN / f"qos-{name}-200.txt", run("node", name, "--demo", env={**os.environ, "COLUMNS": "200"}).out)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_structured(form: str) -> None:
    ran = run("explain", "--demo", "-n", "shop", "pod/checkout-mv9cgvs6p-m2n4z", "-o", form)
    assert ran.code == 0
    check(GOLDEN / f"pod.{form}", ran.out)


BESIDE = {"workloads": "Not explained: ConfigMap not-explained. Read with the pods: PriorityClass reporting.\n"}
REFUSED = {"workloads": 6}


@pytest.mark.parametrize("manifest", ["limits-only", "workloads", "resized"])
def test_manifest(manifest: str) -> None:
    ran = run("explain", "--demo", "-f", str(MANIFESTS / f"{manifest}.yaml"))
    assert (ran.code, ran.err) == (REFUSED.get(manifest, 0), BESIDE.get(manifest, ""))
    check(GOLDEN / f"manifest-{manifest}.txt", ran.out)


def test_manifest_offline() -> None:
    ran = run("explain", "--offline", "-f", str(MANIFESTS / "limits-only.yaml"))
    assert (ran.code, ran.err) == (0, "")
    check(GOLDEN / "manifest-offline.txt", ran.out)


def _head(page: str) -> str:
    """The title and the verdict, without the path of the snapshot."""
    return page.partition("\n\n")[0].partition("\nNow is taken to be")[0]
