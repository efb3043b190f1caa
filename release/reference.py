"""The reference pages of the documentation, made from the code: ``python -m release.reference FOLDER``.

commands.md   each command's help, and the exit codes
terms.md      the terms that ``kubectl qos why`` explains
rules.md      the upstream code that each module of rules restates
metrics.md    the metrics of the webhook
json.md       the kinds of ``-o json``, with their schemas
chart.md      the chart's README
screen.html   a terminal with an answer in colour, for the first page
"""

from __future__ import annotations

import contextlib
import html
import importlib
import inspect
import io
import os
import pkgutil
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Final
from unittest import mock

from prometheus_client.parser import text_string_to_metric_families

import podrules
from kubectl_plugin import exit_codes
from kubectl_plugin.cli import main as run
from kubectl_plugin.glossary.catalogue import CATALOGUE, Entry
from kubectl_plugin.parsing import parse
from kubectl_plugin.parsing.commands import COMMANDS
from kubectl_plugin.reports.schema import REPORTS
from podrules.api.features import REFERENCE_VERSION
from webhook.certificates.serving import CertificateStatus
from webhook.serving.app import REVIEW_PATHS
from webhook.serving.backend import start_backend
from webhook.serving.metrics import Metrics, MetricSources
from webhook.settings import Settings

ROOT: Final = Path(__file__).resolve().parents[1]
_UPSTREAM: Final = f"https://github.com/kubernetes/kubernetes/blob/v{REFERENCE_VERSION}/"
_SCREEN_STYLE: Final = """<style>
.screen { background: #1a2028; color: #e6eaf0; padding: 1rem; border-radius: 8px; overflow-x: auto; font-size: .8rem; }
.sgr1 { font-weight: bold; } .sgr31 { color: #ff9d95; } .sgr32 { color: #84d6a2; } .sgr33 { color: #f2c463; }
</style>
"""
_KEPS: Final = "https://github.com/kubernetes/enhancements/issues/"


def main() -> int:
    """Write the pages into the folder of the first argument."""
    write_reference(Path(sys.argv[1]))
    return 0


def write_reference(folder: Path) -> None:
    """Write all pages and the screen, and copy the schemas into the same folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in _PAGES.items():
        (folder / f"{name}.md").write_text(f"{page().rstrip()}\n", encoding="utf-8")
    (folder / "screen.html").write_text(_screen(), encoding="utf-8")
    for schema in sorted((ROOT / "docs" / "schema").glob("*.json")):
        shutil.copy(schema, folder)


class _Terminal(io.StringIO):
    """A terminal that shows colours."""

    def isatty(self) -> bool:
        return True


def _screen() -> str:
    command = "explain pods -A --demo"
    with (
        mock.patch.dict(os.environ, COLUMNS="80", NO_COLOR="", TERM="xterm"),
        contextlib.redirect_stdout(_Terminal()) as shown,
    ):
        run(command.split())
    text = re.sub(r"\x1b\[(\d+)m(.*?)\x1b\[0m", r'<span class="sgr\1">\2</span>', html.escape(shown.getvalue()))
    return f'{_SCREEN_STYLE}<pre class="screen" tabindex="0">$ kubectl qos {command}\n{text}</pre>\n'


def _commands() -> str:
    parts = ["# Commands and exit codes\n"]
    for name, line in COMMANDS.items():
        parts.append(f"## kubectl qos {name}\n\n{_sentence(line)}\n\n```\n{_help(name)}```\n")
    parts.append(
        f"## Exit codes\n\n```\n{inspect.cleandoc(exit_codes.__doc__ or '').partition(chr(10))[2].strip()}\n```\n"
    )
    return "\n".join(parts)


def _help(command: str) -> str:
    # argparse formats its help for the width of the terminal.
    with (
        mock.patch.dict(os.environ, COLUMNS="80"),
        contextlib.redirect_stdout(io.StringIO()) as printed,
        contextlib.suppress(SystemExit),
    ):
        parse([command, "--help"])
    return printed.getvalue()


def _terms() -> str:
    parts = ["# Terms and texts of Kubernetes\n\nWhat `kubectl qos why TERM` explains.\n"]
    for topic, entries in CATALOGUE.items():
        parts.append(f"## {_sentence(topic).rstrip('.')}\n")
        parts += map(_term, entries)
    return "\n".join(parts)


def _term(entry: Entry) -> str:
    lines = [f"### {_plain(entry.name)}\n", f"**{_plain(entry.means)}**\n"]
    if entry.also:
        lines.append(f"Also: {', '.join(f'`{spelling}`' for spelling in entry.also)}\n")
    lines += [f"- {_plain(sentence)}" for sentence in entry.rule]
    if entry.do:
        lines.append("\nWhat helps:\n")
        lines += [f"- {_plain(sentence)}" for sentence in entry.do]
    if entry.commands:
        lines.append("\n```sh\n" + "\n".join(entry.commands) + "\n```")
    lines.append(f"\nWritten in: {', '.join(map(_source, entry.source))}\n")
    return "\n".join(lines)


def _source(source: str) -> str:
    if source.startswith("KEP-"):
        return f"[{source}]({_KEPS}{source.removeprefix('KEP-')})"
    return f"[{source}]({_UPSTREAM}{source})" if source.startswith(("pkg/", "plugin/")) else f"`{source}`"


def _rules() -> str:
    parts = [
        "# Rules and their sources\n",
        "Each module restates rules of Kubernetes. This is what they say of themselves.\n",
    ]
    for module in _rule_modules():
        text = inspect.getdoc(module)
        if text and "Source" in text:
            title, _, body = text.partition("\n")
            parts.append(
                f"## {module.__name__.removeprefix('podrules.')}\n\n{_plain(title)}\n\n```\n{body.strip()}\n```\n"
            )
    return "\n".join(parts)


def _rule_modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(podrules.__path__, "podrules."):
        yield importlib.import_module(found.name)


def _metrics() -> str:
    metrics = Metrics(REVIEW_PATHS)
    now = datetime.now(UTC)
    demo = Settings(demo=True)
    metrics.watch(
        MetricSources(
            caches=start_backend(demo).caches,
            ready=lambda: True,
            certificate=lambda: CertificateStatus(now, now, writer=True, renewals=0, failures=0),
            connections=lambda: {"open": 0},
        )
    )
    rows = [
        f"| `{family.name}` | {family.type} | {', '.join(f'`{name}`' for name in _labels(family.samples))} "
        f"| {_plain(family.documentation)} |"
        for family in text_string_to_metric_families(metrics.render().decode())
        if family.name.startswith("qos_webhook")
    ]
    head = "# Metrics of the webhook\n\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n"
    return head + "\n".join(rows)


def _labels(samples: Sequence[object]) -> list[str]:
    names = {name for sample in samples for name in getattr(sample, "labels", {})}
    return sorted(names - {"le"})


def _json() -> str:
    rows = [
        f"| {kind} | {(inspect.getdoc(report) or '').partition(chr(10))[0]} | {{download}}`{kind}.json` |"
        for kind, report in REPORTS.items()
    ]
    return (
        "# JSON\n\n`-o json` and `-o yaml` print one of these kinds, of version kubectl-qos/v1; several of them as a "
        "List. A field may be added within a version; none changes its meaning or goes.\n\n"
        "| kind | what it holds | schema |\n| --- | --- | --- |\n" + "\n".join(rows)
    )


def _chart() -> str:
    text = (ROOT / "charts" / "qos-webhook" / "README.md").read_text(encoding="utf-8")
    text = text.replace("](../../README.md)", "](../index.md)").replace("](../../docs/", "](../")
    return text.replace("# qos-webhook\n", "# The chart: qos-webhook\n", 1)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _plain(text: str) -> str:
    """Text with Markdown's special characters escaped."""
    return re.sub(r"([\\*_<>|\[\]])", r"\\\1", " ".join(text.split()))


_PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands": _commands,
    "terms": _terms,
    "rules": _rules,
    "metrics": _metrics,
    "json": _json,
    "chart": _chart,
}

if __name__ == "__main__":
    sys.exit(main())
