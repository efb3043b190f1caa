"""The ReplicaSet that makes the pods of a Deployment's template."""

from __future__ import annotations

import copy
from typing import Any

from msgspec import to_builtins

from podrules.api.model.decode import from_object
from podrules.api.model.pod import PodTemplateSpec
from podrules.scheduling.placement.controllers import Revision
from podrules.scheduling.placement.revisions import WrittenWorkload, current_revision, same_template
from tests.table import table

Json = dict[str, Any]

WRITTEN: Json = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "serviceAccountName": "web",
        "hostNetwork": True,
        "initContainers": [{"name": "init", "image": "registry:5000/init@sha256:00"}],
        "containers": [
            {
                "name": "app",
                "image": "registry:5000/web",
                "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {}},
                "env": [
                    {"name": "LEVEL", "value": "info"},
                    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                ],
                "ports": [{"containerPort": 80}],
                "readinessProbe": {"httpGet": {"port": 80}},
            }
        ],
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}},
            {"name": "plain"},
            {"name": "settings", "configMap": {"name": "settings"}},
            {"name": "model", "image": {"reference": "models:v1"}},
        ],
    },
}


def as_stored() -> Json:
    """The template as the API server stores it in a ReplicaSet."""
    stored = copy.deepcopy(WRITTEN)
    stored["metadata"] = {"creationTimestamp": None, "labels": {"app": "web", "pod-template-hash": "5f6c"}}
    spec = stored["spec"]
    spec |= {
        "serviceAccount": "web",
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }
    for container in (*spec["containers"], *spec["initContainers"]):
        container |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
    app = spec["containers"][0]
    app["imagePullPolicy"] = "Always"
    spec["initContainers"][0] |= {"imagePullPolicy": "IfNotPresent", "resources": {}}
    app["resources"] = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    app["env"][1]["valueFrom"]["fieldRef"]["apiVersion"] = "v1"
    app["ports"][0] |= {"protocol": "TCP", "hostPort": 80}
    app["readinessProbe"] |= {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    app["readinessProbe"]["httpGet"] |= {"path": "/", "scheme": "HTTP"}
    spec["volumes"][0]["emptyDir"]["sizeLimit"] = "1Gi"
    spec["volumes"][1]["emptyDir"] = {}
    spec["volumes"][2]["configMap"]["defaultMode"] = 420
    spec["volumes"][3]["image"]["pullPolicy"] = "IfNotPresent"
    return stored


def changed(*path: str | int, to: Any) -> Json:
    """The stored template with another value at a path; None: without it."""
    stored = as_stored()
    at: Any = stored
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return stored


def test_api_server_defaults_keep_the_template() -> None:
    assert same_template(WRITTEN, as_stored())
    assert same_template(as_stored(), as_stored())


@table(
    "stored",
    {
        "another image": changed("spec", "containers", 0, "image", to="registry:5000/web:2"),
        "another variable": changed("spec", "containers", 0, "env", 0, "value", to="debug"),
        "another request": changed("spec", "containers", 0, "resources", "requests", "cpu", to="501m"),
        "not the default": changed("spec", "containers", 0, "imagePullPolicy", to="Never"),
        "a field that is no more": changed("spec", "containers", 0, "command", to=["sh"]),
        "a field that is new": changed("spec", "containers", 0, "readinessProbe", to=None),
        "it was a sidecar": changed("spec", "initContainers", 0, "restartPolicy", to="Always"),
        "a container that is new": changed("spec", "initContainers", to=[]),
        "no grace": changed("spec", "terminationGracePeriodSeconds", to=0),
        "another account": changed("spec", "serviceAccount", to="other"),
        "another label": changed("metadata", "labels", "tier", to="front"),
        "another annotation": changed("metadata", "annotations", to={"note": "x"}),
    },
)
def test_another_template(stored: Json) -> None:
    assert not same_template(WRITTEN, stored)


def test_restart_stays_when_the_manifest_is_applied() -> None:
    restarted = {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
    assert same_template(WRITTEN, changed("metadata", "annotations", to=restarted))


def captured(template: Json) -> Json:
    """The parts of a stored template that a snapshot keeps."""
    kept: Json = to_builtins(from_object(template, PodTemplateSpec), enc_hook=str)
    return kept


def test_snapshot_compares_captured_fields() -> None:
    assert same_template(WRITTEN, captured(as_stored()))
    assert same_template(WRITTEN, captured(changed("spec", "containers", 0, "env", 0, "value", to="debug")))
    assert not same_template(WRITTEN, captured(changed("spec", "containers", 0, "image", to="registry:5000/web:2")))
    assert not same_template(WRITTEN, captured(changed("spec", "terminationGracePeriodSeconds", to=5)))
    assert not same_template({"spec": {"containers": 7}}, captured(as_stored()))


def replica_set(
    name: str, created: str, template: Json, owner: str = "web", kind: str = "Deployment"
) -> WrittenWorkload:
    metadata = {
        "name": name,
        "labels": {"pod-template-hash": name.rpartition("-")[2]},
        "creationTimestamp": created,
        "ownerReferences": [{"kind": kind, "name": owner, "controller": True}],
    }
    return from_object({"metadata": metadata, "spec": {"template": template}}, WrittenWorkload)


def test_oldest_with_the_template_makes_the_pods() -> None:
    """FindNewReplicaSet: also after a rollback, and with two equal ones."""
    other = changed("spec", "hostNetwork", to=False)
    sets = [
        replica_set("web-new", "2026-01-03T00:00:00Z", as_stored()),
        replica_set("web-old", "2026-01-02T00:00:00Z", as_stored()),
        replica_set("web-first", "2026-01-01T00:00:00Z", other),
        replica_set("api-0", "2026-01-01T00:00:00Z", as_stored(), owner="api"),
        replica_set("web-odd", "2026-01-01T00:00:00Z", as_stored(), kind="Rollout"),
    ]
    assert current_revision("web", WRITTEN, sets) == Revision("web-old", "old")
    assert current_revision("web", changed("spec", "hostPID", to=True), sets) is None
    assert current_revision("web", None, sets) is None
