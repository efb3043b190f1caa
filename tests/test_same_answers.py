"""`tests.same_answers` lets a change of words pass, and finds each other change."""

from __future__ import annotations

from typing import Any

import pytest

from tests.same_answers import data_differences, text_differences


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"text": "nobody evicts pod/web-0 of 3"}, {"text": "no client evicts pod/web-0 of 3"}),
        ({"a": 1, "b": [True, None]}, {"a": 1, "b": [True, None]}),
    ],
)
def test_words_may_change(before: Any, after: Any) -> None:
    assert list(data_differences(before, after)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1}, {"b": 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": True}),
        ({"code": "Evicted"}, {"code": "Deleted"}),
        ([1], [1, 2]),
        ({"text": "it has 2 of 3 pods"}, {"text": "it has 3 of 3 pods"}),
        ({"text": "waits for node/a-1"}, {"text": "waits for node/a-2"}),
        ({"text": "set spec.replicas of it"}, {"text": "set spec.minReadySeconds of it"}),
    ],
)
def test_other_changes_are_found(before: Any, after: Any) -> None:
    assert list(data_differences(before, after))


def test_pages_are_compared_by_their_facts() -> None:
    assert list(text_differences("web-0 has 20 MiB left", "20 MiB remain for web-0")) == []
    assert list(text_differences("web-0 has 20 MiB left", "web-0 has 21 MiB left")) == [
        "only before: 20 x1",
        "only after: 21 x1",
    ]
