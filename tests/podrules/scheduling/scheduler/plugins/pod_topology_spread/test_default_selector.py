"""The pods that count as this pod's siblings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from podrules.api.model.base import OwnerReference
from podrules.api.model.decode import from_object
from podrules.api.model.workload import ReplicationController, Service, Workload
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import default_selector
from tests.objects import make_pod, make_service, make_workload, raw_owner

NAMESPACE = "test"
POD = {"podLabelKey": "podLabelVal"}
OWN = {"ownLabelKey": "ownLabelVal"}
SERVICE = make_service(namespace=NAMESPACE, selector=POD)


class _Siblings:
    """The objects of the namespace: Services, and at most one controller of each kind, all named ``owner``."""

    def __init__(
        self,
        services: Sequence[Service] = (),
        *,
        controllers: Sequence[ReplicationController] = (),
        replica_sets: Sequence[Workload] = (),
        stateful_sets: Sequence[Workload] = (),
    ) -> None:
        self._services = services
        self._controllers = controllers
        self._replica_sets = replica_sets
        self._stateful_sets = stateful_sets

    def services(self, namespace: str) -> Iterable[Service]:
        return [entry for entry in self._services if entry.metadata.namespace == namespace]

    def replication_controller(self, namespace: str, name: str) -> ReplicationController | None:
        key = (namespace, name)
        return next((e for e in self._controllers if (e.metadata.namespace, e.metadata.name) == key), None)

    def replica_set(self, namespace: str, name: str) -> Workload | None:
        return self._workload(self._replica_sets, namespace, name)

    def stateful_set(self, namespace: str, name: str) -> Workload | None:
        return self._workload(self._stateful_sets, namespace, name)

    @staticmethod
    def _workload(among: Sequence[Workload], namespace: str, name: str) -> Workload | None:
        key = (namespace, name)
        return next((e for e in among if (e.metadata.namespace, e.metadata.name) == key), None)


WORKLOAD = make_workload("owner", namespace=NAMESPACE, selector={"matchLabels": OWN})
BOTH = "ownLabelKey=ownLabelVal,podLabelKey=podLabelVal"


@pytest.mark.parametrize(
    ("owners", "siblings", "expected"),
    [
        pytest.param([], _Siblings(), "", id="DefaultSelector for default case"),
        pytest.param(
            [], _Siblings([SERVICE]), "podLabelKey=podLabelVal", id="DefaultSelector for no OwnerReference pod case"
        ),
        pytest.param(
            [raw_owner("ReplicaSet")],
            _Siblings([SERVICE], replica_sets=[WORKLOAD]),
            BOTH,
            id="DefaultSelector for ReplicaSet OwnerReference pod case",
        ),
        pytest.param(
            [raw_owner("ReplicationController", apiVersion="v1")],
            _Siblings(
                [SERVICE],
                controllers=[
                    from_object(
                        {"metadata": {"name": "owner", "namespace": NAMESPACE}, "spec": {"selector": OWN}},
                        ReplicationController,
                    )
                ],
            ),
            BOTH,
            id="DefaultSelector for ReplicationController OwnerReference pod case",
        ),
        pytest.param(
            [raw_owner("StatefulSet")],
            _Siblings([SERVICE], stateful_sets=[WORKLOAD]),
            BOTH,
            id="DefaultSelector for StatefulSet OwnerReference pod case",
        ),
        pytest.param(
            [raw_owner("ReplicaSet")],
            _Siblings(replica_sets=[WORKLOAD]),
            "ownLabelKey=ownLabelVal",
            id="a controller without a Service",
        ),
        pytest.param(
            [raw_owner("ReplicaSet")],
            _Siblings([SERVICE], stateful_sets=[WORKLOAD]),
            "podLabelKey=podLabelVal",
            id="a controller that is gone",
        ),
        pytest.param(
            [raw_owner("ReplicaSet")],
            _Siblings(
                [SERVICE], replica_sets=[make_workload("owner", namespace="other", selector={"matchLabels": OWN})]
            ),
            "podLabelKey=podLabelVal",
            id="a namesake in another namespace",
        ),
        pytest.param(
            [raw_owner("ReplicaSet", controller=False)],
            _Siblings(replica_sets=[WORKLOAD]),
            "",
            id="an owner that does not control",
        ),
        pytest.param(
            [raw_owner("Job", apiVersion="batch/v1")], _Siblings(replica_sets=[WORKLOAD]), "", id="a Job's pod"
        ),
        pytest.param(
            [raw_owner("StatefulSet", apiVersion="apps.kruise.io/v1beta1")],
            _Siblings(stateful_sets=[WORKLOAD]),
            "",
            id="StatefulSet of another API group",
        ),
        pytest.param(
            [raw_owner("ReplicaSet")],
            _Siblings(
                [SERVICE],
                replica_sets=[
                    make_workload(
                        "owner",
                        namespace=NAMESPACE,
                        selector={"matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}]},
                    )
                ],
            ),
            "podLabelKey=podLabelVal,tier in (a,b)",
            id="matchExpressions of the controller",
        ),
        pytest.param(
            [raw_owner("ReplicaSet")],
            _Siblings(
                [SERVICE],
                replica_sets=[
                    make_workload(
                        "owner", namespace=NAMESPACE, selector={"matchExpressions": [{"key": "tier", "operator": "?"}]}
                    )
                ],
            ),
            "podLabelKey=podLabelVal",
            id="a controller with an invalid selector",
        ),
    ],
)
def test_default_selector(owners: Sequence[OwnerReference], siblings: _Siblings, expected: str) -> None:
    pod = make_pod(namespace=NAMESPACE, labels={**POD, **OWN}, metadata={"ownerReferences": owners})
    selector = default_selector(pod, siblings)
    assert str(selector) == expected
    assert selector.empty is (expected == "")


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        pytest.param([make_service(namespace=NAMESPACE, selector={"app": "test-0"})], "app=test-0", id="it matches"),
        pytest.param([make_service(namespace=NAMESPACE, selector={"app": "test-1"})], "", id="another value"),
        pytest.param([make_service(namespace=NAMESPACE, selector={"gone": "x"})], "", id="a label that is absent"),
        pytest.param([make_service(namespace=NAMESPACE, selector={})], "", id="empty selector"),
        pytest.param(
            [make_service(namespace=NAMESPACE, selector={"app": "test-0", "label": "label-1"})],
            "",
            id="one label of two",
        ),
        pytest.param([make_service(namespace=NAMESPACE, selector=None)], "", id="no selector"),
        pytest.param([make_service(namespace="other", selector={"app": "test-0"})], "", id="another namespace"),
        pytest.param(
            [
                make_service(namespace=NAMESPACE, selector={"app": "test-0"}),
                make_service(namespace=NAMESPACE, selector={"app": "test-1"}),
                make_service(namespace=NAMESPACE, selector={"label": "label-0"}),
            ],
            "app=test-0,label=label-0",
            id="all that match are merged",
        ),
    ],
)
def test_services_of_a_pod(services: Sequence[Service], expected: str) -> None:
    pod = make_pod(namespace=NAMESPACE, labels={"app": "test-0", "label": "label-0"})
    assert str(default_selector(pod, _Siblings(services))) == expected
