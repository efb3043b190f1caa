"""Several targets have one line each; a single target has its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.golden import check
from tests.kubectl_plugin.answers import data, said
from tests.kubectl_plugin.running import run

GOLDEN = Path(__file__).resolve().parents[2] / "testdata" / "golden"
CASES = Path(__file__).resolve().parents[2] / "testdata" / "cases" / "cli"
TABLES = {
    "targets-deployments": ("deployments", "-n", "shop"),
    "targets-daemonsets": ("daemonsets", "-n", "kube-system"),
    "targets-statefulsets": ("statefulsets", "-A"),
    "targets-pods": ("pods", "-n", "shop"),
    "targets-nodes": ("nodes",),
}


def pods(*words: str, columns: int | None = None) -> str:
    """The list of pods of the demo."""
    return run("explain", "pods", *words, "--demo", env={"COLUMNS": str(columns)} if columns else None).out


def _rows(text: str) -> list[str]:
    """The rows of the table, without their marks; without its headings and the lines below a row."""
    return [line[3:] for line in _table(text)[1:] if not line.startswith(" ")]


def _marks(text: str) -> list[str]:
    """The marks of the rows."""
    return [line[:3].strip() for line in _table(text)[1:] if not line.startswith(" ")]


def _table(text: str) -> list[str]:
    """The lines of the table, from its headings on."""
    return text.split("\n\n")[1].splitlines()


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str, columns: int) -> None:
    ran = run("explain", "--demo", *TABLES[name], env={"COLUMNS": str(columns)})
    assert (ran.code, ran.err) == (0, "")
    assert max(len(line) for line in ran.out.splitlines() if "kubectl " not in line) <= columns
    check(GOLDEN / f"{name}-{columns}.txt", ran.out)


@pytest.mark.parametrize("columns", [80, 200])
def test_each_target_has_one_line(columns: int) -> None:
    names = pods("-n", "shop", "-o", "name").split()
    rows = _rows(pods("-n", "shop", columns=columns))
    assert sorted(f"pod/{row.split()[0]}" for row in rows) == sorted(names)


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_reason_of_trouble_is_not_cut(columns: int) -> None:
    page = " ".join(pods("-A", columns=columns).split())
    assert '"resizer" CrashLoopBackOff, 23 restarts in 39 h, last exit 137 (OOMKilled, memory limit 256Mi)' in page
    assert "0 of 12 nodes fit. Of 12 nodes, 5 have taints" in page
    assert "stuck, because node-c3 is silent since 03:02:56 UTC" in page
    assert "..." not in page


@pytest.mark.parametrize(("columns", "scope"), [(80, "-n=shop"), (120, "-A")])
def test_restarts_and_node_stay(columns: int, scope: str) -> None:
    out = pods(scope, columns=columns)
    assert _table(out)[0].split()[:4] == ["NAME", "STATUS", "RESTARTS", "NODE"]
    [row] = [row.split() for row in _rows(out) if "image-resizer-t7fpjd79c-t6pxj" in row]
    assert row[1:4] == ["CrashLoopBackOff", "23", "node-b4"]


def test_faulty_pods_come_first_and_others_by_name() -> None:
    rows = _rows(pods("-n", "shop"))
    assert [row.split()[0] for row in rows[:2]] == ["image-resizer-t7fpjd79c-t6pxj", "checkout-mv9cgvs6p-x2x7p"]
    remarked = ("price-feed", "recommend-")
    well = [row.split() for row in rows if row.split()[1] == "Running" and not row.startswith(remarked)]
    assert [row[0] for row in well] == sorted(row[0] for row in well)
    assert rows[-len(well) :] == [row for row in rows if row.split()[0] in {name for name, *_ in well}]
    table = pods("-n", "shop", "-o", "markdown").splitlines()
    of_well = [line for line in table if line.startswith(tuple(f"| ok | {row[0]} " for row in well))]
    assert of_well
    assert {line.split("|")[-2].strip() for line in of_well} == {""}, "running pods have no remark"


def test_no_name_is_cut() -> None:
    wide, narrow, least = (pods("-A", columns=columns) for columns in (200, 80, 40))
    names = [row.split()[0] for row in _rows(wide)]
    assert "kube-system/csi-block-controller-qwtv78rmd-vxhjc" in names
    for out in (narrow, least):
        assert [row.split()[0] for row in _rows(out)] == names
    assert ("NODE" in narrow, "RESTARTS" in narrow) == (True, False), "the node is more important than the restarts"


def test_end_of_a_long_list_leads_to_its_first_rows() -> None:
    out = pods("-A")
    rows = _rows(out)
    [(wrong, count)] = re.findall(r"^x (\d+) of (\d+) pods have something wrong\.$", out, re.MULTILINE)
    names = [row.split()[0].partition("/")[2] for row in rows]
    # The first command is about the silent node, which has the most pods.
    assert re.findall(r"kubectl qos (\S+) --demo", out) == ["partitions"]
    assert re.findall(r"explain pod/(\S+)", out) == names[:2]
    table = pods("-A", "-o", "markdown").splitlines()
    remarks = [bool(line.split("|")[-2].strip()) for line in table if re.match(r"\| (x|!|ok) ", line)]
    assert remarks == [True] * int(wrong) + [False] * (len(rows) - int(wrong))
    assert int(count) == len(rows)
    first, others = _marks(out)[: int(wrong)], _marks(out)[int(wrong) :]
    assert first == sorted(first, key=["x", "!"].index)
    assert set(others) == {"ok"}


def test_every_pod_is_counted_once() -> None:
    out = pods("-A")
    [total] = re.findall(r"Total +(.*?)\n +\d+ more", out, flags=re.DOTALL)
    all_of_them, _, states = total.partition(" pods: ")
    assert int(all_of_them) == len(_rows(out)) == sum(int(part.split()[0]) for part in states.split(", "))


def test_state_and_reason_of_a_pod() -> None:
    assert "Evicted: The node was low on resource: memory." in pods("-n", "batch", columns=200)
    [row] = [row for row in _rows(pods("-n", "monitoring")) if row.startswith("log-agent-fwj7l ")]
    assert "NodeDown" in row
    assert "Running" not in row


def test_next_leads_to_the_worst() -> None:
    out = pods("-n", "shop")
    assert re.findall(r"explain (pod/\S+)", out) == [
        "pod/image-resizer-t7fpjd79c-t6pxj",
        "pod/checkout-mv9cgvs6p-x2x7p",
    ]
    assert "Next          kubectl qos partitions" in out
    assert "kubectl qos node node-c3" in run("explain", "nodes", "--demo").out


def test_wide_shows_pages_and_json_a_list() -> None:
    wide = run("explain", "statefulsets", "-n", "data", "--demo", "-o", "wide").out
    assert wide.count("statefulset/") >= 3
    listed = data("explain", "statefulsets", "-n", "data", "--demo")
    assert (listed["kind"], len(listed["items"])) == ("List", 3)


@pytest.mark.parametrize("more", [("--timeline",), ("--on", "node-a1")])
def test_timelines_and_places_keep_their_pages(more: tuple[str, ...]) -> None:
    out = run("explain", "pod/db-0", "pod/db-1", "-n", "shop", "--demo", *more).out
    assert {"pod/db-0", "pod/db-1"} <= {line.split()[0] for line in out.splitlines() if line.startswith("pod/")}


def test_one_target_has_its_page() -> None:
    listed, named = (
        run("explain", *words, "-n", "shop", "--demo").out for words in (["statefulsets"], ["statefulset/db"])
    )
    assert listed == named
    assert named.startswith("statefulset/db in namespace shop")


def test_missing_target_is_reported_and_sets_exit_code() -> None:
    ran = run("explain", "pod/db-0", "pod/nope", "-n", "shop", "--demo")
    assert ran.code == run("explain", "pod/nope", "-n", "shop", "--demo").code != 0
    assert 'no pod "nope" in shop' in ran.err
    assert [row.split()[0] for row in _rows(ran.out)] == ["db-0"]


def test_typed_targets_keep_their_order() -> None:
    ran = run("explain", "pod/db-1", "pod/db-0", "node/node-c3", "-n", "shop", "--demo")
    rows = [row.split()[0] for line in ran.out.splitlines() if (row := line[3:]).startswith(("pod/", "node/"))]
    assert rows == ["pod/db-1", "pod/db-0", "node/node-c3"]


def test_manifests_have_a_line_each() -> None:
    files = [word for name in ("sts6", "rs6", "d6") for word in ("-f", str(CASES / f"{name}.yaml"))]
    ran = run("explain", "--demo", *files)
    names = [row.split()[0] for row in _rows(ran.out)]
    assert names == ["statefulset.apps/newapp", "replicaset.apps/newapp", "deployment.apps/newapp"]
    assert "3 manifests" in ran.out


def test_markdown_has_every_column() -> None:
    out = pods("-n", "shop", "-o", "markdown")
    assert out.splitlines()[2].startswith("|  | NAME | STATUS | RESTARTS | NODE | QOS | OOM | PRIORITY | VERDICT |")
    assert "..." not in out


def test_target_typed_twice_is_one() -> None:
    once = run("explain", "pod", "db-0", "-n", "shop", "--demo", "-o", "name").out
    assert run("explain", "pod", "db-0", "db-0", "-n", "shop", "--demo", "-o", "name").out == once
    both = run("explain", "pod/db-1", "pod/db-0", "pod/db-1", "-n", "shop", "--demo", "-o", "name").out
    assert both.split() == ["pod/db-1", "pod/db-0"]


def test_all_namespaces_flag_prefixes_every_name() -> None:
    found = _rows(pods("-A", "-l", "app=web"))
    assert {row.split()[0].partition("-")[0] for row in found if "/" in row.split()[0]} == {"shop/web"}
    assert not any(row.startswith("web-") for row in found)


def test_pages_have_the_order_of_the_table() -> None:
    table = pods("-n", "shop")
    order = [row.split()[0] for row in _rows(table)]
    pages = pods("-n", "shop", "-o", "wide")
    titles = re.findall(r"^pod/(\S+) in namespace", pages, re.MULTILINE)
    assert titles == [name for name in order if name in titles]
    assert len(titles) == len(pods("-n", "shop", "-o", "name").split())
    assert titles != sorted(titles)


def test_job_row_shows_why_its_pod_is_missing() -> None:
    assert "0 of 1 succeeded, 1 not made yet. 1 pod is terminating" in said("explain", "jobs", "-A", "--demo")


def test_both_lists_agree_on_state_and_order_of_nodes() -> None:
    lists = [run(*words, "--demo", env={"COLUMNS": "200"}).out for words in (("explain", "nodes"), ("node",))]
    states = [[row.split()[:2] for row in _rows(text)] for text in lists]
    assert states[0] == states[1]
    assert ["node-c1", "Cordoned"] in states[0]


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "number"),
    [("deployment", "shop", "recommend", 2), ("statefulset", "data", "postgres", 3)],
)
def test_workload_shows_pods_near_their_limit(kind: str, namespace: str, name: str, number: int) -> None:
    """In its row, on its page and in the report."""
    remark = f"{number} pods near their memory limit: {name}-"
    named = (f"{kind}/{name}", "-n", namespace)
    assert remark in said("explain", f"{kind}s", "-A", "--demo")
    assert remark in said("explain", *named, "--demo")
    verdict = data("explain", *named, "--demo")["verdict"]
    assert (verdict["code"], verdict["severity"]) == ("NearMemoryLimit", "notice")
    [entry] = [
        one
        for one in data("report", "-A", "--demo")["workloads"]
        if (one["namespace"], one["name"]) == (namespace, name)
    ]
    assert (entry["code"], entry["severity"], entry["inTrouble"]) == ("NearMemoryLimit", "notice", 0)


def test_workload_with_refused_next_pod_is_faulty() -> None:
    rows = said("explain", "deployments", "-n", "shop", "--demo")
    assert 'The API server will refuse each new pod: pods "loyalty" is forbidden' in rows
    items = data("explain", "pods", "-n", "shop", "-l", "app=loyalty", "--demo")["items"]
    assert [one["verdict"]["severity"] for one in items] == ["fine", "fine"]


@pytest.mark.parametrize(("columns", "stands"), [(80, False), (200, True)])
def test_no_heading_is_without_content(columns: int, stands: bool) -> None:
    heading = _table(pods("-n", "shop", columns=columns))[0]
    assert heading.endswith("VERDICT") is stands
