"""Lines of the log: whole lines in both formats, and few of them per fault."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from webhook.serving.logs import Sparing, log_review, make_handler
from webhook.settings import LogFormat

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


class Written(NamedTuple):
    logger: logging.Logger
    stream: io.StringIO

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


@pytest.fixture
def written(request: pytest.FixtureRequest) -> Iterator[Written]:
    """The log in the format that the test names."""
    stream = io.StringIO()
    handler = make_handler(request.param, stream)
    logger = logging.getLogger("webhook")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield Written(logger, stream)
    logger.removeHandler(handler)
    logger.setLevel(level)
    logger.propagate = True


text = pytest.mark.parametrize("written", [LogFormat.TEXT], indirect=True)
as_json = pytest.mark.parametrize("written", [LogFormat.JSON], indirect=True)


def refuse(name: str = "web", reason: str = "") -> None:
    log_review(
        "denied", 1.2345, level=logging.INFO, path="/validate", uid="705ab4f5", what=f"pods/shop/{name}", reason=reason
    )


@text
def test_review_as_text(written: Written) -> None:
    refuse()
    assert re.fullmatch(
        TIME + " INFO webhook.review: review outcome=denied ms=1.2 path=/validate uid=705ab4f5 object=pods/shop/web",
        written.lines[0],
    )


@as_json
def test_review_as_json(written: Written) -> None:
    refuse(reason="request.object of pods: spec: 5 is a number; write a mapping")
    line = json.loads(written.lines[0])
    assert re.fullmatch(TIME, line.pop("time"))
    assert line == {
        "level": "info",
        "logger": "webhook.review",
        "message": "review",
        "outcome": "denied",
        "ms": 1.2,
        "path": "/validate",
        "uid": "705ab4f5",
        "object": "pods/shop/web",
        "reason": "request.object of pods: spec: 5 is a number; write a mapping",
    }


HOSTILE = 'a\n{"level": "error"}\x1b[2J\u202e\ud800 b="c"' + "x" * 5000


@text
def test_names_move_no_terminal(written: Written) -> None:
    refuse(HOSTILE)
    written.logger.warning("%s is no pod", HOSTILE)
    review, warning = written.lines
    assert review.isprintable()
    assert 'object="pods/shop/a\\n{' in review
    assert warning.isprintable()
    assert max(map(len, (review, warning))) < 2048


@as_json
def test_names_make_no_lines(written: Written) -> None:
    refuse(HOSTILE)
    written.logger.warning("%s is no pod", HOSTILE)
    review, warning = written.lines
    assert review.isascii()
    assert json.loads(review)["object"] == f"pods/shop/{HOSTILE}"[:1024]
    assert json.loads(warning)["message"] == HOSTILE[:1024]


@as_json
def test_traceback_as_json(written: Written) -> None:
    try:
        raise ValueError("a mistake")
    except ValueError:
        written.logger.exception("it was let through")
    line = json.loads(written.lines[0])
    assert line["message"] == "it was let through"
    assert line["traceback"].endswith("ValueError: a mistake")


@text
def test_traceback_as_text(written: Written) -> None:
    try:
        raise ValueError("\x1b[2J")
    except ValueError:
        written.logger.exception("it was let through")
    lines = written.lines
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: ?[2J"


def _record(created: float, *, name: str = "webhook.serving.app", line: int = 1) -> logging.LogRecord:
    record = logging.LogRecord(name, logging.WARNING, "app.py", line, "%d is bad", (400,), None)
    record.created = created
    return record


def test_place_in_the_code_logs_a_few_times() -> None:
    sparing = Sparing(lines=3, seconds=10)
    assert [sparing.filter(_record(100 + count)) for count in range(5)] == [True, True, True, False, False]
    assert sparing.filter(_record(104, line=2))
    again = _record(111)
    assert sparing.filter(again)
    assert again.getMessage() == "400 is bad (and 2 more like it before)"
    quiet = _record(121)
    assert sparing.filter(quiet)
    assert quiet.getMessage() == "400 is bad"


def test_each_review_is_logged() -> None:
    sparing = Sparing(lines=3, seconds=10)
    assert all(sparing.filter(_record(100, name="webhook.review")) for _ in range(100))
