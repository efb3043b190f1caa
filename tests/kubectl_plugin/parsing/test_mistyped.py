"""Mistyped input gets two lines: the error and the intended form. Input that kubectl understands works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_plugin.parsing.commands import COMMANDS
from tests.kubectl_plugin.answers import transcript
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_pod

FORMATS = (
    "table, wide, json, yaml, name, markdown, jsonpath=, jsonpath-as-json=, jsonpath-file=, custom-columns=, "
    "custom-columns-file="
)
WAYS = "all, delete, drain, preempt, evict-hard, evict-soft, probe, shutdown, node-lost"
IN_KUBECONFIG = "Set it in a kubeconfig (kubectl config --help), and select that with --kubeconfig or --context"
CHANGES_NOTHING = "It changes nothing. To delete a pod without grace: kubectl qos delete pod/NAME --grace-period=0"
TYPES = (
    "Types: pod, node, deployment, replicaset, statefulset, daemonset, job, cronjob, replicationcontroller, "
    "persistentvolumeclaim, poddisruptionbudget, resourcequota, priorityclass"
)


UNKNOWN = {
    **dict.fromkeys(("explan pod/x", "explan node node-a1"), 'Did you mean "explain"? Commands: kubectl qos --help'),
    "plce --force": 'Did you mean "place"? Commands: kubectl qos --help',
    "drian node-a1": "Write kubectl qos place --drain node-a1",
    "drain node a node/b -n x": "Write kubectl qos place --drain a,node/b -n x",
    "describe pod/x -n a": "Write kubectl qos explain pod/x -n a",
    "get pods -A --watch-only": "Write kubectl qos explain pods",
    "timeline pod/x --demo": "Write kubectl qos explain pod/x --demo --timeline",
    "timeline": "Write kubectl qos explain pod/NAME --timeline",
    "pods -A": "Write kubectl qos explain pods -A",
    "deploy checkout": "Write kubectl qos explain deploy checkout",
    "top node": "Write kubectl qos explain node",
    "top pods": "Write kubectl qos explain pods",
    "status": "Write kubectl qos report -A",
    "status pod/x": "Write kubectl qos explain pod/x",
    "cordon node-a1": "Use kubectl cordon; what a drain would move: kubectl qos place --drain node-a1",
    "logs db-0 -n shop": "Use kubectl logs; how a container ended: kubectl qos explain db-0 -n shop",
    "evict pod/x": "The effect of an eviction: kubectl qos explain pod/x --timeline=drain",
    "xyzzy": "Commands: kubectl qos --help",
}
"""Advice by what is typed; the error names the first word."""
NO_SUCH_VALUE = {
    **dict.fromkeys(
        ("explain pod/x -o jsno", "explain pod/x --output=jsno", "explain pod/x -ojsno"),
        (FORMATS, "Did you mean json?"),
    ),
    "explain pod/x -o 7": (FORMATS, "Write one of these"),
    "explain pod/x --timeline=drian": (WAYS, "Did you mean drain?"),
    "explain pod/x --timeline drian": (WAYS, "Did you mean drain?"),
    "lint -f x --severity eror": ("error, warning, notice", "Did you mean error?"),
}
ERRORS = [
    *((typed, f'unknown command "{typed.split()[0]}"', advice) for typed, advice in UNKNOWN.items()),
    *(
        (typed, f'{flag} "{value}": not one of {values}', advice)
        for typed, (values, advice) in NO_SUCH_VALUE.items()
        for flag, value in re.findall(r"(--\w+|-o)[ =]?(\w+)$", typed)
    ),
    ("pod/web-0", '"pod/web-0" is not a command', "Write kubectl qos explain pod/web-0"),
    ("explain pod/x -o", "-o needs a value", f"Write -o FORMAT, one of {FORMATS}"),
    ("explain pod/x -n", "-n needs a value", "Write -n NAME"),
    ("delete pod/x --dry-run", "--dry-run needs a value", "Write --dry-run server"),
    ("explain --demo=yes pod/x", "--demo takes no value", "Write --demo alone"),
    *(
        (f"{typed} --force", f'"kubectl qos {typed.split()[0]}" has no --force', CHANGES_NOTHING)
        for typed in ("explain pod/x", "node x", "place -f x")
    ),
    ("explain --token=a pod/x", "--token is kubectl's, and kubectl qos does not pass it on", IN_KUBECONFIG),
    ("explain -s https://a pod/x", "-s is kubectl's, and kubectl qos does not pass it on", IN_KUBECONFIG),
    ("-v 6 explain pod/x", "-v is kubectl's, and kubectl qos does not pass it on", "Leave it out"),
    ("explain -v6 pod/x", "-v is kubectl's, and kubectl qos does not pass it on", "Leave it out"),
    ("explain secret/x --demo", '"secret" cannot be explained', TYPES),
    ("explain pod,secret --demo", '"secret" cannot be explained', TYPES),
    ("explain deplyment/x --demo", '"deplyment" cannot be explained', f"Did you mean deployment? {TYPES}"),
]
TRANSCRIPT = """\
$ delete pod/x --dry-run=client --grace-period 0
$ fence node/x --dry-run client
error: --dry-run "client": not one of server
Use --dry-run=server, or leave it out: without a confirmation nothing is changed
$ delete pod/x --dry-run=client
error: --dry-run "client": not one of server
Use --dry-run=server: the API server processes the change without storing it
$ delete pod/x --now -n shop
error: "kubectl qos delete" has no --now
Write kubectl qos delete pod/x --grace-period=1 -n shop
$ delete pod/x --force --confirm
error: "kubectl qos delete" has no --force
Leave it out: kubectl qos delete pod/x --grace-period=0 --confirm
$ delete pod/x --force --grace-period=0
error: "kubectl qos delete" has no --force
Leave it out: kubectl qos delete pod/x --grace-period=0 shows the risk; with --confirm it also deletes
$ fence node/x --force
error: "kubectl qos fence" has no --force
Use --confirm-powered-off once the machine is certainly off, or --fence-command with --confirm
$ --demo
$ -n explain
error: no command
Write e.g. kubectl qos explain pod/NAME. Commands: kubectl qos --help
$ --dmo
error: unknown flag --dmo for "kubectl qos"
Did you mean --demo? Flags: kubectl qos --help
$ explain --dmo pod/x
error: unknown flag --dmo for "kubectl qos explain"
Did you mean --demo? Flags: kubectl qos explain --help
$ explain pod/x --namspace=shop
error: unknown flag --namspace for "kubectl qos explain"
Did you mean --namespace? Flags: kubectl qos explain --help
$ report --otput x
error: unknown flag --otput for "kubectl qos report"
Did you mean --output? Flags: kubectl qos report --help
$ explain -z pod/x
error: unknown flag -z for "kubectl qos explain"
Flags: kubectl qos explain --help
$ explain --drain node-a1 pod/x
error: unknown flag --drain for "kubectl qos explain"
It is a flag of kubectl qos place. Flags: kubectl qos explain --help
$ place -f x --replicas x
error: --replicas "x": not a number from 1 to 100000
Write a number, or max for as many as fit
$ snapshot
error: -o FILE is missing
Write kubectl qos snapshot -o FILE; see kubectl qos snapshot --help
$ explain
error: nothing to explain
Name a pod (pod/NAME), a node, a workload, or a file with -f
$ explain -n ml
error: nothing to explain
Name one, or all: kubectl qos explain pods -n ml
$ explain -n ml --demo
error: nothing to explain
Name one, or all: kubectl qos explain pods -n ml --demo
$ partitions web-0
error: "web-0": kubectl qos partitions takes flags only
Flags and examples: kubectl qos partitions --help
$ explain pod/x --offline
$ explain pod/x -f x --offline
error: --offline needs -f: pod/x is in a cluster
Use --snapshot FILE or --demo, or leave --offline out
$ explain db-0 -A --demo
error: -A selects among all pods, and pod/db-0 names one
Leave -A or the name out
$ explain sts db -l app=db --demo
error: -l selects among all statefulsets, and statefulset/db names one
Leave -l or the name out
$ explain -f x -A
error: -A selects objects of a cluster, and -f names a file
Leave -A or -f out
$ node node-a1 -l a=b --demo
error: -l selects among all nodes, and node-a1 names one
Leave -l or the name out
$ report db-0 -l a=b -o - --demo
error: -l selects among all pods, and pod/db-0 names one
Leave -l or the name out
$ report sts/db -o - --demo
error: "sts/db": neither a pod nor a node
Write pod/NAME or node/NAME
$ node pod/node-a1 --demo
error: "pod/node-a1" is not the name of a node
Write a node's name, or node/NAME
$ explain pods -l a=(b) --demo
error: -l: "a=(b)" is no term of a label selector
Write e.g. app=web, tier!=test, 'zone in (a,b)', '!canary', with commas between them
$ explain nodes --field-selector spec.podCIDR=x --demo
error: --field-selector "spec.podCIDR": no field that nodes are chosen by
Use one of these: metadata.name, spec.unschedulable
$ explain pods --field-selector Pending --demo
error: --field-selector "Pending": no field and value
Write e.g. status.phase=Pending
$ fence pod/x --demo
error: "pod/x": this command is for a node
Write node/NAME, or NAME alone
$ fence node --demo
error: no name
Write one node/NAME: each is checked before it is changed
$ place --drain pod/db-0 --demo
error: --drain "pod/db-0": not a node
Write a node's name, or node/NAME
$ place pod/db-0 --exclude-node pod/x --demo
error: --exclude-node "pod/x": not a node
Write a node's name, or node/NAME
$ place pod/db-0 --exclude-node= --demo
error: --exclude-node "": not a node
Write a node's name, or node/NAME
$ place pod/db-0 --without db-1 --demo
error: --without "db-1": not a pod
Write pod/db-1 or NAMESPACE/db-1
$ place pod/db-0 --without deploy/checkout --demo
error: --without deploy/checkout: this is for a pod, and deploy is a type
Write pod/NAME or NAMESPACE/NAME
$ place --drain node-a1 --replicas 3 --demo
error: --replicas is for TYPE/NAME or a file: --drain places the existing pods of the node
Name TYPE/NAME or a file with -f, or leave --replicas out
$ explain node/node-a1 --timeline --demo
error: --timeline is for pods and workloads, and node/node-a1 is a node
Leave --timeline out, or name pod/NAME
$ explain node/node-a1 --on node-a2 --demo
error: --on is for pods and workloads, and node/node-a1 is a node
Leave --on out, or name pod/NAME
$ explain pod/db-0 --watch-interval 5s --demo
error: --watch-interval needs --watch
Add -w, or leave --watch-interval out
$ explain pod/db-0,db-1 --demo
error: "pod/db-0,db-1": a name cannot contain a comma
Write spaces between names, e.g. pod/web-0 pod/web-1, or TYPE NAME NAME
$ explain pod,deploy/x --demo
error: "pod,deploy/x": a name cannot contain a comma
Write spaces between names, e.g. pod/web-0 pod/web-1, or TYPE NAME NAME
$ explain node node-a1,node-a2 --demo
error: "node-a1,node-a2": a name cannot contain a comma
Write spaces between names, e.g. pod/web-0 pod/web-1, or TYPE NAME NAME
$ explain pod/db-0/x --demo
error: "pod/db-0/x": a name cannot contain "/"
Write TYPE/NAME, and the namespace with -n
$ explain shop/db-1 --demo
$ node shop/db-1 --demo
error: "shop/db-1": shop is not a type; use -n for a namespace
Try kubectl qos explain pod/db-1 -n shop --demo
$ place shop/db-1 --demo
error: "shop/db-1": shop is not a type; use -n for a namespace
Try kubectl qos place pod/db-1 -n shop --demo
$ delete shop/db-1 --grace-period=0 --demo
error: "shop/db-1": shop is not a type; use -n for a namespace
Write pod/db-1 -n shop in place of shop/db-1
"""
"""What each command prints; the same text follows several."""


@pytest.mark.parametrize(("typed", "error", "advice"), [*ERRORS, *transcript(TRANSCRIPT)])
def test_error_and_intended_form(typed: str, error: str, advice: str) -> None:
    assert run(*typed.split()) == (2, "", f"error: {error}\n{advice}\n")


STARTS = """\
$ explain pod/db-0 --demo --scheduler-config configmap/x
error: "configmap/x": no ConfigMap is named so
Write configmap/NAMESPACE/NAME, or the path of a file
$ lint
error: nothing to check
Name it: -f FILE, -f FOLDER, or -f - for standard input
$ lint -f x --disable bestefort
error: --disable "bestefort": no such rule
Did you mean best-effort?
$ lint -f x --disable best-effort,
$ lint -f x --disable=
error: --disable "": a rule's name is missing
Rules:\x20
$ fence node-a1 --demo --fence-command=
error: --fence-command is empty
Name a program, or leave the flag out
$ fence node-a1 --demo --fence-command=x'
error: the fence command cannot be parsed: x': No closing quotation
Close the quotes
$ explain pod/db-0 --demo -o custom-columns-file=/nonexistent/x
error: -o custom-columns-file=/nonexistent/x: No such file or directory
Name a file with a template
$ explain pod/db-0 --demo -o jsonpath={
error: -o jsonpath:\x20
Write e.g. -o jsonpath='{.name}'
$ explain pod/db-0 --demo -o custom-columns=A
error: -o custom-columns:\x20
Write e.g. -o custom-columns=NAME
"""
"""The start of the error and of the advice."""


@pytest.mark.parametrize(("typed", "error", "advice"), transcript(STARTS))
def test_errors_have_two_lines(typed: str, error: str, advice: str) -> None:
    ran = run(*typed.split(" "))
    first, second = ran.err.splitlines()
    assert (ran.code, ran.out) == (2, "")
    assert first.startswith(f"error: {error}")
    assert second.startswith(advice)


@pytest.mark.parametrize("form", ["name", "table", "markdown"])
@pytest.mark.parametrize("chosen", ["--field-selector=metadata.name=none", "-lzone=x"])
def test_missing_node_is_an_error_on_stderr(form: str, chosen: str) -> None:
    ran = run("node", "--demo", chosen, "-o", form)
    assert (ran.code, ran.out, ran.err) == (0, "", "No resources found.\n")


@pytest.mark.parametrize("command", ["explain --offline", "lint", "place --demo"])
def test_advice_names_the_command_that_was_typed(command: str) -> None:
    ran = run(*command.split(), "-f", "-", stdin="kind: {{ .Values.kind }}\n")
    assert ran.code == 6
    said = " ".join((ran.out + ran.err).split())
    assert f"helm template . | kubectl qos {command.split(maxsplit=1)[0]} -f -" in said


@pytest.mark.parametrize("command", ["explain node/n1", "node n1"])
def test_object_of_a_file_that_cannot_be_read(command: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(
        '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node",'
        '"metadata":{"name":"n1"},"status":{"allocatable":{"memory":"x"}}}]}',
        encoding="utf-8",
    )
    ran = run(*command.split(), "--snapshot", str(file))
    first, second = ran.err.splitlines()
    assert (ran.code, ran.out) == (6, "")
    assert first.startswith(f"error: node/n1 in snapshot {file}: status.allocatable.memory: 'x' is not a quantity")
    assert second.startswith("Correct the field in the file, or capture that cluster again")


def test_name_that_moves_the_cursor_is_escaped() -> None:
    first, second = run("\x1b[2Jexplain").err.splitlines()
    assert first == 'error: unknown command "\\x1b[2Jexplain"'
    assert second == 'Did you mean "explain"? Commands: kubectl qos --help'


def test_no_arguments_print_the_help() -> None:
    ran = run()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == run("--help").out == run("help").out
    assert [name for name in COMMANDS if f"    {name}" not in ran.out] == []


def test_help_and_version_as_words() -> None:
    assert run("help", "explain") == run("explain", "--help") == run("--help", "explain")
    assert run("options") == run("options", "--help") == run("help", "options")
    assert run("version") == run("--version")
    assert run("version").out.startswith("kubectl-qos ")


@pytest.mark.parametrize(
    ("typed", "like"),
    [
        ("explain db-0", "explain pod/db-0"),
        ("explain db-0 db-1", "explain pod/db-0 pod/db-1"),
        ("explain db-0 statefulset/db", "explain pod/db-0 statefulset/db"),
        ("explain pod -n shop db-0", "explain pod/db-0"),
        ("explain pods,sts", "explain pods statefulsets"),
        ("explain --timeline drain pod/db-0", "explain --timeline=drain pod/db-0"),
        ("explain pod/db-0 -o JSON", "explain pod/db-0 -o json"),
        ("explain pod/db-0 -o yaml -o json", "explain pod/db-0 -o json"),
        ("explain pod/db-0 --namespace=", "explain pod/db-0"),
        ("explain -A", "explain pods -A"),
        ("explain -l app=db", "explain pods -l app=db"),
        ("explain pods -A -n ml", "explain pods -A"),
        ("node node node-a1", "node node-a1"),
        ("node node/node-a1", "node node-a1"),
        ("fence node-c3", "fence node/node-c3"),
        ("fence node node-c3", "fence node/node-c3"),
        ("unfence node-c3", "unfence node/node-c3"),
        ("delete db-1 --grace-period=0", "delete pod/db-1 --grace-period=0"),
        ("delete pod db-1 --grace-period=0", "delete pod/db-1 --grace-period=0"),
    ],
)
def test_alternative_spellings(typed: str, like: str) -> None:
    ran = run(*typed.split(), "--demo")
    assert ran.out
    if like == "explain pods statefulsets":
        parts = [run("explain", kind, "--demo", "-o", "name").out for kind in ("pods", "statefulsets")]
        assert run(*typed.split(), "--demo", "-o", "name").out == "".join(parts)
        return
    assert ran == run(*like.split(), "--demo")


def test_valid_words_are_not_corrected() -> None:
    code = "import sys\nfrom kubectl_plugin.cli import main\nmain(['explain', 'db-0', '--demo', '-o', 'name'])\n"
    code += "sys.exit(any(name in sys.modules for name in ('difflib', 'kubectl_plugin.parsing.mistakes')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("place pod/db-0 --exclude-node node/node-a2", "place pod/db-0 --exclude-node node-a2"),
        ("place pod/db-0 --without po/db-1", "place pod/db-0 --without pod/db-1"),
        ("report -A -n shop", "report -A"),
    ],
)
def test_equivalent_commands_give_the_same_answer(one: str, other: str) -> None:
    ran = run(*one.split(), "--demo")
    assert (ran.code, ran.out, ran.err) == run(*other.split(), "--demo")[:3]


DB = "Did you mean pod/db-0 or pod/db-1? To list them: kubectl qos explain pods -n shop --demo"
NODES = "Did you mean node/node-a1, node/node-c1 or node/node-b1? To list them: kubectl qos explain nodes --demo"
TRAINER = "pod/trainer-v9c4m exists in namespace ml. Try kubectl qos explain pod/trainer-v9c4m -n ml --demo"
NOT_FOUND = f"""\
$ explain pod/db-00 -n shop   # 3
$ place deploy/web -n shop --without shop/db-00   # 3
$ delete pod/db-00 -n shop   # 8
error: no pod "db-00" in shop
{DB}
$ explain deploy/chekout -n shop   # 3
error: no deployment "chekout" in shop
Did you mean deployment/checkout? To list them: kubectl qos explain deployments -n shop --demo
$ explain pod/db-0 -n Shop   # 3
error: no pod "db-0" in Shop
Namespace Shop does not exist: did you mean -n shop?
$ explain pod/xyzzy -n shop   # 3
error: no pod "xyzzy" in shop
To list them: kubectl qos explain pods -n shop --demo
$ node nod-a1   # 3
$ place deploy/web -n shop --exclude-node nod-a1   # 3
$ place deploy/web -n shop --drain nod-a1   # 3
$ fence nod-a1   # 8
error: no node "nod-a1"
{NODES}
$ report -o foo.txt   # 2
error: -o "foo.txt": neither a format nor the name of an HTML file
Use one of table, wide, json, yaml, markdown, or name the HTML file to write: -o cluster.html
$ report -A -o /nope/x.html   # 1
error: /nope/x.html: cannot be written: No such file or directory
Make the folder first: mkdir -p /nope
$ explain checkout   # 3
$ explain pod/checkout   # 3
$ explain pod checkout -n shop   # 3
error: no pod "checkout" in shop
Deployment checkout has 7 pods. Try kubectl qos explain deployment/checkout -n shop --demo
$ died pod/db -n shop   # 3
error: no pod "db" in shop: no object or event names it
StatefulSet db has 2 pods. Try kubectl qos died statefulset/db -n shop --demo
$ explain log-agent -n monitoring   # 3
error: no pod "log-agent" in monitoring
DaemonSet log-agent has 12 pods. Try kubectl qos explain daemonset/log-agent -n monitoring --demo
$ explain pod/evaluate -n ml   # 3
error: no pod "evaluate" in ml
Job evaluate has 1 pod. Try kubectl qos explain job/evaluate -n ml --demo
$ explain pod/nightly-report -n batch   # 3
error: no pod "nightly-report" in batch
CronJob nightly-report has this name. Try kubectl qos explain cronjob/nightly-report -n batch --demo
$ explain pod/checkout-mv9cgvs6p -n shop   # 3
error: no pod "checkout-mv9cgvs6p" in shop
ReplicaSet checkout-mv9cgvs6p has 7 pods. Try kubectl qos explain replicaset/checkout-mv9cgvs6p -n shop --demo
$ died pod/xyzzy -n shop   # 3
error: no pod "xyzzy" in shop: no object or event names it
Events expire after about an hour: search your logs for the name
$ explain xyz   # 3
error: no pod "xyz" in shop
A name alone is a pod's; write TYPE/NAME for others, e.g. deployment/xyz
$ explain pdo   # 3
error: no pod "pdo" in shop
Did you mean the type pod? A word that is not a type is the name of a pod
$ explain deplyment   # 3
error: no pod "deplyment" in shop
Did you mean the type deployment? A word that is not a type is the name of a pod
$ explain trainer-v9c4m   # 3
$ explain pod/trainer-v9c4m   # 3
$ explain pod trainer-v9c4m   # 3
$ delete pod/trainer-v9c4m   # 8
error: no pod "trainer-v9c4m" in shop
{TRAINER}
$ explain deployment/catalog -n ml   # 3
error: no deployment "catalog" in ml
deployment/catalog exists in namespace shop. Try kubectl qos explain deployment/catalog -n shop --demo
"""


@pytest.mark.parametrize(("typed", "error", "advice"), transcript(NOT_FOUND))
def test_missing_object_lists_existing_ones(typed: str, error: str, advice: str) -> None:
    typed, _, code = typed.partition("   # ")
    assert run(*typed.split(), "--demo") == (int(code), "", f"error: {error}\n{advice}\n")


def test_mistyped_workload_name_leads_to_its_pods() -> None:
    there = run("explain", "pods", "-n", "shop", "--demo", "-o", "name").out.split()
    ran = run("explain", "pod/chekout", "-n", "shop", "--demo")
    named = re.findall(r"pod/[a-z0-9-]+", ran.err)
    assert len(named) == 3
    assert all(name.startswith("pod/checkout-") and name in there for name in named)


@pytest.mark.parametrize("typed", ["hpa/web", "netpol/web", "clusterrole/web"])
def test_unexplained_type_is_not_a_namespace(typed: str) -> None:
    ran = run("explain", typed, "--demo")
    assert (ran.code, ran.err.partition("\n")[0]) == (2, f'error: "{typed.partition("/")[0]}" cannot be explained')


def test_demo_namespaces_are_recognised_except_type_names() -> None:
    pods = run("explain", "pods", "-A", "--demo", "-o", "json").out
    first = {entry["namespace"]: entry["name"] for entry in json.loads(pods)["items"]}
    said = {namespace: run("explain", f"{namespace}/{name}", "--demo").err for namespace, name in first.items()}
    assert len(said) > 7
    suggested = {
        namespace for namespace, name in first.items() if f"Try kubectl qos explain pod/{name}" in said[namespace]
    }
    # kubectl has a type of that name.
    assert set(first) - suggested == {"ingress"}


@pytest.mark.parametrize("command", ["explain", "place", "report"])
def test_objects_of_several_namespaces_are_named_up_to_three(command: str, tmp_path: Path) -> None:
    pods = [raw_pod("api-0", namespace=f"team-{name}") for name in "ecabd"]
    cluster = write_cluster(tmp_path / "cluster.qos", [*pods, raw_pod("api-1", namespace="team-z")])
    ran = run(command, "pod/api-0", "-n", "team-z", "--snapshot", cluster)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines()[1] == (
        "pod/api-0 exists in namespaces team-a, team-b, team-c and 2 more. "
        f"Try kubectl qos {command} pod/api-0 -n team-a --snapshot={cluster}"
    )


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("place catalog --replicas 3", "place deployment/catalog -n shop --demo --replicas=3"),
        ("place catalog --replicas=3 -n shop", "place deployment/catalog -n shop --demo --replicas=3"),
        (
            "place catalog --no-preemption -o wide",
            "place deployment/catalog -n shop --demo --no-preemption --output=wide",
        ),
        ("place pod/trainer-v9c4m --replicas 2", "place pod/trainer-v9c4m -n ml --demo --replicas=2"),
        ("place shop/db-1 --replicas 2", "place pod/db-1 -n shop --demo --replicas=2"),
        ("explain checkout -owide", "explain deployment/checkout -n shop --demo --output=wide"),
        ("explain trainer-v9c4m --timeline=all", "explain pod/trainer-v9c4m -n ml --demo --timeline=all"),
        ("delete pod/trainer-v9c4m --grace-period=0", "explain pod/trainer-v9c4m -n ml --demo"),
        ("node shop/db-1 -o wide", "explain pod/db-1 -n shop --demo"),
    ],
)
def test_hint_of_same_command_keeps_flags(typed: str, hint: str) -> None:
    """A hint that names another command drops the flags, which that command may not have."""
    assert run(*typed.split(), "--demo").err.rstrip("\n").endswith(f"Try kubectl qos {hint}")


def test_missing_namespace_is_reported() -> None:
    ran = run("explain", "pods", "-n", "nosuch", "--demo")
    said = "No resources found in nosuch namespace.\nNamespace nosuch does not exist\n"
    assert (ran.code, ran.out, ran.err) == (0, "", said)
