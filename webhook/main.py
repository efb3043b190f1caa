"""The command line of qos-webhook.

Exit codes: 0 ended in order; 1 a package is missing or the address is taken; 2 the command line is wrong; 3 there is no
configuration for a cluster, or no certificate that can be served.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from podrules import __version__
from webhook.settings import CertificateFiles, KeptCertificate, ObjectRef, Settings

__all__ = ["main", "parse_settings"]

_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DEFAULT_LIFETIME: Final = "90d"
_LEAST_LIFETIME: Final = 12.0
_MOST_PORT: Final = 65535
_NEEDED: Final = ("flask", "gunicorn", "gevent", "cryptography")


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until told to stop."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    settings = parse_settings(argv)
    if missing:
        print(f"error: {', '.join(missing)} is not installed; install kubectl-qos[webhook]", file=sys.stderr)
        return 1
    from webhook.server import Server

    Server(settings).run()
    return 0


def parse_settings(argv: Sequence[str] | None = None) -> Settings:
    """What was typed; a mistake ends the program with exit code 2 and a message that names the flag."""
    parser = _parser()
    args = parser.parse_args(argv)
    kept = args.tls_secret is not None
    if kept and (args.tls_cert or args.tls_key):
        parser.error("--tls-secret keeps a certificate, --tls-cert and --tls-key bring one: give one or the other")
    if kept and not (args.tls_name and args.webhook_configuration):
        parser.error("--tls-secret also needs --tls-name and --webhook-configuration: for whom, and who is told")
    if not kept and (args.tls_name or args.webhook_configuration or args.tls_lifetime != _lifetime(_DEFAULT_LIFETIME)):
        parser.error("--tls-name, --tls-lifetime and --webhook-configuration go with --tls-secret")
    if kept and args.demo:
        parser.error("--demo has no cluster to keep a Secret in: leave --tls-secret out")
    if bool(args.tls_cert) != bool(args.tls_key):
        parser.error("--tls-cert and --tls-key belong together")
    if not (kept or args.tls_cert or args.demo):
        parser.error("name the certificate: --tls-secret for one that is kept for you, or --tls-cert and --tls-key")
    for flag, path in (("--tls-cert", args.tls_cert), ("--tls-key", args.tls_key), ("--kubeconfig", args.kubeconfig)):
        if path and not Path(path).is_file():
            parser.error(f"{flag}: {path} is not a file")
    certificate: CertificateFiles | KeptCertificate | None = None
    if kept:
        certificate = KeptCertificate(
            secret=args.tls_secret,
            names=tuple(args.tls_name),
            configuration=args.webhook_configuration,
            lifetime=args.tls_lifetime,
        )
    elif args.tls_cert:
        certificate = CertificateFiles(args.tls_cert, args.tls_key)
    return Settings(
        address=args.address,
        drain=args.drain,
        certificate=certificate,
        kubeconfig=args.kubeconfig,
        demo=args.demo,
        scheduler_config=args.scheduler_config,
        write_system_defaults=args.write_system_defaults,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qos-webhook",
        description="The admission webhook of kubectl qos. POST /mutate fills in priority and default topology spread "
        "constraints of new pods; POST /validate refuses unknown PriorityClasses and warns of force deletions; "
        "GET /healthz, /readyz.",
    )
    add = parser.add_argument
    add("--version", action="version", version=f"qos-webhook {__version__}")
    add("--address", type=_address, default="0.0.0.0:8443", metavar="HOST:PORT", help="where to listen; 0.0.0.0:8443")
    add(
        "--drain",
        type=_seconds,
        default=10.0,
        metavar="TIME",
        help="how long to go on listening after SIGTERM, until the Service has heard of it; 10s",
    )
    add("--kubeconfig", metavar="FILE", help="the cluster; KUBECONFIG, else the pod's service account")
    add("--demo", action="store_true", help="the built-in demo cluster in place of a live one")
    tls = parser.add_argument_group("certificate")
    tls.add_argument("--tls-cert", metavar="FILE", help="certificate chain, PEM, made by somebody else")
    tls.add_argument("--tls-key", metavar="FILE", help="its private key, PEM")
    tls.add_argument(
        "--tls-secret", type=_object, metavar="NAMESPACE/NAME", help="make the certificate and keep it in this Secret"
    )
    tls.add_argument(
        "--tls-name",
        type=_tls_name,
        action="append",
        metavar="NAME",
        help="DNS name or IP address that it is for; may be repeated",
    )
    tls.add_argument(
        "--tls-lifetime",
        type=_lifetime,
        default=_DEFAULT_LIFETIME,
        metavar="TIME",
        help=f"of a certificate; renewed when two thirds are over; {_DEFAULT_LIFETIME}",
    )
    tls.add_argument(
        "--webhook-configuration",
        metavar="NAME",
        help="the MutatingWebhookConfiguration and ValidatingWebhookConfiguration to tell of it",
    )
    spread = parser.add_argument_group("default topology spread constraints")
    spread.add_argument(
        "--scheduler-config",
        type=_object,
        metavar="NAMESPACE/NAME",
        help="ConfigMap with the cluster's KubeSchedulerConfiguration",
    )
    spread.add_argument(
        "--write-system-defaults",
        action="store_true",
        help="write constraints of defaultingType System too, which kube-scheduler applies by itself",
    )
    return parser


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) <= _MOST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 0.0.0.0:8443 or [::]:8443")
    return text


def _tls_name(text: str) -> str:
    if not re.fullmatch(r"[0-9A-Za-z:.*-]{1,253}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a DNS name nor an IP address")
    return text


def _object(text: str) -> ObjectRef:
    namespace, slash, name = text.partition("/")
    if not (slash and namespace and name) or "/" in name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE/NAME")
    return ObjectRef(namespace, name)


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 10s, 5m, 12h or 90d")
    return int(found.group(1)) * _UNITS[found.group(2)]


def _lifetime(text: str) -> float:
    seconds = _seconds(text)
    if seconds < _LEAST_LIFETIME:
        raise argparse.ArgumentTypeError(f"{text!r} is too short to renew in time; at least {_LEAST_LIFETIME:g}s")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
