"""Process-wide changes of the server: only once it runs, and without unintended effects."""

from __future__ import annotations

import logging
import subprocess
import sys

from gunicorn.config import Config

from webhook.main import parse_settings
from webhook.serving.server import Server, cache_settings

_CREATED = """
import webhook.serving.metrics, webhook.serving.server
from prometheus_client import CollectorRegistry, Counter
registry = CollectorRegistry()
Counter("asked", "Requests.", registry=registry).inc()
print(*sorted(sample.name for metric in registry.collect() for sample in metric.samples))
"""


def test_server_that_does_not_run_keeps_the_loggers() -> None:
    before = (logging.root.handlers[:], logging.root.level, logging.getLogger("podrules").level)
    Server(parse_settings(["--demo", "--log-level=error", "--log-format=json"]))
    assert (logging.root.handlers, logging.root.level, logging.getLogger("podrules").level) == before


def test_import_keeps_the_metrics_of_others() -> None:
    done = subprocess.run([sys.executable, "-c", _CREATED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["asked_created", "asked_total"]


def test_cached_settings_are_those_of_gunicorn() -> None:
    config = Config()
    config.set("keepalive", 95)
    before = {name: getattr(config, name) for name in config.settings}
    cache_settings(config)
    assert {name: getattr(config, name) for name in config.settings} == before


def test_cached_settings_are_plain_attributes() -> None:
    config = Config()
    cache_settings(config)
    # A change of gunicorn's own settings is no longer read: attributes are found before `Config.__getattr__` is called.
    config.set("keepalive", 7)
    assert config.keepalive != 7
