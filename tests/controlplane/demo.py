"""The demo cluster's objects as their authors would create them, for a real API server."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Object

# Written by the API server itself.
_SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def as_written(shown: Mapping[str, Any]) -> Object:
    """The object as its author would create it: without what the API server and controllers fill in."""
    made = copy.deepcopy(dict(shown))
    made.pop("status", None)
    for field in _SERVER_FIELDS:
        made["metadata"].pop(field, None)
    if made["kind"] == "Service":
        made["spec"] = {key: value for key, value in made["spec"].items() if key not in {"clusterIP", "clusterIPs"}}
    if made["kind"] == "Job":
        # Selector and labels hold the uid that only the API server gives.
        del made["spec"]["selector"]
        labels = made["spec"]["template"]["metadata"]["labels"]
        made["spec"]["template"]["metadata"]["labels"] = {"app": labels["app"]}
    return made
