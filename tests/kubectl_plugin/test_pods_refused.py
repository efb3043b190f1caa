"""Workloads that lack pods because the API server refuses them: the refuser, and the remedy."""

from __future__ import annotations

import contextlib
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
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.kubectl_plugin.test_field_cases import FIELD
from tests.objects import raw_condition, raw_event, raw_node, raw_object, raw_owner, raw_pod, raw_workload

Json = dict[str, Any]
CREATED: Final = "2026-05-04T08:00:00Z"
NODE: Final = raw_node("n1", conditions=[raw_condition("Ready")])
FORBIDDEN: Final = 'Error creating: pods "feed-" is forbidden: '


def first_lines(ran: Ran, most: int = 18) -> str:
    return " ".join(" ".join(ran.out.splitlines()[:most]).split())


def feed(kind: str, status: Json, *, name: str = "feed", owner: Json | None = None, **spec: Any) -> Json:
    made = raw_workload(kind, "feed", "news", **{"selector": {"matchLabels": {"app": "feed"}}, **spec})
    own = {"name": name, "uid": f"uid-{kind}" if name == "feed" else name, "generation": 3}
    owners = {"ownerReferences": [owner]} if owner else {}
    return made | {"metadata": {**made["metadata"], **own, **owners, "creationTimestamp": CREATED}, "status": status}


def failed(about: str, message: str, last: str = "09:00:00", **more: Any) -> Json:
    """An event about a workload, which has the uid of its kind, or of its name."""
    kind, _, name = about.partition("/")
    uid, when = name or f"uid-{kind}", f"2026-05-04T{last}Z"
    about = f"{kind}/{name or 'feed'}"
    more = {"reason": "FailedCreate", "type": "Warning", "count": 9, **more}
    return raw_event(about, message=message, namespace="news", uid=uid, first=CREATED, last=when, **more)


def quota(used: int, **more: str) -> Json:
    """A quota of 7 pods and of more that is not used."""
    hard = {"pods": "7", **more}
    status = {"hard": hard, "used": {"pods": str(used), **dict.fromkeys(more, "0")}}
    return raw_object("ResourceQuota", "team", "news", spec={"hard": hard}, status=status)


def seen(replicas: int | None = None, *conditions: Json, **more: int) -> Json:
    """The status of a workload; its controller has seen the newest spec."""
    counts = {} if replicas is None else {"replicas": replicas}
    return {"observedGeneration": 3, **counts, "conditions": list(conditions), **more}


def refusal(message: str) -> Json:
    return raw_condition("ReplicaFailure", reason="FailedCreate", message=message)


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    return lambda *objects: write_cluster(tmp_path / "cluster.json", [NODE, *objects])


@pytest.mark.parametrize(
    ("name", "namespace", "target", "short", "words"),
    [
        pytest.param(
            "AE-report.json",
            "prod",
            "deployment/api",
            "0 of 2",
            'admission webhook "validation.gatekeeper.sh" denied the request: no. '
            "Do what webhook validation.gatekeeper.sh asks for, or ask the team that runs it.",
        ),
        pytest.param(
            "c15.json",
            "gatekeeper-system",
            "deployment/gatekeeper-audit",
            "0 of 1",
            "insufficient quota to match these scopes: [{PriorityClass In [system-node-critical "
            "system-cluster-critical]}]. Namespace gatekeeper-system has no ResourceQuota with these scopes, which "
            "this cluster requires: create one there, or use another priorityClassName.",
        ),
    ],
)
def test_field_workloads_without_pods(name: str, namespace: str, target: str, short: str, words: str) -> None:
    snapshot = ("--snapshot", str(FIELD / name))
    refused = f"1 workload: pods refused {namespace}/{target} {short}: {words}"
    check_texts(first_lines(run("report", "-A", *snapshot)), ("1 finding: 1 trouble.", refused))
    assert words in first_lines(run("explain", target, "-n", namespace, *snapshot))
    assert words.rstrip(".") in first_lines(run("explain", "deploy,rs", "-A", *snapshot), 20)
    entry = data("report", "-A", *snapshot)["workloads"][0]
    assert (entry["code"], entry["severity"]) == ("PodsRefused", "trouble")


@pytest.mark.parametrize(
    ("kind", "status", "spec", "message", "words"),
    [
        pytest.param(
            "StatefulSet",
            seen(1),
            {"replicas": 4},
            'create Pod feed-1 in StatefulSet feed failed error: pods "feed-1" is forbidden: failed quota: team: '
            "must specify limits.cpu for: app",
            "Quota team is not exceeded: containers lack an amount that it counts. Set limits.cpu for: app, or "
            "give namespace news a LimitRange with a default.",
        ),
        (
            "DaemonSet",
            seen(desiredNumberScheduled=7),
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
        pytest.param(
            "ReplicaSet",
            seen(2, refusal("an old reason")),
            {"replicas": 3},
            'Error creating: Internal error occurred: failed calling webhook "pods.guard.io": failed to call '
            'webhook: Post "https://guard.policy.svc:443/m?timeout=10s": no endpoints available for service "guard"',
            "No pod of webhook pods.guard.io (policy/guard) is ready: start its pods. If it judges these, too, exempt",
        ),
        (
            "Deployment",
            seen(None, refusal("exceeded quota: team, requested: pods=1, used: pods=7, limited: pods=7")),
            {"replicas": 2},
            "",
            "Request less, delete what else quota team of namespace news counts, or raise it.",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_refusal_by_event(cluster: Any, kind: str, status: Json, spec: Json, message: str, words: str) -> None:
    events = (failed(kind, message), failed(kind, "older", "08:30:00")) if message else ()
    # It still refuses: for a quota with room, the page shows that the next pod is allowed.
    source = ("--snapshot", cluster(feed(kind, status, **spec), quota(7, **{"limits.cpu": "2"}), *events))
    report = first_lines(run("report", "-A", *source))
    check_texts(report, ("1 workload: pods refused", words))
    target = ("explain", f"{kind.lower()}/feed", "-n", "news", *source)
    ran = run(*target)
    assert words in first_lines(ran)
    assert "an old reason" not in report + ran.out
    assert data(*target)["verdict"]["code"] == "PodsRefused"


def test_refusals_are_grouped_by_remedy(cluster: Any) -> None:
    status = seen(None, refusal('pods "x" is forbidden: no PriorityClass with name gold was found'))
    several = [feed("Deployment", status, name=name, replicas=1) for name in "abcde"]
    texts = (
        "5 workloads: pods refused news/deployment/a 0 of 1, news/deployment/b 0 of 1",
        "and 2 more: pods",
        "Create PriorityClass gold, or correct priorityClassName.",
    )
    check_texts(first_lines(run("report", "-A", "--snapshot", cluster(*several))), texts)


LATER: Final = failed("Pod/other", "other", "11:00:00", reason="Scheduled")


@pytest.mark.parametrize(
    ("objects", "has", "lacks"),
    [
        pytest.param(
            [feed("Deployment", seen(1), replicas=3)],
            "! 1 workload lacks pods news/deployment/feed 1 of 3.",
            (),
            id="nothing refuses the pods",
        ),
        pytest.param(
            [feed("Deployment", seen(2, refusal("no"), updatedReplicas=2), replicas=2), failed("Deployment", "older")],
            (),
            "workload: pods refused",
            id="it has all replicas",
        ),
        pytest.param(
            [feed("StatefulSet", seen(1), replicas=2), failed("StatefulSet", "no"), LATER],
            "1 workload lacks pods",
            "pods refused",
            id="an old refusal",
        ),
    ],
)
def test_workloads_that_nothing_refuses_now(cluster: Any, objects: list[Json], has: str, lacks: str) -> None:
    file = cluster(*objects)
    check_texts(first_lines(run("report", "-A", "--snapshot", file)), has)
    check_texts(said("report", "-A", "--snapshot", file), (), lacks)


def test_list_without_workloads_is_not_certain(tmp_path: Path) -> None:
    ran = run("report", "-A", "--snapshot", write_list(tmp_path / "list.json", [NODE]))
    assert ran.code == 11
    assert "deployments.apps" in first_lines(ran)


@pytest.mark.parametrize(("kind", "lacks"), [("StatefulSet", "events"), ("Deployment", "replicasets.apps")])
def test_events_that_could_name_the_refusal(kind: str, lacks: str, tmp_path: Path) -> None:
    others = [
        raw_object(one, "news", "news") for one in ("Pod", "Namespace", "LimitRange", "ResourceQuota", "PriorityClass")
    ]
    items = [NODE, feed(kind, seen(0), replicas=2), *others]
    file = write_list(tmp_path / "list.json", items)
    ran = run("explain", f"{kind.lower()}/feed", "-n", "news", "--snapshot", file)
    assert ran.code == 11
    assert f"no {lacks} in the file" in ran.out


def test_manifest_without_an_amount_that_a_quota_counts(cluster: Any, tmp_path: Path) -> None:
    status = {"hard": {"limits.cpu": "9"}, "used": {"limits.cpu": "1"}}
    file = cluster(raw_object("ResourceQuota", "team", "news", status=status))
    manifest = write_list(tmp_path / "feed.json", [feed("Deployment", {}, replicas=1)])
    page = first_lines(run("explain", "-f", manifest, "-n", "news", "--snapshot", file))
    assert "Quota team is not exceeded: containers lack an amount that it counts. Set limits.cpu for: app" in page


EXCEEDED: Final = f"{FORBIDDEN}exceeded quota: team, requested: pods=1, used: pods=7, limited: pods=7"
OWNER: Final = raw_owner("Deployment", "feed", uid="uid-Deployment")


@pytest.mark.parametrize("by_event", [True, False])
@pytest.mark.parametrize("used", [7, 3])
def test_deployment_shows_why_its_replica_set_has_no_pods(cluster: Any, used: int, by_event: bool) -> None:
    conditions = [] if by_event else [refusal(EXCEEDED.partition(": ")[2])]
    file = cluster(
        feed("Deployment", seen(), replicas=2),
        feed("ReplicaSet", seen(None, *conditions), name="feed-6c", owner=OWNER, replicas=2),
        quota(used),
        failed("Pod/other", "other", "09:04:00", reason="Scheduled"),
        *([failed("ReplicaSet/feed-6c", EXCEEDED)] if by_event else []),
    )
    text = first_lines(run("explain", "deploy/feed", "-n", "news", "--snapshot", file))
    when = " 4 min ago" if by_event else ""
    assert f'2 not made yet: FailedCreate{when}: pods "feed-" is forbidden: exceeded quota: team' in text
    assert ("Request less, delete what else quota team" in text) is (used == 7)
    let_in = "By what was read, the next pod is admitted: the controller tries again within 17 min."
    assert (let_in in text) is (used == 3)
    assert "exceeded quota: team" in said("explain", "deploy", "-n", "news", "--snapshot", file)


def test_report_names_all_that_pod_security_refuses(cluster: Any) -> None:
    long = 'container "a-long-name" must set securityContext.allowPrivilegeEscalation=false and a lot more of it'
    refused = f'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false ({long}), seccompProfile'
    status = seen(None, refusal(f"{FORBIDDEN}{refused} ({long})"))
    report = first_lines(run("report", "-A", "--snapshot", cluster(feed("Deployment", status, replicas=2))))
    assert "allowPrivilegeEscalation != false, seccompProfile. Correct what it lists" in report


@pytest.mark.parametrize("updated", [0, 2])
def test_refused_rollout_with_all_old_pods(cluster: Any, updated: int) -> None:
    running: Json = {"status": {"phase": "Running", "conditions": [raw_condition("Ready")]}, "nodeName": "n1"}
    meta = {"ownerReferences": [OWNER]}
    pods = [raw_pod(f"feed-5b-{name}", "news", labels={"app": "feed"}, metadata=meta, **running) for name in "ab"]
    status = seen(2, refusal(EXCEEDED), updatedReplicas=updated)
    file = cluster(feed("Deployment", status, replicas=2), *pods, quota(7))
    report = said("report", "-A", "--snapshot", file)
    assert ("1 workload: pods refused" in report) is (updated == 0)
    assert ("news/deployment/feed in a rollout: " in report) is (updated == 0)
    page = run("explain", "quota/team", "-n", "news", "--snapshot", file).out
    assert ("Refuses 1 of 2 pods of deployment/feed: pods is 7 of 7." in page) is (updated == 0)


def live(patch: pytest.MonkeyPatch, *objects: Json) -> None:
    """Let commands read these objects as from a live cluster."""
    placed = (
        one if one["kind"] == "Node" else {**one, "metadata": {"namespace": "news", **one["metadata"]}}
        for one in objects
    )
    source = MemorySource(list(placed), description="the cluster", now=datetime.fromisoformat("2026-05-04T09:01:00Z"))
    source.namespace = "news"
    patch.setattr(source, "side_by_side", True, raising=False)
    patch.setattr(cli, "source_of", lambda _cluster, _err: contextlib.nullcontext(source))


def asking(requests: Json) -> Json:
    return feed("StatefulSet", seen(1), replicas=4, pod_spec=raw_pod(requests=requests)["spec"])


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
    bound = quota(1, **{"requests.cpu": "1"})
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
    ("bounds", "message", "words"),
    [
        pytest.param(
            {"max": {"memory": "32Mi"}, "default": {"memory": "32Mi"}},
            SMALL,
            "LimitRange small gives a container without a memory limit 32Mi. Way out: request no more in the "
            "template, or have its max and default raised to 64Mi.",
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
    monkeypatch: pytest.MonkeyPatch, bounds: Json, message: str, words: str
) -> None:
    bound = raw_object("LimitRange", "small", spec={"limits": [{"type": "Container", **bounds}]})
    live(monkeypatch, NODE, asking({"memory": "64Mi"}), bound, failed("StatefulSet", message))
    text = first_lines(run("explain", "statefulset/feed", "-n", "news"))
    check_texts(text, words, "The API server will refuse")
    assert text.count("Way out") <= 1
