"""Links of the documentation work in the repository: they lead to existing files and headings.

tests/release/test_site.py checks them on the site.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
MADE: Final = ROOT / "docs" / "reference"
"""Written by ``make site``, so not part of the repository."""
PAGES: Final = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "charts/qos-webhook/README.md")
    ),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if MADE not in page.parents),
]
BLOCK: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
INLINE: Final = re.compile(r"`[^`\n]+`")
HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
LINK: Final = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)|\b(?:href|src)=\"([^\"]+)\"", re.MULTILINE)


def dead_links(page: Path, text: str) -> Iterator[str]:
    """Relative links of a page without a target, each with the missing part."""
    for found in LINK.finditer(INLINE.sub("", BLOCK.sub("", text))):
        target = next(filter(None, found.groups()))
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or not file.is_relative_to(ROOT) or file.is_relative_to(MADE):
            yield f"{target}: not in the repository"
        elif anchor and anchor not in anchors(text if file == page else file.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as code hosts create them: the second of a name ends with -1."""
    seen: Counter[str] = Counter()
    made = set()
    for heading in HEADING.findall(BLOCK.sub("", text)):
        name = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        made.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return made


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not list(dead_links(page, page.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("[a](gone.md)", "gone.md: not in the repository"),
        ("[a](reference/json.md)", "reference/json.md: not in the repository"),
        ("[a](../../passwd)", "../../passwd: not in the repository"),
        ("[a](#begin-1)", "#begin-1: no such heading"),
        ("[a](delete.md#begin)", "delete.md#begin: no such heading"),
        ('<img src="gone.png">', "gone.png: not in the repository"),
        ("[a]: gone.md", "gone.md: not in the repository"),
    ],
)
def test_dead_link_is_found(text: str, missing: str) -> None:
    assert list(dead_links(ROOT / "docs" / "index.md", f"# Begin\n{text}\n")) == [missing]


@pytest.mark.parametrize(
    "text",
    ["[a](schema)", "[a](delete.md#safeguards)", "[a](#begin)\n## Begin", "# Begin\n[a](#begin-1)", "`[a](b.md)`"],
)
def test_working_link_is_not_dead(text: str) -> None:
    assert not list(dead_links(ROOT / "docs" / "index.md", f"# Begin\n{text}\n"))
