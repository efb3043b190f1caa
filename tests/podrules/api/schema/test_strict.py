"""Messages of the decoder about single defects; `tests.e2e.test_strict_decoding` sends random ones to a server."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.api.schema.strict import decode
from podrules.api.schema.table import schema

Object = dict[str, Any]
UNKNOWN = 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field '
REFUSED = 'Pod in version "v1" cannot be handled as a Pod: '
QUANTITY = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
NO_STRUCT = "json: cannot unmarshal {} into Go struct field {} of type {}"


def _pod(spec: Object | None = None, **fields: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec or {}, **fields}


def _words(content: Object, minor: int = 37) -> str:
    found = decode(content, schema(minor))
    assert found is not None
    return found.words


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_pod({"priorityclassname": "x"}), UNKNOWN + '"spec.priorityclassname"'),
        (_pod({"containers": [{"name": "a"}, {"resource": {}}]}), UNKNOWN + '"spec.containers[1].resource"'),
        (_pod(x=1, b=2), UNKNOWN + '"b", unknown field "x"'),
        (_pod({"nodeSelector": {"a": 1}}), REFUSED + NO_STRUCT.format("number", "PodSpec.spec.nodeSelector", "string")),
        (_pod({"containers": {}}), REFUSED + NO_STRUCT.format("object", "PodSpec.spec.containers", "[]v1.Container")),
        (
            _pod({"restartPolicy": True}),
            REFUSED + NO_STRUCT.format("bool", "PodSpec.spec.restartPolicy", "v1.RestartPolicy"),
        ),
        (_pod({"priority": 1.5}), REFUSED + NO_STRUCT.format("number 1.5", "PodSpec.spec.priority", "int32")),
        (_pod({"priority": 2**31}), REFUSED + NO_STRUCT.format("number 2147483648", "PodSpec.spec.priority", "int32")),
        (_pod({"overhead": {"cpu": "100mm"}}), f"{REFUSED}unable to parse quantity's suffix"),
        (
            _pod({"volumes": [{"nfs": 3}]}),
            REFUSED + NO_STRUCT.format("number", "Volume.spec.volumes.VolumeSource.nfs", "v1.NFSVolumeSource"),
        ),
        # A type that decodes itself ends the decoding, at any place.
        (
            _pod({"containers": "x", "overhead": {"cpu": "x"}}),
            f"{REFUSED}quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        # Unknown fields are not named together with a misfit.
        (_pod({"priority": "5", "x": 1}), REFUSED + NO_STRUCT.format("string", "PodSpec.spec.priority", "int32")),
    ],
)
def test_defect_has_the_message_of_the_api_server(content: Object, words: str) -> None:
    assert _words(content) == words


@pytest.mark.parametrize(
    "spec",
    [
        {"priority": None, "containers": [None], "nodeSelector": None},
        {"priority": 3.0, "terminationGracePeriodSeconds": 2**62},
        {"overhead": {"cpu": 1, "memory": "1Gi", "x": 0.5}},
        {"containers": [{"ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": "web"}}}]},
        {"volumes": [{"name": "a", "nfs": {"server": "s"}}, {"name": "b", "emptyDir": {}}]},
    ],
)
def test_valid_objects_are_accepted(spec: Object) -> None:
    assert _words(_pod(spec)) == ""


@pytest.mark.parametrize(
    ("spec", "first", "last"),
    [({"workloadRef": {"name": "x"}}, 35, 35), ({"schedulingGroup": {"podGroupName": "x"}}, 36, 37)],
)
def test_version_has_its_own_fields(spec: Object, first: int, last: int) -> None:
    assert {minor for minor in range(34, 38) if not _words(_pod(spec), minor)} == {*range(first, last + 1)}


def test_embedded_structs_are_named_since_1_35() -> None:
    content = _pod({"volumes": [{"nfs": 3}]})
    assert "Volume.spec.volumes.nfs of type" in _words(content, 34)
    assert "Volume.spec.volumes.VolumeSource.nfs of type" in _words(content, 35)


def test_no_field_is_unknown_to_a_version_that_is_not_known() -> None:
    assert _words(_pod({"newer": 1}), 38) == ""
    assert "unknown field" in _words(_pod({"newer": 1}), 33)


def test_kinds_with_unknown_fields_are_not_judged() -> None:
    known = schema(37)
    for api_version, kind in (("v1", "Secret"), ("example.com/v1", "Pod"), ("policy/v1beta1", "PodDisruptionBudget")):
        assert decode({"apiVersion": api_version, "kind": kind, "x": 1}, known) is None


def test_non_text_names_are_written_as_in_kubectl() -> None:
    assert '"spec.5", unknown field "spec.true"' in _words(_pod({5: 1, True: 2}))  # type: ignore[dict-item]
