"""Asks a running webhook two harmless questions, as ``helm test`` does: ``python3 -m webhook.check``.

It connects as the API server would: by the Service's name, and trusting only the authority that the webhook made. The
pod of its reviews exists nowhere. Answering has no effects.

Exit codes: 0 it answers as it should; 1 it does not, with what is wrong on standard error; 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import json
import ssl
import sys
import time
import uuid
from collections.abc import Sequence
from http.client import HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

__all__ = ["main"]

_PATHS: Final = ("/mutate", "/validate")
_REQUEST_SECONDS: Final = 5.0
_BETWEEN_SECONDS: Final = 1.0
_NAME: Final = "qos-webhook-check"


class _WrongError(Exception):
    """What is wrong, for a person."""


def main(argv: Sequence[str] | None = None) -> int:
    """Ask until it answers as it should, or the time is over."""
    args = _parser().parse_args(argv)
    give_up = time.monotonic() + args.timeout
    while True:
        try:
            for path in _PATHS:
                print(f"{args.url}{path}: {_ask(args.url, path, args.ca, args.namespace)}")
            return 0
        except (_WrongError, OSError, HTTPException) as error:
            if time.monotonic() + _BETWEEN_SECONDS > give_up:
                print(f"error: {args.url}: {error}", file=sys.stderr)
                return 1
        time.sleep(_BETWEEN_SECONDS)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m webhook.check", description="Ask a running webhook two harmless questions."
    )
    add = parser.add_argument
    add("--url", type=_url, required=True, metavar="https://HOST[:PORT]", help="where the API server would call it")
    add("--ca", required=True, metavar="FILE", help="the authorities that sign its certificate, PEM")
    add("--namespace", default="default", metavar="NAME", help="of the pod that is asked about; default")
    add("--timeout", type=float, default=30.0, metavar="SECONDS", help="how long to go on asking; 30")
    return parser


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or parts.path not in {"", "/"}:
        raise argparse.ArgumentTypeError(f"{text!r} is not https://HOST or https://HOST:PORT")
    return text.rstrip("/")


def _ask(url: str, path: str, authorities: str, namespace: str) -> str:
    """What it answers to one review, in a word."""
    review = _review(namespace)
    parts = urlsplit(url)
    context = ssl.create_default_context(cafile=authorities)
    connection = HTTPSConnection(str(parts.hostname), parts.port, timeout=_REQUEST_SECONDS, context=context)
    try:
        connection.request("POST", path, json.dumps(review), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise _WrongError(f"{path} answers {answer.status}: {body[:200]!r}")
    return _verdict(path, body, review["request"]["uid"])


def _verdict(path: str, body: bytes, uid: str) -> str:
    try:
        response = json.loads(body)["response"]
        if response["uid"] != uid or response["allowed"] is not True:
            raise _WrongError(f"{path} does not allow a plain pod: {body[:200]!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise _WrongError(f"{path} answers what is no AdmissionReview: {body[:200]!r}") from error
    return "allowed, with a patch" if response.get("patch") else "allowed"


def _review(namespace: str) -> dict[str, Any]:
    """Of a plain pod, as the API server asks in a dry run."""
    pods = {"group": "", "version": "v1", "resource": "pods"}
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _NAME, "namespace": namespace},
        # Without a priority: what it would be depends on the cluster's default class.
        "spec": {"containers": [{"name": "check", "image": "check"}]},
    }
    request = {
        "uid": str(uuid.uuid4()),
        "kind": kind,
        "resource": pods,
        "requestKind": kind,
        "requestResource": pods,
        "name": _NAME,
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {"username": _NAME},
        "object": pod,
        "oldObject": None,
        "dryRun": True,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


if __name__ == "__main__":
    sys.exit(main())
