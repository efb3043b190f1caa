"""Reviews grown from the API server's own schemas: each is read, and refused exactly as documented.

``make siege`` has 200,000 of them; SIEGE_REVIEWS and SIEGE_SEED change this.
"""

from __future__ import annotations

import base64
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import create_environ

from cluster_io.in_memory import MemorySource
from cluster_io.source import Source
from podrules.qos_webhook.rules import PodRules
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.webhook.clusters import NOW, make_class, make_cluster, make_namespace, pod_rules
from tests.webhook.siege import oracle
from tests.webhook.siege.growing import Grower, read_schemas
from tests.webhook.siege.grown_reviews import Grown, draw
from webhook.cluster.view import Cluster
from webhook.serving.app import create_app
from webhook.settings import ForceDeletion, ForceDeletionMode

pytestmark = pytest.mark.controlplane

REVIEWS = int(os.environ.get("SIEGE_REVIEWS", "2000"))
SEED = int(os.environ.get("SIEGE_SEED", "1"))
LEAST_OF_EACH = 0.05
"""The minimum share of all reviews that are refused, and that are not."""


class World:
    """The application in this process, over the cluster of `oracle`."""

    def __init__(self) -> None:
        """Fill it."""
        self._objects = [
            *(
                make_class(name, value, policy=policy, default=name == oracle.GLOBAL_DEFAULT)
                for name, (value, policy) in oracle.CLASSES.items()
            ),
            *(
                make_namespace(name, **{key.replace("-", "_"): value for key, value in labels.items()})
                for name, labels in oracle.LABELS.items()
            ),
        ]
        self._source: Source = self._having([])
        filled = make_cluster(self._objects, force_deletion=_force_deletion(), options=_options())
        cluster = Cluster(
            filled._caches,
            lambda _: self._source,
            filled._spread_defaults,
            filled.now,
            filled.force_deletion,
            options=filled.options,
            knows_clients=True,
        )
        self._app: Callable[..., Any] = create_app(cluster, lambda: (), lambda: False)

    def answer(self, review: Grown) -> Object:
        """The response to a review; the answer's status is 200."""
        if review.pods:
            self._source = self._having(review.pods)
        request = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review.request}
        # Like Go's text: invalid characters are escaped, all others are not.
        body = json.dumps(request, ensure_ascii=False).encode()
        query, kind = "timeout=30s", "application/json"
        environ = create_environ(review.path, method="POST", query_string=query, data=body, content_type=kind)
        statuses: list[str] = []
        try:
            content = b"".join(self._app(environ, lambda status, _: statuses.append(status)))
        finally:
            if review.pods:
                self._source = self._having([])
        assert statuses == ["200 OK"], (statuses, content)
        response: Object = json.loads(content)["response"]
        return response

    def _having(self, pods: list[Object]) -> Source:
        return MemorySource([*self._objects, *pods], description="the cluster", now=NOW)


def _options() -> PodRules:
    return pod_rules(
        priorityClasses={"allowed": {**oracle.ALLOWED}, "defaults": {**oracle.DEFAULTS}, "templates": "deny"}
    )


def _force_deletion() -> ForceDeletion:
    modes = {name: ForceDeletionMode(mode) for name, mode in oracle.MODES.items()}
    return ForceDeletion(namespaces=modes, exempt_users=frozenset(oracle.EXEMPT_USERS))


def test_grown_reviews_are_read_and_refused_as_documented(control_plane: ControlPlane) -> None:
    """No review is left unread, no rule is bypassed, and nothing is refused without a rule."""
    world = World()
    grower = Grower(read_schemas(control_plane.api), random.Random(SEED))  # noqa: S311  # no secret
    seen: Counter[tuple[str, bool]] = Counter()
    for number in range(REVIEWS):
        review = draw(grower)
        response = world.answer(review)
        details = f"review {number} of seed {SEED}: {_short(review)}: {str(response)[:800]}"
        assert "unseen" not in json.dumps(response.get("auditAnnotations", {})), details
        refused = review.path == "/validate" and oracle.is_refused(review.request, review.pods)
        assert response["allowed"] is not refused, details
        if review.path == "/mutate" and _what(review) == "CREATE pods/":
            wanted = oracle.class_of_new_pod(review.request["object"], review.request["namespace"])
            assert wanted in {None, _class_given(review.request["object"], response)}, details
        seen[_what(review), refused] += 1
    for (what, refused), count in sorted(seen.items()):
        print(f"{count:7} {what} {'refused' if refused else 'allowed'}")
    refusals = sum(count for (_, refused), count in seen.items() if refused)
    assert LEAST_OF_EACH < refusals / REVIEWS < 1 - LEAST_OF_EACH
    for what in ("CREATE pods/", "DELETE pods/", "CREATE pods/eviction", "DELETE nodes/", "CREATE deployments/"):
        assert seen[what, True], f"no refused {what}"
        assert seen[what, False], f"no allowed {what}"


def _class_given(pod: Object, response: Object) -> str:
    """The class of a pod after the patch of an answer."""
    name: str = pod["spec"].get("priorityClassName", "")
    for step in json.loads(base64.b64decode(response.get("patch", "W10="))):
        if step["path"] == "/spec/priorityClassName":
            name = step["value"]
    return name


def _what(review: Grown) -> str:
    request = review.request
    return f"{request['operation']} {request['resource']['resource']}/{request.get('subResource', '')}"


def _short(review: Grown) -> str:
    """The fields that a rule reads, in a review of any size."""
    request = review.request
    entry = request["oldObject"] or request["object"]
    spec = entry.get("spec") or {}
    fields = ("priorityClassName", "priority", "preemptionPolicy", "nodeName", "terminationGracePeriodSeconds")
    parts = {name: spec[name] for name in fields if name in spec}
    metadata = {name: entry["metadata"].get(name) for name in ("annotations", "ownerReferences", "deletionTimestamp")}
    who = request["userInfo"]
    return f"{review.path} {_what(review)} in {request.get('namespace')} by {who}: {parts} {str(metadata)[:400]}"
