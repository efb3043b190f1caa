"""``-o name``: the objects of an answer, one per line, for the next command in a pipe."""

from __future__ import annotations

from kubectl_plugin.render.escape import escape
from kubectl_plugin.render.formats import Medium, PrintedAnswer


def render_names(answer: PrintedAnswer, medium: Medium) -> str:
    """``pod/web-0``, one per line."""
    del medium
    return "".join(f"{escape(name)}\n" for name in answer.names)
