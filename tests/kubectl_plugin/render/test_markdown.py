"""``-o markdown``: any text of a page reads the same after rendering."""

from __future__ import annotations

import html
import re
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kubectl_plugin.render.command import Target, qos, why
from kubectl_plugin.render.formats import Medium, PrintedAnswer
from kubectl_plugin.render.markdown import markdown_page, render_markdown
from kubectl_plugin.render.page import Line, Page, Row, Section, Table
from kubectl_plugin.reports.verdict import Severity
from podrules.api.escape import escape
from tests.kubectl_plugin.running import run

TO_A_PIPE: Final = Medium(target=Target(), colour=False, width=80, terminal=False, template=None, note=print)
PARSER: Final = MarkdownIt("gfm-like", {"linkify": False})
HOSTILE: Final = (
    *("a|b|c", "\\|", "<script>alert(1)</script>", "<!-- ", "![x](http://evil.example/x.png)"),
    *("[click](javascript:alert(1))", "**bold** _it_ ~~gone~~ `code` ``", "# heading", "closed ## #", "- item"),
    *("+ item", "* item", "1. item", "12) item", "=====", "---", "> quote", "    code", "```\nfence"),
    *("line\nbreak\r\n\n# h", "&lt;b&gt; &amp; &#60;", "\x1b[31mred\u202e", "@team look at #12", "$x^2$"),
    *("http://evil.example/ www.evil.example ftp://x", "snake_case_name _x_ __y__", "| --- |", "trailing\\"),
    "image@sha256:abc",
)


def _page(text: str) -> Page:
    return Page(
        title=text,
        verdict=(text, text),
        severity=Severity.NOTICE,
        parts=(
            Section(text, (text,)),
            Section("Two", (text, Row((text, "", text)))),
            Table(text, (text, "right"), ((text, text), (text, "1")), right=frozenset({1})),
        ),
        next_commands=(why(text),),
    )


def _texts(rendered: str, tag: str) -> list[str]:
    found = re.findall(rf"<{tag}(?: [^>]*)?>(.*?)</{tag}>", rendered, re.DOTALL)
    return [html.unescape(re.sub(r"<!-- -->", "", text)).strip() for text in found]


def _hold(text: str) -> None:
    rendered = PARSER.render(markdown_page(_page(text), target=Target()))
    # The page has only our own tags; the comment prevents a mention.
    tags = set(re.findall(r"</?([a-z0-9]+)", rendered))
    assert tags <= {"h3", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "pre", "code"}
    seen = " ".join(escape(text).split())
    assert [" ".join(cell.split()) for cell in _texts(rendered, "td")] == [seen, seen, seen, "1"]
    assert [" ".join(cell.split()) for cell in _texts(rendered, "th")] == [seen, "right"]
    assert [" ".join(title.split()) for title in _texts(rendered, "h3")] == [seen]
    # A command that cannot be shown exactly as it is pasted is left out.
    pasted = Target().line(why(text))
    assert [code.rstrip("\n") for code in _texts(rendered, "code")] == ([] if pasted is None else [pasted])
    assert (pasted is None) == (escape(text) != text)


@pytest.mark.parametrize("text", HOSTILE)
def test_K_hostile_text_stays_text(text: str) -> None:
    _hold(text)


@settings(max_examples=40)
@given(st.text(st.sampled_from("ab1 |\\<>&`*_~[]()#-+=.!$@:/\n\t\"'{}^"), min_size=1, max_size=24).filter(str.strip))
def test_K_any_text_stays_text(text: str) -> None:
    _hold(text)


def test_K_no_mentions_and_no_links() -> None:
    line = Line("@team see #12 at https://x.example and www.y.example; image@sha256:1")
    text = render_markdown(PrintedAnswer(pages=[line]), TO_A_PIPE)
    assert text == (
        "- @<!-- -->team see #<!-- -->12 at https<!-- -->://x.example and www<!-- -->.y.example; image@sha256:1\n"
    )


def test_K_page_is_readable_markdown() -> None:
    page = Page(
        title="pod/web in namespace shop",
        verdict=("Pending: no node fits.", "9 of 12 lack memory."),
        severity=Severity.TROUBLE,
        parts=(
            Section("QoS class", ("Burstable: container app has no limit",)),
            Section("Stops", ("at once", Row(("app", "SIGTERM at once; SIGKILL by 30 s")))),
            Table("Placement", ("nodes", "reason"), (("9", "Insufficient memory"),), right=frozenset({0})),
        ),
        next_commands=(qos("explain node/{}", "a"),),
    )
    assert (
        markdown_page(page, target=Target())
        == """\
### pod/web in namespace shop

**x Pending: no node fits.** 9 of 12 lack memory.

- **QoS class**: Burstable: container app has no limit
- **Stops**
  - at once
  - app · SIGTERM at once; SIGKILL by 30 s

**Placement**

| nodes | reason |
| ---: | --- |
| 9 | Insufficient memory |

```sh
kubectl qos explain node/a
```
"""
    )


@pytest.mark.parametrize(
    "typed",
    [
        *("explain -n shop pod/db-1", "node node-a1", "partitions", "fence node/node-c3", "unfence node/node-c3"),
        *("delete -n shop pod/db-1 --grace-period=0", "place --drain node-a1"),
    ],
)
def test_K_every_command_prints_it(typed: str) -> None:
    ran = run(*typed.split(), "--demo", "-o", "markdown")
    assert ran.err == ""
    # A plan has a headline without a title.
    start, element = ("**x ", "<strong>") if typed.startswith("place") else ("### ", "<h3>")
    assert ran.out.startswith(start)
    assert element in PARSER.render(ran.out)
