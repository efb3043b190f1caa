"""Writes log lines as text or JSON to standard error.

Names in a line come from requests and from the cluster: their control characters never reach a terminal, and no line
contains the content of an object. A repeated fault is logged a few times, then counted: no client can fill a disk.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any, Final, TextIO

from webhook.settings import LogFormat, LogLevel

_REVIEWS: Final = logging.getLogger("webhook.review")
_OWN_PACKAGES: Final = ("webhook", "podrules", "cluster_io")
_FIELDS: Final = "fields"
"""The attribute of a record with the additional fields of its line."""
_LONGEST: Final = 1024
"""Characters of a message or a value."""


def set_up_logs(form: LogFormat, level: LogLevel = LogLevel.INFO) -> None:
    """Write all log lines of this process in one form.

    Libraries never log below info: at debug, clients of the API server log its answers, including Secrets.
    """
    least = logging.getLevelNamesMapping()[level.value.upper()]
    logging.root.handlers = [make_handler(form, sys.stderr)]
    logging.root.setLevel(max(least, logging.INFO))
    for package in _OWN_PACKAGES:
        logging.getLogger(package).setLevel(least)


def make_handler(form: LogFormat, stream: TextIO) -> logging.Handler:
    """A handler that writes lines to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter() if form is LogFormat.JSON else _TextFormatter())
    handler.addFilter(Sparing())
    return handler


def logs_review(level: int) -> bool:
    """Whether a line about a review is written at this level."""
    return _REVIEWS.isEnabledFor(level)


def log_review(
    outcome: str, milliseconds: float, *, level: int, path: str, uid: str, what: str, reason: str = ""
) -> None:
    """Log one review.

    Args:
        outcome: The outcome as in the metrics.
        milliseconds: The time between its arrival and the answer.
        level: The level of the line, from `logging`.
        path: The path of the request.
        uid: The uid of the review, which the API server's log and audit log contain too.
        what: The reviewed object: resource, namespace, name; unknown parts are empty.
        reason: The problem, without the content of the object.
    """
    fields = {"outcome": outcome, "ms": round(milliseconds, 1), "path": path, "uid": uid, "object": what}
    _REVIEWS.log(level, "review", extra={_FIELDS: fields | ({"reason": reason} if reason else {})})


class Sparing(logging.Filter):
    """Lets each place in the code log a few lines per period, and then counts the omitted ones.

    Lines about reviews are never omitted: each can be looked up by its uid.
    """

    def __init__(self, *, lines: int = 10, seconds: float = 10.0) -> None:
        """Allow ``lines`` lines per place in ``seconds`` seconds."""
        super().__init__()
        self._lines = lines
        self._seconds = seconds
        self._logged: dict[tuple[str, int], tuple[float, int]] = {}
        """By place: the start of the period, and the number of lines since then."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this line is written."""
        if record.name == _REVIEWS.name:
            return True
        place = (record.pathname, record.lineno)
        since, count = self._logged.get(place, (record.created, 0))
        if record.created - since >= self._seconds:
            if count > self._lines:
                record.msg = f"{record.getMessage()} (and {count - self._lines} more like it before)"
                record.args = None
            since, count = record.created, 0
        self._logged[place] = (since, count + 1)
        return count < self._lines


class _TextFormatter(logging.Formatter):
    """``TIME LEVEL LOGGER: message key=value``, on one line except for tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_shown(value)}" for name, value in _fields(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {_plain(record.getMessage())}{fields}"
        if not record.exc_info:
            return line
        return "\n".join((line, *map(_plain, self.formatException(record.exc_info).splitlines())))


class _JsonFormatter(logging.Formatter):
    """One JSON object per line, also with a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:_LONGEST],
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        # ASCII only: no name can control a terminal that shows the line.
        return json.dumps(line, default=str)


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = getattr(record, _FIELDS, {})
    return {name: value[:_LONGEST] if isinstance(value, str) else value for name, value in fields.items()}


def _time(record: logging.LogRecord) -> str:
    """RFC 3339 with milliseconds, UTC."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"


def _shown(value: Any) -> str:
    """Format a value: one word without quotes, any other with quotes."""
    text = str(value)
    return text if text.isprintable() and text and not set(text) & set(" \"='") else json.dumps(text)


def _plain(text: str) -> str:
    text = text[:_LONGEST]
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)
