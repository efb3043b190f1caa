"""The API server rejects the same objects as the schema, in the same words: random objects with defects."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from podrules.api.features import minor_of
from podrules.api.schema.strict import decode
from podrules.api.schema.table import GoType, Schema, schema
from tests.controlplane.client import ApiError
from tests.controlplane.control_plane import ControlPlane

pytestmark = pytest.mark.controlplane

OBJECTS = 60
"""Of each kind."""
SEED = 24
MAX_DEPTH = 7
KINDS: Final = (
    ("v1", "Pod"),
    ("v1", "ReplicationController"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "PersistentVolume"),
    ("v1", "LimitRange"),
    ("v1", "ResourceQuota"),
    ("v1", "Service"),
    ("v1", "Node"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("policy/v1", "PodDisruptionBudget"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("resource.k8s.io/v1", "ResourceClaim"),
)
VALUES: Final = {
    "string": ("x", ""),
    "bytes": ("eA==",),
    "bool": (True, False),
    "int": (0, 1, 7),
    "float": (1.5,),
    "quantity": ("1", "100m", 2, "1Gi"),
    "intOrString": ("25%", 3),
    "time": ("2026-11-22T10:00:00Z",),
    "raw": ({"a": 1},),
}
WRONG: Final[tuple[Any, ...]] = (True, 5, 1.5, -3_000_000_000, "text", "5", [], ["x"], {}, {"x": "y"}, [{}], None)


class _Objects:
    """Random objects of the kinds of one version."""

    def __init__(self, known: Schema, chance: random.Random) -> None:
        self._known = known
        self._chance = chance

    def object(self, api_version: str, kind: str) -> dict[str, Any]:
        """An object with one to three defects, or none."""
        root = self._known.root(api_version, kind)
        assert root is not None
        made = {**self._struct(root, 0), "apiVersion": api_version, "kind": kind}
        for _ in range(self._chance.choice((0, 1, 1, 1, 2, 3))):
            self._damage(made)
        return {**made, "apiVersion": api_version, "kind": kind}

    def _struct(self, name: str, depth: int) -> dict[str, Any]:
        fields = self._known.fields(name)
        taken = [one for one in fields if depth == 0 or self._chance.random() < (0.7, 0.4, 0.2)[min(depth // 2, 2)]]
        return {one: self._value(self._known.type(fields[one].type), depth + 1) for one in taken}

    def _value(self, into: GoType, depth: int) -> Any:
        match into.shape:
            case "struct":
                return self._struct(into.struct, depth) if depth < MAX_DEPTH else {}
            case "list":
                item = self._known.type(into.item)
                return [self._value(item, depth) for _ in range(self._chance.randrange(3))] if depth < MAX_DEPTH else []
            case "map":
                return {"a.b/c": self._value(self._known.type(into.item), depth)}
        return self._chance.choice(VALUES[into.shape])

    def _damage(self, made: dict[str, Any]) -> None:
        """Retype a value, or rename a field."""
        places = list(_places(made))
        if not places:
            return
        whole, key = self._chance.choice(places)
        if isinstance(whole, list) or self._chance.random() < 0.6:
            whole[key] = copy.deepcopy(self._chance.choice(WRONG))
        else:
            renamed = self._chance.choice((f"{key}s", key.lower(), key.upper(), key[:-1], "other"))
            whole[renamed] = whole.pop(key)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if key not in {"apiVersion", "kind"}:
            yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _server_words(control_plane: ControlPlane, made: Mapping[str, Any]) -> str:
    """Why the API server's decoder rejects an object; empty: it accepts it."""
    api = control_plane.api
    path = api.path(made["apiVersion"], made["kind"], "default")
    sent = json.loads(json.dumps(made, sort_keys=True))
    try:
        api.request("POST", path, sent, query={"dryRun": "All", "fieldValidation": "Strict"})
    except ApiError as error:
        return str(error.message) if "cannot be handled as" in error.message else ""
    return ""


@pytest.mark.parametrize(("api_version", "kind"), KINDS)
def test_the_decoder_refuses_in_the_same_words(control_plane: ControlPlane, api_version: str, kind: str) -> None:
    minor = minor_of(control_plane.api.request("GET", "/version")["gitVersion"])
    assert minor is not None
    known = schema(minor)
    objects = _Objects(known, random.Random(f"{SEED} {kind}"))  # noqa: S311  # not for secrets
    refused = 0
    for _ in range(OBJECTS):
        made = objects.object(api_version, kind)
        decoding = decode(made, known)
        assert decoding is not None
        said = _server_words(control_plane, made)
        assert said.startswith(decoding.words), json.dumps(made)
        assert bool(said) == bool(decoding.words), (said, json.dumps(made))
        refused += bool(said)

    assert OBJECTS // 4 < refused < OBJECTS
