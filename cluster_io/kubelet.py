"""Requests to a kubelet through the API server: ``/api/v1/nodes/NAME/proxy/PATH``.

The API server checks ``get`` on ``nodes/proxy`` for every path. The finer ``nodes/stats`` and ``nodes/configz`` apply
only to clients that connect to a kubelet's own port. nodes/proxy is a strong permission: it also allows the kubelet's
exec.

Source: pkg/registry/core/node/rest/proxy.go and pkg/kubelet/server/auth.go at v1.36.3; KEP-2862.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from cluster_io.errors import BadObject, KubeletUnavailable
from cluster_io.kinds import NODES
from podrules.api.model.base import Model
from podrules.api.model.decode import DecodeError, from_json, from_object
from podrules.api.model.kubelet import Configz, Summary

T_co = TypeVar("T_co", bound=Model, covariant=True)

MAX_BYTES: Final = 32 << 20
"""Limit of one answer; a node of 500 pods answers with 4 MiB."""


class KubeletEndpoint(Struct, Generic[T_co], frozen=True):
    """One endpoint of the kubelet, and the model of its answer."""

    path: str
    """``stats/summary``."""
    model: type[T_co]

    def proxy_path(self, node: str) -> str:
        """The endpoint's path on the API server.

        Raises:
            NotFound: no node has that name.
        """
        return f"{NODES.path(name=node)}/proxy/{self.path}"

    def from_json(self, node: str, body: bytes) -> T_co:
        """Decode an answer as the kubelet sent it.

        Raises:
            BadObject: it does not have the shape of the model.
            KubeletUnavailable: it is too large.
        """
        if len(body) > MAX_BYTES:
            raise KubeletUnavailable(f"the kubelet of {node} answers {self.path} with more than {MAX_BYTES >> 20} MiB")
        try:
            return from_json(body, self.model)
        except DecodeError as error:
            raise BadObject(f"{self.path} of {node}: {error}") from error

    def from_object(self, node: str, said: Any) -> T_co:
        """Decode a stored answer.

        Raises:
            BadObject: it does not have the shape of the model.
        """
        try:
            return from_object(said, self.model)
        except DecodeError as error:
            raise BadObject(f"{self.path} of {node}: {error}") from error


STATS_SUMMARY: Final = KubeletEndpoint("stats/summary", Summary)
CONFIGZ: Final = KubeletEndpoint("configz", Configz)
