"""Creates many objects in parallel: in several processes, over several connections each."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from threading import Thread
from typing import Final

from tests.controlplane.client import ApiClient

_PROCESSES: Final = 4
_CONNECTIONS: Final = 2
"""Of each process."""

Work = Callable[[int, int], None]
"""Does each n-th of what is to do, from a first one on: ``work(first, n)``."""


def share_out(api: ApiClient, work: Work) -> None:
    """Do all of the work.

    Raises:
        RuntimeError: something failed; standard error has the details.
    """
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=_process, args=(api, work, number)) for number in range(_PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise RuntimeError("not everything could be created; see the errors above")


def _process(api: ApiClient, work: Work, number: int) -> None:
    failed: list[BaseException] = []

    def run(first: int) -> None:
        try:
            work(first, _PROCESSES * _CONNECTIONS)
        except BaseException as error:  # noqa: BLE001 - a thread's error is its process's
            failed.append(error)
        finally:
            # Each thread has a connection of its own.
            api.close()

    threads = [Thread(target=run, args=(number * _CONNECTIONS + place,)) for place in range(_CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in failed:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    # The control plane is the parent's to stop.
    os._exit(1 if failed else 0)
