"""Compares the answers of two checkouts: everything but prose has to be equal.

``python -m tests.same_answers BEFORE`` runs each command of `COMMANDS` in the checkout BEFORE and in this one, and
compares what they print, and the renders of the chart that each has recorded. A change of words passes. A change of a
key, a code, a number, a name or an exit code does not.

data    the same keys in the same order; equal numbers and booleans; equal strings, except for sentences
text    sentences and pages have the same facts (`facts`)
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import yaml

from tests.tree import ROOT

_PAGE: Final = "page.html"
_HASH: Final = re.compile(r"sha256-[\w+/=]+")
"""Of the page's own script and style, in its Content-Security-Policy."""
CASES: Final = sorted((ROOT / "tests/testdata/reports").glob("[0-9]*.json"))
DEMO: Final = ("--demo", "-A")
COMMANDS: Final = (
    *((command, *DEMO, "-o", form) for command in ("report", "died", "explain") for form in ("json", "wide")),
    *(("explain", *DEMO, kind, "-o", form) for kind in ("pods", "nodes", "deployments") for form in ("json", "table")),
    *(("node", "--demo", "-o", form) for form in ("json", "wide")),
    *(("partitions", "--demo", "-o", form) for form in ("json", "wide")),
    ("versions", "--demo", "--to", "1.37", "-o", "json"),
    *((command, "--snapshot", str(case), "-A", "-o", "json") for case in CASES for command in ("report", "died")),
    *(("explain", "--snapshot", str(case), "-A", "pods", "-o", "wide") for case in CASES),
    ("lint", "-f", "tests/testdata/lint/refused.yaml", "-o", "json"),
    ("lint", "-f", "tests/testdata/lint/unwanted.yaml", "-o", "json"),
    ("report", *DEMO, "-o", _PAGE),
)
_SENTENCE: Final = re.compile(r"\S \S")
_FACT: Final = re.compile(r"[\w./:%=-]*\d[\w./:%=-]*|\b\w+/[\w./-]+|\b[a-z]+(?:[A-Z]\w*)+\b")
"""A number or a word with one, a name with its type, a field."""


def facts(text: str) -> Counter[str]:
    """The words of a text that no change of prose may touch."""
    return Counter(found.strip(".:/=-") for found in _FACT.findall(text))


def text_differences(before: str, after: str) -> Iterator[str]:
    """The facts that one of two texts lacks."""
    one, other = facts(before), facts(after)
    yield from (f"only before: {fact} x{number}" for fact, number in sorted((one - other).items()))
    yield from (f"only after: {fact} x{number}" for fact, number in sorted((other - one).items()))


def data_differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Where two values of JSON or YAML differ in more than prose."""
    if isinstance(before, str) and isinstance(after, str):
        if _SENTENCE.search(before) or _SENTENCE.search(after):
            yield from (f"{path}: {one}" for one in text_differences(before, after))
        elif before != after:
            yield f"{path}: {before!r} became {after!r}"
    elif type(before) is not type(after):
        yield f"{path}: {before!r} became {after!r}"
    elif isinstance(before, dict):
        if list(before) != list(after):
            yield f"{path}: keys {list(before)} became {list(after)}"
        for key in before.keys() & after.keys():
            yield from data_differences(before[key], after[key], f"{path}.{key}")
    elif isinstance(before, list):
        if len(before) != len(after):
            yield f"{path}: {len(before)} values became {len(after)}"
        for number, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from data_differences(one, other, f"{path}[{number}]")
    elif before != after:
        yield f"{path}: {before!r} became {after!r}"


def _answer(checkout: Path, words: tuple[str, ...]) -> tuple[int, str]:
    with TemporaryDirectory() as folder:
        page = Path(folder) / _PAGE
        command = (
            str(checkout / ".venv/bin/python"),
            "-m",
            "kubectl_plugin",
            *words[:-1],
            words[-1].replace(_PAGE, str(page)),
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=checkout)
        return done.returncode, page.read_text(encoding="utf-8") if page.exists() else done.stdout or done.stderr


def _compare(before: Path, words: tuple[str, ...]) -> Iterator[str]:
    (code, said), (new_code, now) = _answer(before, words), _answer(ROOT, words)
    if code != new_code:
        yield f"exit code {code} became {new_code}"
    if words[-1] == "json" and said.startswith(("{", "[")):
        yield from data_differences(json.loads(said), json.loads(now))
    else:
        yield from text_differences(_HASH.sub("", said), _HASH.sub("", now))


def main() -> int:
    """Print what differs; 1 when something does."""
    before = Path(sys.argv[1]).resolve()
    found = 0
    for words in COMMANDS:
        for line in _compare(before, words):
            found += 1
            print(f"{' '.join(words)}: {line}", flush=True)
    for render in sorted((ROOT / "tests/charts/golden").glob("*.yaml")):
        old = (before / render.relative_to(ROOT)).read_text(encoding="utf-8")
        rendered = render.read_text(encoding="utf-8")
        for line in data_differences(list(yaml.safe_load_all(old)), list(yaml.safe_load_all(rendered))):
            found += 1
            print(f"{render.name}: {line}")
    print(f"{len(COMMANDS)} commands, {found} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
