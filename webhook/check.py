"""Checks that an installed webhook works: ``python3 -m webhook.check``, which ``helm test`` runs.

It tests the whole path of a review: it creates a pod that the webhook warns about, by a dry run that stores nothing,
and the API server's answer must contain that warning. With ``--url`` it first calls the webhook directly, by the
Service's name, and trusts only the given authorities: this shows which half of the path is broken.

Exit codes: 0 the webhook works; 1 it does not, and standard error says why; 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import json
import ssl
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import quote, urlsplit

from cluster_io.errors import Unreachable
from cluster_io.live.answers import error_message
from cluster_io.live.client import ClientTransport

_PATHS: Final = ("/mutate", "/validate")
_REQUEST_SECONDS: Final = 5.0
_CREATION_SECONDS: Final = 35.0
"""The API server itself gives up after 34."""
_BETWEEN_SECONDS: Final = 1.0
_NAME: Final = "qos-webhook-check"
_WARNING: Final = "spec.terminationGracePeriodSeconds: 0"
"""The start of the webhook's warning about the pod. The warning of a policy starts with other words."""


class _WrongError(Exception):
    """The check failed; the message says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Repeat the check until it succeeds or the time is over."""
    parser = argparse.ArgumentParser(
        prog="python3 -m webhook.check", description="Check that an installed webhook works."
    )
    add = parser.add_argument
    add("--url", type=_url, metavar="https://HOST[:PORT]", help="also call the webhook directly; needs --ca")
    add("--ca", metavar="FILE", help="the authorities that sign its certificate, PEM")
    add("--namespace", default="default", metavar="NAME", help="where the pod is created by dry run (default: default)")
    add("--kubeconfig", metavar="FILE", help="the cluster; KUBECONFIG, else the pod's service account")
    add("--timeout", type=float, default=30.0, metavar="SECONDS", help="how long to retry (default 30)")
    args = parser.parse_args(argv)
    if (args.url is None) != (args.ca is None):
        parser.error("--url and --ca belong together: give both, or neither")
    give_up = time.monotonic() + args.timeout
    try:
        if args.url:
            for path in _PATHS:
                print(f"{args.url}{path}: {_until(give_up, partial(_ask, args.url, path, args.ca, args.namespace))}")
        api_server = ClientTransport(kubeconfig=args.kubeconfig, request_timeout=_CREATION_SECONDS)
        print(f"namespace {args.namespace}: {_until(give_up, partial(_create, api_server, args.namespace, args.url))}")
    except (_WrongError, Unreachable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or parts.path not in {"", "/"}:
        raise argparse.ArgumentTypeError(f"{text!r} is not https://HOST or https://HOST:PORT")
    return text.rstrip("/")


def _until(give_up: float, attempt: Callable[[], str]) -> str:
    """Repeat an attempt; return its result, or raise its last error when the time is over."""
    while True:
        try:
            return attempt()
        except (_WrongError, Unreachable):
            if time.monotonic() + _BETWEEN_SECONDS > give_up:
                raise
        time.sleep(_BETWEEN_SECONDS)


# The webhook itself


def _ask(url: str, path: str, authorities: str, namespace: str) -> str:
    """Send one review to the webhook; return its verdict as a short text."""
    # The review of a plain pod, as the API server sends it in a dry run.
    pods = {"group": "", "version": "v1", "resource": "pods"}
    kind = {"group": "", "version": "v1", "kind": "Pod"}
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
        "object": _pod(namespace),
        "oldObject": None,
        "dryRun": True,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    parts = urlsplit(url)
    try:
        context = ssl.create_default_context(cafile=authorities)
        connection = HTTPSConnection(str(parts.hostname), parts.port, timeout=_REQUEST_SECONDS, context=context)
        try:
            connection.request("POST", path, json.dumps(review), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
    except (OSError, HTTPException) as error:
        raise _WrongError(f"{url}: {error}") from error
    if answer.status != HTTPStatus.OK:
        raise _WrongError(f"{url}: {path} answers {answer.status}: {body[:200]!r}")
    asked = f"{url}: {path}"
    try:
        response = json.loads(body)["response"]
        if response["uid"] != request["uid"] or response["allowed"] is not True:
            raise _WrongError(f"{asked} does not allow a plain pod: {body[:200]!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise _WrongError(f"{asked} does not answer with an AdmissionReview: {body[:200]!r}") from error
    return "allowed, with a patch" if response.get("patch") else "allowed"


# Through the API server


def _create(api_server: ClientTransport, namespace: str, answers: str | None) -> str:
    """Create the pod by dry run; return the outcome as a short text.

    Args:
        api_server: The API server that creates the pod.
        namespace: The pod's namespace.
        answers: The URL at which the webhook answered; None: it was not called directly.
    """
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods?dryRun=All&fieldManager={_NAME}"
    answer = api_server.send("POST", path, json.dumps(_pod(namespace)).encode())
    if answer.status != HTTPStatus.CREATED:
        raise _WrongError(
            f"namespace {namespace}: the API server refuses the test pod: {error_message(answer.body)}; "
            "if the webhook is not the cause, set test.namespace to a namespace that admits the pod"
        )
    if any(line.startswith(_WARNING) for line in answer.warnings):
        return "the API server calls the webhook and returns its warning"
    reached = (
        f"; {answers} answers, so the control plane cannot reach it, or does not call it for this namespace"
        if answers
        else ""
    )
    raise _WrongError(
        f"namespace {namespace}: the webhook's warning about terminationGracePeriodSeconds 0 is missing"
        f"{reached}. Let the control plane reach containerPort of the pods (docs/platforms.md); if the namespace is "
        "excluded, set test.namespace to one that is not"
    )


def _pod(namespace: str) -> dict[str, Any]:
    """A pod that the restricted Pod Security Standard admits, and quotas that require requests and limits."""
    amounts = {"cpu": "10m", "memory": "16Mi"}
    container = {
        "name": "check",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _NAME, "namespace": namespace},
        # No priority: its value depends on the cluster's default class.
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
        },
    }


if __name__ == "__main__":
    sys.exit(main())
