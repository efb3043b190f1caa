"""The API server's records of the webhook's answers: audit annotations, and Events of force deletions.

It shows the webhook a client certificate, because there are no Events without one.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.charts.chart import with_image
from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.e2e.plugin import Plugin
from tests.objects import raw_object, raw_pod
from tests.waiting import wait_for
from tests.webhook.asked_by_url import Files
from tests.webhook.asking import Asked, make_service
from tests.webhook.balancer import Balancer
from tests.webhook.client_certificates import shown_to_webhooks
from tests.webhook.installation import ZONE, Installation, Replica, chart_values
from tests.webhook.scraping import scraped

pytestmark = pytest.mark.controlplane

NAME = "kube-apiserver"
NODE = "node-1"
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "resources": [{"group": "", "resources": ["pods", "pods/eviction", "nodes"]}]}],
}
SECRET_TEXT = "correct-horse-battery-staple"


class World(NamedTuple):
    """A replica that the API server calls, and the API server's records."""

    control_plane: ControlPlane
    replica: Replica
    audit_log: Path

    def refused(self, *arguments: str, user: str = "jane") -> str:
        """The message of kubectl about a refused request."""
        done = self.control_plane.kubectl(*arguments, f"--as={user}", "--as-group=system:masters", check=False)
        assert done.returncode == 1, done.stdout
        assert "denied the request" in done.stderr
        return done.stderr

    def recorded(self, verb: str, resource: str, name: str) -> dict[str, str]:
        """Our annotations in the audit log, of the last request of a kind."""

        def found() -> list[Object]:
            entries = map(json.loads, self.audit_log.read_text().splitlines())
            return [entry for entry in entries if _is_about(entry, verb, resource, name)]

        annotations: Mapping[str, str] = wait_for(found, f"{verb} of {name} is in the audit log")[-1]["annotations"]
        return {key: text for key, text in annotations.items() if ".kubectl-qos.io/" in key}

    def events(self, namespace: str, name: str) -> list[Object]:
        """The Events about an object."""
        return self.control_plane.api.list_items(
            "events.k8s.io/v1", "Event", namespace, fieldSelector=f"regarding.name={name}"
        )


def _is_about(entry: Object, verb: str, resource: str, name: str) -> bool:
    about = entry.get("objectRef", {})
    return (entry["verb"], about.get("resource"), about.get("name")) == (verb, resource, name)


@pytest.fixture(scope="module")
def world(control_plane_binaries: Binaries, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("records")
    files = Files(folder)
    policy, audit_log = folder / "policy.yaml", folder / "audit.log"
    policy.write_text(yaml.safe_dump(POLICY))
    arguments = (
        f"--admission-control-config-file={shown_to_webhooks(files, NAME, folder)}",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={audit_log}",
    )
    with ExitStack() as stack:
        control_plane = stack.enter_context(
            ControlPlane(control_plane_binaries, scheduler=False, controllers=False, apiserver_args=arguments)
        )
        for name in ("qos-system", "shop", "warned"):
            control_plane.create_namespace(name)
        control_plane.create_node(NODE)
        control_plane.apply([make_service("shop")])
        balancer = stack.enter_context(Balancer())
        installation = Installation(control_plane, helm, folder, namespace="qos-system")
        own = {
            "clientAuthentication": {"configMap": "apiserver-authorities", "names": [NAME]},
            "forceDeletion": {"mode": "deny", "namespaces": {"warned": "warn"}, "events": True},
        }
        installation.install(with_image(chart_values(balancer.port, ZONE, **own)))
        replica = installation.start_replica(config={"clients": {"caFile": str(files.ca)}})
        stack.callback(lambda: stop_all([replica.process], timeout=2))
        balancer.add(replica.port)
        made = World(control_plane, replica, audit_log)
        tried = partial(Asked(control_plane, "").tried, raw_pod("probe", "shop", labels={"app": "web"}))
        wait_for(lambda: "topologySpreadConstraints" in tried()["spec"], "the webhook is called")
        yield made


def make_pod(world: World, name: str, **spec: Any) -> Object:
    secret = {"annotations": {"example.com/token": SECRET_TEXT}}
    pod = raw_pod(name, "shop", labels={"app": "web"}, metadata=secret, **{"nodeName": NODE, **spec})
    return world.control_plane.api.create(pod)


def force_delete(name: str, *more: str) -> tuple[str, ...]:
    return ("delete", "pod", name, "-n", "shop", "--grace-period=0", "--force", "--wait=false", *more)


def test_audit_log_names_rule_and_fields_of_patch_and_warning(world: World) -> None:
    make_pod(world, "patched", nodeName=None, terminationGracePeriodSeconds=0)
    assert world.recorded("create", "pods", "patched") == {
        "pods.mutate.kubectl-qos.io/patched": "topology-spread: spec.topologySpreadConstraints",
        "pods.validate.kubectl-qos.io/warned": "no-grace: spec.terminationGracePeriodSeconds",
    }


def test_audit_log_names_rule_and_mode_of_a_refusal(world: World) -> None:
    make_pod(world, "audited")
    world.refused(*force_delete("audited"))
    text = "force-deletion: options.gracePeriodSeconds (mode deny)"
    assert world.recorded("delete", "pods", "audited") == {"force-delete.kubectl-qos.io/refused": text}
    eviction = {
        **raw_object("Eviction", "audited", "shop", apiVersion="policy/v1"),
        "deleteOptions": {"gracePeriodSeconds": 0},
    }
    path = "/api/v1/namespaces/shop/pods/audited/eviction"
    done = world.control_plane.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(eviction), check=False)
    assert done.returncode == 1
    text = "force-deletion: deleteOptions.gracePeriodSeconds (mode deny)"
    assert world.recorded("create", "pods", "audited")["evictions.kubectl-qos.io/refused"] == text


def test_audit_log_gets_nothing_that_objects_hold(world: World) -> None:
    make_pod(world, "secretive")
    world.refused(*force_delete("secretive"))
    assert world.recorded("delete", "pods", "secretive")
    assert SECRET_TEXT not in world.audit_log.read_text()
    # A key of ours that the API server does not accept would be in its log.
    assert "Failed to set admission audit annotation" not in world.control_plane.log("kube-apiserver")


def test_describe_pod_shows_refused_user_and_reason(world: World) -> None:
    make_pod(world, "described")
    # A dry run has no effects; repeated attempts are one Event.
    world.refused(*force_delete("described", "--dry-run=server"), user="dry")
    for _ in range(3):
        said = world.refused(*force_delete("described"))
    events = wait_for(lambda: world.events("shop", "described"), "an Event")
    world.refused(*force_delete("described"), user="joe")
    wait_for(lambda: len(world.events("shop", "described")) == 2, "another user's")
    assert events[0]["reportingController"] == "kubectl-qos.io/webhook"
    described = world.control_plane.kubectl("describe", "pod", "described", "-n", "shop").stdout
    lines = [line for line in described.splitlines() if "ForceDeletionRefused" in line]
    jane, joe = sorted(lines, key=lambda line: line.partition(" by ")[2])
    assert re.search(r"Warning +ForceDeletionRefused .* kubectl-qos.io/webhook", jane)
    assert "A force deletion by jane was refused (mode deny): described on node-1: " in jane
    assert "A force deletion by joe was refused" in joe
    assert jane.partition("described on node-1: ")[2].strip() in said


def test_died_shows_who_force_deleted_a_missing_pod(world: World, runtime: Path) -> None:
    """With the command from the webhook's warning."""
    world.control_plane.api.create(raw_pod("db-0", "warned", nodeName=NODE))
    jane = ("--as=jane", "--as-group=system:masters")
    forced = ("delete", "pod", "db-0", "-n", "warned", "--grace-period=0", "--force")
    dry = world.control_plane.kubectl(*forced, "--dry-run=server", *jane)
    assert "Check first: kubectl qos explain pod/db-0 -n warned" in dry.stderr
    done = world.control_plane.kubectl(*forced, *jane)
    died, node = "kubectl qos died pod/db-0 -n warned", f"kubectl qos node {NODE}"
    assert f"Check now whether container app still runs on {NODE}: {died}; {node}" in done.stderr
    (event,) = wait_for(lambda: world.events("warned", "db-0"), "an Event")
    assert event["reason"] == "ForceDeletionAllowed"
    ran = Plugin(world.control_plane, runtime, command="died")("pod/db-0", "-n", "warned")
    page = " ".join(ran.out.split())
    assert ran.code == 11
    assert f"pod/db-0 in namespace warned, on {NODE} x User jane force deleted the pod. At" in page
    assert "event ForceDeletionAllowed" in page
    assert f"event shows that its kubelet stopped it: its processes may still run on {NODE}." in page
    assert Plugin(world.control_plane, runtime, command="node")(NODE).code in {0, 11}


def test_describe_node_shows_refused_user(world: World) -> None:
    make_pod(world, "kept")
    world.refused("delete", "node", NODE, "--wait=false")
    wait_for(lambda: world.events("default", NODE), "an Event")
    described = world.control_plane.kubectl("describe", "node", NODE).stdout
    (line,) = [line for line in described.splitlines() if "ForceDeletionRefused" in line]
    assert "The deletion by jane was refused (mode deny): its pods" in line
    # Readers of Events of Nodes may lack permission to see their pods.
    assert "kept" not in line
    refused = world.recorded("delete", "nodes", NODE)["nodes.kubectl-qos.io/refused"]
    assert refused == "node-deletion: name (mode deny)"


def test_events_are_counted(world: World) -> None:
    make_pod(world, "counted")
    before = _events(world)
    world.refused(*force_delete("counted"))
    world.refused(*force_delete("counted"))
    wait_for(lambda: _events(world)["created"] == before["created"] + 1, "it is made")
    assert _events(world) == {**before, "created": before["created"] + 1, "held_back": before["held_back"] + 1}


def test_refusals_in_a_loop_make_few_events(world: World) -> None:
    """One user, and many pods of one namespace."""
    world.control_plane.create_namespace("loud")
    jane = world.control_plane.client_for("jane", ["system:masters"])
    pods = [jane.create(raw_pod(f"loud-{number}", "loud", nodeName=NODE)) for number in range(40)]
    before, began = sum(_events(world).values()), time.monotonic()
    for pod in pods:
        with pytest.raises(ApiError, match="forbids force deletions"):
            jane.delete(pod, grace_period_seconds=0)
    jane.close()
    wait_for(lambda: sum(_events(world).values()) == before + len(pods), "all are counted")
    made = world.control_plane.api.list_items("events.k8s.io/v1", "Event", "loud")
    # Ten at once, and one in half a minute.
    assert 10 <= len(made) <= 11 + (time.monotonic() - began) / 30


def _events(world: World) -> dict[str, float]:
    found = re.findall(
        r'^qos_webhook_events_total\{outcome="(\w+)"\} (\S+)$', scraped(world.replica.metrics_port), re.MULTILINE
    )
    return {"created": 0.0, "held_back": 0.0} | {outcome: float(count) for outcome, count in found}
