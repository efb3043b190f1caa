"""The plugin's user, and its errors without permission or without an API server."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_io.errors import ASK_ANOTHER, NotFound
from cluster_io.kinds import LEASES
from cluster_io.live.client import ClientTransport
from cluster_io.live.live_source import LiveSource
from podrules.node.reachability import LEASE_NAMESPACE
from tests.controlplane.certificates import Authority
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import allow, robot
from tests.e2e.plugin import Plugin, flat, with_contexts
from tests.e2e.space import Space
from tests.objects import raw_container, raw_priority_class, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane


@pytest.fixture
def pod(control_plane: ControlPlane, namespace: str) -> str:
    """A namespace with the pod web, which no scheduler handles."""
    control_plane.apply([unscheduled_pod(namespace)])
    return namespace


# Ways to authenticate


def test_service_account_token(control_plane: ControlPlane, kubectl_qos: Plugin, pod: str) -> None:
    kubeconfig = robot(control_plane, pod)

    assert kubectl_qos.json("pod/web", "-n", pod, kubeconfig=kubeconfig)["name"] == "web"


def test_exec_credential_plugin(control_plane: ControlPlane, kubectl_qos: Plugin, pod: str) -> None:
    robot(control_plane, pod)
    kubeconfig = control_plane.kubeconfig_for_exec_plugin(control_plane.service_account_token("robot", pod))

    assert kubectl_qos.json("pod/web", "-n", pod, kubeconfig=kubeconfig)["name"] == "web"


def test_exec_credential_plugin_speaks_to_its_user(
    control_plane: ControlPlane, kubectl_qos: Plugin, pod: str, tmp_path: Path
) -> None:
    """As those of cloud providers do: open this page, enter that code."""
    robot(control_plane, pod)
    kubeconfig = control_plane.kubeconfig_for_exec_plugin(control_plane.service_account_token("robot", pod))
    interactive = with_command(kubeconfig, tmp_path, "echo 'To sign in, enter the code ABCD-EFGH' >&2; exec {}")

    ran = kubectl_qos("pod/web", "-n", pod, "-o", "name", kubeconfig=interactive)

    assert ran == (0, "pod/web\n", "To sign in, enter the code ABCD-EFGH\n")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("your session is over: run `cloud login`", id="plain"),
        pytest.param("error: your session is over", id="as kubectl's errors"),
        pytest.param("E1128 12:00:00.000000       1 main.go:42] your session is over", id="as klog"),
        pytest.param("2026/11/28 12:00:00 your session is over", id="as Go's log"),
    ],
)
def test_exec_credential_plugin_that_fails(
    control_plane: ControlPlane, kubectl_qos: Plugin, pod: str, tmp_path: Path, message: str
) -> None:
    kubeconfig = control_plane.kubeconfig_for_exec_plugin("unused")
    failing = with_command(kubeconfig, tmp_path, f"echo {shlex.quote(message)} >&2; exit 7")

    ran = kubectl_qos("pod/web", "-n", pod, kubeconfig=failing)

    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith(f"{message}\nerror: ")
    assert "proxy_server.go" not in ran.err
    assert "exit code 7" in ran.err


def test_exec_credential_plugin_that_hangs(
    control_plane: ControlPlane, kubectl_qos: Plugin, pod: str, tmp_path: Path
) -> None:
    kubeconfig = control_plane.kubeconfig_for_exec_plugin("unused")
    until_kubectl_ends = "while kill -0 $PPID; do sleep 0.1; done 2>&-"
    hanging = with_command(kubeconfig, tmp_path, until_kubectl_ends)

    ran = kubectl_qos("pod/web", "-n", pod, "--request-timeout=500ms", kubeconfig=hanging)

    assert (ran.code, ran.out) == (5, "")
    assert ran.err.endswith("within 0.5 s, including the time of a credential plugin; --request-timeout waits longer\n")


def test_impersonated_user(control_plane: ControlPlane, kubectl_qos: Plugin, pod: str) -> None:
    allow(control_plane, pod, {"kind": "User", "name": "jane"}, {"pods": ["get"]})

    ran = kubectl_qos("pod/web", "-n", pod, "--as", "jane")

    assert ran.code == 0
    assert "nodes: you may not list them" in flat(ran.out)
    assert kubectl_qos("pod/web", "-n", pod, "--as", "john").code == 4


def test_impersonated_group(control_plane: ControlPlane, kubectl_qos: Plugin, pod: str) -> None:
    allow(control_plane, pod, {"kind": "Group", "name": "shop-team"}, {"pods": ["get"]})

    ran = kubectl_qos("pod/web", "-n", pod, "--as=jane", "--as-group=others", "--as-group=shop-team", "-o", "name")

    assert ran == (0, "pod/web\n", "")
    assert kubectl_qos("pod/web", "-n", pod, "--as=jane", "--as-group=others").code == 4


def test_group_without_user(kubectl_qos: Plugin) -> None:
    ran = kubectl_qos("pod/web", "--as-group=shop-team")

    assert (ran.code, ran.out) == (5, "")
    assert ran.err == (
        "error: requesting uid, groups or user-extra for test without impersonating a user\n"
        "Name a cluster that runs: --context, --kubeconfig; or ask none: --snapshot FILE, --demo\n"
    )


def test_context_chooses_the_user(control_plane: ControlPlane, kubectl_qos: Plugin, pod: str, tmp_path: Path) -> None:
    stranger = control_plane.kubeconfig_for_client_certificate("stranger")
    contexts: dict[str, dict[str, Any]] = {
        "admin": {"namespace": pod},
        "stranger": {"namespace": pod, "kubeconfig": stranger},
    }
    kubeconfig = with_contexts(control_plane.admin_kubeconfig, tmp_path, contexts, current="stranger")

    refused = kubectl_qos("pod/web", kubeconfig=kubeconfig)

    assert refused.code == 4
    assert 'User "stranger" cannot get resource "pods"' in refused.err
    assert kubectl_qos("pod/web", "--context=admin", "-o", "name", kubeconfig=kubeconfig) == (0, "pod/web\n", "")
    assert kubectl_qos("pod/web", "--user=test", "-o", "name", kubeconfig=kubeconfig) == (0, "pod/web\n", "")


# Not allowed


def test_user_who_may_only_get_pods(space: Space) -> None:
    high = raw_priority_class(f"{space.name}-high", 1000)
    space.plane.apply(
        [high, unscheduled_pod(space.name, priorityClassName=f"{space.name}-high", requests={"cpu": "1"})]
    )
    kubeconfig = robot(space.plane, space.name, {"pods": ["get"]})

    text = space.text("pod/web", "-o", "wide", kubeconfig=kubeconfig)

    space.plane.api.delete(high)
    assert f'Priority 1000 (class "{space.name}-high")' in text
    assert "no longer exists" not in text
    unknown = text.partition("Unknown ")[2].partition(" Next ")[0]
    assert unknown == (
        "nodes: you may not list them (kubectl auth can-i list nodes) priorityclasses.scheduling.k8s.io: you may not "
        "get them (kubectl auth can-i get priorityclasses.scheduling.k8s.io)"
    )
    assert_hints_are_true(space.plane, kubeconfig, unknown)


def test_user_who_may_not_read_node_and_owner(space: Space) -> None:
    spec = {"nodeName": space.node(), "containers": [raw_container(requests={"memory": "1Gi"})]}
    space.plane.apply([raw_workload("ReplicaSet", "web", space.name, pod_spec=spec)])
    kubeconfig = robot(space.plane, space.name, {"pods": ["get", "list"]})
    [name] = wait_for(
        lambda: [pod["metadata"]["name"] for pod in space.plane.api.list_items("v1", "Pod", space.name)],
        "the controller made a pod",
    )

    text = space.text(f"pod/{name}", "-o", "wide", kubeconfig=kubeconfig, code=11)

    assert re.search("Not certain: whether .* answers is unknown; the Node could not be read", text)
    assert "OOM score 1000 - 1000 x memory request / node memory, from 3 to 999: unknown without a node" in text
    assert "Owner ReplicaSet web Unknown" in text
    assert "nodes: you may not get them (kubectl auth can-i get nodes)" in text
    hint = f"kubectl auth can-i get replicasets.apps -n {space.name}"
    assert f"replicasets.apps in {space.name}: you may not get them ({hint})" in text
    assert_hints_are_true(space.plane, kubeconfig, text)


def test_user_who_may_not_list_the_pods_of_a_workload(space: Space) -> None:
    space.plane.apply([raw_workload("Deployment", "web", space.name, pod_spec={"containers": [raw_container()]})])
    kubeconfig = robot(space.plane, space.name, {"pods": ["get"], "deployments.apps": ["get"]})

    answer = space.json("deployment/web", kubeconfig=kubeconfig, code=11)

    assert answer["pods"] is None
    assert {"pods", "limitranges"} <= set(answer["verdict"]["lacks"])
    unread = {(entry["verb"], entry["resource"], entry["namespace"], entry["reason"]) for entry in answer["unread"]}
    assert ("list", "pods", space.name, "forbidden") in unread
    assert {entry["resource"] for entry in answer["unread"]} > {"pods", "nodes"}


def test_user_who_may_not_get_the_pod(space: Space, pod: str) -> None:
    stranger = space.plane.kubeconfig_for_client_certificate("stranger")

    ran = space.qos("pod/web", "-n", pod, kubeconfig=stranger)
    listed = space.qos("pods", "-n", pod, kubeconfig=stranger)

    assert (ran.code, ran.out) == (4, "")
    assert ran.err == (
        f'error: you may not get pods in namespace {pod}; the API server says: pods "web" is forbidden: User '
        f'"stranger" cannot get resource "pods" in API group "" in the namespace "{pod}"\n'
    )
    assert (listed.code, listed.out) == (4, "")
    assert listed.err.startswith(f"error: you may not list pods in namespace {pod}; the API server says: pods is")


def test_not_allowed_in_another_namespace(space: Space, pod: str) -> None:
    kubeconfig = robot(space.plane, pod)

    ran = space.qos("pod/web", "-n", "kube-system", kubeconfig=kubeconfig)

    assert ran.code == 4
    assert ran.err.startswith("error: you may not get pods in namespace kube-system; the API server says: ")


def test_may_not_get_the_node(space: Space) -> None:
    ran = space.qos("node/any", kubeconfig=space.plane.kubeconfig_for_client_certificate("stranger"))

    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("error: you may not get nodes; the API server says: ")


# Not found


def test_not_found_with_near_names(space: Space, pod: str) -> None:
    space.plane.apply([unscheduled_pod(pod, "postgres-0"), unscheduled_pod(pod, "postgres-1")])

    ran = space.qos("pod/postgres-3", "-n", pod)

    assert (ran.code, ran.out) == (3, "")
    lead = re.escape(f'error: no pod "postgres-3" in {pod}\nDid you mean ')
    more = re.escape(f"? To list them: kubectl qos explain pods -n {pod}\n")
    assert re.fullmatch(rf"{lead}pod/postgres-[01] or pod/postgres-[01]{more}", ran.err)


def test_not_found_without_the_right_to_list(space: Space, pod: str) -> None:
    kubeconfig = robot(space.plane, pod, {"pods": ["get"]})

    ran = space.qos("pod/wep", "-n", pod, kubeconfig=kubeconfig)

    assert (ran.code, ran.out) == (3, "")
    first, second = ran.err.splitlines()
    assert first == f'error: no pod "wep" in {pod}'
    hint = f"(kubectl auth can-i list pods -n {pod})"
    assert second == f"Unknown whether a similar name exists: you may not list pods {hint}"
    assert_hints_are_true(space.plane, kubeconfig, second)


def test_not_found_here_and_in_another_namespace(space: Space, pod: str) -> None:
    elsewhere = unscheduled_pod("default", f"{pod}-db")
    workload = raw_workload("Deployment", f"{pod}-api", pod, pod_spec={"containers": [raw_container()]})
    space.plane.apply([elsewhere, workload])
    try:
        ran = space.qos(f"pod/{pod}-db", "-n", pod)
        refused = space.qos(f"pod/{pod}-db", "-n", pod, kubeconfig=robot(space.plane, pod, {"pods": ["get", "list"]}))
    finally:
        space.plane.api.delete(elsewhere)
    of_workload = space.qos(f"{pod}-api", "-n", "default")

    missing = f'error: no pod "{pod}-db" in {pod}\n'
    command = f"Try kubectl qos explain pod/{pod}-db -n default\n"
    assert ran == (3, "", f"{missing}pod/{pod}-db exists in namespace default. {command}")
    assert (refused.code, refused.err) == (3, f"{missing}To list them: kubectl qos explain pods -n {pod}\n")
    assert of_workload.err.splitlines()[1] == (
        f"deployment/{pod}-api exists in namespace {pod}. Try kubectl qos explain deployment/{pod}-api -n {pod}"
    )


def test_node_not_found(space: Space) -> None:
    name = space.node()

    ran = space.qos(f"node/{name}x")

    assert ran.code == 3
    assert ran.err.startswith(f'error: no node "{name}x"\nDid you mean node/')


def test_generated_names_get_no_suggestions(control_plane: ControlPlane, make_node: Callable[..., Object]) -> None:
    """A node without a Lease is no reason to list all others' in a large cluster."""
    name = make_node()["metadata"]["name"]
    metadata = {"name": name, "namespace": LEASE_NAMESPACE}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    control_plane.apply([lease])
    transport = ClientTransport(kubeconfig=str(control_plane.admin_kubeconfig), request_timeout=30)
    try:
        with pytest.raises(NotFound) as caught:
            LiveSource(transport, namespace=None).get(LEASES, f"{name}x", LEASE_NAMESPACE)
    finally:
        transport.close()
        control_plane.api.delete(lease)
    assert str(caught.value) == f'no lease "{name}x" in {LEASE_NAMESPACE}'


# No API server


def test_closed_port(kubectl_qos: Plugin, unreachable: Path) -> None:
    # Waiting for an answer would take longer than a run may take here.
    ran = kubectl_qos("pod/web", "--request-timeout=1h", kubeconfig=unreachable)

    assert (ran.code, ran.out) == (5, "")
    assert re.fullmatch(
        r"error: the API server cannot be reached: dial tcp 127\.0\.0\.1:\d+: connect: connection refused\n"
        + re.escape(f"{ASK_ANOTHER}\n"),
        ran.err,
    )


def test_wrong_context(kubectl_qos: Plugin, control_plane: ControlPlane) -> None:
    ran = kubectl_qos("pod/web", "--context=absent")

    said = 'error: context "absent" does not exist\nTry kubectl config get-contexts --context=absent\n'
    assert ran == (5, "", said)
    control_plane.kubectl("config", "get-contexts", "--context=absent")


def test_missing_kubeconfig(kubectl_qos: Plugin, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("first", "empty", "last")]
    files[1].touch()
    problems = f"{files[0]} does not exist, {files[1]} is empty, {files[2]} does not exist"

    by_flag = kubectl_qos("pod/web", "--kubeconfig", files[0])
    by_variable = kubectl_qos("pod/web", env={"KUBECONFIG": os.pathsep.join(map(str, ["", *files, files[0]]))})
    by_default = kubectl_qos("pod/web", env={"KUBECONFIG": "", "HOME": str(tmp_path)})

    lead = "error: no cluster is configured: "
    assert by_flag == (5, "", f"{lead}{files[0]} does not exist (named by --kubeconfig)\n{ASK_ANOTHER}\n")
    assert by_variable == (5, "", f"{lead}{problems} (named by KUBECONFIG)\n{ASK_ANOTHER}\n")
    default = f"{tmp_path}/.kube/config does not exist (KUBECONFIG is not set)"
    assert by_default == (5, "", f"{lead}{default}\n{ASK_ANOTHER}\n")


def test_kubeconfig_without_current_context(control_plane: ControlPlane, kubectl_qos: Plugin, tmp_path: Path) -> None:
    config = yaml.safe_load(control_plane.admin_kubeconfig.read_text())
    file = tmp_path / "contexts"

    for current, said in (
        (None, f"no cluster is configured: {file} has no current-context (named by KUBECONFIG)"),
        ("gone", "context was not found for specified context: gone"),
    ):
        file.write_text(yaml.safe_dump({**config, "current-context": current}))
        ran = kubectl_qos("pod/web", kubeconfig=file)
        assert ran == (5, "", f"error: {said}\nTry kubectl config get-contexts\n")
    control_plane.kubectl("config", "get-contexts", kubeconfig=file)


def test_broken_kubeconfig(kubectl_qos: Plugin, tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_text("apiVersion: v1\nkind: Config\nclusters: 7\n")

    ran = kubectl_qos("pod/web", "--kubeconfig", file)

    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith(f"error: error loading config file {file}") or str(file) in ran.err
    assert "Traceback" not in ran.err


def test_invalid_credentials(control_plane: ControlPlane, kubectl_qos: Plugin, tmp_path: Path) -> None:
    by_plugin = control_plane.kubeconfig_for_exec_plugin("wrong")
    program = yaml.safe_load(by_plugin.read_text())["users"][0]["user"]["exec"]["command"]
    expired = yaml.safe_load(control_plane.admin_kubeconfig.read_text())
    another = Authority().client("admin", ["system:masters"])
    data = {"client-certificate-data": another.certificate, "client-key-data": another.key}
    expired["users"][0]["user"] = {name: base64.b64encode(value).decode() for name, value in data.items()}
    by_certificate = tmp_path / "certificate"
    by_certificate.write_text(yaml.safe_dump(expired))

    for kubeconfig, said in (
        (
            control_plane.kubeconfig_for_token("wrong"),
            "The token of user test has expired, or is of another cluster: get a new one.",
        ),
        (by_plugin, f"User test gets credentials from {program}: log in with it again."),
        (by_certificate, "The certificate of user test has expired, or is of another cluster: get a new one."),
    ):
        ran = kubectl_qos("pod/web", kubeconfig=kubeconfig)
        assert (ran.code, ran.out) == (5, "")
        lead = "error: the API server does not accept your credentials: Unauthorized"
        assert ran.err == f"{lead}\n{said} Try kubectl config view --minify\n"
        control_plane.kubectl("config", "view", "--minify", kubeconfig=kubeconfig)


def test_without_a_cluster_a_manifest_is_explained(kubectl_qos: Plugin, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    pod = tmp_path / "pod.json"
    pod.write_text(json.dumps(unscheduled_pod("shop")))

    ran = kubectl_qos("-f", pod, env={"KUBECONFIG": str(absent)})

    assert "BestEffort" in ran.out
    why = f"no cluster is configured: {absent} does not exist (named by KUBECONFIG)"
    assert ran.err == f"kubectl qos: going on without a cluster: {why}\n"


def test_certificate_of_an_unknown_authority(control_plane: ControlPlane, kubectl_qos: Plugin, tmp_path: Path) -> None:
    config = yaml.safe_load(control_plane.admin_kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    file = tmp_path / "distrustful.kubeconfig"
    file.write_text(yaml.safe_dump(config))

    ran = kubectl_qos("pod/web", kubeconfig=file)

    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("error: the API server cannot be reached: tls: failed to verify certificate: x509: ")
    advice = "certificate-authority-data of the kubeconfig is of another cluster, or old"
    assert ran.err.splitlines()[1:] == [advice]


def test_http_to_an_https_server(control_plane: ControlPlane, kubectl_qos: Plugin, tmp_path: Path) -> None:
    config = yaml.safe_load(control_plane.admin_kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = control_plane.server.replace("https:", "http:")
    file = tmp_path / "plain.kubeconfig"
    file.write_text(yaml.safe_dump(config))

    ran = kubectl_qos("pod/web", kubeconfig=file)
    transport = ClientTransport(kubeconfig=str(file), request_timeout=30)
    try:
        by_client = transport.get("/version")
    finally:
        transport.close()

    said = "Client sent an HTTP request to an HTTPS server."
    lines = [f"error: the API server answered 400 to get pods: {said}", "Begin server in the kubeconfig with https://"]
    assert (ran.code, ran.err.splitlines()) == (5, lines)
    assert by_client == (400, f"{said}\n".encode())


def assert_hints_are_true(control_plane: ControlPlane, kubeconfig: Path, text: str) -> None:
    """Each command that the output names really answers no."""
    hints = re.findall(r"\(kubectl (auth can-i [^)]*)\)", text)
    assert hints
    for hint in hints:
        done = control_plane.kubectl(*shlex.split(hint), kubeconfig=kubeconfig, check=False)
        assert (done.returncode, done.stdout) == (1, "no\n"), hint


def with_command(kubeconfig: Path, folder: Path, command: str) -> Path:
    """The same kubeconfig, its credential plugin wrapped into a shell command in which ``{}`` is the plugin."""
    config = yaml.safe_load(kubeconfig.read_text())
    plugin = config["users"][0]["user"]["exec"]
    script = folder / "credentials.sh"
    script.write_text(f"#!/bin/sh\n{command.replace('{}', shlex.quote(plugin['command']))}\n")
    script.chmod(0o700)
    plugin["command"] = str(script)
    file = folder / "wrapped.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file
