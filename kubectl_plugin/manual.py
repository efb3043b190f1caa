"""Manual pages, made from the help of the commands: ``python -m kubectl_plugin.manual FOLDER``.

Makes one page for ``kubectl qos`` and one for each command, in the macros of man(7). The pages have no date: the same
sources make the same pages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from kubectl_plugin import exit_codes
from kubectl_plugin.options.flag import POSITIONAL, Flag
from kubectl_plugin.parsing.commands import COMMANDS, groups_of, options_of
from podrules import __version__

_NAMED: Final = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})


def main(argv: Sequence[str] | None = None) -> int:
    """Write all pages to a folder, creating it."""
    words = sys.argv[1:] if argv is None else argv
    if len(words) != 1:
        print("usage: python -m kubectl_plugin.manual FOLDER", file=sys.stderr)
        return 2
    folder = Path(words[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


def pages() -> Mapping[str, str]:
    """Each page by file name, ``kubectl-qos-explain.1``."""
    own = {f"kubectl-qos-{command}.1": _page(_of_command(command), f"kubectl-qos-{command}") for command in COMMANDS}
    return {"kubectl-qos.1": _page(_of_all(), "kubectl-qos"), **own}


def _page(lines: Iterator[str], name: str) -> str:
    head = f'.TH {name.upper()} 1 "" "kubectl-qos {__version__}" "kubectl qos"'
    return (
        "\n".join(['.\\" Made by kubectl_plugin.manual: edit the words of the command instead.', head, *lines]) + "\n"
    )


def _of_all() -> Iterator[str]:
    yield from (".SH NAME", f"kubectl\\-qos \\- {_text('explains what Kubernetes will do to a pod, and why')}")
    yield from (".SH SYNOPSIS", r".B kubectl qos", r"\fICOMMAND\fR [\fIOPTION\fR]...")
    yield ".SH COMMANDS"
    for command, line in COMMANDS.items():
        yield from (".TP", rf"\fBkubectl\-qos\-{command}\fR(1)", _line(line))
    yield from (".SH EXIT STATUS", *_as_it_is((exit_codes.__doc__ or "").partition("\n\n")[2]))
    yield from (".SH SEE ALSO", r"\fBkubectl\fR(1)")


def _of_command(command: str) -> Iterator[str]:
    options = options_of(command)
    yield from (".SH NAME", rf"kubectl\-qos\-{command} \- {_text(COMMANDS[command])}")
    yield from (".SH SYNOPSIS", rf".B kubectl qos {command}", " ".join(_synopsis(command)))
    yield from (".SH DESCRIPTION", *_paragraphs(options.description))
    for title, flags in groups_of(command).items():
        yield f".SH {_text(title.upper())}"
        for flag in flags:
            yield from (".TP", _flag(flag), _line(flag.help.replace("%%", "%")))
    for paragraph in options.examples.strip("\n").split("\n\n"):
        title, colon, text = paragraph.partition(":")
        if colon and title in {"examples", "exit codes"}:
            yield from (f".SH {title.upper()}", *_as_it_is(text))
        else:
            yield from (".SH NOTES", *_paragraphs(paragraph))
    yield from (".SH SEE ALSO", r"\fBkubectl\-qos\fR(1)")


def _synopsis(command: str) -> Iterator[str]:
    yield r"[\fIOPTION\fR]..."
    words = groups_of(command).get(POSITIONAL, ())
    yield from (rf"[\fI{_text(flag.value)}\fR]..." for flag in words)


def _flag(flag: Flag) -> str:
    if not flag.names:
        return rf"\fI{_text(flag.value)}\fR"
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in flag.names)
    return rf"{names} \fI{_text(flag.value)}\fR" if flag.value else names


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        yield from map(_line, paragraph.splitlines())


def _as_it_is(text: str) -> Iterator[str]:
    yield from (".nf", *map(_line, text.strip("\n").splitlines()), ".fi")


def _line(text: str) -> str:
    """A line of text that roff does not take for a macro."""
    return rf"\&{_text(text)}" if text[:1] in {".", "'"} else _text(text)


def _text(text: str) -> str:
    """Text with roff's special characters escaped; a typed dash is not a hyphen."""
    return "".join(char if char.isascii() else rf"\[u{ord(char):04X}]" for char in text.translate(_NAMED))


if __name__ == "__main__":
    sys.exit(main())
