"""The kubelet's way back from cgroup values and names.

Source: pkg/kubelet/cm at v1.36.3.
"""

from __future__ import annotations

from podrules.pod.cgroup import MAX_SHARES, MIN_SHARES, CgroupName


def cpu_weight_to_shares(weight: int) -> int:
    """The kubelet's way back, which loses up to a weight's step."""
    return (weight - 1) * (MAX_SHARES - MIN_SHARES) // 9999 + MIN_SHARES


def parse_systemd(path: str) -> CgroupName:
    """The parts of a slice's path (cm.ParseSystemdToCgroupName)."""
    leaf = path.rstrip("/").rpartition("/")[2].removesuffix(".slice")
    return CgroupName(tuple(part.replace("_", "-") for part in leaf.split("-")))
