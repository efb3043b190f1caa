"""The configuration file and the flags of qos-webhook: the effect of each key, and the message of each mistake."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from podrules import __version__
from podrules.qos_webhook.rules import ObjectRef, WarningLevel
from tests.golden import check
from tests.table import row, table
from tests.tree import ROOT
from webhook.main import parse_settings
from webhook.settings import (
    CIPHER_SUITES,
    AuditOptions,
    CertificateFiles,
    CertificateOptions,
    ClientOptions,
    ForceDeletion,
    ForceDeletionMode,
    KeptCertificate,
    LogFormat,
    LogLevel,
    Settings,
    TlsOptions,
    TlsVersion,
)

HEAD = {"apiVersion": "kubectl-qos.io/v1", "kind": "QosWebhookConfiguration"}
KEPT = {
    "secret": {"namespace": "kube-system", "name": "qos-tls"},
    "names": ["qos.kube-system.svc"],
    "configuration": "qos",
}
FILES = {"certificate": "tls.crt", "key": "tls.key"}
LEASE = {"namespace": "kube-system", "name": "qos-audit"}
CONSTRAINT = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
NO_ADDRESS = "is not HOST:PORT, such as 0.0.0.0:8443 or [::]:8443"
SCHEMA = ROOT / "docs" / "webhook" / "config.schema.json"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with the names that the tests use."""
    monkeypatch.chdir(tmp_path)
    for name in ("tls.crt", "tls.key", "admin.conf"):
        Path(name).touch()


def parsed(keys: Mapping[str, Any], *flags: str) -> Settings:
    Path("config.yaml").write_text(yaml.safe_dump({**HEAD, **keys}))
    return parse_settings(["--config", "config.yaml", *flags])


def error_of(argv: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        parse_settings(argv)
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    error, *hint = said.err.splitlines()
    assert hint in ([], ["See qos-webhook --help"])
    return error.removeprefix("qos-webhook: error: ")


@pytest.mark.parametrize(
    ("flags", "changed"),
    [
        ([], {}),
        (["--address", "127.0.0.1:9443"], {"address": "127.0.0.1:9443"}),
        *(
            ([f"--metrics-address={address}"], {"metrics_address": address})
            for address in ("[::]:0", "[::ffff:10.0.0.1]:1", "[fe80::1%eth0]:1", "pod-0.qos.svc:1")
        ),
        (["--drain", "0s"], {"drain_seconds": 0.0}),
        (["--drain", "2m"], {"drain_seconds": 120.0}),
        (["--kubeconfig", "admin.conf"], {"kubeconfig": "admin.conf"}),
        (["--log-format=json"], {"log_format": LogFormat.JSON}),
        (["--log-level=error"], {"log_level": LogLevel.ERROR}),
        (
            ["--tls-cert=tls.crt", "--tls-key=tls.key"],
            {"certificate": CertificateOptions(files=CertificateFiles("tls.crt", "tls.key"))},
        ),
    ],
)
def test_flags(flags: Sequence[str], changed: Mapping[str, Any]) -> None:
    assert parse_settings(["--demo", *flags]) == replace(Settings(demo=True), **changed)


@pytest.mark.parametrize(
    ("keys", "changed"),
    [
        ({"drainSeconds": 45, "logLevel": "debug"}, {"drain_seconds": 45, "log_level": LogLevel.DEBUG}),
        (
            {"certificate": {"files": FILES}, "audit": {"configuration": "qos", "lease": LEASE}},
            {
                "certificate": CertificateOptions(files=CertificateFiles("tls.crt", "tls.key")),
                "audit": AuditOptions(configuration="qos", lease=ObjectRef("kube-system", "qos-audit")),
            },
        ),
        (
            {"certificate": {"kept": {**KEPT, "lifetimeSeconds": 12}}, "audit": {"intervalSeconds": 0}},
            {
                "certificate": CertificateOptions(
                    kept=KeptCertificate(
                        secret=ObjectRef("kube-system", "qos-tls"),
                        names=("qos.kube-system.svc",),
                        configuration="qos",
                        lifetime_seconds=12,
                    )
                ),
                "audit": AuditOptions(interval_seconds=0),
            },
        ),
        ({"tls": {"minVersion": "VersionTLS13"}}, {"tls": TlsOptions(TlsVersion.TLS13)}),
        ({"tls": {"cipherSuites": [*CIPHER_SUITES]}}, {"tls": TlsOptions(cipher_suites=tuple(CIPHER_SUITES))}),
        (
            {"clients": {"caFile": "tls.crt", "names": ["kube-apiserver"]}, "forceDeletion": {"events": True}},
            {
                "clients": ClientOptions("tls.crt", frozenset({"kube-apiserver"})),
                "force_deletion": ForceDeletion(events=True),
            },
        ),
        (
            {"forceDeletion": {"mode": "confirm", "namespaces": {"shop": "deny"}, "exemptUsers": ["fencer"]}},
            {
                "force_deletion": ForceDeletion(
                    mode=ForceDeletionMode.CONFIRM,
                    namespaces={"shop": ForceDeletionMode.DENY},
                    exempt_users=frozenset({"fencer"}),
                )
            },
        ),
        ({"warnings": "verbose"}, {"warnings": WarningLevel.VERBOSE}),
    ],
)
def test_keys(keys: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
    given = {"certificate": {"files": FILES}, **keys}
    usual = Settings(certificate=CertificateOptions(files=CertificateFiles("tls.crt", "tls.key")))
    assert parsed(given) == replace(usual, **changed)


def test_keys_of_the_rules_for_pods() -> None:
    rules = parsed(
        {
            "demo": True,
            "priorityClasses": {"defaults": {"shop": "low"}, "allowed": {"shop": ["low"], "*": ["*"]}},
            "clusterDefaultConstraints": {"namespaces": {"shop": [CONSTRAINT], "team-*": []}},
            "lint": {"spreadSelectors": False, "topologyKeys": True},
        }
    )
    assert rules.priority_classes.defaults == {"shop": "low"}
    assert (rules.allowed_classes("shop"), rules.allowed_classes("data")) == (("low",), ("*",))
    ((constraint,), none) = rules.cluster_default_constraints.namespaces.values()
    assert (constraint.max_skew, constraint.topology_key, none) == (1, "rack", ())
    assert (rules.lint.spread_selectors, rules.lint.topology_keys) == (False, True)


@pytest.mark.parametrize(
    ("keys", "audited"),
    [
        ({"certificate": {"kept": KEPT}}, ("qos", ObjectRef("kube-system", "qos-tls"))),
        (
            {"certificate": {"kept": KEPT}, "audit": {"configuration": "own"}},
            ("own", ObjectRef("kube-system", "qos-tls")),
        ),
        ({"certificate": {"kept": KEPT}, "audit": {"intervalSeconds": 0}}, None),
        ({"certificate": {"files": FILES}}, None),
        (
            {"certificate": {"files": FILES}, "audit": {"configuration": "own", "lease": LEASE}},
            ("own", ObjectRef("kube-system", "qos-audit")),
        ),
    ],
)
def test_audited_pods(keys: Mapping[str, Any], audited: tuple[str, ObjectRef] | None) -> None:
    assert parsed(keys).audited == audited


def test_a_flag_replaces_the_value_of_the_file() -> None:
    keys = {"address": "0.0.0.0:1", "certificate": {"kept": KEPT}, "logLevel": "info"}
    found = parsed(keys, "--address=127.0.0.1:2", "--tls-cert=tls.crt", "--tls-key=tls.key")
    assert (found.address, found.log_level) == ("127.0.0.1:2", LogLevel.INFO)
    assert found.certificate == CertificateOptions(files=CertificateFiles("tls.crt", "tls.key"))


@pytest.mark.parametrize(
    ("constraints", "enabled"),
    [
        ({}, False),
        ({"namespaces": {"shop": []}}, False),
        ({"leaveOutTemplateHash": True}, False),
        ({"namespaces": {"shop": [CONSTRAINT]}}, True),
        ({"annotations": True}, True),
        ({"writeSystemDefaults": True}, True),
        ({"configMap": LEASE}, True),
    ],
)
def test_pods_may_get_constraints(constraints: Mapping[str, Any], enabled: bool) -> None:
    found = parsed({"demo": True, "clusterDefaultConstraints": constraints})
    assert found.cluster_default_constraints.enabled is enabled


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            [],
            "certificate is missing: give certificate.kept, or certificate.files (--tls-cert and --tls-key)",
        ),
        (["--tls-cert", "tls.crt"], "--tls-cert and --tls-key belong together"),
        (["--demo", "--tls-key", "tls.key"], "--tls-cert and --tls-key belong together"),
        (["--tls-cert=gone.crt", "--tls-key=tls.key"], "argument --tls-cert: gone.crt is not a file"),
        (["--tls-cert=tls.crt", "--tls-key=."], "argument --tls-key: . is not a file"),
        (["--demo", "--kubeconfig", "gone.conf"], "argument --kubeconfig: gone.conf is not a file"),
        (["--demo", "--kubeconfig", "x" * 300], f"argument --kubeconfig: {'x' * 300}: File name too long"),
        *(
            (["--demo", f"--drain={text}"], f"argument --drain: '{text}' is not a time such as 10s, 5m, 12h or 90d")
            for text in ("10", "s", "1.5s", "10 s", "10S", "1h30m", "\u0661s", "9999999999s", "", "-1s")
        ),
        *(
            (
                ["--demo", "--log-level", text],
                f"argument --log-level: invalid choice: {text!r} (choose from 'debug', 'info', 'warning', 'error')",
            )
            for text in ("", "INFO", "trace")
        ),
        *(
            (
                ["--demo", "--address", text],
                f"argument --address: {text!r} {NO_ADDRESS}",
            )
            for text in ("8443", ":8443", "host:", "host:65536", "host:\u0661")
        ),
        (
            ["--demo", "--metrics-address=9"],
            f"argument --metrics-address: '9' {NO_ADDRESS}",
        ),
        (["--demo", "--metrics-address=::1"], f"argument --metrics-address: '::1' {NO_ADDRESS}"),
        *(
            (["--demo", f"--address={host}:80"], f"argument --address: '{host}:80' {NO_ADDRESS}")
            for host in ("::1", "a b", "[a b]", "[::1", "[]", "[a]", "a/b")
        ),
        (["--demo", "--port", "1"], "unrecognized arguments: --port 1"),
        *(
            (["--demo", flag, "more"], f"unrecognized arguments: {flag}; {meant}")
            for flag, meant in (
                ("--addr=1", "did you mean --address?"),
                ("--log-lvel=info", "did you mean --log-level?"),
                ("--tls-crt", "did you mean --tls-cert?"),
                (
                    "--force-delete-event",
                    "--force-delete-events is no longer a flag: set forceDeletion.events in the file of --config",
                ),
            )
        ),
        (["--demo", "serve"], "unrecognized arguments: serve"),
        (["--demo", "--address"], "argument --address: expected one argument"),
        (["--config", "gone.yaml"], "gone.yaml: No such file or directory"),
        *(([f"--config={path}"], f"argument --config: '{path}' is not a file") for path in ("", "-", ".")),
        (["--config", "x" * 300], f"argument --config: {'x' * 300}: File name too long"),
        *(
            (["--demo", *given], f"{given[0].partition('=')[0]} is no longer a flag: set {key} in the file of --config")
            for given, key in (
                (["--default-class=shop=low"], "priorityClasses.defaults"),
                (["--default-constraints", "shop=[]"], "clusterDefaultConstraints.namespaces"),
                (["--force-delete-mode", "deny"], "forceDeletion.mode or forceDeletion.namespaces"),
                (["--tls-secret=a/b"], "certificate.kept.secret"),
                (["--no-lint-spread-selectors"], "lint.spreadSelectors"),
                (["--force-delete-events"], "forceDeletion.events"),
            )
        ),
    ],
)
def test_mistakes_in_flags(flags: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert error_of(flags, capsys) == message


TOO_OFTEN = "audit.intervalSeconds: {} is too often; at least 10, or 0 for never"
TOGETHER = "audit.configuration and audit.lease belong together: the pods, and the replica that counts them"
WITH_CLIENTS = (
    "forceDeletion.events need a cluster, clients.caFile and clients.names: without them every client that reaches the "
    "port could create Events"
)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"certificate": {"kept": KEPT, "files": FILES}},
            "certificate.kept makes a certificate, certificate.files provide one: give one or the other",
        ),
        (
            {"certificate": {"kept": {**KEPT, "names": []}}},
            "certificate.kept.names: this is a list; write a list with a length of at least 1",
        ),
        ({"certificate": {"kept": {"names": ["a"], "configuration": "q"}}}, "certificate.kept: the field secret"),
        ({"certificate": {"kept": {**KEPT, "secret": {"name": "a"}}}}, "certificate.kept.secret: the field namespace"),
        (
            {"certificate": {"kept": {**KEPT, "names": ["münchen.example"]}}},
            "certificate.kept.names: 'münchen.example' is neither a DNS name nor an IP address",
        ),
        (
            {"certificate": {"kept": {**KEPT, "lifetimeSeconds": 11}}},
            "certificate.kept.lifetimeSeconds: 11 is a number; write a number of at least 12",
        ),
        (
            {"certificate": {"kept": {**KEPT, "lifetimeSeconds": 1e300}}},
            "certificate.kept.lifetimeSeconds: 1e+300 is a number; write a number of at most 315360000",
        ),
        (
            {"certificate": {"kept": KEPT}, "audit": {"lease": LEASE}},
            "audit.lease goes with certificate.files: with certificate.kept it is the Lease of the Secret's name",
        ),
        ({"audit": {"lease": LEASE}}, TOGETHER),
        ({"audit": {"configuration": "qos"}}, TOGETHER),
        ({"audit": {"intervalSeconds": 9}}, TOO_OFTEN.format(9)),
        ({"audit": {"intervalSeconds": -10}}, "audit.intervalSeconds: -10 is a number; write a number of at least 0"),
        (
            {"audit": {"intervalSeconds": 10**9}},
            "audit.intervalSeconds: 1000000000 is a number; write a number of at most 86400",
        ),
        ({"drainSeconds": -1}, "drainSeconds: -1 is a number; write a number of at least 0"),
        ({"drainSeconds": 1e30}, "drainSeconds: 1e+30 is a number; write a number of at most 3600"),
        (
            {"forceDeletion": {"namespaces": {"sho*": "deny"}}},
            "forceDeletion.namespaces: 'sho*' is not a namespace; wildcards are not supported here",
        ),
        (
            {"demo": True, "certificate": {"kept": KEPT}},
            "--demo has no cluster for a Secret or a Lease: omit certificate.kept and audit.lease",
        ),
        (
            {"clients": {"names": ["a"]}},
            "clients.names also need clients.caFile: the authorities that signed the clients' certificates",
        ),
        ({"clients": {"caFile": "gone.pem"}}, "clients.caFile: gone.pem is not a file"),
        ({"forceDeletion": {"events": True}}, WITH_CLIENTS),
        ({"forceDeletion": {"events": True}, "clients": {"caFile": "tls.crt"}}, WITH_CLIENTS),
        (
            {"demo": True, "forceDeletion": {"events": True}, "clients": {"caFile": "tls.crt", "names": ["a"]}},
            WITH_CLIENTS,
        ),
        *(
            (
                {"forceDeletion": {key: [user]}},
                f"forceDeletion.{key}: {user!r} is not a username; wildcards are not supported",
            )
            for key in ("exemptUsers", "exemptNodeControllers")
            for user in ("", " ", "system:serviceaccount:ops:*")
        ),
        (
            {"forceDeletion": {"mode": "denny"}},
            'forceDeletion.mode: "denny" is none of warn, confirm, deny',
        ),
        (
            {"forceDeletion": {"namespaces": {"shop": "Deny"}}},
            'forceDeletion.namespaces.shop: "Deny" is none of warn, confirm, deny',
        ),
        ({"priorityClasses": {"disallowed": "Deny"}}, 'priorityClasses.disallowed: "Deny" is none of warn, deny'),
        (
            {"priorityClasses": {"defaults": {"shop": ""}}},
            "priorityClasses.defaults.shop: '' is not the name of a class",
        ),
        (
            {"priorityClasses": {"defaults": {"Shop": "a"}}},
            "priorityClasses.defaults: 'Shop' is neither a namespace nor its beginning and *",
        ),
        (
            {"priorityClasses": {"defaults": {"shop": "high"}, "allowed": {"*": ["low"]}}},
            "default class high of shop is not among its allowed: low",
        ),
        (
            {"clusterDefaultConstraints": {"namespaces": {"shop": [{**CONSTRAINT, "minDomains": 0}]}}},
            "clusterDefaultConstraints.namespaces.shop: defaultConstraints[0].minDomains: Invalid value: 0",
        ),
        (
            {"clusterDefaultConstraints": {"namespaces": {"shop": [{**CONSTRAINT, "minDomain": 1}]}}},
            'clusterDefaultConstraints.namespaces.shop[0]: unknown field "minDomain"',
        ),
        ({"warnings": "all"}, 'warnings: "all" is none of usual, verbose'),
        ({"tls": {"minVersion": "1.3"}}, 'tls.minVersion: "1.3" is none of VersionTLS12, VersionTLS13'),
        (
            {"tls": {"cipherSuites": ["ALL:@SECLEVEL=0"]}},
            f"tls.cipherSuites: 'ALL:@SECLEVEL=0' is none of {', '.join(CIPHER_SUITES)}",
        ),
        (
            {"tls": {"cipherSuites": ["TLS_AES_128_GCM_SHA256"]}},
            "tls.cipherSuites: 'TLS_AES_128_GCM_SHA256' is a suite of TLS 1.3; these are always on: omit it",
        ),
        (
            {"tls": {"minVersion": "VersionTLS13", "cipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}},
            "tls.cipherSuites chooses among the suites of TLS 1.2, which tls.minVersion VersionTLS13 disables: omit",
        ),
        ({"tls": None}, "tls: nothing stands here; write a value, or omit the key"),
        ({"adress": "a:1"}, 'unknown field "adress"; did you mean address?'),
        ({"apiVersion": "kubectl-qos.io/v2"}, 'apiVersion: "kubectl-qos.io/v2" is none of kubectl-qos.io/v1'),
        ({"kind": "ConfigMap"}, "0 documents of kind QosWebhookConfiguration, and ConfigMap: it needs one"),
    ],
)
def test_mistakes_in_the_file(keys: Mapping[str, Any], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = {**HEAD, "certificate": {"files": FILES}, **keys}
    Path("config.yaml").write_text(yaml.safe_dump(given, allow_unicode=True))
    assert error_of(["--config=config.yaml"], capsys).startswith(f"config.yaml: {message}")


@table(
    "keys, flags, message",
    {
        "file": row({"address": "a"}, [], "config.yaml: address: 'a' is not HOST:PORT"),
        "flag": row({"address": "a"}, ["--address=b"], "argument --address: 'b' is not HOST:PORT"),
        "file beside a flag": row(
            {"metricsAddress": "a"}, ["--address=b:1"], "config.yaml: metricsAddress: 'a' is not HOST:PORT"
        ),
        "path in the file": row(
            {"certificate": {"files": {**FILES, "key": "gone"}}},
            [],
            "config.yaml: certificate.files.key: gone is not a file",
        ),
        "path of a flag": row({}, ["--tls-cert=tls.crt", "--tls-key=gone"], "argument --tls-key: gone is not a file"),
    },
)
def test_a_mistake_is_found_where_it_was_made(
    keys: Mapping[str, Any], flags: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("config.yaml").write_text(yaml.safe_dump({**HEAD, "demo": True, **keys}))
    assert error_of(["--config=config.yaml", *flags], capsys).startswith(message)


@table(
    "flag, printed",
    {
        "file": row("--demo", 'config.yaml: unknown field "adress"; did you mean address?\n'),
        "flag": row("--port", "unrecognized arguments: --port\nSee qos-webhook --help\n"),
    },
)
def test_an_error_is_printed_without_usage(flag: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.yaml").write_text(yaml.safe_dump({**HEAD, "adress": "a:1"}))
    with pytest.raises(SystemExit):
        parse_settings(["--config=config.yaml", flag])
    assert capsys.readouterr().err == f"qos-webhook: error: {printed}"


ONE = "1 document of kind QosWebhookConfiguration"


@table(
    "text, message",
    {
        "another kind": row(yaml.safe_dump_all([HEAD, {"apiVersion": "v1", "kind": "Pod"}]), f"{ONE}, and Pod"),
        "two": row(yaml.safe_dump_all([HEAD, HEAD]), "2 documents of kind QosWebhookConfiguration"),
        "List": row(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [HEAD]}), f"{ONE}, in a List"),
        "empty": row("", "0 documents of kind QosWebhookConfiguration"),
    },
)
def test_the_file_has_one_document(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.yaml").write_text(text)
    assert error_of(["--config=config.yaml"], capsys) == f"config.yaml: {message}: it needs one and nothing else"


def test_the_file_may_be_a_link_as_in_a_mounted_config_map() -> None:
    Path("..1").mkdir()
    Path("..1", "config.yaml").write_text(yaml.safe_dump({**HEAD, "demo": True}))
    Path("..data").symlink_to("..1")
    Path("config.yaml").symlink_to("..data/config.yaml")
    assert parse_settings(["--config=config.yaml"]) == Settings(demo=True)


def test_a_repeated_key_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.yaml").write_text(yaml.safe_dump(HEAD) + "demo: true\ndemo: true\n")
    assert error_of(["--config=config.yaml"], capsys) == "config.yaml, line 4: demo is a duplicate of line 3: keep one"


RED, SHOWN = "\x1b[31m\u202e", r"\x1b[31m\u202e"


@table(
    "config, flags, message",
    {
        "unknown field": row({RED: 1}, [], f'config.yaml: unknown field "{SHOWN}"'),
        "value": row({"warnings": RED}, [], r'config.yaml: warnings: "\u001b[31m\u202e" is none of usual, verbose'),
        "key": row(
            {"forceDeletion": {"namespaces": {RED: "x"}}},
            [],
            f'config.yaml: forceDeletion.namespaces.{SHOWN}: "x" is none of warn, confirm, deny',
        ),
        "path in the file": row(
            {"clients": {"caFile": RED}}, [], f"config.yaml: clients.caFile: {SHOWN} is not a file"
        ),
        "path": row({}, [f"--config={RED}"], f"{SHOWN}: No such file or directory"),
        "flag": row({}, [f"--{RED}=red\n"], f"unrecognized arguments: --{SHOWN}=red"),
        "choice": row({}, [f"--log-level={RED}"], f"argument --log-level: invalid choice: '{SHOWN}' (choose"),
    },
)
def test_quoted_text_does_not_control_the_terminal(
    config: Mapping[str, Any], flags: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("config.yaml").write_text(yaml.safe_dump({**HEAD, "demo": True, **config}))
    assert error_of(["--config=config.yaml", *flags], capsys).startswith(message)


def test_a_repeated_key_does_not_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.yaml").write_text(yaml.safe_dump(HEAD) + '"\\e[31m": 1\n"\\e[31m": 1\n')
    message = r"config.yaml, line 4: \x1b[31m is a duplicate of line 3: keep one"
    assert error_of(["--config=config.yaml"], capsys) == message


def test_schema_is_that_of_the_settings() -> None:
    """The schema for editors; the program itself checks the file by the same type."""
    check(SCHEMA, json.dumps(msgspec.json.schema(Settings), indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize(
    ("flag", "shown"), [("--version", f"qos-webhook {__version__}\n"), ("--help", "--config FILE")]
)
def test_flags_that_only_print(flag: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_settings([flag])
    assert ended.value.code == 0
    assert shown in capsys.readouterr().out
