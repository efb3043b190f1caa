"""The last of several readers restores garbage collection."""

from __future__ import annotations

import gc
from threading import Barrier, Thread

import pytest

from cluster_io.live.many_reads import without_collection


def test_it_is_off_inside_and_on_again_after() -> None:
    assert gc.isenabled()
    with without_collection(), without_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_inside_sets_it_back() -> None:
    with pytest.raises(ValueError, match="inside"), without_collection():
        raise ValueError("inside")
    assert gc.isenabled()


def test_the_last_of_several_threads_sets_it_back() -> None:
    entered, left = Barrier(2), Barrier(2)
    seen: list[bool] = []

    def other() -> None:
        with without_collection():
            entered.wait(30)
        left.wait(30)

    thread = Thread(target=other)
    thread.start()
    with without_collection():
        entered.wait(30)
        left.wait(30)
        seen.append(gc.isenabled())
    thread.join(30)
    assert seen == [False]
    assert gc.isenabled()


def test_where_it_was_off_it_stays_off() -> None:
    gc.disable()
    try:
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
