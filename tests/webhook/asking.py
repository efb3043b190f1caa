"""The rules of namespaces, templates and constraints on a real API server, as kubectl shows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.objects import raw_object, raw_pod
from tests.waiting import wait_for
from tests.webhook.balancer import Balancer
from tests.webhook.installation import Installation, Replica

WORKLOADS = {
    "Deployment": ("apps/v1", "deployments.apps"),
    "StatefulSet": ("apps/v1", "statefulsets.apps"),
    "DaemonSet": ("apps/v1", "daemonsets.apps"),
    "ReplicaSet": ("apps/v1", "replicasets.apps"),
    "ReplicationController": ("v1", "replicationcontrollers"),
    "Job": ("batch/v1", "jobs.batch"),
    "CronJob": ("batch/v1", "cronjobs.batch"),
}


class Asked:
    """The rules of one release, which apply to some namespaces."""

    def __init__(self, control_plane: ControlPlane, name: str) -> None:
        self.control_plane = control_plane
        self.name = name

    def namespace(
        self, suffix: str, *, labels: Mapping[str, str] | None = None, annotations: Object | None = None
    ) -> str:
        """Make a namespace that it reviews."""
        name = f"{self.name}-{suffix}"
        self.control_plane.create_namespace(name, {"asked": self.name, **(labels or {})})
        if annotations:
            self.control_plane.api.patch(raw_object("Namespace", name), {"metadata": {"annotations": annotations}})
        return name

    def tried(self, entry: Object) -> Object:
        """An object as it would be stored; it is not."""
        path = self.control_plane.api.path(entry["apiVersion"], entry["kind"], entry["metadata"].get("namespace"))
        return self.control_plane.api.request("POST", path, entry, query={"dryRun": "All"})

    def answers(self, pod: Object, is_filled_in: Callable[[Object], bool]) -> bool:
        """Whether the API server calls both webhooks: one fills in a field of a pod, the other warns of no grace."""
        made = self.tried({**pod, "spec": {**pod["spec"], "terminationGracePeriodSeconds": 0}})
        warned = any("terminationGracePeriodSeconds: 0" in text for text in self.control_plane.api.warnings)
        return warned and is_filled_in(made["spec"])

    def create(self, *objects: Object, check: bool = True) -> str:
        """The standard error of kubectl."""
        text = "\n---\n".join(json.dumps(entry) for entry in objects)
        return self.control_plane.kubectl("create", "-f", "-", input=text, check=check).stderr

    def apply(self, entry: Object, *, check: bool = True) -> str:
        """Like `create`, by ``kubectl replace``; repeated if a controller wrote between its read and its write."""
        while True:
            done = self.control_plane.kubectl("replace", "-f", "-", input=json.dumps(entry), check=False)
            if "(Conflict)" not in done.stderr:
                assert done.returncode == 0 or not check, done.stderr
                return done.stderr

    def stored(self, pod: Object) -> Object:
        """The spec of a pod as it was admitted."""
        meta = pod["metadata"]
        spec: Object = self.control_plane.api.get("v1", "Pod", meta["name"], meta["namespace"])["spec"]
        return spec

    def pods_of(self, namespace: str, app: str = "web") -> list[Object]:
        """The pods that a controller has created, once it has."""
        return wait_for(
            lambda: self.control_plane.api.list_items("v1", "Pod", namespace, labelSelector=f"app={app}"), "pods"
        )

    def limit(self, namespace: str, class_name: str, pods: int) -> None:
        """Make a ResourceQuota of pods of a class, named after it, and wait until it has counted."""
        scope = {"scopeName": "PriorityClass", "operator": "In", "values": [class_name]}
        selected: Object = {"hard": {"pods": str(pods)}, "scopeSelector": {"matchExpressions": [scope]}}
        self.control_plane.api.create(raw_object("ResourceQuota", class_name, namespace, spec={**selected}))
        wait_for(lambda: self.used(namespace, class_name) == "0", "the quota counts")

    def refuses_more(self, namespace: str, class_name: str) -> bool:
        """Whether a pod of a class would exceed its quota: admission learns of quotas by its own watch."""
        return f"exceeded quota: {class_name}" in self._refusal(
            make_pod(namespace, "probe", priorityClassName=class_name)
        )

    def raise_limit(self, namespace: str, class_name: str, pods: int) -> None:
        """Allow more pods of a class after `limit` has allowed none, and wait until that is in effect."""
        wait_for(lambda: self.refuses_more(namespace, class_name), "the quota holds")
        quota = raw_object("ResourceQuota", class_name, namespace)
        self.control_plane.api.patch(quota, {"spec": {"hard": {"pods": str(pods)}}})
        wait_for(lambda: not self.refuses_more(namespace, class_name), "the limit is raised")

    def _refusal(self, pod: Object) -> str:
        """Why a pod would be refused; empty if it would not."""
        try:
            self.tried(pod)
        except ApiError as error:
            return error.message
        return ""

    def used(self, namespace: str, class_name: str) -> str | None:
        """The number of pods that the quota of a class has counted; None: it has not counted yet."""
        quota = self.control_plane.api.get("v1", "ResourceQuota", class_name, namespace)
        used: str | None = quota.get("status", {}).get("used", {}).get("pods")
        return used


@contextmanager
def released(
    installation: Installation, values: Callable[[int], Object], is_called: Callable[[], bool]
) -> Iterator[tuple[Balancer, Replica]]:
    """The chart, installed with the values for a port, and one replica that is called there, until the block ends."""
    with Balancer() as balancer:
        installation.install(values(balancer.port))
        processes = []
        try:
            replica = installation.start_replica()
            processes.append(replica.process)
            balancer.add(replica.port)
            wait_for(is_called, "the webhook is called")
            yield balancer, replica
        finally:
            installation.uninstall()
            stop_all(processes, timeout=2)


def make_pod(namespace: str, name: str = "web", *, app: str = "web", **spec: Any) -> Object:
    """A pod labelled app=web."""
    return raw_pod(name, namespace, labels={"app": app}, **{"schedulerName": "default-scheduler", **spec})


def make_workload(kind: str, namespace: str, *, replicas: int = 0, **pod_spec: Any) -> Object:
    """A workload with pods labelled app=web; without replicas if its kind has them and none are given."""
    spec = raw_pod(**pod_spec)["spec"]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    inside: Object = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    match kind:
        case "ReplicationController":
            inside["selector"] = {"app": "web"}
        case "StatefulSet":
            inside["serviceName"] = "web"
        case "Job" | "CronJob":
            spec["restartPolicy"] = "Never"
            inside = {"template": template}
    if kind == "CronJob":
        inside = {"schedule": "0 3 * * *", "jobTemplate": {"spec": inside}}
    elif kind not in {"DaemonSet", "Job"}:
        inside["replicas"] = replicas
    metadata = {"name": "web", "namespace": namespace}
    return {"apiVersion": WORKLOADS[kind][0], "kind": kind, "metadata": metadata, "spec": inside}


def template_of(workload: Object) -> Object:
    """The template of its pods."""
    inside: Object = workload["spec"]
    template: Object = (inside["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else inside)["template"]
    return template


def path_of(kind: str) -> str:
    """The path of its pods' spec."""
    return "spec.jobTemplate.spec.template.spec" if kind == "CronJob" else "spec.template.spec"


def make_service(namespace: str, app: str = "web") -> Object:
    """A Service of the pods labelled app=web."""
    return raw_object("Service", app, namespace, spec={"selector": {"app": app}, "ports": [{"port": 80}]})


def with_labels(constraint: Object, labels: Mapping[str, str]) -> Object:
    """A constraint of the pods with these labels."""
    return {**constraint, "labelSelector": {"matchLabels": dict(labels)}}


def priority_of(spec: Object) -> tuple[str | None, int, str]:
    """Class, priority and preemptionPolicy of a pod's spec."""
    return spec.get("priorityClassName"), spec["priority"], spec["preemptionPolicy"]
