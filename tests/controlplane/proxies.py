"""The product's ``kubectl proxy`` for tests that ask through it themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from cluster_io.live.transport import KubectlProxy, ProxySettings
from tests.waiting import wait_for

_READING: Final = ProxySettings()


@contextmanager
def connected_proxy(settings: ProxySettings = _READING, *, request_timeout: float = 30) -> Iterator[KubectlProxy]:
    """A proxy that has its connection: kubectl gives up one that takes 10 s, as of a machine that stands still.

    Args:
        settings: The methods and paths that it lets through.
        request_timeout: Seconds for one request.
    """
    path = settings.paths[0] if settings.paths else "/version"
    with KubectlProxy([], request_timeout=request_timeout, settings=settings) as proxy:
        wait_for(lambda: proxy.get(path)[0] != HTTPStatus.BAD_GATEWAY, "kubectl is connected")
        yield proxy
