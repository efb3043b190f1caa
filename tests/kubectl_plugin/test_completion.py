"""The output of ``kubectl_complete-qos`` without a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubectl_plugin.completion import Directive, answer, main
from kubectl_plugin.parsing.commands import COMMANDS, LISTED, flags_of
from tests.kubectl_plugin.answers import write_list
from tests.objects import raw_node
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parents[3]
NO_FILES = Directive.NO_FILES
TYPES = ["pod/", "node/", "deployment/", "replicaset/", "statefulset/", "daemonset/", "job/", "cronjob/"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limit of completion, because other processes may slow this machine down."""
    monkeypatch.setenv("KUBECTL_QOS_COMPLETION_SECONDS", "60")


def _names(*words: str) -> Sequence[str]:
    """The candidates for the last word, without their descriptions."""
    lines, _ = answer(words[:-1], words[-1])
    return [line.partition("\t")[0] for line in lines]


def _directive(*words: str) -> Directive:
    return answer(words[:-1], words[-1])[1]


def test_K_commands_with_what_they_do() -> None:
    lines, directive = answer((), "")
    assert (list(lines), directive) == ([f"{name}\t{line}" for name, line in LISTED.items()], NO_FILES)
    assert _names("f") == ["fence"]


@pytest.mark.parametrize("command", COMMANDS)
def test_K_every_long_flag_of_every_command(command: str) -> None:
    flags = {name for name in flags_of(command) if name[:2] == "--"}
    assert set(_names(command, "--")) == flags
    assert "--help" in flags


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("-",), ["--help", "--version"]),
        (("explain", "--o"), ["--output", "--on", "--offline"]),
        (("explain", "-o", "ya"), ["yaml"]),
        (("explain", "--output=ya"), ["yaml"]),
        (("-o", "ya"), ["yaml"]),
        (("explain", "--timeline=pr"), ["preempt", "probe"]),
        (("delete", "--dry-run", ""), ["server"]),
        (("explain", "--demo", "-n", "shop", "pod/db"), ["pod/db-0", "pod/db-1"]),
        (("explain", "--demo", "--namespace=shop", "po/db"), ["po/db-0", "po/db-1"]),
        (("-n", "shop", "--demo", "explain", "pod", "db-0", "db"), ["db-0", "db-1"]),
        (("explain", "--demo", "-n", "shop", "deploy/che"), ["deploy/checkout"]),
        (("explain", "--demo", "secret/"), []),
        (("explain", "--demo", "-n", "shop", "db-"), ["db-0", "db-1"]),
        (("explain", "--demo", "-n", "shop", "db-0", "db-"), ["db-0", "db-1"]),
        (("explain", "--demo", "-n", "shop", "pod,sts", "db-"), ["db-0", "db-1"]),
        (("explain", "--demo", "-l", ""), []),
        (("explain", "--all-"), ["--all-namespaces"]),
        (("explain", "--fie"), ["--field-selector"]),
        (("node", "--sel"), ["--selector"]),
        (("fence", "--demo", "node-a"), ["node-a1", "node-a2", "node-a3"]),
        (("delete", "--demo", "-n", "shop", "db-"), ["db-0", "db-1"]),
        (("explain", "--demo", "node/node-a"), ["node/node-a1", "node/node-a2", "node/node-a3"]),
        (("report", "--demo", "n"), ["node/"]),
        (("node", "--demo", "node-a"), ["node-a1", "node-a2", "node-a3"]),
        (("node", "--demo", "no/node-a1"), ["no/node-a1"]),
        (("fence", "--demo", "node/node-a"), ["node/node-a1", "node/node-a2", "node/node-a3"]),
        (("fence", "--demo", "node", "node-c3"), ["node-c3"]),
        (("delete", "--demo", "-n", "shop", "pod/db"), ["pod/db-0", "pod/db-1"]),
        (("delete", "--demo", "node/"), []),
        (("place", "--demo", "--drain", "node-a"), ["node-a1", "node-a2", "node-a3"]),
        (("place", "--demo", "--drain", "node/node-a1"), ["node/node-a1"]),
        (("place", "--demo", "--drain", "node-b1,node-a"), ["node-b1,node-a1", "node-b1,node-a2", "node-b1,node-a3"]),
        (("place", "--demo", "--drain=node-b1,node/node-a1"), ["node-b1,node/node-a1"]),
        (("place", "--demo", "-n", "shop", "--without", "pod/db"), ["pod/db-0", "pod/db-1"]),
        (("explain", "--demo", "--on=node-a"), ["node-a1", "node-a2", "node-a3"]),
        (("explain", "--demo", "-n", "kube-"), ["kube-node-lease", "kube-public", "kube-system"]),
        (("why", "maxS"), ["maxSkew"]),
        (("partitions", ""), []),
        (("rights", "un"), ["unfence"]),
        (("rights", "died", "no"), ["node"]),
        (("rights", "lin"), []),
        (("place", "--replicas", ""), []),
        (("place", "--demo", "-n", "shop", "deployment/che"), ["deployment/checkout"]),
        (("place", "--demo", "node/"), []),
        (("explain", "--demo", "-n", "shop", "--", "pod/db-1"), ["pod/db-1"]),
        (("explain", "--demo", "-n", "shop", "pdb/ch"), ["pdb/checkout"]),
        (("explain", "--demo", "-n", "shop", "persistentvolumeclaims", "data-db-"), ["data-db-0", "data-db-1"]),
        (("explain", "--demo", "pc", "shop-"), ["shop-high", "shop-default"]),
        (("place", "--demo", "-n", "shop", "pdb/"), []),
    ],
    ids=" ".join,
)
def test_K_candidates(words: tuple[str, ...], names: list[str]) -> None:
    assert list(_names(*words)) == names


def test_K_types_first() -> None:
    assert list(_names("explain", "")) == [*TYPES, "replicationcontroller/", "pvc/", "pdb/", "quota/", "pc/"]
    assert _directive("explain", "") == NO_FILES | Directive.NO_SPACE


@pytest.mark.parametrize(
    ("words", "directive"),
    [
        (("explain", "-f", ""), Directive.FILES),
        (("report", "-o", ""), Directive.FILES),
        (("explain", "--snapshot="), Directive.FILES),
        (("explain", "--scheduler-config", ""), Directive.FILES),
        (("node", "--kubelet-config", ""), Directive.FILES),
        (("explain", "-o", "js"), NO_FILES | Directive.NO_SPACE),
        (("explain", "-o", "table"), NO_FILES),
        (("explain", "-o", "jsonpath={.x"), NO_FILES),
        (("explain", "--request-timeout", ""), NO_FILES),
        (("explain", "--no-such-flag="), NO_FILES),
    ],
)
def test_K_shell_directives(words: tuple[str, ...], directive: Directive) -> None:
    assert _directive(*words) == directive


def test_K_name_that_a_shell_might_run_is_left_out(tmp_path: Path) -> None:
    names = ["good", "$(touch bad)", "`x`", "a b", "a;b", "x\ny", "\x1b[2J"]
    objects = [raw_node(name) for name in names]
    assert list(_names("node", "--snapshot", write_list(tmp_path / "nodes.json", objects), "")) == ["good"]


def test_errors_give_no_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "--snapshot", "/no/such/file", ""]) == 0
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[0], out.splitlines()[-1], err) == (":4", ":4", "")


def test_K_silent_cluster_does_not_block_the_shell(tmp_path: Path) -> None:
    """A kubectl that never gets ready, as with a waiting credential plugin or without a network."""
    kubectl, started = tmp_path / "kubectl", tmp_path / "started"
    kubectl.write_text(f"#!/bin/sh\necho $$ >> {started}\nexec sleep 600\n")
    kubectl.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", "from kubectl_plugin.completion import main; main()", "node", ""],
        cwd=ROOT,
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "KUBECTL_QOS_COMPLETION_SECONDS": "0.5"},
        capture_output=True,
        text=True,
        check=False,
        # Less than the command would wait; how much less depends on the machine.
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, ":4\n", "")
    # Otherwise each press of Tab would leave a process behind.
    pids = started.read_text().split() if started.exists() else []
    wait_for(lambda: not any(Path("/proc", pid).exists() for pid in pids), "each kubectl has ended")


def test_K_time_that_ends_in_a_finalizer_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python only prints an exception that a finalizer raises."""

    class Slow:
        def __del__(self) -> None:
            time.sleep(0.5)

    def candidates(*_: object) -> Sequence[str]:
        Slow()
        time.sleep(60)
        return ["late"]

    monkeypatch.setenv("KUBECTL_QOS_COMPLETION_SECONDS", "0.1")
    monkeypatch.setattr("kubectl_plugin.completion._candidates", candidates)
    assert answer(["node", "--demo"], "") == ([], Directive.NO_FILES)
    assert capsys.readouterr().err == ""


def test_K_no_rule_is_loaded() -> None:
    code = (
        "import sys\n"
        "from kubectl_plugin.completion import main\n"
        "main(['explain', '--pl'])\n"
        "sys.exit(any(name.split('.')[0] in {'msgspec', 'yaml', 'numpy'} for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False).returncode == 0
