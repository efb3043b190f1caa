"""The program writes caBundle, its certificate and its Lease, and nothing else: tested with its own token."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from cluster_io.live.client import ClientTransport
from tests.charts.chart import CHART, Chart, of_kind
from tests.charts.policies import installed
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.webhook.installation import Installation
from webhook.certificates.election import MERGE, STRATEGIC

NAME = "own-configurations"
WEBHOOKS = {
    "mutatingwebhookconfigurations": "pods.mutate.kubectl-qos.io",
    "validatingwebhookconfigurations": "force-delete.kubectl-qos.io",
}
"""The configurations, and a webhook of each."""
URL = "https://127.0.0.1:1"
OWNER = {"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}
MORE = {
    "name": "another.example.com",
    "clientConfig": {"url": URL},
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
}


def webhook_patch(**changes: object) -> str:
    """A strategic merge patch of a webhook."""
    return json.dumps({"webhooks": [{"name": "FIRST", **changes}]})


ATTEMPTS = {
    "url": webhook_patch(clientConfig={"url": URL, "service": None}),
    "service": webhook_patch(clientConfig={"service": {"name": "another", "namespace": "tenant"}}),
    "rules": webhook_patch(rules=[]),
    "failurePolicy": webhook_patch(failurePolicy="Fail"),
    "timeoutSeconds": webhook_patch(timeoutSeconds=30),
    "matchPolicy": webhook_patch(matchPolicy="Exact"),
    "matchConditions": webhook_patch(matchConditions=[{"name": "never", "expression": "false"}]),
    "namespaceSelector": webhook_patch(namespaceSelector={"matchLabels": {"no-object": "has-this"}}),
    "objectSelector": webhook_patch(objectSelector={"matchLabels": {"no-object": "has-this"}}),
    "one webhook less": webhook_patch(**{"$patch": "delete"}),
    "one webhook more": json.dumps({"webhooks": [MORE]}),
    "labels": json.dumps({"metadata": {"labels": {"app.kubernetes.io/instance": "another"}}}),
    "annotations": json.dumps({"metadata": {"annotations": {"cert-manager.io/inject-ca-from": "tenant/cert"}}}),
    "ownerReferences": json.dumps({"metadata": {"ownerReferences": [OWNER]}}),
    "finalizers": json.dumps({"metadata": {"finalizers": ["example.com/never"]}}),
}


OTHERS = {
    "Secrets of all namespaces": ("GET", "/api/v1/secrets"),
    "another Secret of the release's namespace": ("GET", f"/api/v1/namespaces/{NAME}-system/secrets/another"),
    "a new Secret": ("POST", f"/api/v1/namespaces/{NAME}-system/secrets?dryRun=All"),
    "a new Lease": ("POST", f"/apis/coordination.k8s.io/v1/namespaces/{NAME}-system/leases?dryRun=All"),
    "Secrets of kube-system": ("GET", "/api/v1/namespaces/kube-system/secrets"),
    "ConfigMaps": ("GET", "/api/v1/namespaces/kube-system/configmaps"),
    "logs": ("GET", "/api/v1/namespaces/default/pods/web/log"),
    "a pod": ("POST", "/api/v1/namespaces/default/pods?dryRun=All"),
    "a pod's deletion": ("DELETE", "/api/v1/namespaces/default/pods/web?dryRun=All"),
    "an eviction": ("POST", "/api/v1/namespaces/default/pods/web/eviction?dryRun=All"),
    "a Node": ("PATCH", "/api/v1/nodes/node-1?dryRun=All"),
    "a Namespace": ("PATCH", "/api/v1/namespaces/default?dryRun=All"),
    "a Deployment": ("PATCH", f"/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}-qos-webhook?dryRun=All"),
    "another Lease": ("PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/another?dryRun=All"),
    "a token": ("POST", "/api/v1/namespaces/kube-system/serviceaccounts/default/token"),
    "a role": ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?dryRun=All"),
    "another configuration": (
        "POST",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All",
    ),
    "an Event": ("POST", "/apis/events.k8s.io/v1/namespaces/default/events?dryRun=All"),
}
"""Patches that an attacker with a stolen token might want."""


class Program(NamedTuple):
    """The release's ServiceAccount."""

    control_plane: ControlPlane
    transport: ClientTransport
    installation: Installation
    configuration: str

    def patch(self, kind: str, patch: str) -> str:
        """Why a patch of the configuration is refused; empty: it is not. Nothing is stored."""
        status, body, _ = self.transport.send("PATCH", self.path(kind), text_for(kind, patch).encode(), STRATEGIC)
        return "" if status == 200 else str(json.loads(body)["message"])

    @property
    def bundle(self) -> str:
        """A value that the API server accepts."""
        return base64.b64encode((self.control_plane.folder / "ca.crt").read_bytes()).decode()

    def path(self, kind: str) -> str:
        """The path of a configuration, with a dry run."""
        return f"/apis/admissionregistration.k8s.io/v1/{kind}/{self.configuration}?dryRun=All"


def text_for(kind: str, patch: str) -> str:
    """The patch for a webhook that exists in the configuration."""
    return patch.replace("FIRST", WEBHOOKS[kind])


@pytest.fixture(scope="module")
def program(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The chart with its default values, but without any reviewed namespace."""
    values = {"webhook": {"namespaceMatchExpressions": [{"key": "asked", "operator": "In", "values": [NAME]}]}}
    with installed(control_plane, helm, tmp_path_factory.mktemp("helm"), NAME, values) as release:
        account = release.deployment["spec"]["template"]["spec"]["serviceAccountName"]
        kubeconfig = control_plane.kubeconfig_for_service_account(account, release.namespace)
        transport = ClientTransport(kubeconfig=str(kubeconfig), request_timeout=60)
        yield Program(control_plane, transport, release, f"{NAME}-qos-webhook.{release.namespace}")
        transport.close()


@pytest.mark.controlplane
@pytest.mark.parametrize("kind", WEBHOOKS)
def test_A_the_programs_token_changes_ca_bundle(program: Program, kind: str) -> None:
    assert program.patch(kind, webhook_patch(clientConfig={"caBundle": program.bundle})) == ""


@pytest.mark.controlplane
@pytest.mark.parametrize("kind", WEBHOOKS)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_A_the_programs_token_changes_nothing_else(program: Program, attempt: str, kind: str) -> None:
    refusal = program.patch(kind, ATTEMPTS[attempt])
    assert f"ValidatingAdmissionPolicy '{program.configuration}.own-objects'" in refusal
    assert "this ServiceAccount may change only caBundle" in refusal
    api = program.control_plane.api
    # The request of this ServiceAccount is refused, not the content of the patch.
    assert api.request(
        "PATCH", program.path(kind), json.loads(text_for(kind, ATTEMPTS[attempt])), content_type=STRATEGIC
    )


@pytest.mark.controlplane
@pytest.mark.parametrize("attempt", OTHERS)
def test_A_the_programs_token_reads_and_writes_nothing_of_others(program: Program, attempt: str) -> None:
    method, path = OTHERS[attempt]
    status, body, _ = program.transport.send(
        method, path, b"{}", STRATEGIC if method == "PATCH" else "application/json"
    )
    assert (status, json.loads(body)["reason"]) == (403, "Forbidden")
    assert 'User "system:serviceaccount:' in json.loads(body)["message"]


JSON_PATCH = "application/json-patch+json"
THIEF: Object = {
    "manager": "thief",
    "operation": "Apply",
    "apiVersion": "admissionregistration.k8s.io/v1",
    "time": "2026-11-28T14:00:00Z",
    "fieldsType": "FieldsV1",
}


def owned(kind: str, **fields: Object) -> Object:
    """An entry of managedFields that has these fields of the first webhook."""
    return {**THIEF, "fieldsV1": {"f:webhooks": {f'k:{{"name":"{WEBHOOKS[kind]}"}}': {".": {}, **fields}}}}


@pytest.mark.controlplane
@pytest.mark.parametrize("kind", WEBHOOKS)
@pytest.mark.parametrize(
    "attempt", ["all gone", "helm's gone", "one more", "one more beside caBundle", "more of helm's"]
)
def test_A_the_programs_token_changes_no_owner_of_other_fields(program: Program, attempt: str, kind: str) -> None:
    """Helm's next upgrade would fail with a conflict, or would keep the objects of removed values."""
    api = program.control_plane.api
    managers = api.request("GET", program.path(kind))["metadata"]["managedFields"]
    (helm,) = [entry for entry in managers if entry["manager"] == "helm"]
    attempts: dict[str, list[Object]] = {
        "all gone": [{}],
        "helm's gone": [owned(kind, **{"f:clientConfig": {"f:caBundle": {}}})],
        "one more": [*managers, owned(kind, **{"f:timeoutSeconds": {}})],
        "one more beside caBundle": [
            *managers,
            {**owned(kind, **{"f:clientConfig": {"f:caBundle": {}, "f:url": {}}}), "manager": "kubectl-qos"},
        ],
        "more of helm's": [{**helm, "fieldsV1": {**helm["fieldsV1"], "f:metadata": {"f:finalizers": {}}}}],
    }
    change = {"op": "replace", "path": "/metadata/managedFields", "value": attempts[attempt]}
    patch = json.dumps([change]).encode()
    status, body, _ = program.transport.send("PATCH", program.path(kind), patch, JSON_PATCH)
    assert "not who manages other fields" in json.loads(body)["message"]
    assert status == 403
    api.request("PATCH", program.path(kind), json.loads(patch), content_type=JSON_PATCH)


@pytest.mark.controlplane
@pytest.mark.parametrize("kind", WEBHOOKS)
def test_A_the_programs_token_adds_no_managers(program: Program, kind: str) -> None:
    """The API server merges the oldest if there are more than ten."""
    patch = text_for(kind, webhook_patch(clientConfig={"caBundle": program.bundle})).encode()
    path = f"{program.path(kind)}&fieldManager=thief"
    status, body, _ = program.transport.send("PATCH", path, patch, STRATEGIC)
    assert (status, "not who manages other fields" in json.loads(body)["message"]) == (403, True)


META_ATTEMPTS: dict[str, Object] = {
    "labels": {"labels": {"owner": "helm"}},
    "annotations": {"annotations": {"example.com/owner": "another"}},
    "ownerReferences": {"ownerReferences": [OWNER]},
    "finalizers": {"finalizers": ["example.com/never"]},
}
OWN_OBJECTS = {"secrets": "/api/v1", "leases": "/apis/coordination.k8s.io/v1"}
"""The objects that the program may patch in addition to its configurations."""
OWN_ATTEMPTS: list[tuple[str, str, Object]] = [
    *((kind, name, {"metadata": changes}) for kind in OWN_OBJECTS for name, changes in META_ATTEMPTS.items()),
    ("secrets", "a key that is not the certificate's", {"data": {"release": "AAAA"}}),
    ("secrets", "immutable", {"immutable": True}),
]


def patch_own(program: Program, kind: str, patch: Object, query: str = "?dryRun=All") -> tuple[int, str]:
    """Patch the program's Secret or Lease with its token; return status and message."""
    namespace = program.installation.namespace
    path = f"{OWN_OBJECTS[kind]}/namespaces/{namespace}/{kind}/{NAME}-qos-webhook-tls{query}"
    status, body, _ = program.transport.send("PATCH", path, json.dumps(patch).encode(), MERGE)
    return status, str(json.loads(body).get("message", ""))


@pytest.mark.controlplane
@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("secrets", {"data": {"tls.crt": "AAAA", "next.crt": None}}),
        ("leases", {"spec": {"holderIdentity": "another", "leaseTransitions": 1}}),
    ],
    ids=OWN_OBJECTS,
)
def test_A_the_programs_token_writes_its_certificate_and_lease(program: Program, kind: str, patch: Object) -> None:
    assert patch_own(program, kind, patch) == (200, "")


@pytest.mark.controlplane
@pytest.mark.parametrize(
    ("kind", "patch"),
    [pytest.param(kind, patch, id=f"{kind}, {name}") for kind, name, patch in OWN_ATTEMPTS],
)
def test_A_token_changes_only_data_of_its_secret_and_lease(program: Program, kind: str, patch: Object) -> None:
    status, refusal = patch_own(program, kind, patch)
    assert status == 403
    assert "this ServiceAccount may change only" in refusal


@pytest.mark.controlplane
@pytest.mark.parametrize("own", [False, True], ids=["in a new Secret", "in its own Secret"])
def test_A_the_programs_token_plants_no_helm_release(program: Program, own: bool) -> None:
    """Helm finds a release by labels, and its next upgrade deletes the objects that only the latest revision lists."""
    api, namespace = program.control_plane.api, program.installation.namespace
    victim: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{NAME}-victim-{own}".lower()}}
    api.apply([victim])
    known = api.list_items("v1", "Secret", namespace, labelSelector=f"owner=helm,name={NAME},status=deployed")
    (stored,) = known
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(stored["data"]["release"]))))
    version = release["version"] + 1
    release |= {"version": version, "manifest": f"{release['manifest']}\n---\n{json.dumps(victim)}\n"}
    planted = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    content: dict[str, Object] = {
        "metadata": {"labels": {**stored["metadata"]["labels"], "version": f"{version}"}},
        "data": {"release": planted},
    }
    if own:
        status, _ = patch_own(program, "secrets", content, "")
    else:
        content["metadata"]["name"] = f"sh.helm.release.v1.{NAME}.v{version}"
        body = json.dumps({**stored, **content}).encode()
        status, _, _ = program.transport.send("POST", f"/api/v1/namespaces/{namespace}/secrets", body)
    program.installation.helm("upgrade", NAME, CHART, "--reuse-values")
    assert "deletionTimestamp" not in api.get("v1", "Namespace", victim["metadata"]["name"])["metadata"]
    assert status == 403


@pytest.mark.controlplane
@pytest.mark.parametrize("kind", WEBHOOKS)
def test_A_token_restores_a_wiped_ca_bundle(program: Program, kind: str) -> None:
    """It takes the field from its owner, who keeps others; with ten owners the API server merges two of them."""
    api = program.control_plane.api
    restored = webhook_patch(clientConfig={"caBundle": program.bundle})
    path = program.path(kind).partition("?")[0]

    def wipe(manager: str, seconds: int) -> None:
        changes = {"timeoutSeconds": seconds, "clientConfig": {"caBundle": ""}}
        patch = json.loads(text_for(kind, webhook_patch(**changes)))
        api.request("PATCH", f"{path}?fieldManager={manager}", patch, content_type=STRATEGIC)

    wipe("kubectl-edit", 3)
    assert program.patch(kind, restored) == ""
    for number in range(12):
        wipe(f"editor-{number}", 4 + number)
        assert program.patch(kind, restored) == ""


def guards(chart: Chart, values: Object, *flags: str) -> list[str]:
    """The names of the rendered policies."""
    objects = yaml.safe_load_all(chart.rendered(values, "--skip-tests", *flags))
    return [entry["metadata"]["name"] for entry in of_kind("ValidatingAdmissionPolicy", objects)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, True, id="default"),
        pytest.param({"certificate": {"restrictPatch": False}}, False, id="switched off"),
        pytest.param({"certificate": {"mode": "cert-manager"}}, True, id="a Lease for the audit"),
        pytest.param({"certificate": {"mode": "cert-manager"}, "auditInterval": "0s"}, False, id="nothing to patch"),
    ],
)
def test_A_patch_is_restricted_where_it_is_granted(chart: Chart, values: Object, expected: bool) -> None:
    assert guards(chart, values, "--kube-version=1.30.0") == ["qos-webhook.qos-system.own-objects"] * expected


def test_A_patch_is_not_restricted_where_no_policies_are_served(chart: Chart) -> None:
    assert guards(chart, {}, "--api-versions=v1/Pod") == []
