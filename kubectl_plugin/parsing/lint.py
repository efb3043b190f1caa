"""Flags and help of ``kubectl qos lint``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import add_files, add_versions, wants_colour
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import LintOptions

DESCRIPTION: Final = """\
Checks manifests by the rules of Kubernetes: fields that the API server refuses
(docs/validation.md lists the kinds), and fields that it accepts but that cause
problems later. It uses no cluster. Folders are read recursively; kinds without
a rule are skipped.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos lint -f manifests/
  helm template shop ./chart | kubectl qos lint -f - --severity=warning
  kubectl kustomize overlays/prod | kubectl qos lint -f - -o json
  kubectl qos lint -f manifests/ -o sarif > lint.sarif
  kubectl qos lint -f manifests/ -o wide   every place of a rule
  kubectl qos lint -f manifests/ --disable=bare-pod,best-effort

to ignore a finding, write on the line of the field or above it, or at the top of
the document for the whole document:
  # kubectl-qos: ignore best-effort - a batch pod that may be evicted first
or, if comments are dropped, as an annotation of the object:
  kubectl-qos.io/ignore: best-effort,bare-pod

exit codes: 0 nothing at or above --severity, 1 findings at or above it,
2 the command line is wrong, 6 a file cannot be read (the others are checked)
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_files(parser)
    add_output(parser, wide=True, findings=True)
    parser.add_argument(
        "--severity",
        choices=("error", "warning", "notice"),
        default="error",
        help="exit code 1 if a finding has this level or a higher one (default error)",
    )
    parser.add_argument(
        "--disable",
        action="append",
        default=[],
        metavar="RULE",
        help="leave out a rule, or several with commas between them; may be repeated",
    )
    parser.add_argument("-n", "--namespace", metavar="NAME", default="default", help="namespace of objects without one")
    add_versions(parser)
    parser.add_argument("--no-color", action="store_true", help="disable colour, like NO_COLOR")


def options(args: argparse.Namespace) -> LintOptions:
    """The typed options."""
    from kubectl_plugin.options import ClusterOptions, LintOptions

    return LintOptions(
        files=tuple(dict.fromkeys(args.files)),
        severity=args.severity,
        disabled=tuple(name.strip() for names in args.disable for name in names.split(",")),
        namespace=args.namespace,
        output=wanted_output(args),
        colour=wants_colour(args),
        cluster=ClusterOptions(
            offline=True, kubernetes_version=args.kubernetes_version, feature_gates=tuple(args.feature_gates)
        ),
    )
