"""The options of ``lint`` and ``why``, which use no cluster."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.options import ClusterOptions, CommandOptions, Output
from kubectl_plugin.options.flag import combined, flag
from kubectl_plugin.options.shared import COLOUR, FILES, output_flags

_LINT: Final = """\
Checks manifests by the rules of Kubernetes: fields that the API server refuses
(docs/validation.md lists the kinds), and fields that it accepts but that cause
problems later. It uses no cluster. Folders are read recursively; kinds without
a rule are skipped.

examples:
  kubectl qos lint -f manifests/
  helm template shop ./chart | kubectl qos lint -f - --severity=warning
  kubectl kustomize overlays/prod | kubectl qos lint -f - -o json
  kubectl qos lint -f manifests/ -o sarif > lint.sarif
  kubectl qos lint -f manifests/ -o wide   every place of a rule
  kubectl qos lint -f manifests/ --disable=bare-pod,best-effort

to ignore a finding, write on the line of the field or above it, or on top of
the document for the whole document:
  # kubectl-qos: ignore best-effort - a batch pod that may be evicted first
or, if comments are dropped, as an annotation of the object:
  kubectl-qos.io/ignore: best-effort,bare-pod

exit codes: 0 nothing at or above --severity, 1 findings at or above it, 2 the
            command line is wrong, 6 a file cannot be read (the others are
            checked)
"""
_WHY: Final = """\
Explains a term, or a message of Kubernetes about a pod: its meaning, the rule
behind it with the source, and what to do. It explains each reason of a
scheduler's message; whole lines of events, of lists and of `kubectl describe`
can be pasted. It reads the last 131072 characters of standard input, and the
first 8192 of a line. Without a term, it lists all terms. It uses no cluster.

examples:
  kubectl qos why maxSkew
  kubectl qos why "node(s) didn't match pod topology spread constraints"
  kubectl get events -o jsonpath='{.items[-1:].message}' | kubectl qos why -
  kubectl qos why oomkilled -o json
  kubectl qos why                          all terms, by topic

exit codes: 0 explained, 2 the command line is wrong, 3 unknown
"""


class LintOptions(CommandOptions, command="lint", words=_LINT):
    """``kubectl qos lint``."""

    files: tuple[str, ...] = FILES
    output: Output = output_flags(wide=True, findings=True)
    severity: str = flag(
        "--severity",
        choices=("error", "warning", "notice"),
        default="error",
        help="exit code 1 if a finding has this level or a higher one (default error)",
    )
    """The lowest level that fails: a value of `podrules.lint.finding.Level`."""
    disabled: tuple[str, ...] = flag(
        "--disable",
        type=lambda text: [name.strip() for name in text.split(",")],
        action="extend",
        metavar="RULE",
        help="leave out a rule, or several with commas between them; may be repeated",
    )
    """Rules to leave out, as typed."""
    namespace: str = flag(
        "-n",
        "--namespace",
        completes="namespaces",
        metavar="NAME",
        default="default",
        help="namespace of objects without one",
    )
    """The namespace of objects without one."""
    kubernetes_version = ClusterOptions.kubernetes_version
    feature_gates = ClusterOptions.feature_gates
    colour: bool = COLOUR
    cluster: ClusterOptions = combined(
        lambda args: ClusterOptions(
            offline=True, kubernetes_version=args.kubernetes_version, feature_gates=tuple(args.feature_gates)
        ),
        ClusterOptions(offline=True),
    )


class WhyOptions(CommandOptions, command="why", words=_WHY):
    """``kubectl qos why``."""

    words: tuple[str, ...] = flag(
        completes="terms", metavar="TERM", help="a term or a whole message; - reads standard input"
    )
    """A term or a message; ``-`` alone: standard input."""
    output: Output = output_flags()
    colour: bool = COLOUR
