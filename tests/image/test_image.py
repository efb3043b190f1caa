"""The image of the Dockerfile: its content, and its run as in a restricted pod."""

from __future__ import annotations

import json
import os
import re
import ssl
import stat
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from podrules import __version__
from tests.controlplane.certificates import Authority
from tests.controlplane.processes import Process, free_port, start_on_free_port, stop_all
from tests.image.builder import BASE, ROOT, Builder, Image
from tests.waiting import again_if_late
from webhook.serving.connections import HANDSHAKE_SECONDS

USER = 1_000_650_000
"""A user id as OpenShift assigns it: without a user name, in group 0."""
MAX_MEBIBYTES = 320
_Run = Callable[[str], subprocess.CompletedProcess[str]]


# A container of it runs with the image's configuration, and only /tmp is writable


def confined(root: Path, secret: Path, command: Sequence[str], environment: Sequence[str]) -> list[str | Path]:
    """The command line that runs a command on the image's files as a read-only root, as `USER` without rights.

    What a pod mounts from a Secret is at /mnt.

    buildah's own way of running without namespaces has no read-only root.
    """
    mounts = (
        'mount --bind "$0" "$0"',
        'mount -o remount,ro,bind "$0"',
        'mount -t tmpfs -o mode=1777,size=8m tmpfs "$0/tmp"',
        'mount -t proc proc "$0/proc"',
        'mount --bind "$1" "$0/mnt"',
        # The files of any runtime.
        'mount -t tmpfs -o mode=755 tmpfs "$0/dev" && touch "$0/dev/null" && mount --bind /dev/null "$0/dev/null"',
        'shift && exec chroot "$0" "$@"',
    )
    # The image's own settings cannot be undone.
    rights = ("--reuid", f"{USER}", "--regid", "0", "--clear-groups", "--no-new-privs", "--bounding-set", "-all")
    entered = ("setpriv", *rights, "--", "/usr/bin/env", "-i", *environment, *command)
    return ["unshare", "--mount", "--", "sh", "-c", " && ".join(mounts), root, secret, *entered]


@pytest.fixture(scope="session")
def config(image: Image) -> dict[str, Any]:
    """The image's configuration: user, environment, entry point, labels."""
    assert image.config["config"]
    return image.config


@pytest.fixture(scope="session")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine, its key, and its authority; all users may read them."""
    folder = tmp_path_factory.mktemp("secret")
    # A kubelet's are for any user of the pod.
    folder.chmod(0o755)
    authority = Authority()
    server = authority.server(())
    for name, text in {"ca.crt": authority.certificate, "tls.crt": server.certificate, "tls.key": server.key}.items():
        (folder / name).write_bytes(text)
    return folder


@pytest.fixture(scope="session")
def run(root: Path, secret: Path, config: dict[str, Any]) -> _Run:
    """Run a Python script in it to its end."""

    def run_in_it(script: str) -> subprocess.CompletedProcess[str]:
        line = confined(root, secret, ("python3", "-c", script), config["config"]["Env"])
        return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)

    return run_in_it


# At work


class Demo:
    """The image's entry point with the demo cluster."""

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self.port = port


@pytest.fixture(scope="session")
def demo(root: Path, secret: Path, config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    def line(port: int) -> Sequence[str | Path]:
        metrics = f"--metrics-address=127.0.0.1:{free_port()}"
        certificate = ("--tls-cert=/mnt/tls.crt", "--tls-key=/mnt/tls.key")
        arguments = ("--demo", *certificate, f"--address=127.0.0.1:{port}", metrics, "--drain=0s")
        return confined(root, secret, [*config["config"]["Entrypoint"], *arguments], config["config"]["Env"])

    def ready(port: int) -> bool:
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", context=_anybody(), timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    log = tmp_path_factory.mktemp("demo") / "log"
    process, port = start_on_free_port(line, ready, log=log, timeout=120)
    try:
        yield Demo(process, port)
    finally:
        stop_all([process], timeout=5)


def _anybody() -> ssl.SSLContext:
    return ssl._create_unverified_context()  # noqa: S323  # as the kubelet's probes


def test_it_answers_the_probes(demo: Demo) -> None:
    def asked() -> tuple[int, bytes]:
        with urllib.request.urlopen(f"https://127.0.0.1:{demo.port}/healthz", context=_anybody(), timeout=60) as answer:
            return answer.status, answer.read()

    assert again_if_late(asked, HANDSHAKE_SECONDS) == (200, b"ok\n")


def test_it_answers_reviews_over_tls(demo: Demo, run: _Run) -> None:
    # The first questions of `helm test`, as its pod asks them: with the image itself. There is no API server here.
    arguments = [f"--url=https://127.0.0.1:{demo.port}", "--ca=/mnt/ca.crt", "--namespace=shop", "--timeout=60"]
    done = run(f"from webhook.check import main; import sys; sys.exit(main({arguments}))")
    assert "no configuration for a cluster" in done.stderr
    assert "/mutate: allowed" in done.stdout
    assert "/validate: allowed" in done.stdout


def test_it_runs_as_user_nobody_without_rights(demo: Demo) -> None:
    def status(pid: int) -> dict[str, str]:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        return dict(line.split(":\t", 1) for line in lines if ":\t" in line)

    worker = int(Path(f"/proc/{demo.process.pid}/task/{demo.process.pid}/children").read_text(encoding="utf-8"))
    for found in (status(demo.process.pid), status(worker)):
        assert found["Uid"].split() == [str(USER)] * 4
        assert found["Gid"].split() == ["0"] * 4
        assert int(found["CapEff"], 16) == int(found["CapBnd"], 16) == 0
        assert found["NoNewPrivs"] == "1"


def test_nothing_but_tmp_can_be_written(run: _Run) -> None:
    script = (
        "import os, sys\n"
        "for folder in ('/', '/opt/qos-webhook', '/var', '/run', '/dev', '/etc'):\n"
        "    try: open(os.path.join(folder, 'x'), 'w')\n"
        "    except OSError: pass\n"
        "    else: sys.exit(folder)\n"
        "open('/tmp/x', 'w')\n"
    )
    done = run(script)
    assert done.returncode == 0, done.stderr


def test_no_bytecode_is_missing(run: _Run) -> None:
    # What is compiled at each start because the root cannot be written to.
    script = (
        "import webhook.serving.app, webhook.serving.backend, webhook.serving.server\n"
        "import webhook.demo, cluster_io.live.client\n"
        "import kubernetes.client, kubernetes.config, os, sys\n"
        "from importlib.util import cache_from_source\n"
        "files = [getattr(module, '__file__', None) or '' for module in list(sys.modules.values())]\n"
        "files = [file for file in files if file.endswith('.py')]\n"
        "print(len(files), [file for file in files if not os.path.exists(cache_from_source(file))])\n"
    )
    done = run(script)
    count, _, missing = done.stdout.strip().partition(" ")
    assert int(count) > 200
    assert missing == "[]", done.stderr


# Its labels


def test_configuration(config: dict[str, Any]) -> None:
    settings = config["config"]
    user, _, group = settings["User"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert settings["Entrypoint"] == ["qos-webhook"]
    assert set(settings["ExposedPorts"]) == {"10250/tcp", "9090/tcp"}
    labels = settings["Labels"]
    assert labels["org.opencontainers.image.version"] == __version__
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert labels["org.opencontainers.image.revision"] == "test"
    # No lower layer has the removed files.
    assert len(config["rootfs"]["diff_ids"]) == 1


def test_chart_starts_the_entry_point(config: dict[str, Any]) -> None:
    text = (ROOT / "tests" / "charts" / "golden" / "default.yaml").read_text(encoding="utf-8")
    (deployment,) = (entry for entry in yaml.safe_load_all(text) if entry["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["command"] == config["config"]["Entrypoint"]
    ports = {f"{port['containerPort']}/tcp" for port in container["ports"]}
    assert ports == set(config["config"]["ExposedPorts"])


# Its content


def files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        yield from (Path(folder, name) for name in names)


def test_no_installer_and_no_compiler(root: Path) -> None:
    unwanted = {"pip", "pip3", "cc", "gcc", "g++", "clang", "ld", "make", "uv", "hatchling", "cyclonedx-py", "curl"}
    found = {file.relative_to(root) for file in files(root) if file.name in unwanted or file.name.startswith("pip-")}
    assert not found
    assert not list(root.glob("opt/qos-webhook/lib/python*/site-packages/pip*"))
    assert not list(root.glob("usr/**/ensurepip"))


def test_nothing_runs_as_its_owner(root: Path) -> None:
    raised = stat.S_ISUID | stat.S_ISGID
    modes = ((file, file.lstat().st_mode) for file in files(root))
    assert not [file for file, mode in modes if stat.S_ISREG(mode) and mode & raised]


def test_nothing_of_the_repository_but_the_program(root: Path) -> None:
    assert not [file for file in files(root) if file.name in {"Makefile", "Dockerfile", "CONTRIBUTING.md", ".git"}]
    (installed,) = root.glob("opt/qos-webhook/lib/python*/site-packages/webhook/main.py")
    assert installed.read_bytes() == (ROOT / "webhook" / "main.py").read_bytes()


def test_it_is_small(root: Path) -> None:
    done = subprocess.run(["du", "-smx", "--apparent-size", root], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[0]) < MAX_MEBIBYTES


# The list of what is in it


@pytest.fixture(scope="session")
def bill(root: Path) -> dict[str, Any]:
    """The Dockerfile checks its form; the build fails if it is invalid."""
    found: dict[str, Any] = json.loads((root / "opt" / "qos-webhook" / "sbom.cdx.json").read_text(encoding="utf-8"))
    assert found["bomFormat"] == "CycloneDX"
    return found


def listed(bill: dict[str, Any], kind: str) -> dict[str, str]:
    """Names and versions of the components with package URLs of this kind."""
    parts = (part for part in bill["components"] if part.get("purl", "").startswith(f"pkg:{kind}/"))
    return {part["name"]: part["version"] for part in parts}


def test_bill_of_materials_has_pythons_packages(bill: dict[str, Any], root: Path) -> None:
    component = bill["metadata"]["component"]
    assert (component["name"], component["version"], component["type"]) == ("kubectl-qos", __version__, "application")
    named = {canonicalize_name(name): version for name, version in listed(bill, "pypi").items()}
    installed = {
        canonicalize_name(name): version
        for folder in root.glob("opt/qos-webhook/lib/python*/site-packages/*.dist-info")
        for name, _, version in [folder.name.removesuffix(".dist-info").partition("-")]
    }
    assert installed.pop(canonicalize_name("kubectl-qos")) == __version__
    assert named == installed
    lock = (ROOT / "requirements" / "image.txt").read_text(encoding="utf-8")
    pinned = [Requirement(line.rstrip(" \\")) for line in lock.splitlines() if line[:1].isalnum()]
    of_this_python = {
        canonicalize_name(entry.name): str(entry.specifier).removeprefix("==")
        for entry in pinned
        if entry.marker is None or entry.marker.evaluate()
    }
    assert installed == of_this_python


def test_bill_of_materials_has_debians_packages(bill: dict[str, Any], root: Path) -> None:
    status = (root / "var" / "lib" / "dpkg" / "status").read_text(encoding="utf-8")
    entries = [dict(re.findall(r"^(\S+): (.*)$", entry, re.MULTILINE)) for entry in status.split("\n\n") if entry]
    installed = {entry["Package"]: entry["Version"] for entry in entries if entry["Status"].endswith(" installed")}
    assert len(installed) > 50
    assert listed(bill, "deb") == installed


def test_every_program_has_a_source(bill: dict[str, Any], root: Path) -> None:
    """Each machine program and library in the image is of a package that the bill of materials lists."""
    owned: set[Path] = set()
    for file in (root / "var" / "lib" / "dpkg" / "info").glob("*.list"):
        if file.name.removesuffix(".list").partition(":")[0] in listed(bill, "deb"):
            paths = file.read_text(encoding="utf-8").splitlines()
            # /lib leads to /usr/lib, by a link that leads nowhere else outside the image.
            owned |= {(root / path.lstrip("/")).parent.resolve() / Path(path).name for path in paths}
    for record in root.glob("opt/qos-webhook/lib/python*/site-packages/*.dist-info/RECORD"):
        lines = record.read_text(encoding="utf-8").splitlines()
        owned |= {(record.parents[1] / line.partition(",")[0]).resolve() for line in lines}
    programs = {file for file in files(root) if not file.is_symlink() and is_elf(file)}
    assert len(programs) > 100
    assert not programs - owned


def is_elf(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as content:
        return content.read(4) == b"\x7fELF"


def test_official_client_works_without_its_asynchronous_half(demo: Demo, run: _Run, root: Path) -> None:
    """The package asks for aiohttp, which only kubernetes.aio imports: the image has neither."""
    names = ("aiohttp", "yarl", "multidict", "frozenlist", "propcache", "aiosignal", "kubernetes/aio")
    assert not [name for name in names if list(root.glob(f"opt/qos-webhook/lib/python*/site-packages/{name}"))]
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [
            {
                "name": "c",
                "cluster": {"server": f"https://127.0.0.1:{demo.port}", "certificate-authority": "/mnt/ca.crt"},
            }
        ],
        "users": [{"name": "u", "user": {"token": "unknown"}}],
    }
    done = run(
        "from cluster_io.live.client import ClientTransport\n"
        "import json, pathlib\n"
        f"pathlib.Path('/tmp/kubeconfig').write_text(json.dumps({kubeconfig}))\n"
        "print(ClientTransport(kubeconfig='/tmp/kubeconfig', request_timeout=60).get('/healthz'))\n"
    )
    assert done.stdout == "(200, b'ok\\n')\n", done.stderr


def test_base_is_named_by_digest(builder: Builder, config: dict[str, Any], tmp_path: Path) -> None:
    assert re.search(r"@sha256:[0-9a-f]{64}$", config["config"]["Labels"]["org.opencontainers.image.base.name"])
    (tmp_path / "Dockerfile").write_text((ROOT / "Dockerfile").read_text(encoding="utf-8"), encoding="utf-8")
    line = ("build", "--pull-never", "--target", "dependencies", f"--build-arg=BASE={BASE}", tmp_path)
    with pytest.raises(RuntimeError, match=r"name it by digest: NAME@sha256:"):
        builder.buildah(*line)
    made = subprocess.run(["make", "image", "BASE=python:3.13"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 2
    assert made.stderr.startswith("BASE: name the base by digest: make image BASE=docker.io/library/python:3.13-slim-")
