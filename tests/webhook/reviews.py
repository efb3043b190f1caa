"""AdmissionReviews as the API server sends them."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["delete_review"]


def delete_review(
    pod: dict[str, Any], *, seconds: int | None = 0, user: str = "jane", groups: tuple[str, ...] = ()
) -> bytes:
    """The review of a pod's deletion."""
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": pod["metadata"]["name"],
        "namespace": pod["metadata"]["namespace"],
        "operation": "DELETE",
        "userInfo": {"username": user, "groups": list(groups)},
        "object": None,
        "oldObject": pod,
        "dryRun": False,
        "options": {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": seconds},
    }
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).encode()
