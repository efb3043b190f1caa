"""The record of other projects, and the script that writes it, on a project of a few files, cloned with git."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from podrules.api.features import VERIFIED, minor_of
from tests.controlplane.control_plane import ControlPlane
from tests.corpus import commands, record
from tests.corpus.gathering import Gathered, gather
from tests.corpus.judging import FALSE_REFUSAL, MISSED, Verdict, judge
from tests.corpus.objects import Found, digest
from tests.corpus.oracle import Oracle, read_by_kubectl
from tests.corpus.record import Project
from tests.corpus.results import Results, changes
from tests.corpus.sources import Missing, Text

MIN_PROJECTS: Final = 15
MIN_OBJECTS: Final = 200
POD: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: nginx}]}
"""
CLAIM: Final = '{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}}'
TREE: Final = {
    "manifests/pod.yaml": POD,
    "manifests/same.yaml": f"# the same pod\n{POD}",
    "manifests/claims.json": CLAIM + CLAIM.replace('"a"', '"b"'),
    "manifests/list.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: Deployment}\n- {}\n",
    "manifests/old.yaml": "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n",
    "manifests/theirs.yaml": "apiVersion: example.com/v1\nkind: Pod\n",
    "manifests/template.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {{ .Labels }}\n",
    "vendor/other/pod.yaml": POD.replace("web", "other"),
    "chart/Chart.yaml": "apiVersion: v2\nname: small\nversion: 1.0.0\n",
    "chart/templates/both.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
        "---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ randAlpha 20 | lower }}}\n"
    ),
}


def test_the_record_has_many_objects_of_many_projects() -> None:
    projects = record.read()
    objects = {one for project in projects for one in project.objects}
    assert len({project.name for project in projects}) >= MIN_PROJECTS
    assert len(objects) >= MIN_OBJECTS
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in objects)
    for project in projects:
        assert project.licence
        assert re.fullmatch(r"[0-9a-f]{40}|v[0-9.]+", project.version)
        assert set(project.refused) <= set(project.objects)
        assert {minor for minors in project.refused.values() for minor in minors} <= set(VERIFIED)


def test_the_record_is_written_as_it_is_read(tmp_path: Path) -> None:
    projects = record.read()
    record.write(projects, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == record.DATA.read_text()


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address below which a git repository ``owner/small`` is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "origin" / "owner" / "small"
    for name, content in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for arguments in (("init", "--quiet"), ("add", "."), (*who, "commit", "--quiet", "--message=all")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return f"file://{tmp_path / 'origin'}"


def _gathered(origin: str, version: str = "", helm: Path | None = None) -> Gathered:
    return gather(Project("owner/small", version, "Apache-2.0"), None, origin, helm)


def _names(gathered: Gathered) -> list[str]:
    return sorted(str(one) for one in gathered.objects)


def test_each_object_of_a_cloned_project_is_found_once(origin: str) -> None:
    found = _gathered(origin)
    assert _names(found) == [
        "manifests/claims.json #1: v1 PersistentVolumeClaim a",
        "manifests/claims.json #2: v1 PersistentVolumeClaim b",
        "manifests/list.yaml #1: apps/v1 Deployment None",
        "manifests/old.yaml #1: policy/v1beta1 PodDisruptionBudget None",
        "manifests/same.yaml #1: v1 Pod web",
    ]
    assert [text.path for text, _ in found.unread] == ["manifests/list.yaml"]
    assert re.fullmatch("[0-9a-f]{40}", found.project.version)


def test_recorded_commit_needs_no_origin(origin: str) -> None:
    first = _gathered(origin)
    assert _names(_gathered("file:///nowhere", first.project.version)) == _names(first)
    with pytest.raises(Missing, match="git fetch"):
        _gathered("file:///nowhere", "0" * 40)


def test_charts_give_what_is_the_same_each_time(origin: str, helm: Path) -> None:
    more = set(_names(_gathered(origin, helm=helm))) - set(_names(_gathered(origin)))
    assert more == {"chart/ #1: v1 ConfigMap corpus"}


def _pod(**spec: Any) -> Found:
    content = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
    content["spec"] = {"containers": [{"name": "web", "image": "nginx"}], **spec}
    return Found("pod.yaml", 1, content, digest(content))


def _judged(control_plane: ControlPlane, found: Found, minor: int) -> tuple[Verdict, list[str]]:
    verdict = judge(found, minor, Oracle(control_plane.api))
    return verdict, [one.what for one in verdict.differences]


@pytest.mark.controlplane
def test_answers_are_compared_with_a_real_api_server(control_plane: ControlPlane) -> None:
    minor = minor_of(control_plane.api.request("GET", "/version")["gitVersion"])
    assert minor == 36
    verdict, differ = _judged(control_plane, _pod(), minor)
    assert (verdict.refused, differ) == (False, [])
    verdict, differ = _judged(control_plane, _pod(serviceAccountName="no-such-account", restartPolicy="Now"), minor)
    assert (verdict.refused, verdict.ours, differ) == (True, True, [])
    # Fields of one version, asked of another: a schema that is wrong.
    _, differ = _judged(control_plane, _pod(schedulingGroup={}), 35)
    assert differ == [FALSE_REFUSAL]
    _, differ = _judged(control_plane, _pod(evictionResponders=[]), 37)
    assert differ == [MISSED]


@pytest.mark.controlplane
def test_kubectl_says_which_files_can_be_read(control_plane: ControlPlane) -> None:
    assert read_by_kubectl(TREE["manifests/claims.json"], control_plane)
    assert read_by_kubectl(TREE["manifests/theirs.yaml"], control_plane)
    for name in ("manifests/template.yaml", "manifests/list.yaml"):
        assert not read_by_kubectl(TREE[name], control_plane)


def test_commands_end_in_order() -> None:
    taken, refused = commands.explain(_pod(), 37), commands.explain(_pod(dnsPolice="None"), 37)
    assert (taken.code, taken.broken, refused.code, refused.broken) == (0, "", 6, "")
    linted = commands.lint(Text("old.yaml", TREE["manifests/old.yaml"]), 37)
    assert (linted.code, linted.broken) == (1, "")


def test_changes_are_reported() -> None:
    before = Project("a/b", "v1", "MIT", ["1", "2"], {"1": [34, 37]})
    assert list(changes(before, before, [34, 37])) == []
    assert list(changes(before, Project("a/b", "v1", "MIT", ["1", "2"], {"1": [37]}), [37])) == []
    now = Project("a/b", "v1", "MIT", ["1", "3"], {"1": [37]})
    assert list(changes(before, now, [34, 37])) == [
        "a/b: 1 objects more and 1 fewer than were recorded",
        "a/b: object 1 was refused in [34, 37] and is now in [37]",
    ]


def test_the_page_counts(origin: str) -> None:
    found = _gathered(origin)
    answers = {
        one.digest: Verdict(one.kind[1] != "Pod", one.kind[1] == "Deployment", "", False, ()) for one in found.objects
    }
    results = Results([found], {37: answers}, [], [])
    page = "\n".join(results.page())
    assert "1 projects, 5 different objects" in page
    assert "1.37: the API server takes 1 and refuses 4; we refuse 1 of these" in page
    assert results.are_good
    (project,) = results.projects()
    assert sorted(project.refused.values()) == [[37]] * 4
