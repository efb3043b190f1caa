"""Pages shrink where objects are large, and grow again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from podrules.cluster.errors import TooLong
from podrules.cluster.live.pages import Pages

ROOM = 10


def reader(sizes: Sequence[int]) -> tuple[Callable[[int], Sequence[int]], list[int]]:
    """A function that reads the next objects of these sizes, as many as fit; and how many each call asked for."""
    left, asked = list(sizes), list[int]()

    def page(count: int) -> Sequence[int]:
        asked.append(count)
        if sum(left[:count]) > ROOM:
            raise TooLong("too long")
        taken, left[:] = left[:count], left[count:]
        return taken

    return page, asked


def test_a_page_that_is_too_long_is_asked_for_with_fewer_objects() -> None:
    page, asked = reader([1] * 40)
    pages = Pages(32)
    assert len(pages.read(page)) == 8
    assert asked == [32, 8]


def test_pages_grow_again_behind_large_objects_and_no_further_than_at_first() -> None:
    page, asked = reader([9, 9, *[0] * 100])
    pages = Pages(8)
    found = [size for _ in range(7) for size in pages.read(page)]
    assert found[:2] == [9, 9]
    assert asked[-1] == 8
    assert max(asked) == 8


def test_one_object_that_is_too_long_is_an_error() -> None:
    page, asked = reader([ROOM + 1])
    with pytest.raises(TooLong):
        Pages(8).read(page)
    assert asked[-1] == 1
