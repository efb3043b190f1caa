"""Processes with a chosen size and oom_score_adj, and the kernel's view of them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

PAGE = os.sysconf("SC_PAGE_SIZE")
# Raises its own adj, which needs no privilege; keeps memory that it has written to; then grows on request.
_PROGRAM = """\
import sys
with open("/proc/self/oom_score_adj", "w") as file:
    file.write(sys.argv[1])
held = [b"\\1" * (int(sys.argv[2]) << 20)]
print("ready", flush=True)
for line in sys.stdin:
    held.append(b"\\1" * (int(line) << 20))
    print("grown", flush=True)
"""


class Sized:
    """One process; it ends with its ``with`` block."""

    def __init__(self, adj: int, mebibytes: int, cgroup: Path | None = None) -> None:
        """Start it, in a cgroup if given, and wait until it has its size."""
        self.adj = adj
        self.name = f"adj {adj}, {mebibytes} MiB"
        # The shell enters the cgroup first, so that all of the process's memory is counted there.
        enter = "" if cgroup is None else f"echo $$ > {cgroup}/cgroup.procs && "
        command = [f'{enter}exec "$0" -c "$1" "$2" "$3"', sys.executable, _PROGRAM, str(adj), str(mebibytes)]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._said() == "ready\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    @property
    def oom_score(self) -> int:
        """The score that the kernel shows."""
        return int(Path(f"/proc/{self._process.pid}/oom_score").read_text())

    @property
    def used_pages(self) -> int:
        """Resident memory, swap and page tables, as the kernel counts them."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        sizes = {key: rest.split()[0] for key, _, rest in (line.partition(":") for line in lines) if rest.split()}
        return sum(int(sizes.get(key, 0)) * 1024 for key in ("VmRSS", "VmSwap", "VmPTE")) // PAGE

    @property
    def killed(self) -> bool:
        """Whether SIGKILL ended it."""
        return self._process.poll() == -signal.SIGKILL

    def grow(self, mebibytes: int) -> bool:
        """Write to more memory; False if that got it killed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{mebibytes}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return False
        return self._said() == "grown\n"

    def _said(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
        return line


def total_pages() -> int:
    """Memory and swap of this machine."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    sizes = {key: int(rest.split()[0]) for key, _, rest in (line.partition(":") for line in lines)}
    return (sizes["MemTotal"] + sizes["SwapTotal"]) * 1024 // PAGE


class MemoryCgroup:
    """A memory cgroup of this test, of version 1 or 2."""

    def __init__(self, path: Path, limit_file: str) -> None:
        self.path = path
        self._limit_file = limit_file

    @property
    def kills(self) -> int:
        """The number of processes that the kernel has killed in it; counted before they get the signal."""
        files = [self.path / name for name in ("memory.oom_control", "memory.events")]
        text = "\n".join(file.read_text() for file in files if file.exists())
        found = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
        assert found, text
        return int(found[1])

    def limit(self, size: int) -> None:
        """Set its limit in bytes, without swap."""
        (self.path / self._limit_file).write_text(str(size))
        swap = self.path / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")


@contextlib.contextmanager
def memory_cgroup(name: str) -> Iterator[MemoryCgroup | str]:
    """A new cgroup, removed afterwards; or the reason why this machine has none for the tests."""
    places = {Path("/sys/fs/cgroup/memory"): "memory.limit_in_bytes", Path("/sys/fs/cgroup"): "memory.max"}
    root, limit_file = next(
        ((place, file) for place, file in places.items() if (place / "cgroup.procs").exists()), (None, "")
    )
    if root is None:
        yield "there is no cgroup filesystem"
        return
    path = root / f"{name}-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        yield f"no cgroup can be made in {root}: {error.strerror}"
        return
    try:
        if os.access(path / limit_file, os.W_OK):
            yield MemoryCgroup(path, limit_file)
        else:
            yield f"{root} does not count memory"
    finally:
        path.rmdir()
