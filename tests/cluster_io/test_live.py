"""The meaning of the API server's answers to a list."""

from __future__ import annotations

import pytest

from cluster_io.device_kinds import RESOURCE_CLAIMS
from cluster_io.errors import BadObject, NotFound, NotServed
from cluster_io.kinds import PODS
from cluster_io.live.live_source import LiveSource
from cluster_io.live.responses import Response
from tests.table import table


class _Transport:
    """Gives every request the same answer, and records the paths."""

    def __init__(self, status: int, body: bytes) -> None:
        self._answer = status, body
        self.paths: list[str] = []

    def get(self, path: str, accept: str = "application/json") -> Response:
        del accept
        self.paths.append(path)
        return self._answer

    def close(self) -> None:
        pass


def test_missing_list_is_not_served() -> None:
    transport = _Transport(404, b"404 page not found\n")
    with pytest.raises(NotServed) as caught:
        LiveSource(transport, namespace=None).list(RESOURCE_CLAIMS)
    assert str(caught.value) == "the API server does not serve resourceclaims of resource.k8s.io/v1"
    assert transport.paths == ["/apis/resource.k8s.io/v1/resourceclaims?limit=500"]


def test_missing_object_is_not_found() -> None:
    with pytest.raises(NotFound):
        LiveSource(_Transport(404, b""), namespace=None, suggest=False).get(PODS, "a", "shop")


def test_field_selectors_are_quoted() -> None:
    transport = _Transport(200, b'{"items": []}')
    LiveSource(transport, namespace=None).list(PODS, field_selector="status.phase!=Failed,spec.nodeName=n")
    assert transport.paths == ["/api/v1/pods?limit=500&fieldSelector=status.phase%21%3DFailed%2Cspec.nodeName%3Dn"]


@table(
    "item, problem",
    {
        "another shape": (b'"spec":{"priority":"7"}', "spec.priority: "),
        "no JSON": (b'"spec":{"x":"\x01"}', "too large to be decoded"),
        "dense": (b'"x":%b[[1],1]%b' % (b"[" * 1000 + b"[[1],1]," * 400_000, b"]" * 1000), "too large"),
    },
)
def test_object_of_a_list_that_cannot_be_decoded_is_named(item: bytes, problem: str) -> None:
    body = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%b]}'
    metadata = b'"metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"1","labels":{"a":"b"}}'
    with pytest.raises(BadObject) as caught:
        LiveSource(_Transport(200, body % (b"{%b,%b}" % (metadata, item))), namespace=None).list(PODS)
    assert str(caught.value).startswith(f"pod/web in namespace shop: {problem}")
