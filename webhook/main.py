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
from webhook.namespace_rules import NamespaceRule, NamespaceRules, RuleError, read_constraints
from webhook.settings import (
    CertificateFiles,
    ForceDeletion,
    ForceDeletionMode,
    KeptCertificate,
    LogFormat,
    LogLevel,
    ObjectRef,
    Options,
    Settings,
    Verdict,
)
from webhook.tls_options import TlsError, TlsOptions, TlsVersion, read_cipher_suites

__all__ = ["main", "parse_settings"]

_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DEFAULT_LIFETIME: Final = "90d"
_LEAST_LIFETIME: Final = 12.0
_MOST_PORT: Final = 65535
_NEEDED: Final = ("flask", "gunicorn", "gevent", "cryptography", "prometheus_client")
_LEAST_AUDIT: Final = 10.0


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
    if args.client_name and not args.client_ca:
        parser.error("--client-name goes with --client-ca: whoever signed the name")
    if args.force_delete_events and (args.demo or not args.client_name):
        parser.error(
            "--force-delete-events needs --client-ca and --client-name, and a cluster: without them anybody who "
            "reaches the port could have Events made"
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
        force_deletion=_force_deletion(args),
        options=_options(parser, args),
        force_delete_events=args.force_delete_events,
        client_ca=args.client_ca,
        client_names=frozenset(args.client_name),
        metrics_address=args.metrics_address,
        log_format=args.log_format,
        log_level=args.log_level,
        tls=_tls_options(parser, args),
        audit=args.audit,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qos-webhook",
        description="The admission webhook of kubectl qos. POST /mutate fills in priority and default topology spread "
        "constraints of new pods; POST /validate refuses unknown PriorityClasses, and warns of force deletions "
        "or refuses them; GET /healthz, /readyz.",
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
    _add_certificate(parser)
    _add_observability(parser)
    _add_spread(parser)
    _add_classes(parser)
    add(
        "--warnings",
        type=_is_verbose,
        default=False,
        metavar="usual|verbose",
        help="verbose: tell which defaults were filled in, too; usual",
    )
    _add_force_deletions(parser)
    return parser


def _add_certificate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("certificate").add_argument
    add("--tls-cert", metavar="FILE", help="certificate chain, PEM, made by somebody else")
    add("--tls-key", metavar="FILE", help="its private key, PEM")
    add("--tls-secret", type=_object, metavar="NAMESPACE/NAME", help="make the certificate and keep it in this Secret")
    add(
        "--tls-name",
        type=_tls_name,
        action="append",
        metavar="NAME",
        help="DNS name or IP address that it is for; may be repeated",
    )
    add(
        "--tls-lifetime",
        type=_lifetime,
        default=_DEFAULT_LIFETIME,
        metavar="TIME",
        help=f"of a certificate; renewed when two thirds are over; {_DEFAULT_LIFETIME}",
    )
    add(
        "--tls-min-version",
        type=_tls_version,
        default=TlsVersion.TLS12,
        metavar="VERSION",
        help="the oldest version of TLS that is served: VersionTLS12 or VersionTLS13; VersionTLS12",
    )
    add(
        "--tls-cipher-suites",
        type=_cipher_suites,
        default=(),
        metavar="SUITE,…",
        help="the suites of TLS 1.2 that are served, by the names that Kubernetes uses; all with forward secrecy",
    )
    add(
        "--webhook-configuration",
        metavar="NAME",
        help="the MutatingWebhookConfiguration and ValidatingWebhookConfiguration to tell of it",
    )
    add(
        "--client-ca",
        metavar="FILE",
        help="authorities, PEM: reviews are taken only from clients with a certificate of one of them; from anybody",
    )
    add(
        "--client-name",
        action="append",
        default=[],
        metavar="NAME",
        help="common name that such a client must have; may be repeated; any",
    )


def _add_observability(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("observability").add_argument
    add(
        "--metrics-address",
        type=_address,
        metavar="HOST:PORT",
        help="where to serve GET /metrics over plain HTTP, for Prometheus; nowhere",
    )
    add(
        "--log-format",
        type=_log_format,
        default=LogFormat.TEXT,
        metavar="text|json",
        help="of lines on standard error; text",
    )
    add(
        "--log-level",
        type=_log_level,
        default=LogLevel.INFO,
        metavar="debug|info|warning|error",
        help="the least that is logged; debug: each review, too; info",
    )
    add(
        "--audit",
        type=_audit,
        default=3600.0,
        metavar="TIME",
        help="how often to count pods that were stored without what they would be given now, also when caches are "
        "filled at first; 0s: never; 1h",
    )


def _add_spread(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("default topology spread constraints").add_argument
    add(
        "--scheduler-config",
        type=_object,
        metavar="NAMESPACE/NAME",
        help="ConfigMap with the cluster's KubeSchedulerConfiguration",
    )
    add(
        "--write-system-defaults",
        action="store_true",
        help="write constraints of defaultingType System too, which kube-scheduler applies by itself",
    )
    add(
        "--default-constraints",
        type=_namespace_constraints,
        action="append",
        default=[],
        metavar="NAMESPACE=JSON",
        help="a list of constraints in place of the cluster's, for a namespace or, as team-*, those whose names begin "
        "so; [] for none; may be repeated",
    )
    add(
        "--leave-out-template-hash",
        action="store_true",
        help="select the pods of all revisions of a Deployment; kube-scheduler's own selector spreads revisions apart",
    )
    add(
        "--lint-spread-selectors",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="warn of constraints whose selector does not match the pod itself; on",
    )
    add(
        "--lint-topology-keys",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="warn of constraints whose topologyKey no node has, for which nodes' labels are kept in memory; off",
    )


def _add_classes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("PriorityClasses").add_argument
    add(
        "--default-class",
        type=_namespace_class,
        action="append",
        default=[],
        metavar="NAMESPACE=CLASS",
        help="of pods that name none; NAMESPACE as above; may be repeated",
    )
    add(
        "--allowed-classes",
        type=_namespace_classes,
        action="append",
        default=[],
        metavar="NAMESPACE=CLASS,…",
        help="all that pods may have, * for any, nothing for none; NAMESPACE as above; may be repeated",
    )
    add(
        "--disallowed-class",
        type=_verdict,
        default=Verdict.DENY,
        metavar="deny|warn",
        help="for pods of a class that is not allowed; deny",
    )
    add(
        "--template-class",
        type=_verdict,
        default=Verdict.WARN,
        metavar="warn|deny",
        help="for workloads whose pods would be refused for their class; warn",
    )


def _add_force_deletions(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("force deletions").add_argument
    add(
        "--force-delete-mode",
        type=_force_delete_mode,
        action="append",
        default=[],
        metavar="[NAMESPACE=]MODE",
        help="warn, confirm or deny: of one namespace, or of all that say nothing else; may be repeated; warn",
    )
    add(
        "--exempt-user",
        type=_username,
        action="append",
        default=[],
        metavar="USERNAME",
        help="neither warned of force deletions nor refused, as the cluster's own controllers; may be repeated",
    )
    add(
        "--exempt-node-controller",
        type=_username,
        action="append",
        default=[],
        metavar="USERNAME",
        help="the same of deletions of Nodes alone, which are its work; may be repeated",
    )
    add(
        "--force-delete-events",
        action="store_true",
        help="make an Event of each refused force deletion; needs --client-ca and --client-name",
    )


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


def _force_delete_mode(text: str) -> tuple[str, ForceDeletionMode]:
    namespace, equals, mode = text.rpartition("=")
    try:
        if equals and not namespace:
            raise ValueError("a namespace without a name")
        return namespace, ForceDeletionMode(mode)
    except ValueError:
        message = f"{text!r} is not MODE or NAMESPACE=MODE, where MODE is warn, confirm or deny"
        raise argparse.ArgumentTypeError(message) from None


def _username(text: str) -> str:
    if not text or "*" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no username: write it whole, there are no wildcards")
    return text


def _force_deletion(args: argparse.Namespace) -> ForceDeletion:
    by_namespace = dict(args.force_delete_mode)
    return ForceDeletion(
        mode=by_namespace.pop("", ForceDeletionMode.WARN),
        namespaces=by_namespace,
        exempt_users=frozenset(args.exempt_user),
        exempt_node_controllers=frozenset(args.exempt_node_controller),
    )


def _namespace_value(text: str) -> tuple[str, str]:
    namespace, equals, value = text.partition("=")
    if not (equals and namespace):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE=…")
    return namespace, value


def _namespace_class(text: str) -> tuple[str, NamespaceRule]:
    namespace, name = _namespace_value(text)
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} names no class")
    return namespace, NamespaceRule(default_class=name)


def _namespace_classes(text: str) -> tuple[str, NamespaceRule]:
    namespace, names = _namespace_value(text)
    return namespace, NamespaceRule(allowed_classes=tuple(filter(None, names.split(","))))


def _namespace_constraints(text: str) -> tuple[str, NamespaceRule]:
    namespace, constraints = _namespace_value(text)
    try:
        return namespace, NamespaceRule(constraints=read_constraints(constraints))
    except RuleError as error:
        raise argparse.ArgumentTypeError(f"{namespace}: {error}") from error


def _verdict(text: str) -> Verdict:
    try:
        return Verdict(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither warn nor deny") from None


def _is_verbose(text: str) -> bool:
    if text not in {"usual", "verbose"}:
        raise argparse.ArgumentTypeError(f"{text!r} is neither usual nor verbose")
    return text == "verbose"


def _options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> Options:
    entries: dict[str, NamespaceRule] = {}
    for namespace, rule in (*args.default_class, *args.allowed_classes, *args.default_constraints):
        entries[namespace] = rule.or_else(entries.get(namespace, NamespaceRule()))
    rules = NamespaceRules(entries)
    try:
        rules.check()
    except RuleError as error:
        parser.error(str(error))
    return Options(
        rules=rules,
        disallowed_class=args.disallowed_class,
        template_class=args.template_class,
        verbose=args.warnings,
        leave_out_template_hash=args.leave_out_template_hash,
        lint_selectors=args.lint_spread_selectors,
        lint_topology_keys=args.lint_topology_keys,
    )


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
