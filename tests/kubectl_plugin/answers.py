"""Answers of the command line in the forms that tests compare, and files that it reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.kubectl_plugin.running import run


def said(*words: str, stdin: str = "") -> str:
    """The output with single spaces in place of line breaks and columns."""
    return " ".join(run(*words, stdin=stdin).out.split())


def data(*words: str, stdin: str = "") -> Any:
    """The output as JSON."""
    return json.loads(run(*words, "-o", "json", stdin=stdin).out)


def in_order(answer: str, texts: str) -> bool:
    """Whether an answer has all texts, which `` ... `` separates, one after the other."""
    at = 0
    for text in texts.split(" ... "):
        at = answer.find(text, at) + len(text)
        if at < len(text):
            return False
    return True


def transcript(text: str) -> list[tuple[str, str, str]]:
    """Each command of a text with the error and the advice that it prints; the same may follow several commands."""
    blocks = re.findall(r"((?:^\$ .*\n)+)error: (.*)\n(.*)\n", text, re.MULTILINE)
    return [(typed[2:], error, advice) for commands, error, advice in blocks for typed in commands.splitlines()]


def write_list(file: Path, objects: Iterable[Mapping[str, Any]]) -> str:
    """Write a List, of a cluster that may have more objects; return the file's name."""
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(file)


def _texts(one_or_more: str | Sequence[str]) -> Sequence[str]:
    """A row of a table may have one text or several."""
    return (one_or_more,) if isinstance(one_or_more, str) else one_or_more


def check_texts(answer: str, has: str | Sequence[str], lacks: str | Sequence[str] = ()) -> None:
    """Check that an answer has all texts of the one kind, and none of the other."""
    assert [text for text in _texts(has) if text not in answer] == [], answer
    assert [text for text in _texts(lacks) if text in answer] == [], answer


def fine(*words: str) -> str:
    """The output in one line, of a command that ends with 0 and without a message."""
    ran = run(*words)
    assert (ran.code, ran.err) == (0, "")
    return " ".join(ran.out.split())
