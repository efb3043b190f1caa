"""A release from its installation to its end: by helm, beside a GitOps tool, and tried by ``helm test``."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.charts.chart import CHART, FULL_VALUES, Chart, of_kind, only_in
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.waiting import answer_in_the_end, wait_for
from tests.webhook.balancer import Balancer
from tests.webhook.installation import Installation, Replica, chart_values
from tests.webhook.scraping import scraped

pytestmark = pytest.mark.controlplane

RELEASE = "qos"
NAMESPACE = "chart-release"
ADMISSION = "admissionregistration.k8s.io/v1"
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
# No node is like that: there is no kubelet here that would end these pods.
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
        """As a GitOps tool does it, with the same values."""
        return chart.rendered(self.values, "--skip-tests", release=RELEASE, namespace=self.namespace)


class Releases:
    """A release for tests that change nothing of it; another one after a test that takes it away."""

    def __init__(self, control_plane: ControlPlane, helm: Path, folder: Path) -> None:
        self._control_plane = control_plane
        self._helm = helm
        self._folder = folder
        self._stack = ExitStack()
        self._present: Release | None = None

    def present(self) -> Release:
        """The one that is there."""
        if self._present is None:
            self._present = self._install()
        return self._present

    def end(self) -> None:
        """Leave nothing of it."""
        self._present = None
        self._stack.close()

    def _install(self) -> Release:
        balancer = self._stack.enter_context(Balancer())
        values: dict[str, Any] = {
            **chart_values(balancer.port, **NOWHERE),
            **{name: FULL_VALUES[name] for name in ("metrics", "commonLabels", "commonAnnotations")},
        }
        values["webhook"]["namespaceMatchExpressions"] = only_in(f"{NAMESPACE}-nowhere")
        installation = Installation(self._control_plane, self._helm, self._folder, namespace=NAMESPACE, release=RELEASE)
        self._stack.callback(installation.uninstall)
        installation.install(values)
        replica = installation.start_replica()
        self._stack.callback(lambda: stop_all([replica.process], timeout=2))
        made = Release(installation, values, replica)
        wait_for(lambda: "" not in bundles(self._control_plane, made), "the authority is told")
        return made


@pytest.fixture(scope="module")
def releases(
    control_plane: ControlPlane,
    helm: Path,
    monitoring_kinds: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Releases]:
    """One at a time, each with one replica that answers."""
    control_plane.create_namespace(NAMESPACE, {"pod-security.kubernetes.io/enforce": "restricted"})
    made = Releases(control_plane, helm, tmp_path_factory.mktemp("release"))
    yield made
    made.end()
    control_plane.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})


@pytest.fixture
def release(releases: Releases) -> Release:
    """The one that is there."""
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
    # With what the program wrote since: its Secret's data, its Lease, each caBundle. Each object is read twice, and the
    # Lease may be renewed, a status be written in between: what has drifted differs every time.
    for _ in range(10):
        difference = control_plane.kubectl("diff", *how, "-f", "-", input=release.rendered(chart), check=False)
        if difference.returncode == 0:
            break
    assert (difference.returncode, difference.stdout) == (0, ""), difference.stderr


def test_applying_the_render_again_undoes_nothing(control_plane: ControlPlane, chart: Chart, release: Release) -> None:
    written = bundles(control_plane, release)
    (bundle,) = written
    assert bundle, "the program has told the API server of its authority"
    apply = ("apply", "--server-side", "--field-manager=helm", "--output=json", "-f", "-")

    def versions() -> dict[tuple[str, str, str], str]:
        applied = json.loads(control_plane.kubectl(*apply, input=release.rendered(chart)).stdout)["items"]
        # Who holds the Lease renews it all the time.
        return {
            (entry["kind"], meta.get("namespace", ""), meta["name"]): meta["resourceVersion"]
            for entry in applied
            if (meta := entry["metadata"]) and entry["kind"] != "Lease"
        }

    assert len(versions()) > 10
    wait_for(lambda: versions() == versions(), "nothing changes that a controller does not write")
    assert bundles(control_plane, release) == written


# helm test


def the_test(release: Release) -> Object:
    """The pod of ``helm test``, as the release holds it."""
    (pod,) = yaml.safe_load_all(release.installation.helm("get", "hooks", RELEASE))
    assert pod["kind"] == "Pod"
    return dict(pod)


def asked(pod: Object, *more: str) -> subprocess.CompletedProcess[str]:
    """What the pod's container does, done here."""
    (container,) = pod["spec"]["containers"]
    program, *arguments = container["command"]
    python = Path(sys.executable).parent / program
    environment = {**os.environ, "PYTHONPATH": str(CHART.parents[1])}
    line = [python, *arguments, *container["args"], *more]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, env=environment)


def test_helm_test_is_content(control_plane: ControlPlane, release: Release, tmp_path: Path) -> None:
    pod = the_test(release)
    (volume,) = pod["spec"]["volumes"]
    secret = control_plane.api.get("v1", "Secret", volume["secret"]["secretName"], release.namespace)
    for item in volume["secret"]["items"]:
        (tmp_path / item["path"]).write_bytes(base64.b64decode(secret["data"][item["key"]]))
    done = asked(pod, f"--url=https://127.0.0.1:{release.replica.port}", f"--ca={tmp_path}/ca.crt")
    assert done.returncode == 0, done.stderr
    assert [line.partition(": ")[2] for line in done.stdout.splitlines()[-2:]] == ["allowed, with a patch", "allowed"]


def test_helm_test_trusts_nobody_else(control_plane: ControlPlane, release: Release) -> None:
    other = control_plane.folder / "ca.crt"
    url = f"https://127.0.0.1:{release.replica.port}"
    line = (the_test(release), f"--url={url}", f"--ca={other}", "--timeout=0")
    done = answer_in_the_end(lambda: asked(*line), lambda ended: "timed out" not in ended.stderr)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {url}: ")
    assert "CERTIFICATE_VERIFY_FAILED" in done.stderr


def test_helm_test_is_admitted(control_plane: ControlPlane, release: Release) -> None:
    # Its namespace takes restricted pods alone.
    line = ("create", "--dry-run=server", "--validate=strict", "-f", "-")
    done = control_plane.kubectl(*line, input=yaml.safe_dump(the_test(release)))
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
    # A counter that has labels says nothing before it counts, but its help.
    families = set(re.findall(r"^# TYPE (\w+) ", served, re.MULTILINE))
    families |= {f"{name}_bucket" for name in re.findall(r"^# TYPE (\w+) histogram$", served, re.MULTILINE)}
    assert len(named) >= 7
    assert named <= families


# The end


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
    # An upgrade removes what the new values do without.
    release.installation.upgrade({**release.values, "metrics": {"enabled": False}})
    assert not [name for name in everything() if "monitoring.coreos.com" in name]

    # While the program runs, as its pods do for a while: it must not make its Secret anew.
    assert release.replica.process.running
    release.installation.uninstall()
    wait_for(lambda: not everything(), f"nothing is left of {sorted(before)}")
    releases.end()
