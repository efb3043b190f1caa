"""Each command, by a user who has exactly the role that ``kubectl qos rights`` prints for the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from kubectl_plugin.completion import answer
from kubectl_plugin.reports.rights import ASKED
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import binding, may
from tests.e2e.plugin import InProcess, flat
from tests.kubectl_plugin.asked import MANIFEST
from tests.kubectl_plugin.running import run
from tests.objects import unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def users(control_plane: ControlPlane) -> Iterator[Callable[..., str]]:
    """Makes a user for a command, with the role of that command."""
    with control_plane.holding([bound for command in ASKED for bound in _bound(command, "rights", command)]):
        for command in ASKED:
            wait_for(partial(may, control_plane, f"user-of-{command}", "list"), f"{command} has its role")
        yield lambda command: f"user-of-{command}"


def _bound(user: str, *words: str) -> Iterator[Object]:
    """The printed Roles, each bound to the user."""
    for role in yaml.safe_load_all(run(*words, "--kubelets").out):
        space = role["metadata"].get("namespace")
        place = {"namespace": space} if space else {}
        made = role | {"metadata": {"name": f"{role['metadata']['name']}-{user}", **place}}
        yield made
        yield binding(made, {"kind": "User", "name": f"user-of-{user}"}, space)


@pytest.fixture
def node(make_node: Callable[..., Object]) -> str:
    """A node of its own."""
    name: str = make_node(capacity={"cpu": "16"})["metadata"]["name"]
    return name


@pytest.fixture
def shop(control_plane: ControlPlane, namespace: str, node: str) -> str:
    """A namespace with a pod on the node and a pending one."""
    waits = unscheduled_pod(namespace, "waits", schedulerName="default-scheduler", requests={"cpu": "900"})
    control_plane.apply([unscheduled_pod(namespace, nodeName=node), waits])
    return namespace


@pytest.mark.parametrize("command", ASKED)
def test_nothing_is_refused_to_a_user_with_the_role(
    qos: InProcess, users: Callable[[str], str], shop: str, node: str, command: str, tmp_path: Path
) -> None:
    typed = {
        "explain": [
            "pods -n {0} -o wide",
            "node/{1}",
            "deployments -n {0}",
            "-f - -n {0} -o wide",
            "pod/web -n {0} --timeline",
        ],
        "died": ["pod/web -n {0}", "-A"],
        "place": ["--drain {1}", "-f - -n {0}"],
        "node": ["{1} -o wide"],
        "report": ["-A"],
        "snapshot": [f"-o {tmp_path / 'cluster.qos'}"],
        "versions": ["--to 1.37"],
        "partitions": ["-o wide"],
        "delete": ["pod/web -n {0} --grace-period=0 --dry-run=server"],
        "fence": ["node/{1}"],
        "unfence": ["node/{1}"],
    }
    for words in typed[command]:
        ran = qos.also(command)(*words.format(shop, node).split(), "--as", users(command), stdin=MANIFEST)
        assert ran.code in {0, 6, 7, 9, 11}, ran
        said = flat(ran.out + ran.err)
        assert ("you may not" in said, "can-i" in said, "cannot " in said) == (False, False, False), said


def test_a_role_of_one_namespace(
    control_plane: ControlPlane, qos: InProcess, shop: str, node: str, tmp_path: Path
) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "nope"}}]
    control_plane.apply([unscheduled_pod(shop, "typo", schedulerName="default-scheduler", volumes=volumes)])
    path = tmp_path / "cluster.qos"
    user = ("-n", shop, "--as", f"user-of-{shop}")
    with control_plane.holding(list(_bound(shop, "rights", "-n", shop))):
        wait_for(lambda: may(control_plane, f"user-of-{shop}", "list", shop), "the role holds")
        ran = qos("pod/waits", *user)
        typo = qos("pod/typo", *user)
        placed = qos.also("place")("-f", "-", *user, stdin=MANIFEST.replace('"shop"', f'"{shop}"'))
        drained = qos.also("place")("--drain", node, *user)
        captured = qos.also("snapshot")("-o", str(path), *user)
        webhook = ("get", "deployment/qos-webhook", "-n", "default", *user[2:])
        of_webhook = control_plane.kubectl("auth", "can-i", *webhook).stdout

    assert ran.code == 11
    assert "pods outside of" in flat(ran.out)
    assert f"kubectl auth can-i list pods --as=user-of-{shop} -A" in flat(ran.out)
    assert ran.out.splitlines()[-1].lstrip().startswith("kubectl qos rights explain"), ran.out
    assert 'Claim "nope" does not exist' in flat(typo.out), typo
    assert placed.code in {7, 11}, placed
    assert drained.code == 4, drained
    assert of_webhook == "yes\n"
    assert (captured.code, "3 pods and" in flat(captured.out)) == (0, True), captured
    assert f"Only pods of {shop}; you may not list others." in flat(captured.out)
    kept = run("explain", "pods", "--snapshot", str(path), "-n", shop)
    assert {"waits", "web", "typo"} <= set(kept.out.split()), kept


def test_completion_and_kubectl_take_what_is_printed(
    control_plane: ControlPlane,
    qos: InProcess,
    users: Callable[[str], str],
    shop: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name, value in (qos.environment() | {"KUBECTL_QOS_COMPLETION_SECONDS": "60"}).items():
        monkeypatch.setenv(name, value)
    candidates, _ = answer(["explain", "--as", users("explain"), "-n", shop], "pod/w")
    assert candidates == ["pod/waits", "pod/web"]

    for form in ("table", "json", "yaml"):
        (tmp_path / form).write_text(run("rights", "fence", "-n", shop, "-o", form).out)
        done = control_plane.kubectl("apply", "--dry-run=server", "-f", str(tmp_path / form))
        assert done.stdout.count(f"kubectl-qos-fence-in-{shop} created (server dry run)") == 3, form
