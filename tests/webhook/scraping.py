"""Scrapes the metrics of a webhook as Prometheus does."""

from __future__ import annotations

import urllib.request

from tests.waiting import again_if_late
from webhook.serving.server import SCRAPE_SECONDS


def scraped(port: int, path: str = "/metrics") -> str:
    """The text of a page of metrics; requested again if the machine was paused meanwhile.

    Raises:
        urllib.error.HTTPError: The server refused it.
    """

    def asked() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return str(answer.read().decode())

    return again_if_late(asked, SCRAPE_SECONDS)
