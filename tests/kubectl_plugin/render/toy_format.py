"""A format that only a test registers: one function, as a contributor writes it."""

from __future__ import annotations

from kubectl_plugin.render.formats import Medium, PrintedAnswer
from kubectl_plugin.render.structured import content
from podrules.api.escape import escape


def render_toy(answer: PrintedAnswer, medium: Medium) -> str:
    """``TOY PodReport``, ending in a new line."""
    del medium
    return f"TOY {escape(content(answer)['kind'])}\n"
