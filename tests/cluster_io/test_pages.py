"""Pages shrink if objects are large or cannot be decoded, and grow again; a single such object is left out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from urllib.parse import parse_qs, urlsplit

import pytest

from cluster_io.errors import TooLong, Unreachable
from cluster_io.live.answers import pages_of

ROOM = 10
PATH = "/api/v1/pods"
ODD = "\x01"
"""Invalid JSON at any place."""


def lists(sizes: Sequence[int | str]) -> tuple[Callable[[str], bytes], list[int]]:
    """An API server with pods of these sizes, and the limit of each request; a pod with a text is not JSON."""
    asked = list[int]()

    def request(path: str) -> bytes:
        query = parse_qs(urlsplit(path).query)
        first, count = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        asked.append(count)
        end = min(first + count, len(sizes))
        meta = {"resourceVersion": "7", **({"continue": str(end), "remainingItemCount": 9} if end < len(sizes) else {})}
        places = range(first, end)
        items = [{"metadata": {"name": f"pod-{place}", "namespace": "shop", "x": sizes[place]}} for place in places]
        found = {"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items}
        body = json.dumps(found, separators=(",", ":"))
        sent = body.replace(json.dumps(ODD), ODD).encode()
        if sum(size for size in sizes[first:end] if isinstance(size, int)) > ROOM:
            raise TooLong("too long", sent[:400])
        return sent

    return request, asked


def read(request: Callable[[str], bytes], size: int) -> tuple[list[int], list[str]]:
    """How many objects each page has, and the objects that were left out."""
    left_out = list[str]()
    pages = list(pages_of(request, PATH, "", size, lambda item: left_out.append(f"{item.namespace}/{item.name}")))
    assert {page.metadata.resource_version for page in pages} == {"7"}
    return [len(page.items) for page in pages], left_out


def test_page_that_is_too_long_is_asked_for_with_fewer_objects() -> None:
    request, asked = lists([1] * 12 + [0] * 60)
    assert read(request, 32) == ([8, 8, 8, 8, 8, 16, 16], [])
    assert asked == [32, 8, 8, 8, 8, 8, 16, 32]


def test_few_pages_are_too_large_where_all_objects_are() -> None:
    """A tenant with hundreds of them must not prevent a new replica's first list."""
    request, asked = lists([9] * 100)
    assert read(request, 500) == ([1] * 100, [])
    assert len(asked) <= 130


def test_page_is_freed_before_the_next_one() -> None:
    """A tenant may make each object as long as the limit of an answer."""
    request, _ = lists([1] * 32)
    bodies: list[bytes] = []
    references: list[int] = []

    def counting(path: str) -> bytes:
        references.extend(sys.getrefcount(body) for body in bodies)
        bodies.append(request(path))
        return bodies[-1]

    for page in pages_of(counting, PATH, "", 8, lambda _: None):
        assert page.items
        del page
    alone = [b"".join([b"x", b"y"])]
    assert references == [sys.getrefcount(body) for body in alone] * len(references)
    assert len(bodies) == 4


def test_pages_grow_back_to_their_first_size() -> None:
    request, asked = lists([9, 9, *[0] * 100])
    counts, left_out = read(request, 8)
    assert (sum(counts), counts[0], left_out) == (102, 1, [])
    assert asked[-1] == 8
    assert max(asked) == 8


@pytest.mark.parametrize("odd", [ROOM + 1, ODD])
@pytest.mark.parametrize("place", [0, 5, 11])
def test_one_object_that_is_too_long_or_odd_is_left_out_alone(odd: int | str, place: int) -> None:
    request, _ = lists([*[0] * place, odd, *[0] * (11 - place)])
    counts, left_out = read(request, 8)
    assert sum(counts) == 11
    assert left_out == [f"shop/pod-{place}"]


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"kind":"Status"}, '])
def test_answer_that_is_not_a_list_is_an_error(body: bytes) -> None:
    with pytest.raises(Unreachable, match="the answer to /api/v1/pods is not a list"):
        list(pages_of(lambda _: body, PATH, "", 8, lambda _: None))
