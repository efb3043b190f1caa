"""Answers to unknown clients about others' objects, for example to a pod of the cluster that forges a review."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_node, raw_object, raw_pod
from tests.waiting import wait_for
from tests.webhook.asked_by_url import Files
from tests.webhook.demo_server import UNVERIFIED, DemoServer, running_demo
from tests.webhook.forcing import CONFIRMATION, MODE
from tests.webhook.review_objects import controlled_by, delete_review, eviction_review, node_deletion_review

pytestmark = pytest.mark.controlplane

NODE = "secret-node"
NAMESPACE = "secret-tenant"
OWNER = "secret-owner"
EVICTION = eviction_review("ledger", NAMESPACE, {"gracePeriodSeconds": 0})
Ask = Callable[[bytes], Object]


@pytest.fixture(scope="module")
def victim(control_plane: ControlPlane) -> Iterator[Object]:
    """A running pod of another user, with an owner."""
    control_plane.create_node(NODE)
    control_plane.create_namespace(NAMESPACE)
    config_map = raw_object("ConfigMap", OWNER, NAMESPACE)
    reference = controlled_by({**config_map, **control_plane.api.create(config_map)})
    pod = raw_pod("ledger", NAMESPACE, metadata={"ownerReferences": [reference]}, nodeName=NODE)
    yield control_plane.api.create(pod)
    control_plane.api.delete(pod, grace_period_seconds=0)
    control_plane.api.delete(raw_node(NODE))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("certificates"))


@contextmanager
def _serving(control_plane: ControlPlane, files: Files, folder: Path, ca: Path | None = None) -> Iterator[DemoServer]:
    certificate, key = files.credential("server", files.authority.server(()))
    own = (f"--tls-cert={certificate}", f"--tls-key={key}", f"--kubeconfig={control_plane.admin_kubeconfig}")
    # For Nodes the configuration's mode counts.
    config = {"forceDeletion": {"namespaces": {NAMESPACE: "confirm"}}, "clients": {"caFile": str(ca)} if ca else {}}
    with running_demo(folder, *own, demo=False, **config) as server:
        wait_for(lambda: server.ask("GET", "/readyz").status == 200, "it is ready")
        yield server


@pytest.fixture(scope="module")
def ask(control_plane: ControlPlane, files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Send a forged review; return the response."""
    with _serving(control_plane, files, tmp_path_factory.mktemp("server")) as server:

        def ask(review: bytes) -> Object:
            found: Object = json.loads(server.ask("POST", "/validate", review, context=UNVERIFIED).body)["response"]
            return found

        yield ask


def _texts(response: Object) -> str:
    """All texts of a response."""
    return "\n".join([response.get("status", {}).get("message", ""), *response.get("warnings", ())])


def _leaked(response: Object, victim: Object) -> set[str]:
    secrets = {NODE, OWNER, victim["metadata"]["uid"], victim["metadata"]["ownerReferences"][0]["uid"]}
    return {secret for secret in secrets if secret in json.dumps(response)}


def test_forged_eviction_is_refused_without_names(ask: Ask, victim: Object) -> None:
    response = ask(EVICTION)
    assert _leaked(response, victim) == set()
    assert response["allowed"] is False
    command = (
        "kubectl annotate pod ledger -n secret-tenant kubectl-qos.io/confirm-force-delete="
        '"$(kubectl get pod ledger -n secret-tenant -o jsonpath={.metadata.uid})" --overwrite'
    )
    assert _texts(response).startswith("ledger: Its owner decides whether a second starts while ")
    assert "namespace secret-tenant requires a confirmation; evict it with grace: drain again " in _texts(response)
    assert f", or: {command}" in _texts(response)


def test_command_confirms_for_permitted_users(control_plane: ControlPlane, ask: Ask, victim: Object) -> None:
    command = _texts(ask(EVICTION)).partition(", or: ")[2].strip()
    subprocess.run(["bash", "-c", command], check=True, env=control_plane.kubectl_environment(), capture_output=True)
    try:
        response = ask(EVICTION)
        assert (response["allowed"], _leaked(response, victim)) == (True, set())
        assert len(response["warnings"]) == 2
    finally:
        control_plane.api.patch(victim, {"metadata": {"annotations": {CONFIRMATION: None}}})


def test_alternative_contains_no_names(control_plane: ControlPlane, ask: Ask, victim: Object) -> None:
    space = raw_object("Namespace", NAMESPACE)

    def forbidden() -> Object | None:
        response = ask(EVICTION)
        return response if "forbids force deletions" in _texts(response) else None

    control_plane.api.patch(space, {"metadata": {"labels": {MODE: "deny"}}})
    try:
        response = wait_for(forbidden, "the label counts")
    finally:
        control_plane.api.patch(space, {"metadata": {"labels": {MODE: None}}})
    assert _leaked(response, victim) == set()


def test_forged_node_deletion_is_refused_and_names_no_pods(ask: Ask, victim: Object) -> None:
    response = ask(node_deletion_review(raw_node(NODE)))
    assert response["allowed"] is False
    said = "force deletes 1 pod that may still run; to be confirmed for the namespace of some of them"
    assert said in _texts(response)
    assert not any(name in json.dumps(response) for name in ("ledger", NAMESPACE, victim["metadata"]["uid"]))


@pytest.mark.parametrize(
    "name", [f"{NODE},metadata.namespace={NAMESPACE}", f"{NODE},metadata.name=ledger", f"{NODE}=", ""]
)
def test_forged_node_name_causes_no_other_request(ask: Ask, victim: Object, name: str) -> None:
    """The answer is that of a Node without pods, so it does not show the node of any pod."""
    assert victim["spec"]["nodeName"] == NODE
    for asked in (name, name.replace("ledger", "other")):
        response = ask(node_deletion_review(raw_node(asked)))
        assert (response["allowed"], _texts(response).strip()) == (True, "")


def test_answer_to_a_deletion_names_only_its_own_objects(ask: Ask, victim: Object) -> None:
    """The sender of the pod knows it."""
    own: dict[str, Any] = json.loads(json.dumps(victim))
    own["metadata"]["uid"] = "own-uid"
    assert "ledger on secret-node: ConfigMap secret-owner decides" in _texts(ask(delete_review(own)))


def test_client_with_a_certificate_gets_all_names(
    control_plane: ControlPlane, files: Files, victim: Object, tmp_path: Path
) -> None:
    with _serving(control_plane, files, tmp_path, files.ca) as server:
        answer = server.ask("POST", "/validate", EVICTION, context=files.client("kube-apiserver"))
        texts = _texts(json.loads(answer.body)["response"])
        assert all(text in texts for text in (NODE, OWNER, victim["metadata"]["uid"]))
        answer = server.ask("POST", "/validate", node_deletion_review(raw_node(NODE)), context=files.client("x"))
        assert f"{NAMESPACE}/ledger" in _texts(json.loads(answer.body)["response"])
