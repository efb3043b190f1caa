"""The reviews that ``make demo`` sends match the API server's, and its output matches kubectl's.

``UPDATE_GOLDEN=1`` records them again.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from flask.testing import FlaskClient

import webhook.demo
from cluster_io.demo import demo_objects
from tests.controlplane.binaries import Binaries
from tests.controlplane.certificates import Authority
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.demo import as_written
from tests.golden import check
from tests.objects import raw_pod, raw_service_account, raw_webhook, raw_webhook_configuration
from tests.waiting import wait_for
from webhook.demo.__main__ import main
from webhook.serving.app import create_app
from webhook.serving.backend import Backend

RECORDED = Path(webhook.demo.__file__).with_name("recorded.json")
ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"(<!-- webhook demo: (.+?) -->\n```\n).*?(```\n)", re.DOTALL)
NEEDED = {
    "Namespace": {"shop", "data"},
    "PriorityClass": {"shop-high", "shop-default", "data-critical"},
    "Node": {"node-a3", "node-b2", "node-c3"},
    "StatefulSet": {"db"},
    "Service": {"checkout", "db"},
    "Pod": {"db-0", "db-1", "postgres-0"},
}


class Command(NamedTuple):
    """The command, and the manifest that it reads."""

    line: str
    manifest: Object | None = None


class Recorder:
    """A webhook by URL that records its requests, and answers like the one over the demo cluster."""

    def __init__(self, client: FlaskClient, folder: Path) -> None:
        self.calls: list[tuple[str, Object]] = []
        self.warnings: list[str] = []
        self.denials: list[str] = []
        authority = Authority()
        self.bundle = authority.certificate
        serving = authority.server(["localhost"])
        pair = folder / "pair.pem"
        pair.write_bytes(serving.certificate + serving.key)
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                path = self.path.partition("?")[0]
                answer = client.post(path, data=body, content_type="application/json").get_data()
                recorder.calls.append((path, json.loads(body)))
                response = json.loads(answer)["response"]
                recorder.warnings += response.get("warnings", [])
                recorder.denials += [response["status"]["message"]] if "status" in response else []
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's word
                pass

        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def url(self, path: str) -> str:
        """The URL for the API server."""
        return f"https://127.0.0.1:{self._server.server_address[1]}{path}"

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _wanted(entry: Object) -> bool:
    return entry["metadata"]["name"] in NEEDED.get(entry["kind"], ()) and (
        entry["metadata"].get("namespace", "shop") in NEEDED["Namespace"]
    )


@pytest.fixture(scope="module")
def demo_api_server(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """A real API server with a part of the demo cluster."""
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as running:
        for entry in filter(_wanted, demo_objects()):
            if entry["kind"] == "PriorityClass":
                running.apply([as_written(entry)])
            else:
                running.api.create(as_written(entry))
            if entry["kind"] == "Namespace":
                running.apply([raw_service_account(entry["metadata"]["name"])])
        yield running


@pytest.fixture
def recorder(demo_api_server: ControlPlane, demo_backend: Backend, tmp_path: Path) -> Iterator[Recorder]:
    """The recorder, which the API server calls for pods and Deployments in namespace shop."""
    app = create_app(demo_backend.cluster, demo_backend.waiting_for, lambda: False)
    recorder = Recorder(app.test_client(), tmp_path)
    bundle = base64.b64encode(recorder.bundle).decode()

    def configuration(kind: str, path: str, reviewed: Mapping[str, Sequence[str]]) -> Object:
        # A refusal names the entry; the chart has one for each kind of request.
        client = {"url": recorder.url(path), "caBundle": bundle}
        own: Object = {"failurePolicy": "Fail", "timeoutSeconds": 30}
        webhook = raw_webhook("force-delete.kubectl-qos.io", client, reviewed, **own)
        return raw_webhook_configuration("recorder", webhook, kind=kind)

    validated = {"pods": ["CREATE", "DELETE"], "nodes": ["DELETE"], "deployments.apps": ["CREATE"]}
    configurations = [
        configuration("Mutating", "/mutate", {"pods": ["CREATE"]}),
        configuration("Validating", "/validate", validated),
    ]
    demo_api_server.apply(configurations)
    api = demo_api_server.api
    probe = raw_pod("probe")

    def asked() -> bool:
        api.request("POST", api.path("v1", "Pod", "shop"), probe, query={"dryRun": "All"})
        return {path for path, _ in recorder.calls} == {"/mutate", "/validate"}

    wait_for(asked, "the recorder is called")
    yield recorder
    for entry in configurations:
        demo_api_server.api.delete(entry)
    recorder.stop()


def _commands() -> list[Command]:
    deployment = next(
        entry for entry in demo_objects() if entry["kind"] == "Deployment" and entry["metadata"]["name"] == "checkout"
    )
    pod = next(
        entry
        for entry in demo_objects()
        if entry["kind"] == "Pod" and entry["metadata"].get("labels", {}).get("app") == "checkout"
    )
    mistyped = as_written(deployment)
    mistyped["metadata"]["name"] = "gift-cards"
    mistyped["spec"]["template"]["spec"]["priorityClassName"] = "shop-hihg"
    another = as_written(pod)
    another["metadata"]["name"] = f"{pod['metadata']['ownerReferences'][0]['name']}-n8x2k"
    for field in ("nodeName", "topologySpreadConstraints", "priority", "preemptionPolicy"):
        another["spec"].pop(field, None)
    return [
        Command("kubectl create -n shop -f checkout-pod.yaml", another),
        Command("kubectl create -n shop -f gift-cards.yaml", mistyped),
        Command("kubectl delete pod db-0 -n shop --grace-period=0 --force"),
        Command("kubectl delete pod db-1 -n shop --grace-period=0 --force"),
        Command("kubectl delete pod postgres-0 -n data --grace-period=0 --force"),
        Command("kubectl delete node node-b2"),
    ]


def _record(control_plane: ControlPlane, recorder: Recorder) -> list[Object]:
    """Run the commands with real kubectl; each with its reviews and its output."""
    recorded = []
    for command in _commands():
        if command.line.startswith("kubectl delete pod db-1"):
            # As in the demo: its node is silent, and it was deleted before.
            control_plane.kubectl("delete", "pod", "db-1", "-n", "shop", "--wait=false")
        for kept in (recorder.calls, recorder.warnings, recorder.denials):
            kept.clear()
        arguments = command.line.split()[1:]
        text = None
        if command.manifest is not None:
            arguments[arguments.index("-f") + 1] = "-"
            text = json.dumps(command.manifest)
        done = control_plane.kubectl(*arguments, input=text, check=False)
        assert (done.returncode == 0) == (not recorder.denials), done.stderr
        output = done.stderr + done.stdout
        lines = [f"Warning: {text}\n" for text in dict.fromkeys(recorder.warnings)]
        assert "".join(lines) in output
        for line in lines[1:]:
            output = output.replace(line, "", 1)
        output = output.replace(lines[0], "{warnings}\n", 1) if lines else output
        for denial in recorder.denials:
            assert denial in output
            output = output.replace(denial, "{denial}", 1)
        recorded.append({"command": command.line, "calls": list(recorder.calls), "output": output})
    return recorded


def _essence(recorded: Object) -> tuple[str, str, list[Any]]:
    """A command, its output and the shapes of its reviews."""
    return recorded["command"], recorded["output"], _shapes(recorded)


def _shapes(recorded: Object) -> list[Any]:
    """The shapes of a command's reviews: the API server may send one more if it has to retry."""
    shapes = [_shape(call) for call in recorded["calls"]]
    return [shape for number, shape in enumerate(shapes) if shape not in shapes[:number]]


def _shape(value: Any) -> Any:
    """Names and types of all fields; the keys of managedFields contain times and uids."""
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items() if key != "managedFields"}
    if isinstance(value, list | tuple):
        return [_shape(item) for item in value]
    return type(value).__name__


@pytest.mark.controlplane
def test_recorded_reviews_are_what_the_api_server_sends(demo_api_server: ControlPlane, recorder: Recorder) -> None:
    recorded = _record(demo_api_server, recorder)
    kept = [_essence(entry) for entry in json.loads(RECORDED.read_text())]
    sent = [_essence(entry) for entry in recorded]
    # Uids and times differ each time: they alone are no reason to record the reviews again.
    if os.environ.get("UPDATE_GOLDEN") and kept != sent:
        RECORDED.write_text(json.dumps(recorded, separators=(",", ":")) + "\n")
        return
    assert kept == sent


@pytest.fixture(scope="module")
def shown() -> str:
    """The output of ``python -m webhook.demo``."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main() == 0
    return out.getvalue()


def test_demo_prints_the_same_as_kubectl(shown: str) -> None:
    for command in json.loads(RECORDED.read_text()):
        assert f"$ {command['command']}\n" in shown
    assert shown.count("Warning: db-0 on node-b2: StatefulSet db promises at most one") == 1
    assert shown.count("Warning: db-1 on node-c3, silent since 03:02:56 UTC, is already stopping") == 1
    assert "no PriorityClass with name shop-hihg was found, its pods will be refused; did you mean shop-high?" in shown
    assert 'filled in: spec.topologySpreadConstraints\n  - {"maxSkew": 1, ' in shown
    assert "denied the request: postgres-0 on node-a3: StatefulSet postgres promises at most one" in shown
    assert "{warnings}" not in shown
    assert "{denial}" not in shown


@pytest.mark.parametrize("page", ["README.md", "docs/webhook/force-deletion.md", "docs/webhook/spread-defaults.md"])
def test_documentation_shows_the_output_of_the_demo(page: str, shown: str) -> None:
    path = ROOT / page
    printed = dict(re.findall(r"^\$ (.+)\n((?:.+\n)*)", shown, re.MULTILINE))

    def generated(found: re.Match[str]) -> str:
        return f"{found[1]}$ {found[2]}\n{printed[found[2]]}{found[3]}"

    text, count = BLOCK.subn(generated, path.read_text(encoding="utf-8"))
    assert count
    check(path, text)
