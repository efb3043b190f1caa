"""``kubectl qos delete --confirm`` where a namespace requires a confirmation for force deletions, or forbids them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import Plugin, flat
from tests.objects import raw_object
from tests.webhook.forcing import ADMIN, CONFIRMATION, Cluster, make_pod, serving

pytestmark = pytest.mark.controlplane

JANE = ("--as=jane", "--as-group=system:masters")


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Namespace ``asking`` requires a confirmation, ``forbidding`` accepts none."""
    for name in ("asking", "forbidding"):
        control_plane.create_namespace(name)
    control_plane.create_node("node-of-confirmations", unschedulable=True)
    modes = {"namespaces": {"asking": "confirm", "forbidding": "deny"}, "exemptUsers": [ADMIN]}
    folder = tmp_path_factory.mktemp("helm")
    with serving(control_plane, helm, folder, namespace="qos-of-confirmations", force_deletion=modes) as running:
        yield running
    for kind, name in (("Namespace", "asking"), ("Namespace", "forbidding"), ("Node", "node-of-confirmations")):
        control_plane.api.delete(raw_object(kind, name))


@pytest.fixture
def delete(control_plane: ControlPlane, runtime: Path) -> Plugin:
    return Plugin(control_plane, runtime, command="delete")


def test_F2_confirms_if_requested(cluster: Cluster, delete: Plugin) -> None:
    pod = cluster.control_plane.api.create(make_pod("db", "asking", "node-of-confirmations"))
    dry = delete("pod/db", "-n", "asking", "--grace-period=0", "--confirm", "--dry-run=server", *JANE)
    assert dry.code == 0, dry
    found = cluster.pod(pod)
    assert found is not None
    assert CONFIRMATION not in found["metadata"].get("annotations", {})

    done = delete("pod/db", "-n", "asking", "--grace-period=0", "--confirm", *JANE)
    assert done.code == 0, done
    confirming = f"the namespace requires a confirmation: annotating pod/db {CONFIRMATION}={pod['metadata']['uid']}"
    assert confirming in done.out
    assert "Warning: db on node-of-confirmations: its processes may run on" in done.out
    assert cluster.pod(pod) is None


def test_F2_does_not_confirm_without_the_flag(cluster: Cluster, delete: Plugin) -> None:
    """Without --confirm nothing is annotated, and if no confirmation helps none is written."""
    asking = cluster.control_plane.api.create(make_pod("db", "asking", "node-of-confirmations"))
    forbidding = cluster.control_plane.api.create(make_pod("db", "forbidding", "node-of-confirmations"))
    assert delete("pod/db", "-n", "asking", "--grace-period=0", *JANE).code == 3
    looked = delete("pod/db", "-n", "forbidding", "--grace-period=0", *JANE)
    assert looked.code == 4, looked
    page = flat(looked.out)
    who = 'admission webhook "force-delete.kubectl-qos.io" refuses to delete pod/db'
    assert f"Not deleted, and --confirm does not help: {who}: db on node-of-confirmations" in page
    assert "namespace forbidding forbids force deletions; delete it with grace: kubectl delete pod db" in page
    assert "--grace-period=0 --confirm" not in page
    assert "Safer: a deletion with grace." in page
    refused = delete("pod/db", "-n", "forbidding", "--grace-period=0", "--confirm", *JANE)
    assert refused.code == 4, refused
    assert "namespace forbidding forbids force deletions" in refused.err
    assert refused.err.endswith("Nothing was changed.\n")
    for pod in (asking, forbidding):
        found = cluster.pod(pod)
        assert found is not None
        assert CONFIRMATION not in found["metadata"].get("annotations", {})
        cluster.control_plane.api.delete(pod, grace_period_seconds=0)
