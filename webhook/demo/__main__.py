"""Serves the demo cluster on loopback, sends the recorded reviews, and prints what kubectl would show."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.resources import as_file, files
from typing import IO, Any, Final

_START_SECONDS: Final = 120
"""On a busy machine; the wait ends early if the server ends."""
_WARNINGS: Final = "{warnings}"
_DENIAL: Final = "{denial}"
_NO_STEPS: Final = base64.b64encode(b"[]").decode()


def main() -> int:
    """Print each command and its answer; 1 when the webhook does not start."""
    commands = json.loads(files("webhook.demo").joinpath("recorded.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryFile() as log, _serving(log) as connection:
        if connection is None:
            log.seek(0)
            print(log.read().decode(errors="replace"), file=sys.stderr)
            return 1
        for command in commands:
            print(f"$ {command['command']}")
            answers = [_response(connection, path, review) for path, review in command["calls"]]
            print(_shown(command["output"], answers))
    return 0


@contextlib.contextmanager
def _serving(log: IO[bytes]) -> Iterator[http.client.HTTPSConnection | None]:
    """A connection to a webhook that this program starts; None when it does not start."""
    with socket.socket() as held:
        # This reserves the port; a server that also sets the option, as ours does, can listen on it.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        if sys.platform != "linux":
            # On other systems it could not.
            held.close()
        config = files("webhook.demo").joinpath("config.yaml")
        serve = [sys.executable, "-m", "webhook.main", "--demo", f"--address=127.0.0.1:{port}", "--drain=0s"]
        with (
            as_file(config) as file,
            subprocess.Popen([*serve, f"--config={file}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log) as server,
        ):
            connection = _connected(server, port)
            try:
                yield connection
            finally:
                if connection is not None:
                    connection.close()
                server.terminate()


def _connected(server: subprocess.Popen[bytes], port: int) -> http.client.HTTPSConnection | None:
    # The certificate is made for this run only, so it cannot be verified.
    unverified = ssl.create_default_context()
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=unverified)
    deadline = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            connection.request("GET", "/readyz")
            connection.getresponse().read()
            return connection
        except OSError:
            connection.close()
            time.sleep(0.05)
    return None


def _response(connection: http.client.HTTPSConnection, path: str, review: Mapping[str, Any]) -> dict[str, Any]:
    """The webhook's response to one review."""
    connection.request("POST", path, json.dumps(review), {"Content-Type": "application/json"})
    response: dict[str, Any] = json.loads(connection.getresponse().read())["response"]
    return response


def _shown(output: str, answers: list[dict[str, Any]]) -> str:
    """The output of kubectl with each distinct warning once, and the filled-in fields, which it does not show."""
    warnings = dict.fromkeys(text for answer in answers for text in answer.get("warnings", ()))
    lines = [f"Warning: {text}" for text in warnings]
    for answer in answers:
        if "status" in answer:
            output = output.replace(_DENIAL, answer["status"]["message"], 1)
    shown = "\n".join(filter(None, output.replace(_WARNINGS, "\n".join(lines)).splitlines()))
    steps = [step for answer in answers for step in json.loads(base64.b64decode(answer.get("patch", _NO_STEPS)))]
    added = (step for step in steps if step["op"] == "add")
    return "\n".join([shown, *(line for step in added for line in _filled_in(step)), ""])


def _filled_in(step: Mapping[str, Any]) -> Iterator[str]:
    """Format one operation of a patch, with each entry of a list on a line."""
    value = step["value"]
    yield f"  filled in: {step['path'].lstrip('/').replace('/', '.')}{'' if isinstance(value, list) else f' {value}'}"
    for entry in value if isinstance(value, list) else ():
        yield f"  - {json.dumps(entry)}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader has closed the pipe; flushing the rest of the buffer must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
