"""``--dry-run=server`` compared with ``kubectl create --dry-run=server``: verdict, words, object; nothing is stored.

The API server is real, with Pod Security, a quota, a LimitRange and a webhook that adds a sidecar.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest
import yaml

from cluster_io.gather import Gatherer
from cluster_io.in_memory import NothingSource
from cluster_io.kinds import PODS, WORKLOADS, find_kind
from cluster_io.manifests.files import Document
from kubectl_plugin.gather.dry_run import with_dry_runs
from kubectl_plugin.gather.field_validation import ValidDocument
from kubectl_plugin.gather.manifest_pods import PodManifest, read_manifests
from kubectl_plugin.options import ClusterOptions, Validation
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from tests.controlplane.binaries import Binaries
from tests.controlplane.certificates import Authority
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.kubectl_plugin.running import run
from tests.objects import raw_container, raw_object, raw_pod, raw_priority_class, raw_workload
from tests.recorded import FULL_MINOR, recorded

pytestmark = pytest.mark.controlplane

PLAIN: Final = "plain"
RESTRICTED: Final = "restricted"
LIMITED: Final = "limited"
HOOKED: Final = "hooked"
NAMESPACES: Final = (PLAIN, RESTRICTED, LIMITED, HOOKED)
POLICY: Final = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
LIMIT: Final = {"type": "Container", "default": {"memory": "64Mi"}, "max": {"cpu": "2"}}
LIMIT_RANGE: Final = raw_object("LimitRange", "limits", LIMITED, spec={"limits": [LIMIT]})
QUOTA: Final = raw_object("ResourceQuota", "none", LIMITED, spec={"hard": {"pods": "0"}})
SIDECAR: Final = raw_container("side", {"cpu": "10m"})
EXPLAINED: Final = frozenset(kind.kind for kind in (PODS, *WORKLOADS))


class World(NamedTuple):
    """A control plane that records each request and its user."""

    control_plane: ControlPlane
    audit_log: Path


class _AddsASidecar(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer an AdmissionReview with a JSON patch."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = [{"op": "add", "path": "/spec/containers/-", "value": SIDECAR}]
        encoded = base64.b64encode(json.dumps(patch).encode()).decode()
        response = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch", "patch": encoded}
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own word
        """Say nothing."""


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Object]:
    """The ``clientConfig`` of a webhook that adds a sidecar."""
    authority = Authority()
    credential = authority.server(())
    folder = tmp_path_factory.mktemp("webhook")
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(credential.certificate)
    key.write_bytes(credential.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _AddsASidecar)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    authorities = base64.b64encode(authority.certificate).decode()
    yield {"url": f"https://127.0.0.1:{server.server_address[1]}/", "caBundle": authorities}
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def world(
    control_plane_binaries: Binaries, webhook: Object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("audit")
    policy, audit_log = folder / "policy.yaml", folder / "audit.log"
    policy.write_text(yaml.safe_dump(POLICY))
    arguments = (f"--audit-policy-file={policy}", f"--audit-log-path={audit_log}")
    with ControlPlane(
        control_plane_binaries, scheduler=False, controllers=False, apiserver_args=arguments
    ) as control_plane:
        for name in NAMESPACES:
            enforce = {"pod-security.kubernetes.io/enforce": "restricted"} if name == RESTRICTED else {}
            control_plane.create_namespace(name, enforce)
        control_plane.apply([LIMIT_RANGE, QUOTA, raw_priority_class("high", 1000), _configuration(webhook)])
        # No controller counts here.
        hard = QUOTA["spec"]["hard"]
        status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
        control_plane.api.patch(QUOTA, status, subresource="status")
        yield World(control_plane, audit_log)


def _configuration(client_config: Object) -> Object:
    hook = {
        "name": "sidecar.example.com",
        "clientConfig": client_config,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": HOOKED}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    own = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return {**own, "metadata": {"name": "sidecar"}, "webhooks": [hook]}


@pytest.fixture
def cluster(world: World, monkeypatch: pytest.MonkeyPatch) -> ControlPlane:
    """The control plane, as kubectl and the plugin find it."""
    for name, value in world.control_plane.kubectl_environment().items():
        monkeypatch.setenv(name, value)
    return world.control_plane


def _objects(refused: int, taken: int) -> list[Object]:
    """Recorded objects of the suite ``validate``: so many that upstream rejects, and so many that it accepts."""
    found: dict[bool, list[Object]] = {True: [], False: []}
    most = {True: refused, False: taken}
    for case in recorded("validate", FULL_MINOR):
        entry, own = case["input"]["object"], found[case["expected"]["refused"]]
        meta = entry.get("metadata")
        whole = isinstance(meta, Mapping) and isinstance(entry.get("spec"), Mapping)
        if entry["kind"] in EXPLAINED and whole and len(own) < most[case["expected"]["refused"]]:
            namespace = NAMESPACES[len(own) % len(NAMESPACES)]
            own.append({**entry, "metadata": {**meta, "namespace": namespace}})
    return [*found[True], *found[False]]


def _asked(entry: Object) -> PodManifest:
    """An object with the API server's answer, as explain and place request it."""
    kind = find_kind(entry["kind"])
    (manifest,) = read_manifests([ValidDocument(Document("manifest", entry), kind, ())], PLAIN)
    assert isinstance(manifest, PodManifest)
    (asked,) = with_dry_runs([manifest], Gatherer(NothingSource(PLAIN)), ClusterOptions(), Validation.STRICT)
    return asked


def _compare(control_plane: ControlPlane, entry: Object) -> str:
    """The difference from kubectl's answer; empty: none."""
    text = json.dumps(entry)
    done = control_plane.kubectl(
        "create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-", input=text, check=False
    )
    kind = find_kind(entry["kind"])
    document = ValidDocument(Document("manifest", entry), kind, ())
    (manifest,) = read_manifests([document], PLAIN)
    if not isinstance(manifest, PodManifest):
        # A value that does not fit its field is rejected before any request.
        return "" if done.returncode else f"kubectl takes it: {manifest.message}"
    (asked,) = with_dry_runs([manifest], Gatherer(NothingSource(PLAIN)), ClusterOptions(), Validation.STRICT)
    assert asked.dry_run is not None
    verdict = asked.dry_run.report.verdicts[0]
    if done.returncode:
        return _words_differ(done.stderr, verdict.refusal)
    if verdict.refusal or verdict.unanswered:
        return f"kubectl takes it: {verdict.refusal or verdict.unanswered}"
    if kind is not PODS:
        return ""
    return _pods_differ(json.loads(done.stdout), asked.dry_run.pod)


def _words_differ(said: str, refusal: str) -> str:
    """The difference of words; kubectl shows the parts of the API server's message in separate lines."""
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("Warning: ")]
    parts = [line.removeprefix("* ").strip() for line in lines]
    wanted = [part.partition(": ")[2] if number == 0 else part for number, part in enumerate(parts)]
    missing = [part for part in wanted if part and _plain(part) not in _plain(refusal)]
    return f"{missing} is not in {refusal!r}" if missing or not refusal else ""


def _plain(text: str) -> str:
    """The API server's message without kubectl's prefix."""
    return text.replace('error when creating "STDIN": ', "").replace("Error from server", "")


def _pods_differ(theirs: Object, ours: Pod | None) -> str:
    expected = _without_chance(from_object(theirs, Pod))
    found = _without_chance(ours) if ours is not None else None
    return "" if expected == found else f"{expected} is not {found}"


def _without_chance(pod: Pod) -> str:
    """A pod without the names, uids and times that differ with each request."""
    content = msgspec.to_builtins(pod, enc_hook=str)
    content["metadata"] = {key: content["metadata"][key] for key in ("labels", "annotations")}
    return re.sub("kube-api-access-[a-z0-9]{5}", "kube-api-access", json.dumps(content, sort_keys=True))


def _differences(control_plane: ControlPlane, objects: list[Object]) -> dict[int, str]:
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(lambda entry: _compare(control_plane, entry), objects)
        return {number: problem for number, problem in enumerate(found) if problem}


def test_a_sample_of_objects_is_answered_as_by_kubectl(cluster: ControlPlane) -> None:
    assert _differences(cluster, _objects(refused=30, taken=12)) == {}


@pytest.mark.long("test_a_sample_of_objects_is_answered_as_by_kubectl")
def test_three_hundred_mutants_and_a_hundred_good_manifests(cluster: ControlPlane) -> None:
    objects = _objects(refused=300, taken=100)
    assert len(objects) == 400
    assert _differences(cluster, objects) == {}


def test_a_sidecar_is_explained_and_named_with_its_webhook(cluster: ControlPlane) -> None:
    del cluster
    text = yaml.safe_dump(raw_workload("Deployment", "web", HOOKED))
    ran = run("explain", "-f", "-", "--dry-run=server", "-o", "json", stdin=text)
    report = json.loads(ran.out)
    added = {one["what"]: one["by"] for one in report["dryRun"]["added"]}
    assert ran.code == 0, ran.err
    assert added["container side"] == "sidecar.example.com"
    assert added["serviceAccountName default"] == "ServiceAccount"
    assert report["resources"]["requests"]["cpu"] == "10m"
    page = " ".join(run("explain", "-f", "-", "--dry-run=server", stdin=text).out.split())
    assert "added at admission by sidecar.example.com: container side" in page


@pytest.mark.parametrize(
    ("namespace", "words"),
    [
        (RESTRICTED, 'violates PodSecurity "restricted:latest"'),
        (LIMITED, "exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0"),
    ],
)
def test_a_workload_is_taken_and_its_pods_are_refused(cluster: ControlPlane, namespace: str, words: str) -> None:
    del cluster
    text = yaml.safe_dump(raw_workload("Deployment", "web", namespace))
    ran = run("explain", "-f", "-", "--dry-run=server", "-o", "json", stdin=text)
    report = json.loads(ran.out)
    taken, refused = report["dryRun"]["verdicts"]
    assert (ran.code, report["verdict"]["code"]) == (6, "AdmissionRefused")
    assert (taken["object"], taken["refusal"], refused["object"]) == ("deployment.apps/web", "", "pod")
    assert words in refused["refusal"]
    assert words in report["verdict"]["text"]
    placed = run("place", "-f", "-", "--dry-run=server", stdin=text)
    assert placed.code == 7
    assert words in " ".join(placed.out.split())


def test_an_object_that_exists_is_asked_about_as_a_change(cluster: ControlPlane) -> None:
    workload = raw_workload("Deployment", "there", PLAIN)
    cluster.apply([workload])
    report = _asked(workload).dry_run
    assert report is not None
    assert [(one.applied, one.refusal) for one in report.report.verdicts] == [(True, ""), (False, "")]


def test_without_the_right_to_create_offline_answer_is_used(cluster: ControlPlane) -> None:
    del cluster
    text = yaml.safe_dump(raw_pod("web", PLAIN))
    ran = run("explain", "-f", "-", "--dry-run=server", "--as=no-rights", stdin=text)
    said = " ".join(ran.out.split())
    assert ran.code == 11
    assert "Not certain: no priorityclasses.scheduling.k8s.io" in said
    assert 'pod/web: no answer: pods is forbidden: User "no-rights" cannot create resource "pods"' in said
    assert "the rest of this page is computed locally, without the API server" in said
    assert "BestEffort" in said


def test_the_audit_log_has_dry_runs_alone(world: World, cluster: ControlPlane) -> None:
    before = _stored(cluster)
    text = yaml.safe_dump_all([raw_pod("web", PLAIN), raw_workload("Job", "work", HOOKED)])
    assert run("explain", "-f", "-", "--dry-run=server", stdin=text).code == 0
    entries = [json.loads(line) for line in world.audit_log.read_text().splitlines()]
    ours = [one for one in entries if "fieldManager=kubectl-qos" in one["requestURI"]]
    assert {one["verb"] for one in ours} >= {"create"}
    assert [one["requestURI"] for one in ours if "dryRun=All" not in one["requestURI"]] == []
    assert _stored(cluster) == before


def _stored(control_plane: ControlPlane) -> list[Any]:
    kinds = [("v1", "Pod"), ("batch/v1", "Job")]
    return [control_plane.api.list_items(*kind, namespace) for kind in kinds for namespace in NAMESPACES]
