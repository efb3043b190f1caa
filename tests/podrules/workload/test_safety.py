"""The guarantees of a pod's owner about copies of it."""

from __future__ import annotations

import pytest

from podrules.workload.safety import ForceSafety, Guarantee, OwnerGuarantee, force_safety, owner_guarantee
from tests.objects import make_pod, raw_owner
from tests.table import table

FIRST = "metadata.ownerReferences[0].kind"


@table(
    "kind, api_version, guarantee",
    {
        "StatefulSet: at most one": ("StatefulSet", "apps/v1", Guarantee.AT_MOST_ONE),
        "ReplicaSet of a Deployment: two copies may run": ("ReplicaSet", "apps/v1", Guarantee.AVAILABILITY_FIRST),
        "ReplicationController: two copies may run": ("ReplicationController", "v1", Guarantee.AVAILABILITY_FIRST),
        "DaemonSet: one per node": ("DaemonSet", "apps/v1", Guarantee.ONE_PER_NODE),
        "Job: may run more than once": ("Job", "batch/v1", Guarantee.RUNS_TO_COMPLETION),
        "custom controller: not known": ("CloneSet", "apps.kruise.io/v1alpha1", Guarantee.UNKNOWN),
        "StatefulSet of another API group: not known": ("StatefulSet", "apps.kruise.io/v1beta1", Guarantee.UNKNOWN),
        "Job of another API group: not known": ("Job", "batch.volcano.sh/v1alpha1", Guarantee.UNKNOWN),
        "Node without the mirror annotation": ("Node", "v1", Guarantee.UNKNOWN),
    },
)
def test_F3_guarantee_by_owner(kind: str, api_version: str, guarantee: Guarantee) -> None:
    pod = make_pod(metadata={"ownerReferences": [raw_owner(kind, "shop", apiVersion=api_version)]})
    assert owner_guarantee(pod) == OwnerGuarantee(guarantee, kind, "shop", FIRST)


def test_F3_bare_pod_is_not_replaced() -> None:
    assert owner_guarantee(make_pod()) == OwnerGuarantee(Guarantee.NOT_REPLACED, "", "", "metadata.ownerReferences")


def test_F3_owner_that_does_not_control_replaces_nothing() -> None:
    pod = make_pod(metadata={"ownerReferences": [raw_owner("StatefulSet", controller=False)]})
    assert owner_guarantee(pod).guarantee is Guarantee.NOT_REPLACED


def test_F3_controller_is_found_among_owners() -> None:
    pod = make_pod(
        metadata={
            "ownerReferences": [
                raw_owner("Widget", "other", apiVersion="example.com/v1", controller=False),
                raw_owner("StatefulSet"),
            ]
        }
    )
    assert owner_guarantee(pod) == OwnerGuarantee(
        Guarantee.AT_MOST_ONE, "StatefulSet", "owner", "metadata.ownerReferences[1].kind"
    )


@table(
    "annotation",
    {
        "mirror pod in the API": {"kubernetes.io/config.mirror": "hash"},
        "static pod as its kubelet knows it": {"kubernetes.io/config.source": "file"},
    },
)
def test_F3_static_pod_is_owned_by_the_kubelet(annotation: dict[str, str]) -> None:
    pod = make_pod(
        metadata={"annotations": annotation, "ownerReferences": [raw_owner("Node", "node-1", apiVersion="v1")]},
        nodeName="node-1",
    )
    assert owner_guarantee(pod) == OwnerGuarantee(Guarantee.KUBELET_OWNED, "Node", "node-1", "metadata.annotations")


@pytest.mark.parametrize("guarantee", Guarantee)
def test_F1_force_deletion_of_idle_pod_by_node_answer(guarantee: Guarantee) -> None:
    found = {
        answers: force_safety(guarantee, answers=answers, idle=True, unprotected=True)
        for answers in (True, False, None)
    }
    if guarantee is Guarantee.KUBELET_OWNED:
        assert set(found.values()) == {ForceSafety.STOPS_NOTHING}
    else:
        assert found == {True: ForceSafety.SAFE, False: ForceSafety.NOT_SAFE_YET, None: ForceSafety.UNKNOWN}


@pytest.mark.parametrize(
    ("guarantee", "unprotected", "safety"),
    [
        (Guarantee.AT_MOST_ONE, False, ForceSafety.NOT_SAFE),
        (Guarantee.UNKNOWN, False, ForceSafety.NOT_SAFE),
        (Guarantee.AVAILABILITY_FIRST, False, ForceSafety.NO_PROMISE_BROKEN),
        (Guarantee.AVAILABILITY_FIRST, True, ForceSafety.NOT_SAFE),
        (Guarantee.NOT_REPLACED, True, ForceSafety.NO_PROMISE_BROKEN),
    ],
)
def test_F3_owner_and_volumes_decide_on_answering_node(
    guarantee: Guarantee, unprotected: bool, safety: ForceSafety
) -> None:
    assert force_safety(guarantee, answers=True, idle=False, unprotected=unprotected) is safety
