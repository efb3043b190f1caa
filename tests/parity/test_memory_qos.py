"""Recorded values of a pod's cgroup with MemoryQoS and TieredReservation, held against ours, for each version.

Left out are pods with overhead and resources of their own: upstream had added the overhead in place before it was
asked.
"""

from __future__ import annotations

import pytest

from podrules.features import Features
from tests.parity.answer import answer_cgroup
from tests.recorded import recorded


@pytest.mark.parametrize(("minor", "files"), [(34, {"min"}), (35, {"min"}), (36, {"low", "min"}), (37, {"low", "min"})])
def test_Q5_protected_memory_of_a_pod_is_upstreams(minor: int, files: set[str]) -> None:
    seen: set[str] = set()
    for case in recorded("cgroup", minor):
        spec, expected = case["input"]["pod"]["spec"], case["expected"]["podMemoryQoSTiered"]
        if spec.get("overhead") and spec.get("resources"):
            continue
        given = {**case["input"], "expected": case["expected"]}
        assert answer_cgroup(given, Features.of_minor(minor))["podMemoryQoSTiered"] == expected, case["id"]
        seen |= expected.get("unified", {}).keys()
    assert seen == {f"memory.{file}" for file in files}
