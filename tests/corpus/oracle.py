"""A real API server's verdict on an object that kubectl would create: a dry run with strict field validation.

Missing objects of a cluster are no reason to reject a manifest: the server runs without the admission plugins that
require namespaces and classes, and service accounts are made when an object names them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from tests.controlplane.client import ApiClient, ApiError
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_service_account

ARGUMENTS: Final = (
    # Kinds that are off by default are served, too: their fields are compared.
    "--runtime-config=api/all=true",
    "--disable-admission-plugins=NamespaceLifecycle,PodSecurity,Priority,RuntimeClass",
)
"""Of the API server."""
_NAMESPACE: Final = "default"
_REFUSALS: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_UNREAD: Final = re.compile(r'error parsing|unable to decode|is missing in|in version ""|cannot unmarshal')
"""Kubectl's messages about unreadable files."""
_TRIES: Final = 20
_PAUSE: Final = 0.2
"""Seconds."""


class Answer(Struct, frozen=True):
    """The API server's verdict."""

    taken: bool | None
    """None: it refused for a reason that is not in the manifest."""
    words: str = ""
    problems: frozenset[tuple[str, str]] = frozenset()
    """Field and problem of each value that it refuses."""


class Oracle:
    """One API server."""

    def __init__(self, api: ApiClient) -> None:
        """A server that runs.

        Args:
            api: Requests as its administrator.
        """
        self._api = api
        self._accounts: dict[tuple[str, str], bool] = {}

    def ask(self, content: Mapping[str, Any]) -> Answer:
        """Create an object without storing it."""
        meta = content.get("metadata")
        namespace = str(meta.get("namespace") or _NAMESPACE) if isinstance(meta, Mapping) else _NAMESPACE
        try:
            path = self._api.path(content["apiVersion"], content["kind"], quote(namespace, safe=""))
        except LookupError as error:
            return Answer(taken=False, words=str(error))
        tries = _TRIES if self._has_account(namespace, content) else 1
        # As kubectl sends it: a map of Go has its keys in order.
        sent = json.loads(json.dumps(content, sort_keys=True))
        answer = Answer(taken=None)
        for _ in range(tries):
            try:
                self._api.request("POST", path, sent, query={"dryRun": "All", "fieldValidation": "Strict"})
            except ApiError as error:
                answer = _answer(error)
                if not re.search(r'serviceaccount "[^"]+" not found', error.message):
                    return answer
                # Admission sees new objects a little later.
                time.sleep(_PAUSE)
            else:
                return Answer(taken=True)
        return answer

    def _has_account(self, namespace: str, content: Mapping[str, Any]) -> bool:
        """Whether the service account of a pod can be there; then it is made."""
        if content["kind"] != "Pod":
            return True
        spec = content.get("spec")
        spec = spec if isinstance(spec, Mapping) else {}
        account = namespace, str(spec.get("serviceAccountName") or spec.get("serviceAccount") or "default")
        if account not in self._accounts:
            try:
                self._api.apply([raw_service_account(*account)])
            except (ApiError, OSError):
                # Its name is none that an account can have.
                self._accounts[account] = False
            else:
                self._accounts[account] = True
        return self._accounts[account]


def _answer(error: ApiError) -> Answer:
    if error.reason == "AlreadyExists":
        return Answer(taken=True)
    causes = error.details.get("causes") or ()
    problems = frozenset((cause.get("field", ""), cause.get("message", "")) for cause in causes)
    return Answer(taken=False if error.code in _REFUSALS else None, words=error.message, problems=problems)


def read_by_kubectl(text: str, control_plane: ControlPlane) -> bool:
    """Whether kubectl reads every object of a text; it may not know their kinds."""
    flags = ("--dry-run=client", "--validate=false", "--output=name", "--filename=-")
    done = control_plane.kubectl("create", *flags, input=text, check=False)
    return not _UNREAD.search(done.stderr)
