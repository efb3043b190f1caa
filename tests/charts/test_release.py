"""A release from its installation to its end: with helm, beside a GitOps tool, and with ``helm test``."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.charts.chart import CHART, FULL_VALUES, Chart, of_kind, only_in
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import free_port, stop_all
from tests.waiting import answer_in_the_end, wait_for
from tests.webhook.balancer import Balancer
from tests.webhook.installation import Installation, Replica, chart_values
from tests.webhook.scraping import scraped
from webhook.check import _pod

pytestmark = pytest.mark.controlplane

RELEASE = "qos"
NAMESPACE = "chart-release"
TRIED = "chart-release-tried"
"""The namespace that the webhook reviews."""
PYTHON = Path(sys.executable).parent / "python3"
ADMISSION = "admissionregistration.k8s.io/v1"
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
# No node matches: there is no kubelet here that would end these pods.
NOWHERE = {"nodeSelector": {"kubectl-qos.io/no-such": "node"}}


class Release(NamedTuple):
    """An installed release with one replica that answers."""

    installation: Installation
    values: dict[str, Any]
    replica: Replica

    @property
    def namespace(self) -> str:
        return self.installation.namespace

    def rendered(self, chart: Chart) -> str:
        """Render the manifest as a GitOps tool does, with the same values."""
        return chart.rendered(self.values, "--skip-tests", release=RELEASE, namespace=self.namespace)


class Releases:
    """A release for tests that do not change it; a new one after a test that removes it."""

    def __init__(self, control_plane: ControlPlane, helm: Path, folder: Path) -> None:
        self._control_plane = control_plane
        self._helm = helm
        self._folder = folder
        self._stack = ExitStack()
        self._present: Release | None = None

    def present(self) -> Release:
        """The existing release."""
        if self._present is None:
            self._present = self._install()
        return self._present

    def end(self) -> None:
        """Remove it completely."""
        self._present = None
        self._stack.close()

    def _install(self) -> Release:
        balancer = self._stack.enter_context(Balancer())
        values: dict[str, Any] = {
            **chart_values(balancer.port, **NOWHERE),
            **{name: FULL_VALUES[name] for name in ("metrics", "commonLabels", "commonAnnotations")},
        }
        values["webhook"]["namespaceMatchExpressions"] = only_in(TRIED)
        values["test"] = {"namespace": TRIED}
        installation = Installation(self._control_plane, self._helm, self._folder, namespace=NAMESPACE, release=RELEASE)
        self._stack.callback(installation.uninstall)
        installation.install(values)
        replica = installation.start_replica()
        balancer.add(replica.port)
        self._stack.callback(lambda: stop_all([replica.process], timeout=2))
        made = Release(installation, values, replica)
        wait_for(lambda: "" not in bundles(self._control_plane, made), "the authority is published")
        return made


@pytest.fixture(scope="module")
def releases(
    control_plane: ControlPlane,
    helm: Path,
    monitoring_kinds: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Releases]:
    """One release at a time, each with one replica that answers."""
    for name in (NAMESPACE, TRIED):
        control_plane.create_namespace(name, {"pod-security.kubernetes.io/enforce": "restricted"})
    made = Releases(control_plane, helm, tmp_path_factory.mktemp("release"))
    yield made
    made.end()
    for name in (NAMESPACE, TRIED):
        control_plane.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@pytest.fixture
def release(releases: Releases) -> Release:
    """The existing release."""
    return releases.present()


def bundles(control_plane: ControlPlane, release: Release) -> set[str]:
    """Each caBundle of the release's webhooks."""
    name = f"qos-qos-webhook.{release.namespace}"
    return {
        webhook["clientConfig"].get("caBundle", "")
        for kind in CONFIGURATIONS
        for webhook in control_plane.api.get(ADMISSION, kind, name)["webhooks"]
    }


# Beside a GitOps tool


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(("--server-side", "--force-conflicts", "--field-manager=argocd-controller"), id="server-side"),
        pytest.param((), id="client-side"),
    ],
)
def test_nothing_has_drifted(control_plane: ControlPlane, chart: Chart, release: Release, how: tuple[str, ...]) -> None:
    # With everything that the program has written: its Secret's data, its Lease, each caBundle. Each object is read
    # twice, and the Lease may be renewed, or a status written, in between: the differences vary.
    for _ in range(10):
        difference = control_plane.kubectl("diff", *how, "-f", "-", input=release.rendered(chart), check=False)
        if difference.returncode == 0:
            break
    assert (difference.returncode, difference.stdout) == (0, ""), difference.stderr


@pytest.mark.parametrize(
    "how",
    [pytest.param(("--server-side", "--field-manager=helm"), id="server-side"), pytest.param((), id="client-side")],
)
def test_reapplying_the_render_reverts_nothing(
    control_plane: ControlPlane, chart: Chart, release: Release, how: tuple[str, ...]
) -> None:
    written = bundles(control_plane, release)
    (bundle,) = written
    assert bundle, "the program has published its authority"
    secret = control_plane.api.get("v1", "Secret", "qos-qos-webhook-tls", release.namespace)["data"]
    apply = ("apply", *how, "--output=json", "-f", "-")

    def versions() -> dict[tuple[str, str, str], str]:
        applied = json.loads(control_plane.kubectl(*apply, input=release.rendered(chart)).stdout)["items"]
        # The holder of the Lease renews it continuously.
        return {
            (entry["kind"], meta.get("namespace", ""), meta["name"]): meta["resourceVersion"]
            for entry in applied
            if (meta := entry["metadata"]) and entry["kind"] != "Lease"
        }

    assert len(versions()) > 10
    wait_for(lambda: versions() == versions(), "nothing changes that a controller does not write")
    assert bundles(control_plane, release) == written
    assert control_plane.api.get("v1", "Secret", "qos-qos-webhook-tls", release.namespace)["data"] == secret


# helm test


def asked(control_plane: ControlPlane, release: Release, pod: Object, *more: str) -> subprocess.CompletedProcess[str]:
    """The work of the pod's container, done here with the pod's account and the mounted file."""
    spec = pod["spec"]
    (container,), (volume,) = spec["containers"], [entry for entry in spec["volumes"] if "secret" in entry]
    secret = control_plane.api.get("v1", "Secret", volume["secret"]["secretName"], release.namespace)
    authorities = release.installation.folder / "ca.crt"
    authorities.write_bytes(base64.b64decode(secret["data"]["ca.crt"]))
    kubeconfig = control_plane.kubeconfig_for_service_account(spec["serviceAccountName"], release.namespace)
    own = (f"--url=https://127.0.0.1:{release.replica.port}", f"--ca={authorities}", f"--kubeconfig={kubeconfig}")
    program, *arguments = container["command"]
    assert program == PYTHON.name
    return run_here((PYTHON, *arguments, *container["args"], *own, *more))


def run_here(line: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(CHART.parents[1])}
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120, env=environment)


def helm_tested(
    control_plane: ControlPlane, release: Release, *more: str
) -> tuple[subprocess.CompletedProcess[str], str]:
    """``helm test`` with its pod run here, like by a kubelet; returns the pod's output and helm's error."""
    name = f"{RELEASE}-qos-webhook-test"

    def present() -> list[Object]:
        pods = control_plane.api.list_items("v1", "Pod", release.namespace)
        return [pod for pod in pods if pod["metadata"]["name"] == name and "deletionTimestamp" not in pod["metadata"]]

    with ThreadPoolExecutor(1) as pool:
        helm = pool.submit(release.installation.helm, "test", RELEASE, "--timeout=90s")
        (pod,) = wait_for(present, "helm has made the pod")
        done = asked(control_plane, release, pod, *more)
        control_plane.set_pod_status(pod, {"phase": "Failed" if done.returncode else "Succeeded"})
        failure = helm.exception(timeout=120)
    return done, str(failure or "")


def left_of_the_test(control_plane: ControlPlane) -> list[str]:
    listed = ("get", "pods,roles,rolebindings,serviceaccounts", "--all-namespaces", "--output=name")
    return [name for name in control_plane.kubectl(*listed).stdout.split() if name.endswith(("-test", ".test"))]


def test_helm_test_checks_the_whole_path(control_plane: ControlPlane, release: Release) -> None:
    done, failure = helm_tested(control_plane, release)
    assert (done.returncode, failure) == (0, ""), done.stderr
    *_, mutate, validate, whole = done.stdout.splitlines()
    assert [line.partition(": ")[2] for line in (mutate, validate)] == ["allowed, with a patch", "allowed"]
    assert whole == f"namespace {TRIED}: the API server calls the webhook and returns its warning"
    # Nothing was stored, and nothing remains, in particular no permission.
    assert not control_plane.api.list_items("v1", "Pod", TRIED)
    wait_for(lambda: not left_of_the_test(control_plane), "nothing is left of the test")


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"excludedNamespaces": [TRIED]}, id="the namespace is excluded"),
        pytest.param({"url": f"https://127.0.0.1:{free_port()}"}, id="the control plane reaches no webhook"),
    ],
)
def test_helm_test_fails_when_the_webhook_is_not_called(
    control_plane: ControlPlane, release: Release, changed: dict[str, Any]
) -> None:
    """The webhook itself answers correctly, so a test that only calls the webhook would pass."""
    pod = _pod(TRIED)

    def is_called() -> bool:
        control_plane.api.request("POST", control_plane.api.path("v1", "Pod", TRIED), pod, query={"dryRun": "All"})
        return any("terminationGracePeriodSeconds" in line for line in control_plane.api.warnings)

    release.installation.upgrade({**release.values, "webhook": {**release.values["webhook"], **changed}})
    try:
        wait_for(lambda: not is_called(), "the API server knows it")
        done, failure = helm_tested(control_plane, release, "--timeout=0")
    finally:
        release.installation.upgrade(release.values)
        wait_for(is_called, "all is as before")
    assert done.returncode == 1
    assert "/validate: allowed" in done.stdout
    assert done.stderr == (
        f"error: namespace {TRIED}: the webhook's warning about terminationGracePeriodSeconds 0 is missing; "
        f"https://127.0.0.1:{release.replica.port} answers, so the control plane cannot reach it, or does not call it "
        "for this namespace. Let the control plane reach containerPort of the pods (docs/platforms.md); if the "
        "namespace is excluded, set test.namespace to one that is not\n"
    )
    assert "Failed" in failure
    wait_for(lambda: not left_of_the_test(control_plane), "nothing is left of the test")


def test_helm_test_trusts_no_other_authority(control_plane: ControlPlane, release: Release) -> None:
    url = f"https://127.0.0.1:{release.replica.port}"
    line = (PYTHON, "-m", "webhook.check", f"--url={url}", f"--ca={control_plane.folder}/ca.crt", "--timeout=0")
    done = answer_in_the_end(lambda: run_here(line), lambda ended: "timed out" not in ended.stderr)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {url}: ")
    assert "CERTIFICATE_VERIFY_FAILED" in done.stderr


def test_helm_test_names_a_namespace_that_refuses_pods(control_plane: ControlPlane, release: Release) -> None:
    kubeconfig = control_plane.kubeconfig_for_service_account("default", TRIED)
    line = (PYTHON, "-m", "webhook.check", f"--kubeconfig={kubeconfig}", f"--namespace={TRIED}", "--timeout=0")
    done = run_here(line)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"error: namespace {TRIED}: the API server refuses the test pod: pods is forbidden: User "
    )
    assert done.stderr.endswith("set test.namespace to a namespace that admits the pod\n")


def test_helm_test_is_admitted(control_plane: ControlPlane, release: Release) -> None:
    # Its namespace admits only restricted pods.
    entries = list(yaml.safe_load_all(release.installation.helm("get", "hooks", RELEASE)))
    (account,), (pod,) = of_kind("ServiceAccount", entries), of_kind("Pod", entries)
    with control_plane.holding([account]):
        line = ("create", "--dry-run=server", "--validate=strict", "-f", "-")
        done = control_plane.kubectl(*line, input=yaml.safe_dump(pod))
    assert "created" in done.stdout
    assert "Warning" not in done.stderr


# Alerts


def test_alerts_name_what_the_program_serves(chart: Chart, release: Release) -> None:
    objects = chart.objects(release.values, release=RELEASE, namespace=release.namespace)
    (rule,) = of_kind("PrometheusRule", objects)
    named = {
        name
        for group in rule["spec"]["groups"]
        for alert in group["rules"]
        for name in re.findall(r"\bqos_webhook_\w+", alert["expr"])
    }
    (monitor,) = of_kind("ServiceMonitor", objects)
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["scheme"] == "http"
    served = scraped(release.replica.metrics_port, endpoint["path"])
    # A counter with labels has only its HELP line before it counts.
    families = set(re.findall(r"^# TYPE (\w+) ", served, re.MULTILINE))
    families |= {f"{name}_bucket" for name in re.findall(r"^# TYPE (\w+) histogram$", served, re.MULTILINE)}
    assert len(named) >= 7
    assert named <= families


# Uninstalling


def test_nothing_is_left(control_plane: ControlPlane, releases: Releases, release: Release) -> None:
    kinds = control_plane.kubectl("api-resources", "--verbs=list", "--output=name").stdout.split()
    listed = ",".join(kind for kind in kinds if not kind.startswith(("events", "componentstatuses")))

    def everything() -> set[str]:
        get = ("get", listed, "--ignore-not-found", "--output=name")
        labelled = control_plane.kubectl(*get, "-n", release.namespace, "-l", f"app.kubernetes.io/instance={RELEASE}")
        named = control_plane.kubectl(*get, "--all-namespaces").stdout.split()
        return {*labelled.stdout.split(), *(name for name in named if "qos-qos-webhook" in name)}

    before = everything()
    assert {name.partition("/")[0] for name in before} >= {
        "deployment.apps",
        "networkpolicy.networking.k8s.io",
        "poddisruptionbudget.policy",
        "prometheusrule.monitoring.coreos.com",
        "servicemonitor.monitoring.coreos.com",
        "secret",
        "lease.coordination.k8s.io",
        "validatingwebhookconfiguration.admissionregistration.k8s.io",
    }
    # An upgrade removes the objects that the new values do not need.
    release.installation.upgrade({**release.values, "metrics": {"enabled": False}})
    assert not [name for name in everything() if "monitoring.coreos.com" in name]

    # While the program runs, as its pods do for a while.
    assert release.replica.process.running
    release.installation.uninstall()
    wait_for(lambda: not everything(), f"nothing is left of {sorted(before)}")
    releases.end()
