"""The command line: flags, errors, exit codes. No command prints a traceback."""

from __future__ import annotations

import argparse
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.errors import UsageError
from kubectl_plugin.exit_codes import print_error, warn
from kubectl_plugin.options.flag import KUBECTL, add_flags
from kubectl_plugin.parsing import parse
from kubectl_plugin.parsing.commands import COMMANDS, flags_of, options_of, takes_value
from tests.kubectl_plugin.answers import check_texts, write_list
from tests.kubectl_plugin.running import run
from tests.objects import raw_container, raw_pod
from tests.tree import ROOT

POD = "pod/db-0"


def test_help_names_every_exit_code() -> None:
    ran = run("explain", "--help")
    assert ran.code == 0
    check_texts(ran.out, ("0 explained", "3 not found", "4 forbidden", "5 no cluster", "6 manifest"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_is_short(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(command, "--help").out.splitlines()
    assert len(lines) <= 60
    assert [line for line in lines if len(line) > 80] == []


def test_connection_flags_are_in_one_help() -> None:
    options = run("options").out
    for command in COMMANDS:
        declared = [one for one in options_of(command).all_flags().values() if one.group == KUBECTL]
        page = run(command, "--help").out
        assert [one.names for one in declared if one.names[-1] not in options or f" {one.names[-1]} " in page] == []
        assert page.endswith('Use "kubectl qos options" for the flags of the connection to the cluster.\n') == bool(
            declared
        )


@pytest.mark.parametrize(
    ("words", "environment", "printed"),
    [
        ((), {}, b"\x1b[31merror:\x1b[0m no such pod\r\n\x1b[33mwarning:\x1b[0m old\r\n"),
        ((), {"NO_COLOR": "1"}, b"error: no such pod\r\nwarning: old\r\n"),
        ((), {"TERM": "dumb"}, b"error: no such pod\r\nwarning: old\r\n"),
        (("--no-color",), {}, b"error: no such pod\r\nwarning: old\r\n"),
    ],
)
def test_words_for_problems_have_colour_on_a_terminal(
    words: tuple[str, ...], environment: dict[str, str], printed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in ({"TERM": "xterm"} | environment).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["kubectl-qos", *words])
    near, far = pty.openpty()
    try:
        with os.fdopen(far, "w") as terminal:
            print_error(UsageError("no such pod"), terminal)
            warn(["old"], terminal)
        assert _drained(near) == printed
    finally:
        os.close(near)


def test_help_starts_like_kubectl_help() -> None:
    assert run("--help").out.startswith("usage: kubectl qos ")


def test_help_loads_no_rules() -> None:
    code = "import sys\nfrom kubectl_plugin.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "sys.exit(any(name.split('.')[0] in {'msgspec', 'yaml'} for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("words", ["pod/db-0", "pods/db-0", "po/db-0", "Pod/db-0", "pod db-0"])
def test_names_of_pods(words: str) -> None:
    ran = run("explain", "--demo", *words.split(), "-o", "name")
    assert (ran.code, ran.out) == (0, "pod/db-0\n")


@pytest.mark.parametrize("words", ["deployments.apps/web", "deploy web", "deployment.v1.apps/web"])
def test_names_of_deployments(words: str) -> None:
    assert run("explain", "--demo", *words.split(), "-o", "name").out == "deployment.apps/web\n"


@pytest.mark.parametrize(
    "words",
    [
        ("--demo", "-n", "shop", "explain", "pod/db-0", "-o", "name"),
        ("-n", "shop", "-o", "name", "--demo", "explain", "pod/db-0"),
        ("explain", "-o", "name", "--demo", "pod/db-0"),
    ],
)
def test_flags_may_come_first(words: tuple[str, ...]) -> None:
    assert run(*words) == (0, "pod/db-0\n", "")


def test_flag_takes_a_value_in_every_command_or_in_none() -> None:
    taking: set[str] = set()
    other: set[str] = set()
    for command in COMMANDS:
        parser = argparse.ArgumentParser()
        add_flags(parser, options_of(command).all_flags())
        for action in parser._actions:
            (taking if action.nargs is None else other).update(action.option_strings)
    assert not taking & other
    assert taking == {name for name in taking | other for command in COMMANDS if takes_value(name, command)}


@pytest.mark.parametrize("command", COMMANDS)
def test_flags_are_those_of_the_parser(command: str) -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser, options_of(command).all_flags())
    parsed = {name: action for action in parser._actions for name in action.option_strings}
    assert set(parsed) == set(flags_of(command))
    assert all(parsed[name].help == (flag.help or None) for name, flag in flags_of(command).items())


def test_flag_of_another_command_takes_its_value() -> None:
    ran = run("--severity", "explain", "lint", "-f", "-")
    assert ran.err.startswith('error: --severity "explain": not one of error, warning, notice')


def test_flag_value_is_not_a_command() -> None:
    ran = run("-n", "explain", "--demo", "explain", "pod/db-0")
    missing = 'error: no pod "db-0" in explain\nNamespace explain does not exist\n'
    assert (ran.code, ran.err) == (3, missing)


def test_several_pods_and_a_node() -> None:
    ran = run("explain", "--demo", "pod/db-0", "pod/db-1", "node/node-a1", "-o", "name")
    assert ran.out.split() == ["pod/db-0", "pod/db-1", "node/node-a1"]


def test_type_alone_is_all_of_the_namespace() -> None:
    assert run("explain", "--demo", "-n", "ml", "pods", "-o", "name").out.count("pod/") == 6


def test_missing_target_does_not_stop_the_others() -> None:
    ran = run("explain", "--demo", "pod/db-9", POD, "-o", "name")
    assert (ran.code, ran.out) == (3, "pod/db-0\n")
    first, second = ran.err.splitlines()
    assert first == 'error: no pod "db-9" in shop'
    assert second.startswith("Did you mean pod/db-")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "nothing to explain"),
        ("secret/x", '"secret" cannot be explained\nTypes: pod, node, deployment'),
        ("pod/", '"pod/": no name\nWrite TYPE/NAME, e.g. pod/web-0\n'),
        ("pod node/x", '"node/x": TYPE/NAME after the type pod\nWrite TYPE NAME [NAME …], or TYPE/NAME'),
        ("pod/x -o xml", '-o "xml": not one of table, wide, json'),
        ("pod/x --request-timeout soon", '--request-timeout "soon": not a time\nWrite e.g. 30s, 500ms or 1h30m\n'),
        ("pod/x --request-timeout=-3s", '--request-timeout "-3s": negative\nWrite e.g. 30s\n'),
        ("pod/x --snapshot x", "--snapshot cannot be used with --demo\nLeave --snapshot or --demo out\n"),
    ],
)
def test_wrong_command_lines(words: str, message: str) -> None:
    ran = run("explain", "--demo", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


SECONDS = {"30": 30, "1.5": 1.5, "1h30m": 5400, "1.5h": 5400, "500ms": 0.5, "5us": 5e-6, "0": 3600, "0s": 3600}


@pytest.mark.parametrize(("typed", "seconds"), SECONDS.items())
def test_times_are_read_as_in_kubectl(typed: str, seconds: float) -> None:
    assert parse(("explain", "pod/x", f"--request-timeout={typed}")).options.cluster.request_timeout == seconds


TIMES = (
    ("explain", "pod/x", "--request-timeout"),
    ("partitions", "--watch-interval"),
    ("delete", "pod/x", "--timeout"),
    ("fence", "node-a1", "--timeout"),
)


@pytest.mark.parametrize("command", TIMES)
@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        *((text, "not a time") for text in ("nan", "inf", "1e3s", "1e3", "1d", "", "1_0")),
        *((text, "negative") for text in ("-3", "-1h30m")),
        *((text, "longer than a year") for text in ("9" * 18, "9999999h")),
    ],
)
def test_every_flag_refuses_an_invalid_time(command: tuple[str, ...], typed: str, problem: str) -> None:
    *words, flag = command
    ran = run(*words, f"{flag}={typed}")
    assert (ran.code, ran.out) == (2, "")
    first, second = ran.err.splitlines()
    assert first == f'error: {flag} "{typed}": {problem}'
    assert second.startswith("Write e.g. ")


@pytest.mark.parametrize("typed", ["9999999999999999999999", "9223372036854775808", "9" * 5000])
def test_grace_period_out_of_api_range_is_refused(typed: str) -> None:
    ran = run("delete", "pod/x", "--demo", f"--grace-period={typed}")
    assert (ran.code, ran.out) == (2, "")
    first, second = ran.err.splitlines()
    assert first.endswith(": too large for an int64")
    assert second == "Write seconds, 9223372036854775807 at most"


def test_no_kubectl_and_no_configuration(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
    code, err = _ended([*MODULE, "explain", POD], env=environment)
    assert code == 5
    assert err.startswith(f"error: no cluster is configured: {tmp_path / 'none'} does not exist (named by KUBECONFIG)")
    assert "Traceback" not in err


def _closed(call: str) -> list[str]:
    """The arguments of Python for a program without some streams."""
    return ["-c", f"import os, sys; os.{call}; os.execv(sys.executable, [sys.executable, *{MODULE}, *sys.argv[1:]])"]


COMPLETION = ["-c", "import sys; from kubectl_plugin.start import complete; sys.exit(complete())", "why", ""]
MODULE = ["-m", "kubectl_plugin"]


def _ended(words: Sequence[str], **more: Any) -> tuple[int, str]:
    """The exit code and standard error of a process; buffered output is written when it exits."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    closed = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    usual: dict[str, Any] = {**closed, "env": environment}
    command = [sys.executable, *words]
    ran = subprocess.run(command, cwd=ROOT, text=True, check=False, **{**usual, **more})
    return ran.returncode, ran.stderr or ""


@pytest.fixture
def unread() -> Iterator[int]:
    """A pipe without a reader, as after ``| head -1``."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize(
    "words",
    [
        [*MODULE, "explain", "--demo", "pods", "-n", "kube-system"],
        [*MODULE, "why", "Evicted"],
        [*MODULE, "--version"],
        [*MODULE, "explain", "--help"],
        COMPLETION,
    ],
    ids=" ".join,
)
def test_closed_reader_is_no_error(words: list[str], unread: int) -> None:
    assert _ended(words, stdout=unread) == (0, "")


@pytest.mark.parametrize("words", ["explain --nope", "explain pod/none --demo", "lint -f -"])
def test_messages_without_a_reader_change_no_exit_code(words: str, unread: int) -> None:
    code, said = _ended([*MODULE, *words.split()])
    assert said.startswith("error: ")
    assert _ended([*MODULE, *words.split()], stderr=unread)[0] == code
    assert _ended([*_closed("close(2)"), *words.split()]) == (code, "")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("explain --demo pods", 1, "error: the answer cannot be written: Bad file descriptor\n"),
        ("--version", 1, "error: the answer cannot be written: Bad file descriptor\n"),
        ("lint -f -", 6, "error: standard input: no object in it; nothing to check\n"),
    ],
)
def test_streams_that_the_parent_closed(words: str, code: int, said: str) -> None:
    ended, err = _ended([*_closed("closerange(0, 2)"), *words.split()])
    assert (ended, err[: len(said)]) == (code, said)


def test_no_colour_in_pipes_and_with_no_color() -> None:
    assert "\x1b" not in run("explain", "--demo", POD).out


@pytest.mark.parametrize(
    ("flags", "environment", "coloured"),
    [
        ((), {"TERM": "xterm"}, True),
        (("--no-color",), {"TERM": "xterm"}, False),
        ((), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ((), {"TERM": "dumb"}, False),
    ],
)
def test_colour_on_a_terminal(flags: tuple[str, ...], environment: dict[str, str], *, coloured: bool) -> None:
    import pty

    master, slave = pty.openpty()
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "kubectl_plugin", "explain", "--demo", POD, *flags],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **environment},
            stdout=slave,
        ) as process:
            os.close(slave)
            shown = _drained(master)
            assert process.wait() == 0
    finally:
        os.close(master)
    assert (b"\x1b[" in shown) is coloured
    assert b"Burstable" in shown


def _drained(descriptor: int) -> bytes:
    shown = b""
    while True:
        try:
            chunk = os.read(descriptor, 4096)
        except OSError:  # Linux reports an error when the writer of a terminal has closed it
            return shown
        if not chunk:
            return shown
        shown += chunk


def test_snapshot_of_kubectl_get(tmp_path: Path) -> None:
    from cluster_io.demo import demo_objects

    objects = [entry for entry in demo_objects() if entry["kind"] in {"Pod", "Node", "PriorityClass"}]
    snapshot = write_list(tmp_path / "c.json", objects)
    ran = run("explain", "--snapshot", snapshot, "-n", "shop", "pod/checkout-mv9cgvs6p-m2n4z", "-o", "wide")
    assert ran.code == 0
    assert 'QoS class     Burstable: container "istio-proxy" has no cpu limit' in ran.out
    assert "Guaranteed if istio-proxy sets limits.cpu = 100m and limits.memory" in ran.out
    assert (
        "Unknown       replicasets.apps: not in the file\n"
        "              to add: kubectl get replicasets -A -o json >> FILE\n"
    ) in ran.out


def test_snapshot_folder(tmp_path: Path) -> None:
    import yaml

    from cluster_io.demo import demo_objects

    for kind in ("Pod", "Node"):
        items = [entry for entry in demo_objects() if entry["kind"] == kind]
        text = yaml.safe_dump({"apiVersion": "v1", "kind": f"{kind}List", "items": items})
        (tmp_path / f"{kind}.yaml").write_text(text)
    assert json.loads(run("explain", "--snapshot", str(tmp_path), "node/node-b2", "-o", "json").out)["pods"] == 14


def test_manifest_from_standard_input() -> None:
    ran = run("explain", "--offline", "-f", "-", "-o", "json", stdin=json.dumps(raw_pod()))
    assert json.loads(ran.out)["qos"]["qosClass"] == "BestEffort"


BAD_MANIFESTS: Final[Sequence[Any]] = [
    ("a: [", "not valid YAML"),
    ("- 1", "an API object is a mapping, this is a list"),
    ("kind: Pod", "apiVersion is missing\nEvery API object has an apiVersion and a kind"),
    ("apiVersion: v1\nkind: ConfigMap", "no pod and no workload in it, only ConfigMap; there is nothing to explain"),
    ("", "no object in it; there is nothing to explain"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}", "line 4: spec.containers: Required value\nWrite one"),
    ("apiVersion: v1\nkind: Pod\nspec: {}", "metadata.name: Required value: name or generateName is required\n"),
    (
        "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, resources: {limits: {cpu: lots}}}]}",
        "spec.containers[0].resources.limits.cpu: 'lots' is not a quantity",
    ),
    ("apiVersion: v1\nkind: Pod\nspec: {containers: 3}", "spec.containers: 3 is a number; write a list"),
]


@pytest.mark.parametrize(("text", "message"), BAD_MANIFESTS)
def test_bad_manifests_name_the_field(tmp_path: Path, text: str, message: str) -> None:
    manifest = tmp_path / "m.yaml"
    manifest.write_text(text)
    ran = run("explain", "--offline", "-f", str(manifest))
    assert ran.code == 6
    assert f"error: {manifest}" in ran.err
    assert message in ran.err


def test_second_document_is_named(tmp_path: Path) -> None:
    manifest = tmp_path / "m.yaml"
    good = "apiVersion: v1\nkind: Pod\nmetadata: {name: good}\nspec: {containers: [{name: a}]}"
    manifest.write_text(f"{good}\n---\n{good.replace('name: a', 'name: 7')}\n")
    ran = run("explain", "--offline", "-f", str(manifest), "-o", "name")
    assert (ran.code, ran.out) == (6, "pod/good\n")
    assert (
        f"{manifest}, document 2, line 9: spec.containers[0].name: 7 is a number; write a string, in quotation marks"
        in ran.err
    )


def test_missing_file() -> None:
    ran = run("explain", "--offline", "-f", "no-such-file.yaml")
    assert (ran.code, ran.err) == (
        6,
        "error: no-such-file.yaml: No such file or directory\nLook at the name, and at the folder you are in\n",
    )


def test_hostile_names_are_shown_escaped(tmp_path: Path) -> None:
    pod = raw_pod(
        "a\x1b[2Jb\u202ec\x9bd; rm -rf ~",
        "default",
        uid="u",
        containers=[raw_container("x\x1b]0;owned\x07")],
        nodeName="n",
        status={"phase": "Failed", "message": "line\nnext\x1b[31m", "reason": "\u2066"},
    )
    snapshot = tmp_path / "c.json"
    snapshot.write_text(json.dumps(pod))
    table = run("explain", "--snapshot", str(snapshot), "pods", "-o", "wide").out
    assert not set(table) & set("\x1b\x9b\x07\u202e\u2066")
    check_texts(table, "a\\x1b[2Jb\\u202ec\\x9bd", "kubectl qos explain pod/a")
    printed = run("explain", "--snapshot", str(snapshot), "pods", "-o", "json").out
    assert printed.isascii()
    assert json.loads(printed)["items"][0]["name"] == pod["metadata"]["name"]
    as_yaml = run("explain", "--snapshot", str(snapshot), "pods", "-o", "yaml").out
    assert as_yaml.isascii()
    assert "\x1b" not in as_yaml
    assert "\x1b" not in run("explain", "--snapshot", str(snapshot), "pods", "-o", "name").out


def test_lone_surrogate_is_decoded_as_in_go(tmp_path: Path) -> None:
    pod = raw_pod("web", "default", status={"phase": "Failed", "message": "half \ud83d"})
    snapshot = tmp_path / "c.json"
    snapshot.write_text(json.dumps(pod))
    printed = run("explain", "--snapshot", str(snapshot), "pod/web", "-o", "json").out
    assert json.loads(printed)["status"]["message"] == "half \ufffd"
    assert printed == json.dumps(json.loads(printed), indent=2) + "\n"


def test_arrays_are_loaded_for_placement_only() -> None:
    """They load more slowly than everything else; explaining a running pod does not need them."""
    code = (
        "import sys\n"
        "from kubectl_plugin.cli import main\n"
        "main(['explain', '--demo', '-n', 'shop', 'pod/db-1'])\n"
        "assert 'numpy' not in sys.modules, 'numpy is loaded'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_readers_of_files_are_loaded_for_files_only(tmp_path: Path) -> None:
    """The reader of scheduler configurations is not loaded without one, either."""
    snapshot = tmp_path / "demo.qos"
    assert run("snapshot", "--demo", "-o", str(snapshot)).code == 0
    code = (
        "import sys\n"
        "from kubectl_plugin.cli import main\n"
        f"main(['explain', '--snapshot', {str(snapshot)!r}, '-n', 'shop', 'pod/db-0'])\n"
        "loaded = {'cluster_io.manifests.files', 'cluster_io.scheduler_config'}\n"
        "loaded |= {'podrules.scheduling.scheduler.profile'}\n"
        "assert not loaded & set(sys.modules), loaded & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_every_missing_target_is_reported() -> None:
    ran = run("explain", "--demo", "-n", "shop", "pod/no-one", "pod/no-other")
    assert ran.code == 3
    assert ran.err.splitlines() == [
        'error: no pod "no-one" in shop',
        "To list them: kubectl qos explain pods -n shop --demo",
        'error: no pod "no-other" in shop',
        "To list them: kubectl qos explain pods -n shop --demo",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "words", [("versions", "--demo"), ("explain", "pods", "--demo", "-o", "json"), ("--help",)], ids=" ".join
)
def test_answer_that_cannot_be_written_is_one_line(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = _ended([*MODULE, *words], stdout=full)
        completed = _ended(COMPLETION, stdout=full)
    assert ended == (1, "error: the answer cannot be written: No space left on device\n")
    assert completed == (0, "")
