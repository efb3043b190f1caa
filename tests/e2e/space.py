"""A namespace of one test, with the cluster and the plugin: what most tests of a page need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import InProcess
from tests.e2e.scheduling import await_node, why_not
from tests.objects import raw_pod, unscheduled_pod
from tests.waiting import wait_for


class Space(NamedTuple):
    """Pods are called ``web`` unless a test names them."""

    plane: ControlPlane
    qos: InProcess
    make_node: Callable[..., Object]
    name: str

    def node(self, **how: Any) -> str:
        """The name of a new node."""
        name: str = self.make_node(**how)["metadata"]["name"]
        return name

    def known_node(self, **how: Any) -> str:
        """The name of a new node that kube-scheduler knows."""
        node = self.make_node(**how)
        await_node(self.plane, node, self.name)
        name: str = node["metadata"]["name"]
        return name

    def pod(self, name: str = "web", **spec: Any) -> Object:
        """Create a pod, which no scheduler handles unless it names one."""
        (stored,) = self.plane.apply([unscheduled_pod(self.name, name, **spec)])
        return stored

    def get(self, name: str = "web") -> Object:
        """A pod as it is stored now."""
        return self.plane.api.get("v1", "Pod", name, self.name)

    def report(self, status: Object, name: str = "web") -> None:
        """Set a pod's status as its kubelet does."""
        self.plane.set_pod_status(raw_pod(name, self.name), status)

    def text(self, target: str = "pod/web", *words: str | Path, **how: Any) -> str:
        """The words of an explanation."""
        return self.qos.text(target, "-n", self.name, *words, **how)

    def page(self, target: str = "pod/web", **how: Any) -> str:
        """The words of an explanation with all sections."""
        return self.text(target, "-o", "wide", **how)

    def explained(self, **spec: Any) -> str:
        """Create the pod ``web``, and explain it."""
        self.pod(**spec)
        return self.page()

    def json(self, target: str = "pod/web", *words: str | Path, **how: Any) -> Any:
        """An explanation as data."""
        return self.qos.json(target, "-n", self.name, *words, **how)

    def chosen(self, name: str = "web") -> str:
        """The node that kube-scheduler chooses for a pod."""
        node: str = wait_for(lambda: self.get(name)["spec"].get("nodeName"), f"kube-scheduler binds {name}")
        return node

    def refusal(self, name: str = "web") -> str:
        """The message of kube-scheduler, once it has tried a pod."""
        return wait_for(lambda: why_not(self.get(name)), f"kube-scheduler refuses {name}")
