"""Where the control plane's programs come from, and what is said when they cannot be had."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane.binaries import Binaries, Unavailable, build_binaries, cache_folder, find_binaries
from tests.controlplane.fixtures import require_binaries

Environment = dict[str, str]

# As Go does, each package becomes a program in the folder; another word for that program stands before a major version.
COMPILER = """\
#!/bin/sh
[ "$1" = env ] && { echo go1.99.0; exit; }
while [ "$1" != -o ]; do shift; done
folder=$2; shift 2
for package; do
  program=$folder$(basename "${package%/v[0-9]}")
  printf '#!/bin/sh\\necho %s %s\\n' "$CGO_ENABLED" "$package" > "$program"
  chmod +x "$program"
done
"""

BROKEN_COMPILER = """\
#!/bin/sh
[ "$1" = env ] && { echo go1.99.0; exit; }
echo 'go: Get "https://x.test/m/@v": EOF' >&2
exit 1
"""


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A machine with a shell but neither programs nor Go."""
    return {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}


def put_program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(text)
    program.chmod(0o755)
    return program


def test_cache_folder_follows_the_base_directory_specification(environment: Environment) -> None:
    assert cache_folder(environment) == Path(environment["HOME"], ".cache", "kubectl-qos", "controlplane")
    assert cache_folder({"XDG_CACHE_HOME": "/var/cache"}) == Path("/var/cache/kubectl-qos/controlplane")


def test_reason_names_what_is_missing_and_the_remedy(environment: Environment) -> None:
    found = find_binaries(("etcd", "helm"), environment=environment)

    assert found == Unavailable(
        reason=f"no etcd, helm in KUBEBUILDER_ASSETS (not set) or {cache_folder(environment)}: "
        "run `python -m tests.controlplane.binaries` once, which builds what is missing with Go"
    )


def test_assets_are_used_and_may_lack_programs(environment: Environment, tmp_path: Path) -> None:
    etcd = put_program(tmp_path / "assets", "etcd")
    environment["KUBEBUILDER_ASSETS"] = str(tmp_path / "assets")

    assert find_binaries(("etcd",), environment=environment) == Binaries(paths={"etcd": etcd})
    missing = find_binaries(("etcd", "kube-scheduler"), environment=environment)
    assert isinstance(missing, Unavailable)
    assert missing.reason.startswith(f"no kube-scheduler in KUBEBUILDER_ASSETS ({tmp_path / 'assets'})")


def test_file_that_cannot_be_run_is_not_a_program(environment: Environment, tmp_path: Path) -> None:
    put_program(tmp_path, "etcd").chmod(0o644)
    environment["KUBEBUILDER_ASSETS"] = str(tmp_path)

    assert isinstance(find_binaries(("etcd",), environment=environment), Unavailable)


@pytest.mark.parametrize(
    ("folder", "module"), [("helm", "k8s.io/kubectl"), ("cel", "k8s.io/apiserver")], ids=["helm", "cel"]
)
def test_other_programs_share_what_the_control_plane_needs(folder: str, module: str) -> None:
    """Else Go compiles most of Kubernetes' libraries twice."""
    kubernetes, other = _versions("kubernetes"), _versions(folder)

    shared = kubernetes.keys() & other.keys()
    assert {"k8s.io/api", "k8s.io/client-go", module, "golang.org/x/net"} <= shared
    assert {module: other[module] for module in shared} == {module: kubernetes[module] for module in shared}


def _versions(folder: str) -> dict[str, str]:
    """Each module's version as it is built: a replacement's, else the required one."""
    text = (Path(__file__).parent / "tools" / folder / "go.mod").read_text()
    required = dict(re.findall(r"^\t(\S+) (v\S+)", text, re.MULTILINE))
    return required | dict(re.findall(r"^\t(\S+) => \S+ (v\S+)", text, re.MULTILINE))


def test_build_fills_the_cache_once(environment: Environment, tmp_path: Path) -> None:
    put_program(tmp_path / "go", "go", COMPILER)
    environment["PATH"] = f"{tmp_path / 'go'}:{environment['PATH']}"
    said: list[str] = []

    wanted = ("etcd", "kube-scheduler", "helm")
    first = build_binaries(wanted, environment=environment, progress=said.append)
    second = build_binaries(wanted, environment=environment, progress=said.append)

    assert isinstance(first, Binaries)
    assert second == first
    # One command for those of a module, one module after the other.
    assert [line.split(" in ")[0] for line in said] == [
        "etcd, kube-scheduler: building",
        "etcd, kube-scheduler: built",
        "helm: building",
        "helm: built",
    ]
    folder = first["kube-scheduler"].parent
    assert re.fullmatch(r"kubernetes-v1\.36\.3-[0-9a-f]{16}", folder.name)
    assert sorted(path.name for path in folder.iterdir()) == ["etcd", "kube-scheduler"]
    packages = {"etcd": "go.etcd.io/etcd/server/v3", "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler"}
    for name, package in packages.items():
        assert subprocess.run([first[name]], capture_output=True, text=True, check=True).stdout == f"0 {package}\n"


def test_go_beside_python_is_used_when_path_has_none(environment: Environment, tmp_path: Path) -> None:
    put_program(tmp_path / "venv", "go", COMPILER)

    built = build_binaries(("etcd",), environment=environment, beside=tmp_path / "venv", progress=lambda _: None)

    assert isinstance(built, Binaries)


@pytest.mark.parametrize(
    ("version", "found"),
    [
        pytest.param("go1.20.3", "{go} is 1.20.3", id="too old"),
        pytest.param("", "{go} is of no known version", id="no Go at all"),
        pytest.param(None, "none was found on PATH or beside this Python", id="absent"),
    ],
)
def test_reason_when_go_cannot_build(environment: Environment, tmp_path: Path, version: str | None, found: str) -> None:
    folder = tmp_path / "go"
    if version is not None:
        put_program(folder, "go", f"#!/bin/sh\necho {version}\n")

    # The machine's own Go must not be found, so PATH holds nothing at all.
    refused = build_binaries(("etcd",), environment={**environment, "PATH": ""}, beside=folder)

    assert refused == Unavailable(
        reason=f"the control plane is built with Go 1.26.0 or newer; {found.format(go=folder / 'go')}: "
        "install it, or run `pip install --require-hashes -r requirements/go.txt`"
    )


def test_failed_build_shows_the_compiler_error(environment: Environment, tmp_path: Path) -> None:
    put_program(tmp_path / "go", "go", BROKEN_COMPILER)

    refused = build_binaries(("helm",), environment=environment, beside=tmp_path / "go", progress=lambda _: None)

    assert refused == Unavailable(reason='go could not build helm: go: Get "<address>": EOF')
    assert isinstance(find_binaries(("helm",), environment=environment), Unavailable)


@pytest.mark.parametrize(
    ("ci", "outcome"),
    [
        pytest.param("", pytest.skip.Exception, id="a person's machine skips"),
        pytest.param("true", pytest.fail.Exception, id="CI fails"),
    ],
)
def test_missing_programs_end_a_test_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("CI", ci)

    with pytest.raises(outcome, match="no etcd in KUBEBUILDER_ASSETS"):
        require_binaries(("etcd",))


def test_command_line_knows_its_programs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("binaries.py"), "kube-proxy"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "unknown program kube-proxy; choose from etcd, kube-apiserver" in done.stderr
