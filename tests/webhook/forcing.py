"""The chart on a real API server with a replica that answers, and users who force deletions there."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_object, raw_pod
from tests.waiting import wait_for
from tests.webhook.asking import released
from tests.webhook.balancer import Balancer
from tests.webhook.installation import ZONE, Installation, Replica, chart_values

ADMIN = "kubernetes-admin"
"""The user who cleans up after the tests: exempt, so that no mode blocks the cleanup."""
MODE = "kubectl-qos.io/force-delete"
CONFIRMATION = "kubectl-qos.io/confirm-force-delete"
PATHS = ("delete", "collection", "eviction", "drain", "node")
"""The paths to force the deletion of a pod."""
STRICTNESS = ("warn", "confirm", "deny")
"""The modes, each stricter than the one before."""
_KUBECTLS_OWN = "Immediate deletion does not wait"


def make_pod(name: str, namespace: str, node: str, **spec: Any) -> Object:
    """A bare pod, bound to a node unless that has no name."""
    return raw_pod(name, namespace, labels={"app": name}, **{"nodeName": node, **spec})


def strictest(configured: str, label: str) -> str:
    """The mode for a pod: webhook and policies agree. A label that is not a mode is ignored."""
    return max(configured, label if label in STRICTNESS else "warn", key=STRICTNESS.index)


def thinned(*axes: Sequence[Any], held_by: str) -> list[Any]:
    """All combinations; `make test` runs as many as the longest axis has values, with each value of each axis.

    Args:
        axes: The values of each parameter.
        held_by: The tests that check the same when the other combinations do not run.
    """
    diagonal = {tuple(axis[place % len(axis)] for axis in axes) for place in range(max(map(len, axes)))}
    return [
        pytest.param(*values, marks=() if values in diagonal else pytest.mark.long(held_by))
        for values in itertools.product(*axes)
    ]


class People:
    """The API server as users see it, through kubectl."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane

    def kubectl(
        self, *arguments: str, user: str = "jane", body: Mapping[str, Any] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as a user with all permissions; a refusal raises nothing."""
        text = None if body is None else json.dumps(body)
        return self.control_plane.kubectl(
            *arguments, f"--as={user}", "--as-group=system:masters", input=text, check=False
        )

    def force(
        self, path: str, pod: Mapping[str, Any], *, user: str = "jane", dry_run: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Force a pod's deletion by one of `PATHS`; some also delete all pods of its namespace or node."""
        name, namespace, node = pod["metadata"]["name"], pod["metadata"]["namespace"], pod["spec"].get("nodeName", "")
        pods = f"/api/v1/namespaces/{namespace}/pods"
        flags = ("--dry-run=server",) if dry_run else ()
        query = "&dryRun=All" if dry_run else ""
        body = None
        match path:
            case "delete":
                line = ["delete", "pod", name, "-n", namespace, "--grace-period=0", "--force", "--wait=false", *flags]
            case "collection":
                line = ["delete", "--raw", f"{pods}?gracePeriodSeconds=0{query}"]
            case "eviction":
                line = ["create", "--raw", f"{pods}/{name}/eviction?{query.lstrip('&')}", "-f", "-"]
                eviction = raw_object("Eviction", name, namespace, apiVersion="policy/v1")
                body = {**eviction, "deleteOptions": {"gracePeriodSeconds": 0}}
            case "drain":
                line = ["drain", node, "--grace-period=0", "--force", "--timeout=45s", *flags]
            case "node":
                line = ["delete", "node", node, "--wait=false", *flags]
            case _:
                raise AssertionError(path)
        return self.kubectl(*line, user=user, body=body)

    def run(self, message: str) -> None:
        """Run the confirming command in a message, as a shell would."""
        uid = r'("\$\(kubectl .*\)"|\S+)'
        found = re.search(rf"kubectl annotate .* {CONFIRMATION}={uid} --overwrite", message)
        assert found is not None, message
        command = re.sub(r'"\$\(kubectl (.*)\)"', lambda inner: self._read(inner[1]), found[0])
        program, *arguments = shlex.split(command)
        assert program == "kubectl"
        done = self.kubectl(*arguments)
        assert done.returncode == 0, done.stderr

    def _read(self, arguments: str) -> str:
        done = self.kubectl(*shlex.split(arguments))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pod(self, pod: Mapping[str, Any]) -> Object | None:
        """The stored pod; None if it does not exist."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        found = self.control_plane.api.list_items("v1", "Pod", namespace, fieldSelector=f"metadata.name={name}")
        return found[0] if found else None

    def has_node(self, name: str) -> bool:
        """Whether a Node of that name exists."""
        return bool(self.control_plane.api.list_items("v1", "Node", fieldSelector=f"metadata.name={name}"))

    def is_deleted(self, path: str, pod: Mapping[str, Any]) -> bool:
        """Whether a path has completed: a Node's pods are deleted later, by garbage collection."""
        return not self.has_node(pod["spec"]["nodeName"]) if path == "node" else self.pod(pod) is None

    def is_called(self) -> bool:
        """Whether the webhook warns about a pod."""
        probe = make_pod("probe", "default", "", terminationGracePeriodSeconds=0)
        return bool(warnings(self.kubectl("create", "--dry-run=server", "-f", "-", body=probe)))

    def is_untouched(self, pod: Mapping[str, Any]) -> bool:
        """Whether a pod still runs as before, on its node."""
        stored = self.pod(pod)
        return (
            stored is not None
            and "deletionTimestamp" not in stored["metadata"]
            and self.has_node(pod["spec"]["nodeName"])
        )


class Cluster(People):
    """With a replica of the webhook that answers."""

    def __init__(self, control_plane: ControlPlane, balancer: Balancer, replica: Replica) -> None:
        super().__init__(control_plane)
        self.replica = replica
        self._balancer = balancer

    @contextmanager
    def without_webhook(self) -> Iterator[None]:
        """The webhook is unreachable for the API server until the block ends."""
        with away(self._balancer, self.replica):
            yield
        wait_for(self.is_called, "the webhook is called again")


def warnings(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The webhook's warnings, without kubectl's own."""
    lines = [line.removeprefix("Warning: ") for line in done.stderr.splitlines() if line.startswith("Warning: ")]
    return [
        line for line in lines if not line.startswith(_KUBECTLS_OWN) and "deleting Pods that declare no" not in line
    ]


@contextmanager
def away(balancer: Balancer, replica: Replica) -> Iterator[None]:
    """The replica is unavailable until the block ends, as if it had ended."""
    balancer.remove(replica.port)
    balancer.cut()
    yield
    balancer.add(replica.port)


@contextmanager
def serving(
    control_plane: ControlPlane,
    helm: Path,
    folder: Path,
    *,
    namespace: str,
    force_deletion: Mapping[str, Any],
    **values: Any,
) -> Iterator[Cluster]:
    """The chart, installed with these values, and one replica that is called, until the block ends."""
    control_plane.create_namespace(namespace)
    installation = Installation(control_plane, helm, folder, namespace=namespace)
    people = People(control_plane)
    with released(
        installation,
        lambda port: chart_values(port, ZONE, forceDeletion=dict(force_deletion), **values),
        people.is_called,
    ) as (balancer, replica):
        yield Cluster(control_plane, balancer, replica)


def undrained(node: str) -> str:
    """The message of a policy about a Node that was not drained."""
    consequence = "without the Node, pod garbage collection force deletes the pods that still run there"
    return f"{node} is not cordoned, so it was not drained: {consequence}"
