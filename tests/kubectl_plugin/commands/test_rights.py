"""``kubectl qos rights``: the role of a command has exactly the rights that the command needs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_io.capture.contents import contents
from cluster_io.capture.file import SnapshotFile, SnapshotSource
from cluster_io.demo import DEMO_NOW, DEMO_VERSION, demo_objects
from cluster_io.errors import NotCaptured
from cluster_io.kinds import LEASES, PODS
from kubectl_plugin import cli
from kubectl_plugin.parsing.commands import COMMANDS
from kubectl_plugin.reports.rights import ASKED, KUBELETS, read_only
from tests.cluster_io.recording import RecordingSource
from tests.e2e.plugin import flat
from tests.golden import check
from tests.kubectl_plugin.answers import data
from tests.kubectl_plugin.asked import COMMANDS as TYPED
from tests.kubectl_plugin.asked import MANIFEST, Request, asked_by, missed
from tests.kubectl_plugin.running import run
from tests.objects import raw_object, raw_pod, raw_workload
from tests.tree import ROOT

_READ = {"get", "list"}
Reads = Callable[..., RecordingSource]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Request]]:
    """The requests of each command."""
    return {command: asked_by(command, tmp_path_factory.mktemp(command)) for command in TYPED}


def _row(asked: Iterable[Request]) -> str:
    requests = sorted(asked)
    changes: dict[str, list[str]] = {}
    for verb, resource, _ in requests:
        if verb not in _READ:
            changes.setdefault(resource, []).append(verb)
    places = {
        name: sorted({one for verb, one, inside in requests if inside is namespaced and verb in _READ})
        for name, namespaced in (("cluster", False), ("namespaced", True))
    }
    return json.dumps(places | ({"changes": changes} if changes else {}))


def test_K_rights_match_the_requests_of_commands(asked: dict[str, set[Request]]) -> None:
    rows = ",\n".join(f'"{command}": {_row(requests)}' for command, requests in asked.items())
    check(ROOT / "kubectl_plugin" / "reports" / "rights.json", f"{{\n{rows}\n}}\n")


def test_K_each_missing_right_is_reported(tmp_path: Path) -> None:
    resources = {one for name in read_only() for one in (*ASKED[name].cluster, *ASKED[name].namespaced)}
    # Without these an answer is less precise: the scheduler's version, and policies that may add a field.
    silent = {
        "leasecandidates.coordination.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    }
    assert {one for one in resources if not missed(one, tmp_path)} == silent


def _roles(*words: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(run("rights", *words).out))


def _verbs(roles: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """The verbs by resource."""
    found: dict[str, set[str]] = {}
    for role in roles:
        for rule in role["rules"]:
            [group] = rule["apiGroups"]
            for resource in rule["resources"]:
                found.setdefault(f"{resource}.{group}".rstrip("."), set()).update(rule["verbs"])
    return found


def test_K_default_covers_all_read_only_commands() -> None:
    [role] = _roles()
    verbs = _verbs([role])
    assert (role["kind"], role["metadata"]["name"]) == ("ClusterRole", "kubectl-qos")
    assert verbs.pop("configmaps") == {"get"}
    [named] = [rule for rule in role["rules"] if "resourceNames" in rule]
    names = ["kube-scheduler", "qos-webhook-config", "qos-webhook-scheduler"]
    assert (named["resources"], named["resourceNames"]) == (["configmaps"], names)
    assert set(map(frozenset, verbs.values())) == {frozenset({"get", "list", "watch"})}
    assert {"pods", "events", "nodes.metrics.k8s.io"} <= set(verbs)
    assert not {"secrets", KUBELETS} & set(verbs)
    assert role == _roles(*read_only())[0]
    assert _verbs(_roles("--kubelets")) == {**verbs, KUBELETS: {"get"}, "configmaps": {"get"}}


@pytest.mark.parametrize("command", TYPED)
def test_K_each_command_has_its_own_role(command: str) -> None:
    verbs = _verbs(_roles(command))
    asked = ASKED[command]
    assert set(verbs) == {*asked.cluster, *asked.namespaced} - {KUBELETS}
    written = {name: more for name, given in verbs.items() if (more := given - {"get", "list", "watch"})}
    changes = {"delete": {"pods": {"delete", "patch"}}} | {one: {"nodes": {"patch"}} for one in ("fence", "unfence")}
    assert written == changes.get(command, {})


def test_K_in_one_namespace() -> None:
    of_cluster, *others = _roles("died", "delete", "-n", "shop")
    assert [role["metadata"] for role in others] == [
        {"name": "kubectl-qos-died-delete-in-shop", "namespace": space} for space in ("shop", "kube-node-lease")
    ]
    assert {role["kind"] for role in others} == {"Role"}
    assert "pods" not in _verbs([of_cluster])
    assert _verbs(others[:1])["pods"] == {"get", "list", "watch", "delete", "patch"}
    assert list(_verbs(others[1:])) == ["leases.coordination.k8s.io"]
    report = run("rights", "died", "-n", "shop").out
    assert (
        "kubectl create rolebinding kubectl-qos-died-in-shop -n shop --role=kubectl-qos-died-in-shop --group=GROUP"
        in report
    )


def test_K_in_one_namespace_the_webhook_is_read_by_name() -> None:
    [whole, *_] = _roles("place", "-n", "shop")
    named = {rule["resources"][0]: rule for rule in whole["rules"] if "resourceNames" in rule}
    assert {one: (rule["resourceNames"], rule["verbs"]) for one, rule in named.items()} == {
        "configmaps": (["kube-scheduler", "qos-webhook-config", "qos-webhook-scheduler"], ["get"]),
        "deployments": (["qos-webhook"], ["get"]),
    }
    assert not [rule for role in _roles("died", "-n", "shop") for rule in role["rules"] if "resourceNames" in rule]


def test_K_no_role_replaces_another() -> None:
    calls = [(), ("explain",), ("-n", "shop"), ("-n", "explain"), ("explain", "-n", "shop"), ("fence", "-n", "in-shop")]
    printed = [(role["kind"], *sorted(role["metadata"].items())) for words in calls for role in _roles(*words)]
    bound = [
        line.split("--")[0]
        for words in calls
        for line in run("rights", *words).out.splitlines()
        if line.startswith("#   kubectl create ")
    ]
    assert len(printed) == len(set(printed)) == len(bound) == len(set(bound))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lint",), 'COMMAND "lint": not one of explain, '),
        (("explian",), "Did you mean explain?"),
        (("-n", "a\nb"), "is not a valid namespace name"),
        (("-n", "shop", "-n", "cart"), "-n shop -n cart: only one namespace at a time"),
    ],
)
def test_K_commands_without_a_role(words: tuple[str, ...], said: str) -> None:
    ran = run("rights", *words)
    assert (ran.code, ran.out, said in ran.err) == (2, "", True)


def test_K_every_command_makes_requests_or_is_exempt() -> None:
    assert set(COMMANDS) - set(ASKED) == {"lint", "why", "rights"}


def test_K_other_formats() -> None:
    assert [data("rights", "node")] == _roles("node") == _roles("node", "-o", "yaml")
    assert run("rights", "node", "-o", "name").out == "clusterrole.rbac.authorization.k8s.io/kubectl-qos-node\n"
    assert run("rights", "node", "-o", "markdown").out == f"```yaml\n{run('rights', 'node').out}```\n"
    assert data("rights", "node", "-n", "shop")["apiVersion"] == "v1"


@pytest.mark.parametrize(
    ("forbidden", "words", "last"),
    [
        ("limitranges", ("explain", "deployment/web", "-n", "shop"), "kubectl qos rights explain"),
        ("events", ("died", "pod/db-0", "-n", "shop"), "kubectl qos rights died"),
        (KUBELETS, ("node", "node-a1"), "kubectl qos rights node --kubelets"),
    ],
)
def test_K_answer_that_lacks_a_right_leads_to_the_role(
    forbidden: str, words: tuple[str, ...], last: str, reads: Reads
) -> None:
    reads(only_in="", forbidden={forbidden})
    *_, line = run(*words).out.splitlines()
    assert line.removeprefix("Next").strip() == f"{last}   # a role, for an administrator to apply"


def _claiming(name: str, claim: str) -> Mapping[str, Any]:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return raw_pod(name, "shop", uid=name, metadata={"creationTimestamp": "2026-10-17T03:00:00Z"}, volumes=volumes)


_CLAIMING = (_claiming("typo", "nope"), _claiming("elsewhere", "data-postgres-0"))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """The demo cluster with more objects, for a user who may read the objects of namespace shop."""

    def made(
        *objects: Any, only_in: str = "shop", space: str = "shop", forbidden: Iterable[str] = ()
    ) -> RecordingSource:
        everything = [*demo_objects(), *objects]
        source = RecordingSource(everything, only_in=only_in, forbidden={*forbidden}, git_version=DEMO_VERSION)
        source.namespace, source.now, source.side_by_side = space, datetime.fromisoformat(DEMO_NOW), bool(only_in)
        monkeypatch.setattr(cli, "source_of", lambda *_: contextlib.nullcontext(source))
        return source

    return made


@pytest.fixture
def developer(reads: Reads) -> RecordingSource:
    return reads(*_CLAIMING)


def _quota(name: str, hard: Mapping[str, str], used: Mapping[str, str]) -> dict[str, Any]:
    return raw_object("ResourceQuota", name, "shop", spec={"hard": hard}, status={"hard": hard, "used": used})


def test_K_in_one_namespace_its_claims_are_known(developer: RecordingSource) -> None:
    ran = run("explain", "pod/typo", "-n", "shop", "--placement")
    words = flat(ran.out)
    assert 'Claim "nope" does not exist' in words
    assert "persistentvolumeclaims: you may not" not in words
    assert "queue:" not in words
    asked = [one for one in developer.asked if one.startswith("list persistentvolumeclaims")]
    assert asked == ["list persistentvolumeclaims", "list persistentvolumeclaims -n shop"]
    waits = flat(run("explain", "pod/checkout-mv9cgvs6p-x2x7p", "-n", "shop").out)
    assert "pods outside of shop: you may not list them (kubectl auth can-i list pods -A)" in waits
    assert "no node fits. kube-scheduler: 0/12 nodes are available" in waits
    assert "by what was read, on node-c2" in waits


@pytest.mark.parametrize("unread", [set(), {"persistentvolumeclaims"}])
def test_K_missing_claim_decides_without_nodes(unread: set[str], reads: Reads) -> None:
    reads(*_CLAIMING, forbidden={"nodes", *unread})
    ran = run("explain", "pod/typo", "-n", "shop")
    sentence = 'no node fits. Claim "nope" does not exist.'
    assert (ran.code, sentence in flat(ran.out)) == ((11, False) if unread else (0, True)), ran


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("place deployment/web --replicas 2", 11, "Unknown; by what was read, 2 of 2 more pods"),
        ("explain -f -", 11, "Not certain: no pods outside of shop could be read"),
        ("explain pods", 11, "Not certain: no pods outside of shop could be read"),
        ("report", 11, "no pods or poddisruptionbudgets.policy outside of shop could be read"),
        ("versions --to 1.37", 11, "no pods or persistentvolumeclaims outside of shop could be read"),
        ("place --drain node-a1", 4, "you may not list pods"),
        ("report -A", 4, "you may not list pods"),
        ("explain pods -A", 4, "you may not list pods"),
    ],
)
def test_K_unknown_facts_of_one_namespace(developer: RecordingSource, words: str, code: int, said: str) -> None:
    every = () if "-A" in words or "--drain" in words else ("-n", developer.namespace)
    ran = run(*words.split(), *every, stdin=MANIFEST)
    assert (ran.code, said in flat(ran.out + ran.err)) == (code, True), ran


@pytest.mark.parametrize("words", ["deployment/fat --replicas 6", "-f -"])
def test_K_pods_within_quota_are_uncertain_too(words: str, reads: Reads) -> None:
    fat = raw_workload("Deployment", "fat", "shop", pod_spec=raw_pod(requests={"cpu": "500m"})["spec"], replicas=0)
    reads(fat, _quota("compute", {"requests.cpu": "2"}, {"requests.cpu": "1"}))
    manifest = json.dumps({**fat, "spec": {**fat["spec"], "replicas": 6}})
    ran = run("place", *words.split(), "-n", "shop", stdin=manifest)
    assert (ran.code, "uota compute admits 2 of 6" in ran.out) == (7, True), ran
    for said in (
        "Unknown; by what was read, ",
        "Not certain: no pods outside of shop could be read: assumed none.",
        "pods outside of shop: you may not list them",
    ):
        assert said in flat(ran.out)
    assert data("place", *words.split(), "-n", "shop", stdin=manifest)["verdict"]["lacks"] == ["pods"]


@pytest.mark.usefixtures("developer")
@pytest.mark.parametrize(
    ("rule", "far", "placed", "proven"),
    [("Anti", {}, 3, False), ("", {}, 0, True), ("", {"namespaces": ["data"]}, 5, False)],
)
def test_K_pods_of_the_namespace_exclude_nodes(rule: str, far: Mapping[str, Any], placed: int, proven: bool) -> None:
    """Anti-affinity to its own pods, one in each zone; affinity to pods that do not exist, or may be elsewhere."""
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "one"}}, **far}
    affinity = {f"pod{rule}Affinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pod_spec = raw_pod(affinity=affinity)["spec"]
    made = raw_workload("Deployment", "one" if rule else "two", "shop", pod_spec=pod_spec, replicas=5)
    report = data("place", "-f", "-", "-n", "shop", stdin=json.dumps(made))
    [spec] = [one for one in report["specs"] if one["origin"] != "pending"]
    assert (spec["placed"], spec["proven"]) == (placed, proven)


@pytest.mark.parametrize("others", [(), ("data",)])
def test_K_refused_pod_needs_no_more_rights(others: tuple[str, ...], reads: Reads) -> None:
    # The user may read nothing in the namespace of the context.
    reads(_quota("none", {"pods": "0"}, {"pods": "0"}), space="default")
    pods = [raw_pod("web", space) for space in ("shop", *others)]
    ran = run("place", "-f", "-", stdin=yaml.safe_dump_all(pods))
    assert (ran.code, 'pods "web" is forbidden: exceeded quota: none' in flat(ran.out)) == (7, True), ran


@pytest.mark.usefixtures("developer")
def test_K_unread_pods_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "on nodes now" not in run("explain", "pc/shop-high").out
    file = str(tmp_path / "shop.qos")
    run("snapshot", "-n", "shop", "-o", file)
    monkeypatch.undo()
    said = flat(run("fence", "node/node-c3", "--snapshot", file).out)
    assert "which pods it removes is unknown" in said
    assert "removes no pod" not in said


@pytest.mark.parametrize(("space", "preemptor"), [("shop", "shop/high"), ("data", "the pod with uid 37be6f76…")])
def test_K_own_namespace_has_the_preemptor(space: str, preemptor: str, reads: Reads) -> None:
    uid = "37be6f76-da92-4585-bcc4-95d547c255e8"
    event = raw_object(
        "Event",
        "low.1",
        "shop",
        involvedObject={"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "low", "uid": "low"},
        reason="Preempted",
        message=f"Preempted by pod {uid} on node node-b2",
        reportingComponent="default-scheduler",
        eventTime="2026-10-17T03:10:18.208117Z",
    )
    reads(event, raw_pod("high", space, uid=uid, nodeName="node-b2"))
    assert f"The scheduler preempted the pod for {preemptor}" in flat(run("died", "pod/low", "-n", "shop").out)


def test_K_yes_from_one_namespace_is_uncertain(reads: Reads) -> None:
    said = {}
    for whole in (False, True):
        reads(*_CLAIMING, only_in="" if whole else "shop")
        for name in ("typo", "elsewhere", "checkout-mv9cgvs6p-x2x7p"):
            report = data("place", f"pod/{name}", "-n", "shop")
            [spec] = [one for one in report["specs"] if one["origin"] == "pending"]
            said[name, whole] = (spec["placed"], spec["proven"])
    for (name, whole), (placed, proven) in said.items():
        assert whole or not proven or said[name, True][0] == placed, (name, said)
        assert whole or not placed or not proven


def test_K_snapshot_of_one_namespace(developer: RecordingSource, tmp_path: Path) -> None:
    path = tmp_path / "shop.qos"
    ran = run("snapshot", "-n", "shop", "-o", str(path))
    words = flat(ran.out)
    pods = len(developer.list(PODS, "shop"))
    assert (ran.code, f"Captured 12 nodes, {pods} pods and" in words) == (0, True), ran
    assert "Only pods of shop; you may not list others." in words
    assert "pods.metrics.k8s.io: forbidden outside of shop" in words
    source = SnapshotSource(SnapshotFile(str(path)), namespace=None)
    assert len(source.list(PODS, "shop")) == pods
    assert source.get(PODS, "typo", "shop").metadata.name == "typo"
    assert len(source.list(LEASES, "kube-node-lease")) == 12
    for asked in (
        lambda: source.list(PODS),
        lambda: source.list(PODS, "data"),
        lambda: source.get(PODS, "postgres-0", "data"),
        lambda: source.names(PODS, "data"),
    ):
        with pytest.raises(NotCaptured, match="forbidden outside of shop"):
            asked()


def test_K_anonymous_copy_of_it_stays_of_one_namespace(developer: RecordingSource, tmp_path: Path) -> None:
    run("snapshot", "-n", "shop", "-o", str(tmp_path / "shop.qos"), "--anonymise")
    source = SnapshotSource(SnapshotFile(str(tmp_path / "shop.qos")), namespace=None)
    assert source.namespace != "shop"
    assert len(source.list(PODS, source.namespace)) == len(developer.list(PODS, "shop"))
    copied = contents(source)
    [pods] = [one for one in copied if one.kind is PODS]
    assert pods.only == f"metadata.namespace={source.namespace}"
    assert pods.not_captured == f"forbidden outside of {source.namespace}"
    with pytest.raises(NotCaptured):
        source.list(PODS)
