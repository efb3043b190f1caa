"""The cluster of a live source: its context, and its API server's host without secrets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cluster_io.live.live_source import LiveSource
from cluster_io.live.responses import Response
from cluster_io.origin import Origin, host_of


class Nothing:
    """Answers no request."""

    def get(self, *_: object, **__: object) -> Response:
        raise AssertionError("nothing has to be asked")

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://10.0.0.1:6443", "10.0.0.1:6443"),
        ("https://user:secret@api.example.com/k8s/clusters/c-1?token=secret#secret", "api.example.com"),
        ("https://[fd00::1]:6443", "[fd00::1]:6443"),
        ("https://api.example.com:port", None),
        ("https://[fd00", None),
        ("", None),
    ],
)
def test_the_host_alone(address: str, host: str | None) -> None:
    assert host_of(address) == host


def asked(text: str, code: int = 0) -> subprocess.Popen[bytes]:
    program = f"import sys; sys.stdout.write({text!r}); sys.exit({code})"
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)


@pytest.mark.parametrize(
    ("text", "code", "namespace", "origin"),
    [
        ("shop\nhttps://u:p@api:6443\nprod", 0, "shop", Origin("prod", "api:6443")),
        ("\nhttps://api\nmy\ncontext", 0, "default", Origin("my\ncontext", "api")),
        ("", 1, "default", Origin()),
        ("shop", 0, "shop", Origin()),
    ],
)
def test_context_and_namespace_are_asked_for_at_once(text: str, code: int, namespace: str, origin: Origin) -> None:
    source = LiveSource(Nothing(), namespace=None, asked_context=asked(text, code))
    assert (source.namespace, source.origin) == (namespace, origin)


def test_a_namespace_that_was_typed_counts() -> None:
    source = LiveSource(Nothing(), namespace="data", asked_context=asked("shop\nhttps://api\nprod"))
    assert (source.namespace, source.origin) == ("data", Origin("prod", "api"))
    assert LiveSource(Nothing(), namespace="data").origin == Origin()
