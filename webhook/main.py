"""The command line of qos-webhook.

Exit codes: 0 stopped as asked; 1 a package is missing or the address is in use; 2 the command line is wrong; 3 there is
no configuration for a cluster, or no usable certificate.
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
from podrules.qos_webhook.arguments import object_ref, read_options
from webhook.rules.flags import add_rule_flags, read_force_deletion
from webhook.settings import (
    CertificateFiles,
    KeptCertificate,
    LogFormat,
    LogLevel,
    Settings,
    SharedObjects,
    TlsError,
    TlsOptions,
    TlsVersion,
    read_cipher_suites,
)

_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DEFAULT_LIFETIME: Final = "90d"
_LEAST_LIFETIME: Final = 12.0
_MAX_PORT: Final = 65535
_NEEDED: Final = ("flask", "gunicorn", "gevent", "cryptography", "prometheus_client")
_LEAST_AUDIT: Final = 10.0


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
    """Read the command line; a mistake ends the program with exit code 2 and a message that names the flag."""
    parser = _parser()
    args = parser.parse_args(argv)
    kept = args.tls_secret is not None
    if kept and (args.tls_cert or args.tls_key):
        parser.error("--tls-secret keeps a certificate, --tls-cert and --tls-key provide one: give one or the other")
    if kept and not (args.tls_name and args.webhook_configuration):
        parser.error("--tls-secret also needs --tls-name and --webhook-configuration, which trusts the certificate")
    if not kept and (args.tls_name or args.tls_lifetime != _lifetime(_DEFAULT_LIFETIME)):
        parser.error("--tls-name and --tls-lifetime go with --tls-secret")
    if kept and args.lease:
        parser.error("--lease goes with --tls-cert: with --tls-secret it is the Lease of that name")
    if not kept and bool(args.webhook_configuration) != bool(args.lease):
        parser.error(
            "--webhook-configuration and --lease belong together: they say which pods are counted, and by which replica"
        )
    if args.demo and (kept or args.lease):
        parser.error("--demo has no cluster to keep a Secret or a Lease in: leave --tls-secret and --lease out")
    if bool(args.tls_cert) != bool(args.tls_key):
        parser.error("--tls-cert and --tls-key belong together")
    if not (kept or args.tls_cert or args.demo):
        parser.error("name the certificate: --tls-secret for one that is kept for you, or --tls-cert and --tls-key")
    if args.client_name and not args.client_ca:
        parser.error("--client-name also needs --client-ca: the authority that signed the client's certificate")
    if args.force_delete_events and (args.demo or not args.client_name):
        parser.error(
            "--force-delete-events needs --client-ca and --client-name, and a cluster: without them every client "
            "that reaches the port could create Events"
        )
    files = {name: getattr(args, name) for name in ("tls_cert", "tls_key", "client_ca", "kubeconfig")}
    for flag, path in ((f"--{name.replace('_', '-')}", path) for name, path in files.items()):
        try:
            if path and not Path(path).is_file():
                parser.error(f"{flag}: {path} is not a file")
        except OSError as error:
            parser.error(f"{flag}: {path}: {error.strerror}")
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
        force_deletion=read_force_deletion(args),
        options=read_options(parser, args, demo=args.demo),
        force_delete_events=args.force_delete_events,
        client_ca=args.client_ca,
        client_names=frozenset(args.client_name),
        metrics_address=args.metrics_address,
        log_format=args.log_format,
        log_level=args.log_level,
        tls=_tls_options(parser, args),
        release=_release(args),
        audit=args.audit,
    )


def _release(args: argparse.Namespace) -> SharedObjects | None:
    if not args.webhook_configuration:
        return None
    return SharedObjects(configuration=args.webhook_configuration, lease=args.lease or args.tls_secret)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qos-webhook",
        description="The admission webhook of kubectl qos. POST /mutate fills in priority and default topology spread "
        "constraints of new pods; POST /validate refuses unknown PriorityClasses, and warns about force deletions "
        "or refuses them; GET /healthz, /readyz.",
    )
    add = parser.add_argument
    add("--version", action="version", version=f"qos-webhook {__version__}")
    add(
        "--address",
        type=_address,
        default="0.0.0.0:8443",
        metavar="HOST:PORT",
        help="where to listen (default 0.0.0.0:8443)",
    )
    add(
        "--drain",
        type=_seconds,
        default=10.0,
        metavar="TIME",
        help="how long to keep listening after SIGTERM, until the Service stops using this replica (default 10s)",
    )
    add("--kubeconfig", metavar="FILE", help="the cluster (default: KUBECONFIG, else the pod's service account)")
    add("--demo", action="store_true", help="use the built-in demo cluster in place of a live one")
    _add_certificate(parser)
    _add_observability(parser)
    add_rule_flags(parser)
    return parser


def _add_certificate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("certificate").add_argument
    add("--tls-cert", metavar="FILE", help="certificate chain in PEM, issued elsewhere")
    add("--tls-key", metavar="FILE", help="its private key in PEM")
    add(
        "--tls-secret",
        type=object_ref,
        metavar="NAMESPACE/NAME",
        help="make the certificate and keep it in this Secret; the Secret and a Lease of the same name must exist",
    )
    add(
        "--tls-name",
        type=_tls_name,
        action="append",
        metavar="NAME",
        help="DNS name or IP address in the certificate; may be repeated",
    )
    add(
        "--tls-lifetime",
        type=_lifetime,
        default=_DEFAULT_LIFETIME,
        metavar="TIME",
        help=f"lifetime of a certificate; it is renewed after two thirds of the lifetime (default {_DEFAULT_LIFETIME})",
    )
    add(
        "--tls-min-version",
        type=_tls_version,
        default=TlsVersion.TLS12,
        metavar="VERSION",
        help="the oldest version of TLS to serve: VersionTLS12 or VersionTLS13 (default VersionTLS12)",
    )
    add(
        "--tls-cipher-suites",
        type=_cipher_suites,
        default=(),
        metavar="SUITE,…",
        help="the TLS 1.2 suites to serve, with Kubernetes' names (default: all with forward secrecy)",
    )
    add(
        "--webhook-configuration",
        metavar="NAME",
        help="the MutatingWebhookConfiguration and ValidatingWebhookConfiguration that get the caBundle; --audit "
        "counts the pods that they select",
    )
    add(
        "--lease",
        type=object_ref,
        metavar="NAMESPACE/NAME",
        help="with --tls-cert: an existing Lease; its holder does the --audit. With --tls-secret it has that name",
    )
    add(
        "--client-ca",
        metavar="FILE",
        help="certificate authorities in PEM; only clients with a certificate from one of them may send reviews "
        "(default: any client)",
    )
    add(
        "--client-name",
        action="append",
        default=[],
        metavar="NAME",
        help="common name that such a client must have; may be repeated (default: any)",
    )


def _add_observability(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("observability").add_argument
    add(
        "--metrics-address",
        type=_address,
        metavar="HOST:PORT",
        help="where to serve GET /metrics over plain HTTP, for Prometheus (default: it is not served)",
    )
    add(
        "--log-format",
        type=_log_format,
        default=LogFormat.TEXT,
        metavar="text|json",
        help="format of the lines on standard error (default text)",
    )
    add(
        "--log-level",
        type=_log_level,
        default=LogLevel.INFO,
        metavar="debug|info|warning|error",
        help="the lowest level that is logged; debug includes each review (default info)",
    )
    add(
        "--audit",
        type=_audit,
        default=3600.0,
        metavar="TIME",
        help="how often to count stored pods that lack the current defaults; the first count runs when the caches are "
        "filled; 0s: never (default 1h)",
    )


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) <= _MAX_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 0.0.0.0:8443 or [::]:8443")
    return text


def _tls_name(text: str) -> str:
    if not re.fullmatch(r"[0-9A-Za-z:.*-]{1,253}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a DNS name nor an IP address")
    return text


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 10s, 5m, 12h or 90d")
    return int(found.group(1)) * _UNITS[found.group(2)]


def _audit(text: str) -> float:
    seconds = _seconds(text)
    if 0 < seconds < _LEAST_AUDIT:
        raise argparse.ArgumentTypeError(f"{text!r} is too often; at least {_LEAST_AUDIT:g}s, or 0s for never")
    return seconds


def _log_format(text: str) -> LogFormat:
    try:
        return LogFormat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither text nor json") from None


def _log_level(text: str) -> LogLevel:
    try:
        return LogLevel(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of debug, info, warning, error") from None


def _tls_version(text: str) -> TlsVersion:
    try:
        return TlsVersion(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither VersionTLS12 nor VersionTLS13") from None


def _cipher_suites(text: str) -> tuple[str, ...]:
    try:
        return tuple(read_cipher_suites(text))
    except TlsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _tls_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> TlsOptions:
    options = TlsOptions(args.tls_min_version, args.tls_cipher_suites)
    try:
        options.check()
    except TlsError as error:
        parser.error(str(error))
    return options


def _lifetime(text: str) -> float:
    seconds = _seconds(text)
    if seconds < _LEAST_LIFETIME:
        raise argparse.ArgumentTypeError(f"{text!r} is too short to renew in time; at least {_LEAST_LIFETIME:g}s")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
