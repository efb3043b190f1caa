"""The memory of a local replica of the webhook, compared with the limit of its container."""

from __future__ import annotations

import re
from pathlib import Path

from tests.waiting import wait_for

MEMORY_LIMIT = 192 << 10
"""The memory that a replica may use under one attack, KiB; the chart's limit leaves room for two at once."""


def worker_of(arbiter: int) -> int:
    """The process id of an arbiter's worker, once there is one."""
    children = Path(f"/proc/{arbiter}/task/{arbiter}/children")
    return int(wait_for(lambda: children.read_text().split(), "a worker")[0])


def peak(worker: int) -> int:
    """The peak memory of a worker, KiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{worker}/status").read_text())
    assert found is not None
    print(f"peak {int(found.group(1)) >> 10} MiB")
    return int(found.group(1))
