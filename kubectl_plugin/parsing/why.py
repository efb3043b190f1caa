"""Flags and help of ``kubectl qos why``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import wants_colour
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import WhyOptions

__all__ = ["DESCRIPTION", "EXAMPLES", "add", "options"]

DESCRIPTION: Final = """\
Explains a term, or a message about a pod that Kubernetes wrote: what it means, the
rule behind it and where that is written, what to do. It explains each reason of a
scheduler's message; lines of events, of lists and of `kubectl describe` can be pasted
whole. Of standard input it reads the last 131072 characters, of a line the first 8192.
Without a term it lists all it knows. It asks no cluster.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos why maxSkew
  kubectl qos why "node(s) didn't match pod topology spread constraints"
  kubectl get events -o jsonpath='{.items[-1:].message}' | kubectl qos why -
  kubectl qos why oomkilled -o json
  kubectl qos why                          all terms, by topic

exit codes: 0 explained, 2 the command line is wrong, 3 nothing is known of it
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("words", nargs="*", metavar="TERM", help="a term or a whole message; - reads standard input")
    add_output(parser)
    parser.add_argument("--no-color", action="store_true", help="no colour; NO_COLOR does the same")


def options(args: argparse.Namespace) -> WhyOptions:
    """The options that were typed."""
    from kubectl_plugin.options import WhyOptions

    return WhyOptions(words=tuple(args.words), output=wanted_output(args), colour=wants_colour(args))
