"""The ReplicaSet that creates a Deployment's next pods: the oldest with the Deployment's template, hash aside.

A template in a manifest lacks what the API server fills in; it is the stored one if each field that it has is the same
there, and each field that it lacks is there as the API server fills it in. `kubectl rollout restart` leaves an
annotation that no manifest has, and that stays when the manifest is applied. A snapshot keeps of a template what rules
read: there, this much is compared.

Source, at v1.36.3: pkg/controller/deployment/util/deployment_util.go (FindNewReplicaSet, EqualIgnoreHash),
pkg/apis/core/v1/defaults.go (for pod templates: what only SetDefaults_Pod fills in is not in them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import to_builtins

from podrules.api.controllers import HASH_LABEL
from podrules.api.model.base import KubeObject
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.pod import PodTemplateSpec
from podrules.api.model.quantity import Quantity, QuantityError
from podrules.scheduling.placement.controllers import Revision

_RESTARTED: Final = "kubectl.kubernetes.io/restartedAt"
_FILLED_IN: Final[Mapping[str, Any]] = {
    "apiVersion": "v1",
    "defaultMode": 420,
    "dnsPolicy": "ClusterFirst",
    "emptyDir": {},
    "expirationSeconds": 3600,
    "failureThreshold": 3,
    "iscsiInterface": "default",
    "path": "/",
    "periodSeconds": 10,
    "protocol": "TCP",
    "scheme": "HTTP",
    "schedulerName": "default-scheduler",
    "successThreshold": 1,
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "timeoutSeconds": 1,
    "volumeMode": "Filesystem",
}
"""By the field's name, which says the same in each place of a template; see also `_is_default`."""


class WrittenWorkload(KubeObject, frozen=True):
    """A workload with its template as stored, including fields that no rule reads."""

    spec: dict[str, Any] = {}


def current_revision(name: str, template: Any, replica_sets: Iterable[WrittenWorkload]) -> Revision | None:
    """The revision that makes a Deployment's next pods; None: there is none yet.

    `template` is ``spec.template`` of its manifest, or of the stored Deployment; the ReplicaSets are of its namespace.
    """
    oldest = sorted(replica_sets, key=lambda entry: (entry.metadata.creation_timestamp or "", entry.metadata.name))
    for entry in oldest:
        owner = entry.metadata.controller
        if owner is None or (owner.kind, owner.name) != ("Deployment", name):
            continue
        found = entry.metadata.labels.get(HASH_LABEL)
        if found and same_template(template, entry.spec.get("template")):
            return Revision(entry.metadata.name, found)
    return None


def same_template(written: Any, stored: Any) -> bool:
    """Whether a template, as its author wrote it or as it is stored, is a stored one, but for the hash."""
    if not isinstance(written, Mapping) or not isinstance(stored, Mapping):
        return False
    containers = (stored.get("spec") or {}).get("containers") or ()
    # The API server gives each container this field.
    if all("terminationMessagePath" in container for container in containers):
        return _same(_comparable(written), _comparable(stored), ())
    try:
        return _same(_comparable(_as_read(written)), _comparable(_as_read(stored)), ())
    except DecodeError:
        return False


def _as_read(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """What rules read of a template."""
    read: Mapping[str, Any] = to_builtins(from_object(template, PodTemplateSpec), enc_hook=str)
    kept: Mapping[str, Any] = _pruned({"metadata": {"labels": read["metadata"]["labels"]}, "spec": read["spec"]})
    return kept


def _pruned(value: Any) -> Any:
    """Without fields that say nothing."""
    if isinstance(value, Mapping):
        return {key: _pruned(entry) for key, entry in value.items() if entry is not None and entry != ""}
    return [_pruned(entry) for entry in value] if isinstance(value, list | tuple) else value


def _comparable(template: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != _RESTARTED}
    # A template's own name and namespace go no further than the API server's defaults.
    kept = {key: value for key, value in metadata.items() if key in ("finalizers", "name", "namespace")}
    return {**template, "metadata": {**kept, "labels": labels, "annotations": annotations}}


def _same(written: Any, stored: Any, path: tuple[str, ...]) -> bool:
    if isinstance(written, Mapping) and isinstance(stored, Mapping):
        for key in written.keys() | stored.keys():
            own, other, below = written.get(key), stored.get(key), (*path, key)
            if own is None or own == "" or (own == 0 and key == "hostPort"):
                same = _is_default(below, other, written)
            else:
                same = _is_empty(own) if other is None else _same(own, other, below)
            if not same:
                return False
        return True
    if isinstance(written, list) and isinstance(stored, list):
        pairs = zip(written, stored, strict=False)
        return len(written) == len(stored) and all(_same(one, other, path) for one, other in pairs)
    if written == stored:
        return True
    if path[-1:] != ("sizeLimit",) and path[-2:-1] not in (("limits",), ("requests",)):
        return False
    try:
        return Quantity.from_json(written) == Quantity.from_json(stored)
    except QuantityError:
        return False


def _is_default(path: tuple[str, ...], value: Any, beside: Mapping[str, Any]) -> bool:
    """Whether the API server has this value where nothing is said; None: it has none."""
    name = path[-1]
    if name in _FILLED_IN:
        return value is None or bool(value == _FILLED_IN[name])
    if _is_empty(value):
        return True
    match name:
        case "restartPolicy":
            # Without one an init container is no sidecar.
            return value == "Always" and len(path) == 2
        case "imagePullPolicy":
            return bool(value == _pull_policy(str(beside.get("image", ""))))
        case "pullPolicy":
            return bool(value == _pull_policy(str(beside.get("reference", ""))))
        case "serviceAccount":
            return bool(value == beside.get("serviceAccountName"))
        case "serviceAccountName":
            return bool(value == beside.get("serviceAccount"))
        case "hostPort":
            return bool(value == beside.get("containerPort"))
        case _:
            return False


def _is_empty(value: Any) -> bool:
    """What Go leaves out."""
    return value is None or value is False or value in ("", 0) or (isinstance(value, dict | list) and not value)


def _pull_policy(image: str) -> str:
    """Always for an image without a tag, or of tag latest (SetDefaults_Container)."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or (not tag and not digest) else "IfNotPresent"
