"""Sphinx' settings for this documentation: ``make site``."""

import re

from podrules import __version__

project = "kubectl qos"
author = "the kubectl qos authors"
release = version = __version__
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = [".md"]
exclude_patterns = ["schema"]
html_theme = "furo"
html_title = f"kubectl qos {__version__}"
html_show_sphinx = False
html_show_copyright = False
# Code is output of a terminal, not Python.
highlight_language = "none"
# ``--timeline`` stays as typed.
smartquotes = False
# Of a block with a prompt, the button copies the commands.
copybutton_prompt_text = "$ "
# Headings of the pages can be linked to, as on code hosts.
myst_heading_anchors = 4
myst_links_external_new_tab = False

_CHART = r"\]\((?:\.\./)+charts/qos-webhook/"


def _lead_to_pages(_app: object, page: str, source: list[str]) -> None:
    """The chart's README and the schemas have pages here; where the repository is read, links lead to the files."""
    reference = "../" * page.count("/") + "reference"
    text = re.sub(rf"{_CHART}README\.md", f"]({reference}/chart.md", source[0])
    text = text.replace("](schema)", f"]({reference}/json.md)")
    text = text.replace("<!-- screen -->", "```{raw} html\n:file: reference/screen.html\n```")
    # Files that are no pages are named, as they lie in the repository.
    source[0] = re.sub(rf"\[([^\]]+){_CHART}[^)]+\)", r"\1", text)


def setup(app: object) -> None:
    """Sphinx calls this."""
    app.connect("source-read", _lead_to_pages)  # type: ignore[attr-defined]
