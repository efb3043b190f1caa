"""Workloads that lack pods because the API server refuses them: the refuser, and the remedy."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import RESOURCE_QUOTAS
from kubectl_plugin import cli
from podrules.pod.reading import FORBIDDEN as MAY_NOT
from podrules.pod.reading import UnreadInput
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.kubectl_plugin.test_field_cases import FIELD
from tests.objects import raw_condition, raw_pod

Json = dict[str, Any]
CREATED: Final = "2026-05-04T08:00:00Z"
NODE: Final[Json] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}
FORBIDDEN: Final = 'Error creating: pods "feed-" is forbidden: '


def first_lines(ran: Ran, most: int = 18) -> str:
    return " ".join(" ".join(ran.out.splitlines()[:most]).split())


def workload(kind: str, status: Json, **spec: Any) -> Json:
    labels = {"app": "feed"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "feed:3"}]}}
    meta = {"name": "feed", "namespace": "news", "uid": f"uid-{kind}", "generation": 3, "creationTimestamp": CREATED}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    whole = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": whole, "status": status}


def failed(kind: str, message: str, last: str = "2026-05-04T09:00:00Z") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"feed.{last[11:13]}", "namespace": "news", "creationTimestamp": CREATED},
        "involvedObject": {"kind": kind, "namespace": "news", "name": "feed", "uid": f"uid-{kind}"},
        "reason": "FailedCreate",
        "message": message,
        "type": "Warning",
        "firstTimestamp": CREATED,
        "lastTimestamp": last,
        "count": 9,
    }


def quota(used: int, more: Json | None = None) -> Json:
    hard = {"pods": "7", **(more or {})}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "news"},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": {"pods": str(used), **dict.fromkeys(more or {}, "0")}},
    }


def condition(message: str) -> Json:
    return {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    return lambda *objects: write_cluster(tmp_path / "cluster.json", [NODE, *objects])


@pytest.mark.parametrize(
    ("name", "namespace", "target", "short", "said"),
    [
        (
            "AE-report.json",
            "prod",
            "deployment/api",
            "0 of 2",
            (
                'admission webhook "validation.gatekeeper.sh" denied the request: no. '
                "Do what webhook validation.gatekeeper.sh asks for, or ask the team that runs it."
            ),
        ),
        (
            "c15.json",
            "gatekeeper-system",
            "deployment/gatekeeper-audit",
            "0 of 1",
            (
                "insufficient quota to match these scopes: [{PriorityClass In [system-node-critical "
                "system-cluster-critical]}]. Namespace gatekeeper-system has no ResourceQuota with these scopes, which "
                "this cluster requires: create one there, or use another priorityClassName."
            ),
        ),
    ],
)
def test_field_workloads_without_pods(name: str, namespace: str, target: str, short: str, said: str) -> None:
    snapshot = ("--snapshot", str(FIELD / name))
    report = first_lines(run("report", "-A", *snapshot))
    assert "1 thing stands out: 1 trouble." in report
    assert f"1 workload: pods refused. {namespace}/{target} {short}: {said}" in report
    assert said in first_lines(run("explain", target, "-n", namespace, *snapshot))
    assert said.rstrip(".") in first_lines(run("explain", "deploy,rs", "-A", *snapshot), 20)
    entry = json.loads(run("report", "-A", *snapshot, "-o", "json").out)["workloads"][0]
    assert (entry["code"], entry["severity"]) == ("PodsRefused", "trouble")


@pytest.mark.parametrize(
    ("kind", "status", "spec", "message", "said"),
    [
        (
            "StatefulSet",
            {"observedGeneration": 3, "replicas": 1},
            {"replicas": 4},
            (
                'create Pod feed-1 in StatefulSet feed failed error: pods "feed-1" is forbidden: failed quota: team: '
                "must specify limits.cpu for: app"
            ),
            (
                "Quota team is not exceeded: containers lack an amount that it counts. Set limits.cpu for: app, or "
                "give namespace news a LimitRange with a default."
            ),
        ),
        (
            "DaemonSet",
            {"observedGeneration": 3, "desiredNumberScheduled": 7},
            {},
            f'{FORBIDDEN}violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
            "Correct what it lists in the template: level baseline is enforced in namespace news.",
        ),
        (
            "Job",
            {},
            {"completions": 5, "parallelism": 2},
            f'{FORBIDDEN}error looking up service account news/etl: serviceaccount "etl" not found',
            "Create ServiceAccount etl in namespace news, or correct serviceAccountName.",
        ),
        (
            "ReplicaSet",
            {"observedGeneration": 3, "replicas": 2, "conditions": [condition("an old reason")]},
            {"replicas": 3},
            (
                'Error creating: Internal error occurred: failed calling webhook "pods.guard.io": failed to call '
                'webhook: Post "https://guard.policy.svc:443/m?timeout=10s": no endpoints available for service "guard"'
            ),
            "No pod of webhook pods.guard.io (policy/guard) is ready: start its pods. If it judges these, too, exempt",
        ),
        (
            "Deployment",
            {
                "observedGeneration": 3,
                "conditions": [condition("exceeded quota: team, requested: pods=1, used: pods=7, limited: pods=7")],
            },
            {"replicas": 2},
            "",
            "Request less, delete what else quota team of namespace news counts, or raise it.",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_refusal_by_event(cluster: Any, kind: str, status: Json, spec: Json, message: str, said: str) -> None:
    events = (failed(kind, message), failed(kind, "older", "2026-05-04T08:30:00Z")) if message else ()
    # It still refuses: for a quota with room, the page shows that the next pod is allowed.
    file = cluster(workload(kind, status, **spec), quota(7, {"limits.cpu": "2"}), *events)
    report = first_lines(run("report", "-A", "--snapshot", file))
    assert "1 workload: pods refused." in report
    assert said in report
    target = f"{kind.lower()}/feed"
    ran = run("explain", target, "-n", "news", "--snapshot", file)
    assert said in first_lines(ran)
    assert "an old reason" not in report + ran.out
    explained = json.loads(run("explain", target, "-n", "news", "--snapshot", file, "-o", "json").out)
    assert explained["verdict"]["code"] == "PodsRefused"


def test_refusals_are_grouped_by_remedy(cluster: Any) -> None:
    message = 'pods "x" is forbidden: no PriorityClass with name gold was found'
    status = {"observedGeneration": 3, "conditions": [condition(message)]}
    several = []
    for name in ("a", "b", "c", "d", "e"):
        one = workload("Deployment", status, replicas=1)
        several.append({**one, "metadata": {**one["metadata"], "name": name, "uid": name}})
    report = first_lines(run("report", "-A", "--snapshot", cluster(*several)))
    assert "5 workloads: pods refused. news/deployment/a 0 of 1, news/deployment/b 0 of 1" in report
    assert "and 2 more: pods" in report
    assert "Create PriorityClass gold, or correct priorityClassName." in report


def test_pods_that_nothing_refuses_are_a_notice(cluster: Any) -> None:
    file = cluster(workload("Deployment", {"observedGeneration": 3, "replicas": 1}, replicas=3))
    report = first_lines(run("report", "-A", "--snapshot", file))
    assert "notice 1 workload lacks pods. news/deployment/feed 1 of 3." in report


def test_met_replica_count_is_fine(cluster: Any) -> None:
    status = {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "conditions": [condition("no")]}
    file = cluster(workload("Deployment", status, replicas=2), failed("Deployment", "older"))
    assert "workload: pods refused" not in run("report", "-A", "--snapshot", file).out


def test_list_without_workloads_is_not_certain(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE]}))
    ran = run("report", "-A", "--snapshot", str(file))
    assert ran.code == 11
    assert "deployments.apps" in first_lines(ran)


def test_old_refusal_no_longer_counts(cluster: Any) -> None:
    status = {"observedGeneration": 3, "replicas": 1}
    later = {**failed("Pod", "other", "2026-05-04T11:00:00Z"), "reason": "Scheduled"}
    file = cluster(workload("StatefulSet", status, replicas=2), failed("StatefulSet", "no"), later)
    report = first_lines(run("report", "-A", "--snapshot", file))
    assert "1 workload lacks pods." in report
    assert "pods refused" not in report


@pytest.mark.parametrize(("kind", "lacks"), [("StatefulSet", "events"), ("Deployment", "replicasets.apps")])
def test_events_that_could_name_the_refusal(kind: str, lacks: str, tmp_path: Path) -> None:
    status = {"observedGeneration": 3, "replicas": 0}
    others = [
        {"apiVersion": version, "kind": other, "metadata": {"name": "news", "namespace": "news"}}
        for version, other in (
            ("v1", "Pod"),
            ("v1", "Namespace"),
            ("v1", "LimitRange"),
            ("v1", "ResourceQuota"),
            ("scheduling.k8s.io/v1", "PriorityClass"),
        )
    ]
    file = tmp_path / "list.json"
    items = [NODE, workload(kind, status, replicas=2), *others]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    ran = run("explain", f"{kind.lower()}/feed", "-n", "news", "--snapshot", str(file))
    assert ran.code == 11
    assert f"no {lacks} in the file" in ran.out


def test_manifest_without_an_amount_that_a_quota_counts(cluster: Any, tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "news"},
        "status": {"hard": {"limits.cpu": "9"}, "used": {"limits.cpu": "1"}},
    }
    manifest = tmp_path / "feed.json"
    manifest.write_text(json.dumps(workload("Deployment", {}, replicas=1)))
    said = first_lines(run("explain", "-f", str(manifest), "-n", "news", "--snapshot", cluster(quota)))
    assert "Quota team is not exceeded: containers lack an amount that it counts. Set limits.cpu for: app" in said


EXCEEDED: Final = f"{FORBIDDEN}exceeded quota: team, requested: pods=1, used: pods=7, limited: pods=7"
OWNED: Final[Json] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "feed", "uid": "uid-Deployment"}


def replica_set(*conditions: Json) -> Json:
    owner = {**OWNED, "controller": True}
    made = workload("ReplicaSet", {"observedGeneration": 3, "conditions": list(conditions)}, replicas=2)
    return {**made, "metadata": {**made["metadata"], "name": "feed-6c", "uid": "uid-rs", "ownerReferences": [owner]}}


@pytest.mark.parametrize("by_event", [True, False])
@pytest.mark.parametrize("used", [7, 3])
def test_deployment_shows_why_its_replica_set_has_no_pods(cluster: Any, used: int, by_event: bool) -> None:
    event = failed("ReplicaSet", EXCEEDED)
    event["involvedObject"] = {"kind": "ReplicaSet", "namespace": "news", "name": "feed-6c", "uid": "uid-rs"}
    later = {**failed("Pod", "other", "2026-05-04T09:04:00Z"), "reason": "Scheduled"}
    wanted = workload("Deployment", {"observedGeneration": 3}, replicas=2)
    made = replica_set(*([] if by_event else [condition(EXCEEDED.partition(": ")[2])]))
    file = cluster(wanted, made, quota(used), later, *([event] if by_event else []))
    ran = run("explain", "deploy/feed", "-n", "news", "--snapshot", file)
    text = first_lines(ran)
    when = " 4 min ago" if by_event else ""
    assert f'2 not made yet: FailedCreate{when}: pods "feed-" is forbidden: exceeded quota: team' in text
    assert ("Request less, delete what else quota team" in text) is (used == 7)
    let_in = "By what was read, the next pod is admitted: the controller tries again within 17 min."
    assert (let_in in text) is (used == 3)
    listed = " ".join(run("explain", "deploy", "-n", "news", "--snapshot", file).out.split())
    assert "exceeded quota: team" in listed


def test_report_names_all_that_pod_security_refuses(cluster: Any) -> None:
    long = 'container "a-long-name" must set securityContext.allowPrivilegeEscalation=false and a lot more of it'
    refused = f'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false ({long}), seccompProfile'
    status = {"observedGeneration": 3, "conditions": [condition(f"{FORBIDDEN}{refused} ({long})")]}
    report = first_lines(run("report", "-A", "--snapshot", cluster(workload("Deployment", status, replicas=2))))
    assert "allowPrivilegeEscalation != false, seccompProfile. Correct what it lists" in report


@pytest.mark.parametrize("updated", [0, 2])
def test_refused_rollout_with_all_old_pods(cluster: Any, updated: int) -> None:
    status = {"observedGeneration": 3, "replicas": 2, "updatedReplicas": updated, "conditions": [condition(EXCEEDED)]}
    pods = [
        raw_pod(
            f"feed-5b-{name}",
            "news",
            labels={"app": "feed"},
            metadata={"ownerReferences": [{**OWNED, "controller": True}]},
            nodeName="n1",
            status={"phase": "Running", "conditions": [raw_condition("Ready")]},
        )
        for name in "ab"
    ]
    file = cluster(workload("Deployment", status, replicas=2), *pods, quota(7))
    report = " ".join(run("report", "-A", "--snapshot", file).out.split())
    assert ("1 workload: pods refused" in report) is (updated == 0)
    assert ("news/deployment/feed in a rollout: " in report) is (updated == 0)
    page = run("explain", "quota/team", "-n", "news", "--snapshot", file).out
    assert ("Refuses 1 of 2 pods of deployment/feed: pods is 7 of 7." in page) is (updated == 0)


def live(patch: pytest.MonkeyPatch, *objects: Json) -> None:
    """Let commands read these objects as from a live cluster."""
    source = MemorySource(
        [
            one if one["kind"] == "Node" else {**one, "metadata": {"namespace": "news", **one["metadata"]}}
            for one in objects
        ],
        description="the cluster",
        now=datetime.fromisoformat("2026-05-04T09:01:00Z"),
    )
    source.namespace = "news"
    patch.setattr(source, "side_by_side", True, raising=False)
    patch.setattr(cli, "source_of", lambda _cluster, _err: contextlib.nullcontext(source))


def asking(requests: Json) -> Json:
    made = workload("StatefulSet", {"observedGeneration": 3, "replicas": 1}, replicas=4)
    container = {"name": "app", "image": "feed:3", "resources": {"requests": requests}}
    template = {**made["spec"]["template"], "spec": {"containers": [container]}}
    return {**made, "spec": {**made["spec"], "template": template}}


CPU: Final = (
    f"{FORBIDDEN}exceeded quota: team, requested: requests.cpu=300m, used: requests.cpu=900m, limited: requests.cpu=1"
)
UNSET: Final = f"{FORBIDDEN}failed quota: team: must specify requests.cpu for: "


@pytest.mark.parametrize(
    ("message", "requests", "used", "remedy"),
    [
        (CPU, {"cpu": "300m"}, "900m", "Request less"),
        # A third-party webhook adds a container: the template alone would fit.
        (CPU, {"cpu": "50m"}, "900m", "Request less"),
        (CPU, {"cpu": "300m"}, "700m", ""),
        (f"{UNSET}app", {}, "100m", "Set requests.cpu for: app"),
        (f"{UNSET}app", {"cpu": "300m"}, "100m", ""),
        (f"{UNSET}app", {"cpu": "300m"}, "900m", "Request less"),
        (f"{UNSET}mesh", {"cpu": "50m"}, "100m", "Set requests.cpu for: mesh"),
    ],
)
def test_live_cluster_is_asked_for_the_quota_that_refuses(
    monkeypatch: pytest.MonkeyPatch, message: str, requests: Json, used: str, remedy: str
) -> None:
    bound = quota(1, {"requests.cpu": "1"})
    bound["status"]["used"]["requests.cpu"] = used
    live(monkeypatch, NODE, asking(requests), bound, failed("StatefulSet", message))
    ran = run("explain", "statefulset/feed", "-n", "news")
    assert ("the next pod is admitted" in first_lines(ran)) is (not remedy)
    assert remedy in first_lines(ran)


def test_quota_that_may_not_be_read_lets_no_pod_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gatherer, "list", without_quotas(Gatherer.list))
    live(monkeypatch, NODE, asking({"cpu": "300m"}), failed("StatefulSet", CPU))
    ran = run("explain", "statefulset/feed", "-n", "news")
    assert "the next pod is admitted" not in ran.out
    assert "Request less" in first_lines(ran)


def without_quotas(read: Any) -> Any:
    def find(gatherer: Any, kind: Any, *more: Any, **named: Any) -> Any:
        if kind is RESOURCE_QUOTAS:
            return UnreadInput("list", kind.rbac_name, "news", MAY_NOT)
        return read(gatherer, kind, *more, **named)

    return find


SMALL: Final = (
    'Error creating: Pod "feed-x" is invalid: spec.containers[0].resources.requests: Invalid value: "64Mi": must be '
    "less than or equal to memory limit of 32Mi"
)


@pytest.mark.parametrize(
    ("bounds", "message", "said"),
    [
        (
            {"max": {"memory": "32Mi"}, "default": {"memory": "32Mi"}},
            SMALL,
            (
                "LimitRange small gives a container without a memory limit 32Mi. Way out: request no more in the "
                "template, or have its max and default raised to 64Mi."
            ),
        ),
        (
            {"max": {"memory": "1Gi"}, "default": {"memory": "32Mi"}},
            SMALL,
            "Way out: request no more in the template, or set a memory limit of 64Mi or more.",
        ),
        (
            {"min": {"memory": "80Mi"}, "defaultRequest": {"memory": "80Mi"}},
            f"{FORBIDDEN}minimum memory usage per Container is 80Mi, but request is 64Mi",
            "Write amounts inside that range, or have LimitRange small changed.",
        ),
        # No object of the namespace sets that limit: a webhook does.
        (
            {"defaultRequest": {"memory": "1Mi"}},
            SMALL,
            "The memory limit of 32Mi is from a LimitRange of namespace news or a webhook: request no more than that",
        ),
    ],
)
def test_limit_range_that_refuses_is_named(
    monkeypatch: pytest.MonkeyPatch, bounds: Json, message: str, said: str
) -> None:
    limits = {"limits": [{"type": "Container", **bounds}]}
    bound = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"}, "spec": limits}
    live(monkeypatch, NODE, asking({"memory": "64Mi"}), bound, failed("StatefulSet", message))
    text = first_lines(run("explain", "statefulset/feed", "-n", "news"))
    assert said in text
    assert text.count("Way out") <= 1
    assert "The API server will refuse" not in text
