"""The field for a pod's group, in the protobuf of 1.36, and of 1.35 with a field that upstream has removed."""

from __future__ import annotations

from cluster_io.kinds import PODS
from cluster_io.wire.codec import Codec
from podrules.pod.platform import scheduling_group
from tests.cluster_io.protobuf import message
from tests.table import table


@table(
    "number, value, expected",
    {
        "1.36": (43, message((1, "gang")), ("spec.schedulingGroup", "gang")),
        "1.35": (42, message((1, "train"), (2, "workers")), ("spec.workloadRef", "train")),
    },
)
def test_S2_the_group_of_a_pod_is_read_from_protobuf(number: int, value: bytes, expected: tuple[str, str]) -> None:
    raw = message((1, message((1, "web"), (3, "shop"))), (2, message((number, value))))
    assert scheduling_group(Codec(PODS).decode(raw)) == expected
