"""Polls the cluster in a thread of its own."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from tests.controlplane.client import ApiClient


class Rounds(ABC):
    """Does rounds for the duration of the block."""

    def __init__(self, api: ApiClient, period: float) -> None:
        """Do none yet.

        Args:
            api: The client; its connection of the thread is closed at the end.
            period: Seconds between two rounds.
        """
        self.__api, self.__period = api, period
        self.__ended = threading.Event()
        self.__thread = threading.Thread(target=self.__run, daemon=True)

    def __enter__(self) -> Self:
        self.__thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__ended.set()
        self.__thread.join()

    def __run(self) -> None:
        try:
            while not self.__ended.wait(self.__period):
                self.do_a_round()
        finally:
            self.__api.close()

    @abstractmethod
    def do_a_round(self) -> None:
        """One of them."""
