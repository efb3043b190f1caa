"""Flags and help of ``kubectl qos why``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import wants_colour
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import WhyOptions

DESCRIPTION: Final = """\
Explains a term, or a message of Kubernetes about a pod: its meaning, the rule behind
it with the source, and what to do. It explains each reason of a scheduler's message;
whole lines of events, of lists and of `kubectl describe` can be pasted. It reads the
last 131072 characters of standard input, and the first 8192 of a line.
Without a term, it lists all terms. It uses no cluster.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos why maxSkew
  kubectl qos why "node(s) didn't match pod topology spread constraints"
  kubectl get events -o jsonpath='{.items[-1:].message}' | kubectl qos why -
  kubectl qos why oomkilled -o json
  kubectl qos why                          all terms, by topic

exit codes: 0 explained, 2 the command line is wrong, 3 unknown
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("words", nargs="*", metavar="TERM", help="a term or a whole message; - reads standard input")
    add_output(parser)
    parser.add_argument("--no-color", action="store_true", help="disable colour, like NO_COLOR")


def options(args: argparse.Namespace) -> WhyOptions:
    """The typed options."""
    from kubectl_plugin.options import WhyOptions

    return WhyOptions(words=tuple(args.words), output=wanted_output(args), colour=wants_colour(args))
