"""No body makes a handler fail: it is refused as invalid, or it is answered. ``make fuzz`` searches for a minute."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from tests.webhook.fuzz.bodies import bodies, reviews
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import BadReview, decode_review
from webhook.reviews.response import MAX_MESSAGE, MAX_WARNING, encode_answer
from webhook.rules import mutate, validate

_BODIES = 200


def review_once(body: bytes, cluster: Cluster) -> bool:
    """Answer a body as the server does, without catching errors; return whether it is a review at all."""
    try:
        review = decode_review(body)
    except BadReview:
        return False
    for handler in (mutate, validate):
        try:
            answer = handler(review, cluster)
        except BadReview:
            continue
        response = json.loads(encode_answer(review.uid, answer))["response"]
        assert response["uid"] == review.uid
        assert response["allowed"] == answer.allowed
        said = [*response.get("warnings", ()), response.get("status", {}).get("message", "")]
        assert all(text.isprintable() and len(text) <= max(MAX_WARNING, MAX_MESSAGE) for text in said)
        assert answer.allowed or not answer.patch
    return True


@pytest.mark.parametrize("body", reviews())
def test_good_reviews_are_read(body: bytes, demo_cluster: Cluster) -> None:
    assert review_once(body, demo_cluster)


def test_no_body_makes_a_handler_fail(demo_cluster: Cluster) -> None:
    seen: Counter[bool] = Counter()

    @settings(max_examples=_BODIES, suppress_health_check=[HealthCheck.too_slow])
    @given(body=bodies())
    def review(body: bytes) -> None:
        seen[review_once(body, demo_cluster)] += 1

    review()
    summary = f"{seen[True]} of {seen.total()} bodies were reviews"
    print(summary)
    # Bodies that are refused before any handler sees them would not test the handlers.
    assert seen[True] > seen.total() / 2, summary
