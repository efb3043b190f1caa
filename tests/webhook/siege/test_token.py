"""The program's own token tries each verb on each resource that the API server serves, in several namespaces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from cluster_io.live.client import ClientTransport
from tests.charts.chart import EVENTS, only_in
from tests.charts.grants import GRANTED_TO_ALL, Grant, granted
from tests.charts.policies import installed
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from webhook.certificates.election import MERGE

pytestmark = pytest.mark.controlplane

NAME = "siege-token"
NAMESPACES = (f"{NAME}-system", "default", "kube-system", "kube-node-lease")
METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
OF_ONE = {"get", "update", "patch", "delete"}
VALUES = {
    **EVENTS,
    "clusterDefaultConstraints": {
        "annotations": True,
        "existingConfigMap": {"namespace": "kube-system", "name": "scheduler"},
    },
    "webhook": {"namespaceMatchExpressions": only_in("nowhere")},
}
"""All objects that grant permissions."""
PATHS = ("/metrics", "/logs/", "/debug/pprof/", "/configz", "/flagz", "/statusz", "/proxy/")
"""They are not resources, or not granted to everyone."""


class Attempt(NamedTuple):
    """A request; nothing is stored."""

    verb: str
    resource: str
    namespace: str
    name: str
    path: str

    def is_granted(self, table: set[Grant]) -> bool:
        """Whether a table of permissions contains it."""
        return any(
            self.resource == grant.resource
            and self.verb in grant.verbs
            and grant.where in {"", self.namespace}
            and (not grant.names or self.name in grant.names)
            for grant in table
        )


@pytest.mark.long("test_A_the_token_has_these_permissions_and_no_others")
def test_token_does_nothing_that_is_not_granted(control_plane: ControlPlane, helm: Path, tmp_path: Path) -> None:
    with installed(control_plane, helm, tmp_path, NAME, VALUES) as release:
        objects = yaml.safe_load_all(release.helm("get", "manifest", NAME))
        table = {*granted(list(objects)), *GRANTED_TO_ALL}
        account = release.deployment["spec"]["template"]["spec"]["serviceAccountName"]
        kubeconfig = control_plane.kubeconfig_for_service_account(account, release.namespace)
        transport = ClientTransport(kubeconfig=str(kubeconfig), request_timeout=60, connections=8)
        attempts = list(_attempts(control_plane, table))
        with ThreadPoolExecutor(8) as pool:
            passed = list(pool.map(lambda attempt: _passes(transport, attempt), attempts))
        for path in PATHS:
            assert transport.get(path)[0] == 403, path
        transport.close()
    wrong = [attempt for attempt, passes in zip(attempts, passed, strict=True) if passes != attempt.is_granted(table)]
    assert wrong == []
    print(f"{len(attempts)} requests, {sum(passed)} granted")
    # Each permission was tried.
    assert {grant for grant in table if not any(attempt.is_granted({grant}) for attempt in attempts)} == set()


def _attempts(control_plane: ControlPlane, table: set[Grant]) -> Iterator[Attempt]:
    for root, resource in _served(control_plane):
        base, _, subresource = resource["name"].partition("/")
        group = root.split("/")[2] if root.startswith("/apis") else ""
        name = f"{resource['name']}.{group}" if group else resource["name"]
        named = ("another", *sorted({own for grant in table if grant.resource == name for own in grant.names}))
        for namespace in NAMESPACES if resource["namespaced"] else ("",):
            collection = f"{root}/namespaces/{namespace}/{base}" if namespace else f"{root}/{base}"
            for verb in resource["verbs"]:
                if subresource or verb in OF_ONE:
                    for one in named:
                        path = "/".join(filter(None, (collection, one, subresource)))
                        yield Attempt(verb, name, namespace, one, path)
                else:
                    for one in ("", *named) if verb in {"list", "watch"} else ("",):
                        yield Attempt(verb, name, namespace, one, collection)


def _served(control_plane: ControlPlane) -> Iterator[tuple[str, Object]]:
    """Each resource, with the path of its group and version."""
    api = control_plane.api
    groups = api.request("GET", "/apis")["groups"]
    versions = [f"/apis/{version['groupVersion']}" for group in groups for version in group["versions"]]
    for root in ("/api/v1", *versions):
        for resource in api.request("GET", root)["resources"]:
            yield root, resource


def _passes(transport: ClientTransport, attempt: Attempt) -> bool:
    """Whether RBAC allows it; a later refusal does not count."""
    query = "?dryRun=All"
    if attempt.verb in {"list", "watch"}:
        query = "?watch=1&timeoutSeconds=1" if attempt.verb == "watch" else "?limit=1"
        query += f"&fieldSelector=metadata.name%3D{attempt.name}" if attempt.name else ""
    method, kind = METHODS[attempt.verb], MERGE if attempt.verb == "patch" else "application/json"
    status, body, _ = transport.send(method, attempt.path + query, b"" if method == "GET" else b"{}", kind)
    if status != 403:
        return True
    message = str(json.loads(body)["message"])
    return f'cannot {attempt.verb} resource "{attempt.resource.partition(".")[0]}"' not in message
