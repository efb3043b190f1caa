"""The command line of qos-webhook.

Exit codes: 0 stopped as asked; 1 a package is missing or the address is in use; 2 the command line or the configuration
file is wrong; 3 there is no configuration for a cluster, or no usable certificate.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from cluster_io.errors import ManifestError
from cluster_io.webhook_config import read_webhook_file
from podrules import __version__
from podrules.api.escape import escape
from podrules.api.names import nearest_word
from podrules.qos_webhook.rules import RuleError, read_rules
from webhook.settings import LogFormat, LogLevel, Settings

_ALIKE: Final = 0.75
"""The ratio of difflib from which an unknown flag is another with a typing error."""
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NEEDED: Final = ("flask", "gunicorn", "gevent", "cryptography", "prometheus_client")
_REPLACED: Final[Mapping[str, str]] = {
    "--tls-secret": "certificate.kept.secret",
    "--tls-name": "certificate.kept.names",
    "--tls-lifetime": "certificate.kept.lifetimeSeconds",
    "--webhook-configuration": "certificate.kept.configuration or audit.configuration",
    "--lease": "audit.lease",
    "--audit": "audit.intervalSeconds",
    "--tls-min-version": "tls.minVersion",
    "--tls-cipher-suites": "tls.cipherSuites",
    "--client-ca": "clients.caFile",
    "--client-name": "clients.names",
    "--force-delete-mode": "forceDeletion.mode or forceDeletion.namespaces",
    "--exempt-user": "forceDeletion.exemptUsers",
    "--exempt-node-controller": "forceDeletion.exemptNodeControllers",
    "--force-delete-events": "forceDeletion.events",
    "--scheduler-config": "clusterDefaultConstraints.configMap",
    "--write-system-defaults": "clusterDefaultConstraints.writeSystemDefaults",
    "--default-constraints": "clusterDefaultConstraints.namespaces",
    "--constraints-from-annotations": "clusterDefaultConstraints.annotations",
    "--leave-out-template-hash": "clusterDefaultConstraints.leaveOutTemplateHash",
    "--lint-spread-selectors": "lint.spreadSelectors",
    "--no-lint-spread-selectors": "lint.spreadSelectors",
    "--lint-topology-keys": "lint.topologyKeys",
    "--no-lint-topology-keys": "lint.topologyKeys",
    "--default-class": "priorityClasses.defaults",
    "--allowed-classes": "priorityClasses.allowed",
    "--disallowed-class": "priorityClasses.disallowed",
    "--template-class": "priorityClasses.templates",
    "--warnings": "warnings",
}
"""The keys of the configuration file that replaced former flags."""
_FLAGS: Final[Mapping[str, str]] = {
    "address": "--address",
    "metricsAddress": "--metrics-address",
    "kubeconfig": "--kubeconfig",
    "certificate.files.certificate": "--tls-cert",
    "certificate.files.key": "--tls-key",
}
"""The flags with values that only the settings check, by the key that the message of a problem begins with."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal stops the program."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    settings = parse_settings(argv)
    if missing:
        print(f"error: {', '.join(missing)} is not installed; install kubectl-qos[webhook]", file=sys.stderr)
        return 1
    from webhook.serving.server import Server

    Server(settings).run()
    return 0


def parse_settings(argv: Sequence[str] | None = None) -> Settings:
    """Read the flags and the configuration file; a flag replaces the file's value.

    A mistake ends the program with exit code 2 and a message that names the flag, or the file and the field.
    """
    parser = _parser()
    args, unknown = parser.parse_known_args(argv)
    for text in unknown:
        flag = text.partition("=")[0]
        near = nearest_word(flag, (*re.findall(r"--[a-z-]+", parser.format_usage()), *_REPLACED), closeness=_ALIKE)
        if near in _REPLACED:
            gone = f"{near} is no longer a flag: set {_REPLACED[near]} in the file of --config"
            parser.error(gone if near == flag else f"unrecognized arguments: {text}; {gone}")
        if near:
            parser.error(f"unrecognized arguments: {text}; did you mean {near}?")
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    place = f"{args.config}: " if args.config else ""
    document: dict[str, Any] = {}
    try:
        if args.config is not None:
            if args.config in {"", "-"} or Path(args.config).is_dir():
                parser.error(f"argument --config: {args.config!r} is not a file")
            document = {**read_webhook_file(args.config)}
        flags = {
            name: value
            for name, value in vars(args).items()
            if value is not None and name not in {"config", "tls_cert", "tls_key"}
        }
        if args.tls_cert or args.tls_key:
            if not (args.tls_cert and args.tls_key):
                parser.error("--tls-cert and --tls-key belong together")
            flags["certificate"] = {"files": {"certificate": args.tls_cert, "key": args.tls_key}}
        settings = read_rules({**document, **flags}, Settings)
    except OSError as error:
        parser.error(f"argument --config: {args.config}: {error.strerror}")
    except ManifestError as error:
        parser.fail(str(error))
    except RuleError as error:
        parser.fail(f"{place}{error}")
    for problem in settings.problems():
        key, _, rest = problem.partition(": ")
        if key in _FLAGS and key.partition(".")[0] in flags:
            parser.error(f"argument {_FLAGS[key]}: {rest}")
        parser.fail(f"{place}{problem}")
    return settings


class _Parser(argparse.ArgumentParser):
    """Prints errors without the usage: it has more lines than the error."""

    def error(self, message: str) -> NoReturn:
        """End the program because of a mistake in the command line."""
        self.fail(message, f"See {self.prog} --help\n")

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """End the program; nothing that the message quotes can control the terminal."""
        self.exit(2, f"{self.prog}: error: {escape(message)}\n{hint}")


def _parser() -> _Parser:
    parser = _Parser(
        prog="qos-webhook",
        # An abbreviation of a flag could become another flag in the next version.
        allow_abbrev=False,
        description="The admission webhook of kubectl qos. POST /mutate fills in priority and default topology spread "
        "constraints of new pods; POST /validate refuses unknown PriorityClasses, and warns about force deletions "
        "or refuses them; GET /healthz, /readyz.",
        epilog="A flag replaces the value in the file. All other settings are keys of the file only.",
    )
    add = parser.add_argument
    add("--version", action="version", version=f"qos-webhook {__version__}")
    add("--config", metavar="FILE", help="the configuration file, YAML or JSON, of kind QosWebhookConfiguration")
    add("--address", metavar="HOST:PORT", help="where to listen (default 0.0.0.0:8443)")
    add(
        "--metrics-address",
        dest="metricsAddress",
        metavar="HOST:PORT",
        help="where to serve GET /metrics over plain HTTP, for Prometheus (default: it is not served)",
    )
    add(
        "--drain",
        dest="drainSeconds",
        type=_seconds,
        metavar="TIME",
        help="how long to keep listening after SIGTERM, until the Service stops using this replica (default 10s)",
    )
    add("--kubeconfig", metavar="FILE", help="the cluster (default: KUBECONFIG, else the pod's service account)")
    add("--demo", action="store_true", default=None, help="use the built-in demo cluster in place of a live one")
    add("--tls-cert", metavar="FILE", help="certificate chain in PEM, issued elsewhere")
    add("--tls-key", metavar="FILE", help="its private key in PEM")
    add(
        "--log-format",
        dest="logFormat",
        choices=[one.value for one in LogFormat],
        help="format of the lines on standard error (default text)",
    )
    add(
        "--log-level",
        dest="logLevel",
        choices=[one.value for one in LogLevel],
        help="the lowest level that is logged; debug includes each review (default info)",
    )
    return parser


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 10s, 5m, 12h or 90d")
    return int(found.group(1)) * _UNITS[found.group(2)]


if __name__ == "__main__":
    sys.exit(main())
