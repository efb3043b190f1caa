"""A small client for the API server: one request per object, over connections that stay open."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.controlplane.processes import NOT_CONNECTED

Object = dict[str, Any]
"""An API object, or a part of one, as JSON holds it."""

_MERGE_PATCH = "application/merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_FIELD_MANAGER = "tests"
# As kubectl prints it.
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
# A request may wait for an admission webhook, which gets 30 s at most, on a machine that stands still meanwhile.
_TIMEOUT_SECONDS = 90
_STANDSTILL_SECONDS = 5
"""A request that takes longer meets a machine that stood still meanwhile: time-outs of 10 s are over then."""
_TIMED_OUT = (b"resource quota evaluation timed out", NOT_CONNECTED.encode(), b"etcdserver: request timed out")
"""After the first two nothing was stored, because admission comes before; after etcd's timeout it is unknown."""
# The API server closes a connection that was idle for 90 s; a request must not meet that moment.
_IDLE_SECONDS = 45


class ApiError(RuntimeError):
    """The API server refused a request."""

    def __init__(self, code: int, status: Mapping[str, Any]) -> None:
        super().__init__(f"{code} {status.get('reason', '')}: {status.get('message', '')}")
        self.code = code
        self.reason: str = status.get("reason", "")
        self.message: str = status.get("message", "")
        self.details: Mapping[str, Any] = status.get("details") or {}


@dataclass(frozen=True, slots=True)
class _Resource:
    """How the API server serves a kind."""

    plural: str
    namespaced: bool


class ApiClient:
    """Requests as one user, who proves it with a client certificate."""

    def __init__(self, port: int, *, authority: Path, certificate: Path, key: Path) -> None:
        """Prepares requests; nothing is sent yet.

        Args:
            port: The API server's port on loopback.
            authority: Certificate that must have signed the API server's.
            certificate: The user's certificate.
            key: The user's private key.
        """
        self._port = port
        self._tls = ssl.create_default_context(cafile=authority)
        self._tls.load_cert_chain(certificate, key)
        # A connection serves one request at a time, so each thread has its own.
        self._local = threading.local()
        self._resources: dict[tuple[str, str], _Resource] = {}

    def create(self, obj: Mapping[str, Any]) -> Object:
        """Creates an object and returns it as stored."""
        api_version, kind, namespace, name = _identity(obj)
        began = time.monotonic()
        try:
            return self.request("POST", self.path(api_version, kind, namespace), obj)
        except ApiError as error:
            if error.reason != "AlreadyExists" or time.monotonic() - began < _STANDSTILL_SECONDS:
                raise
            # Seen once, on a machine that stood still: probably our own first write, after its answer was lost.
            return self.get(api_version, kind, name, namespace)

    def apply(self, objects: Iterable[Mapping[str, Any]]) -> list[Object]:
        """Creates or updates objects in their order by server-side apply, and returns them as stored."""
        return [self._apply(obj) for obj in objects]

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        """Reads one object."""
        return self.request("GET", self.path(api_version, kind, namespace, name))

    def list_items(self, api_version: str, kind: str, namespace: str | None = None, **query: str) -> list[Object]:
        """Reads the objects of a kind, in all namespaces when none is given; ``query`` has selectors."""
        answer = self.request("GET", self.path(api_version, kind, namespace), query=query)
        # Items of a list carry no type of their own.
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer["items"]]

    def patch(self, obj: Mapping[str, Any], patch: Mapping[str, Any], *, subresource: str | None = None) -> Object:
        """Merges ``patch`` into an object that exists, or into one of its subresources."""
        path = self.path(*_identity(obj), subresource)
        return self.request("PATCH", path, patch, content_type=_MERGE_PATCH)

    def delete(self, obj: Mapping[str, Any], *, grace_period_seconds: int | None = None) -> None:
        """Deletes an object; one that is gone already is fine."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        try:
            self.request("DELETE", self.path(*_identity(obj)), options)
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise

    def evict(self, pod: Mapping[str, Any]) -> None:
        """Asks for the eviction of a pod."""
        _, _, namespace, name = _identity(pod)
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        self.request("POST", self.path("v1", "Pod", namespace, name, "eviction"), body)

    def path(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """The path of a kind's collection, or of an object or its subresource."""
        resource = self._resource(api_version, kind)
        parts = ["/apis" if "/" in api_version else "/api", api_version]
        if resource.namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, resource.plural, *filter(None, (name, subresource))])

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """Sends one request; a body of bytes as it is, else in JSON.

        Returns:
            The answer's JSON; ``{}`` when the answer is not JSON, or is nested more deeply than Python reads.

        Raises:
            ApiError: The API server refused.
            OSError: There was no answer.
        """
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {"Accept": accept, "Content-Type": content_type}
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
        began = time.monotonic()
        code, answer = self._exchange(method, target, sent, headers)
        if any(words in answer for words in _TIMED_OUT) and time.monotonic() - began > _STANDSTILL_SECONDS:
            code, answer = self._exchange(method, target, sent, headers)
        try:
            parsed = json.loads(answer)
        except (ValueError, RecursionError):
            parsed = {"message": answer.decode(errors="replace")} if code >= http.HTTPStatus.BAD_REQUEST else {}
        if code >= http.HTTPStatus.BAD_REQUEST:
            raise ApiError(code, parsed)
        return dict(parsed)

    @property
    def warnings(self) -> list[str]:
        """What the answer to this thread's last request warned of."""
        found = (_WARNING.fullmatch(header) for header in self._local.warnings)
        return [re.sub(r"\\(.)", r"\1", match[1]) for match in found if match]

    def close(self) -> None:
        """Closes this thread's connection; the next request opens another."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()

    def _exchange(
        self, method: str, target: str, body: str | bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        connection = self._connection()
        try:
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            self._local.warnings = response.headers.get_all("Warning", [])
            return response.status, response.read()
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            raise OSError(f"{method} {target}: {error}") from error

    def _connection(self) -> http.client.HTTPSConnection:
        """This thread's connection; http.client opens it when it is closed."""
        now = time.monotonic()
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPSConnection(
                "127.0.0.1", self._port, context=self._tls, timeout=_TIMEOUT_SECONDS
            )
        elif now - self._local.used > _IDLE_SECONDS:
            self._local.connection.close()
        self._local.used = now
        connection: http.client.HTTPSConnection = self._local.connection
        return connection

    def _apply(self, obj: Mapping[str, Any]) -> Object:
        query = {"fieldManager": _FIELD_MANAGER, "force": "true"}
        return self.request("PATCH", self.path(*_identity(obj)), obj, content_type=_APPLY_PATCH, query=query)

    def _resource(self, api_version: str, kind: str) -> _Resource:
        if (api_version, kind) not in self._resources:
            # Asked again for an unknown kind: a CustomResourceDefinition may have been added.
            self._resources = self._discover()
        try:
            return self._resources[api_version, kind]
        except KeyError:
            raise LookupError(f"the API server does not serve {kind} of {api_version}") from None

    def _discover(self) -> dict[tuple[str, str], _Resource]:
        resources = {}
        for root in ("/api", "/apis"):
            for group in self.request("GET", root, accept=_DISCOVERY)["items"]:
                prefix = f"{group['metadata']['name']}/" if group["metadata"].get("name") else ""
                for version in group["versions"]:
                    for served in version["resources"]:
                        resource = _Resource(served["resource"], served["scope"] == "Namespaced")
                        resources[prefix + version["version"], served["responseKind"]["kind"]] = resource
        return resources


def _identity(obj: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """apiVersion, kind, namespace ("default" when not given, as kubectl has it) and name."""
    metadata = obj["metadata"]
    return obj["apiVersion"], obj["kind"], metadata.get("namespace", "default"), metadata.get("name", "")
