"""The command line of qos-webhook: the effect of each flag, and the message of each mistake."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podrules import __version__
from podrules.qos_webhook.arguments import (
    NamespaceRule,
    NamespaceRules,
    ObjectRef,
    RuleMode,
    RuleOptions,
    read_constraints,
)
from webhook.main import parse_settings
from webhook.settings import (
    CIPHER_SUITES,
    CertificateFiles,
    ForceDeletion,
    ForceDeletionMode,
    KeptCertificate,
    LogLevel,
    Settings,
    SharedObjects,
    TlsOptions,
    TlsVersion,
)

CONSTRAINT = '{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}'
DEFAULTS = Settings(
    address="0.0.0.0:8443",
    drain=10.0,
    certificate=None,
    kubeconfig=None,
    demo=True,
    scheduler_config=None,
    write_system_defaults=False,
    force_deletion=ForceDeletion(),
)
LIVE = replace(DEFAULTS, demo=False, options=RuleOptions(default_constraints=False))
"""The same for a live cluster, without flags for constraints."""
KEPT = KeptCertificate(
    secret=ObjectRef("kube-system", "qos-tls"),
    names=("qos.kube-system.svc",),
    configuration="qos",
    lifetime=90 * 86400.0,
)
SECRET = ("--tls-secret", "kube-system/qos-tls")
FILES = ("--tls-cert=tls.crt", "--tls-key=tls.key")
COUNTED = ("--webhook-configuration=qos", "--lease=kube-system/qos-audit")
KEEP = (*SECRET, "--tls-name", "qos.kube-system.svc", "--webhook-configuration", "qos")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with the names that the tests use."""
    monkeypatch.chdir(tmp_path)
    for name in ("tls.crt", "tls.key", "admin.conf"):
        Path(name).touch()


@pytest.mark.parametrize(
    ("flags", "changed"),
    [
        pytest.param([], {}, id="the demo cluster needs nothing more"),
        pytest.param(["--address", "127.0.0.1:9443"], {"address": "127.0.0.1:9443"}, id="address"),
        pytest.param(["--drain", "0s"], {"drain": 0.0}, id="drain of nothing"),
        pytest.param(["--drain", "45s"], {"drain": 45.0}, id="drain in seconds"),
        pytest.param(["--drain", "2m"], {"drain": 120.0}, id="drain in minutes"),
        pytest.param(["--kubeconfig", "admin.conf"], {"kubeconfig": "admin.conf"}, id="kubeconfig"),
        pytest.param(
            ["--scheduler-config", "kube-system/kube-scheduler"],
            {"scheduler_config": ObjectRef("kube-system", "kube-scheduler")},
            id="scheduler configuration",
        ),
        pytest.param(["--write-system-defaults"], {"write_system_defaults": True}, id="system defaults"),
        pytest.param(
            [
                *("--default-class", "shop=shop-low", "--default-class", "batch=batch-low"),
                *(
                    "--allowed-classes",
                    "shop=shop-low,shop-high",
                    "--allowed-classes",
                    "team-*=",
                    "--allowed-classes=*=*",
                ),
                *("--default-constraints", f"shop=[{CONSTRAINT}]", "--default-constraints", "batch=[]"),
            ],
            {
                "options": RuleOptions(
                    rules=NamespaceRules(
                        {
                            "shop": NamespaceRule(
                                default_class="shop-low",
                                allowed_classes=("shop-low", "shop-high"),
                                constraints=read_constraints(f"[{CONSTRAINT}]"),
                            ),
                            "batch": NamespaceRule(default_class="batch-low", constraints=()),
                            "team-*": NamespaceRule(allowed_classes=()),
                            "*": NamespaceRule(allowed_classes=("*",)),
                        }
                    )
                )
            },
            id="rules of namespaces",
        ),
        pytest.param(
            ["--default-class", "shop=shop-low", "--default-class", "shop=shop-high"],
            {"options": RuleOptions(rules=NamespaceRules({"shop": NamespaceRule(default_class="shop-high")}))},
            id="of one namespace the last counts",
        ),
        pytest.param(
            ["--disallowed-class", "warn"],
            {"options": RuleOptions(disallowed_class=RuleMode.WARN)},
            id="disallowed class",
        ),
        pytest.param(
            ["--template-class", "deny"],
            {"options": RuleOptions(template_class=RuleMode.DENY)},
            id="class of templates",
        ),
        pytest.param(["--warnings", "verbose"], {"options": RuleOptions(verbose=True)}, id="verbose"),
        pytest.param(
            ["--leave-out-template-hash"], {"options": RuleOptions(leave_out_template_hash=True)}, id="without the hash"
        ),
        pytest.param(
            ["--no-lint-spread-selectors", "--lint-topology-keys"],
            {"options": RuleOptions(lint_selectors=False, lint_topology_keys=True)},
            id="other lints",
        ),
        pytest.param(
            ["--force-delete-mode=confirm", "--force-delete-mode", "shop=deny", "--force-delete-mode=data=warn"],
            {
                "force_deletion": ForceDeletion(
                    mode=ForceDeletionMode.CONFIRM,
                    namespaces={"shop": ForceDeletionMode.DENY, "data": ForceDeletionMode.WARN},
                )
            },
            id="force deletions",
        ),
        pytest.param(
            ["--exempt-user", "fencer", "--exempt-user", "system:serviceaccount:ops:fencer"],
            {"force_deletion": ForceDeletion(exempt_users=frozenset({"fencer", "system:serviceaccount:ops:fencer"}))},
            id="exempt users",
        ),
        pytest.param(
            ["--exempt-node-controller", "reaper"],
            {"force_deletion": ForceDeletion(exempt_node_controllers=frozenset({"reaper"}))},
            id="exempt node controllers",
        ),
        *(
            pytest.param(["--log-level", level.value], {"log_level": level}, id=f"log level {level.value}")
            for level in LogLevel
        ),
        pytest.param(
            ["--tls-min-version", "VersionTLS13"], {"tls": TlsOptions(TlsVersion.TLS13)}, id="the newest version of TLS"
        ),
        pytest.param(
            ["--tls-min-version=VersionTLS12", f"--tls-cipher-suites={','.join(CIPHER_SUITES)}"],
            {"tls": TlsOptions(TlsVersion.TLS12, tuple(CIPHER_SUITES))},
            id="cipher suites",
        ),
        pytest.param(
            ["--tls-cert", "tls.crt", "--tls-key", "tls.key"],
            {"certificate": CertificateFiles("tls.crt", "tls.key")},
            id="certificate files",
        ),
    ],
)
def test_flags(flags: Sequence[str], changed: dict[str, Any]) -> None:
    assert parse_settings(["--demo", *flags]) == replace(DEFAULTS, **changed)


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        pytest.param(KEEP, KEPT, id="as usual"),
        pytest.param(
            (*KEEP, "--tls-name", "10.96.0.7", "--tls-name", "::1"),
            replace(KEPT, names=("qos.kube-system.svc", "10.96.0.7", "::1")),
            id="several names",
        ),
        pytest.param((*KEEP, "--tls-lifetime", "12s"), replace(KEPT, lifetime=12.0), id="the shortest lifetime"),
        pytest.param((*KEEP, "--tls-lifetime", "36h"), replace(KEPT, lifetime=129_600.0), id="lifetime in hours"),
        pytest.param((*KEEP, "--tls-lifetime", "2d"), replace(KEPT, lifetime=172_800.0), id="lifetime in days"),
    ],
)
def test_a_certificate_that_is_kept(flags: Sequence[str], kept: KeptCertificate) -> None:
    release = SharedObjects(configuration="qos", lease=kept.secret)
    assert parse_settings(flags) == replace(LIVE, certificate=kept, release=release)


def test_lease_beside_a_foreign_certificate() -> None:
    assert parse_settings([*FILES, *COUNTED]) == replace(
        LIVE,
        certificate=CertificateFiles("tls.crt", "tls.key"),
        release=SharedObjects(configuration="qos", lease=ObjectRef("kube-system", "qos-audit")),
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(
            [],
            "name the certificate: --tls-secret for one that is kept for you, or --tls-cert and --tls-key",
            id="no certificate",
        ),
        pytest.param(
            [*KEEP, "--tls-cert", "tls.crt", "--tls-key", "tls.key"],
            "--tls-secret keeps a certificate, --tls-cert and --tls-key provide one: give one or the other",
            id="two certificates",
        ),
        pytest.param(
            [*KEEP, "--tls-key", "tls.key"],
            "--tls-secret keeps a certificate, --tls-cert and --tls-key provide one: give one or the other",
            id="a certificate and a key",
        ),
        pytest.param(
            [*SECRET, "--webhook-configuration", "qos"],
            "--tls-secret also needs --tls-name and --webhook-configuration, which trusts the certificate",
            id="no name",
        ),
        pytest.param(
            [*SECRET, "--tls-name", "a.svc"],
            "--tls-secret also needs --tls-name and --webhook-configuration, which trusts the certificate",
            id="no configuration",
        ),
        pytest.param(["--tls-cert", "tls.crt"], "--tls-cert and --tls-key belong together", id="no key"),
        pytest.param(["--demo", "--tls-key", "tls.key"], "--tls-cert and --tls-key belong together", id="a key alone"),
        pytest.param(
            ["--tls-cert", "gone.crt", "--tls-key", "tls.key"],
            "--tls-cert: gone.crt is not a file",
            id="a certificate that is not there",
        ),
        pytest.param(
            ["--tls-cert", "tls.crt", "--tls-key", "."], "--tls-key: . is not a file", id="a folder in place of a key"
        ),
        pytest.param(
            ["--demo", "--kubeconfig", "gone.conf"],
            "--kubeconfig: gone.conf is not a file",
            id="a kubeconfig that is not there",
        ),
        *(
            pytest.param(
                [flag, text], f"argument {flag}: '{text}' is not NAMESPACE/NAME", id=f"{flag.removeprefix('--')} {text}"
            )
            for flag in ("--tls-secret", "--scheduler-config")
            for text in ("name", "/name", "namespace/", "a/b/c", "")
        ),
        *(
            pytest.param(
                ["--drain", text],
                f"argument --drain: '{text}' is not a time such as 10s, 5m, 12h or 90d",
                id=f"drain {text}",
            )
            for text in ("10", "s", "1.5s", "10 s", "10S", "1h30m", "\u0661s", "9999999999s", "")
        ),
        pytest.param(
            ["--drain=-1s"],
            "argument --drain: '-1s' is not a time such as 10s, 5m, 12h or 90d",
            id="drain before it begins",
        ),
        pytest.param(
            [*KEEP, "--tls-lifetime", "11s"],
            "argument --tls-lifetime: '11s' is too short to renew in time; at least 12s",
            id="too short a lifetime",
        ),
        pytest.param(
            [*KEEP, "--tls-lifetime", "long"],
            "argument --tls-lifetime: 'long' is not a time such as 10s, 5m, 12h or 90d",
            id="a lifetime that is no time",
        ),
        *(
            pytest.param(
                ["--demo", "--force-delete-mode", text],
                f"argument --force-delete-mode: {text!r} is not MODE or NAMESPACE=MODE, "
                "where MODE is warn, confirm or deny",
                id=f"mode {text}",
            )
            for text in ("", "denny", "shop=", "=deny", "shop=Deny", "deny=shop")
        ),
        *(
            pytest.param(["--demo", flag, text], f"argument {flag}: {text!r} {problem}", id=f"{flag} {text}")
            for flag, text, problem in (
                ("--default-class", "shop-low", "is not NAMESPACE=…"),
                ("--default-class", "=shop-low", "is not NAMESPACE=…"),
                ("--default-class", "shop=", "names no class"),
                ("--allowed-classes", "shop-low", "is not NAMESPACE=…"),
                ("--default-constraints", "[]", "is not NAMESPACE=…"),
                ("--disallowed-class", "Deny", "is neither warn nor deny"),
                ("--template-class", "", "is neither warn nor deny"),
            )
        ),
        pytest.param(
            ["--demo", "--default-constraints", f'shop=[{CONSTRAINT[:-1]}, "minDomains": 0}}]'],
            "argument --default-constraints: shop: defaultConstraints[0].minDomains: Invalid value: 0: "
            "must be greater than zero",
            id="unacceptable constraints",
        ),
        pytest.param(
            ["--demo", "--default-class", "Shop=a"],
            "'Shop' is neither a namespace nor its beginning and *",
            id="no namespace",
        ),
        pytest.param(
            ["--demo", "--default-class", "shop=high", "--allowed-classes", "*=low"],
            "default class high of shop is not among its allowed: low",
            id="a default that is not allowed",
        ),
        pytest.param(
            ["--demo", "--warnings", "all"],
            "argument --warnings: 'all' is neither usual nor verbose",
            id="unknown warnings",
        ),
        *(
            pytest.param(
                ["--demo", "--log-level", text],
                f"argument --log-level: {text!r} is none of debug, info, warning, error",
                id=f"log level {text}",
            )
            for text in ("", "INFO", "trace")
        ),
        *(
            pytest.param(
                ["--demo", "--tls-min-version", text],
                f"argument --tls-min-version: {text!r} is neither VersionTLS12 nor VersionTLS13",
                id=f"TLS version {text}",
            )
            for text in ("", "1.3", "VersionTLS11")
        ),
        *(
            pytest.param(
                ["--demo", "--tls-cipher-suites", text],
                f"argument --tls-cipher-suites: {wrong!r} is none of {', '.join(CIPHER_SUITES)}",
                id=f"cipher suites {text}",
            )
            for text, wrong in (
                ("", ""),
                ("TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256"),
                ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,ALL:@SECLEVEL=0", "ALL:@SECLEVEL=0"),
            )
        ),
        pytest.param(
            ["--demo", "--tls-cipher-suites=TLS_AES_128_GCM_SHA256"],
            "argument --tls-cipher-suites: 'TLS_AES_128_GCM_SHA256' is a suite of TLS 1.3; these are always on: "
            "omit it",
            id="a suite that cannot be chosen",
        ),
        pytest.param(
            ["--demo", "--tls-min-version=VersionTLS13", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
            "--tls-cipher-suites chooses among the suites of TLS 1.2, which --tls-min-version=VersionTLS13 disables: "
            "omit one of them",
            id="suites of a version that is off",
        ),
        *(
            pytest.param(
                ["--demo", flag, text],
                f"argument {flag}: {text!r} is not a username; wildcards are not supported",
                id=f"{flag} {text}",
            )
            for flag in ("--exempt-user", "--exempt-node-controller")
            for text in ("", "system:serviceaccount:ops:*")
        ),
        *(
            pytest.param(
                [*given, "--force-delete-events"],
                "--force-delete-events needs --client-ca and --client-name, and a cluster: without them every client "
                "that reaches the port could create Events",
                id=f"Events {name}",
            )
            for name, given in (
                ("of anybody's reviews", KEEP),
                ("of any name", [*KEEP, "--client-ca=tls.crt"]),
                ("of no cluster", ["--demo", "--client-ca=tls.crt", "--client-name=kube-apiserver"]),
            )
        ),
        pytest.param(["--demo", "--port", "1"], "unrecognized arguments: --port 1", id="an unknown flag"),
        pytest.param(["--demo", "serve"], "unrecognized arguments: serve", id="a word too many"),
        pytest.param(
            ["--demo", "--address", "8443"],
            "argument --address: '8443' is not HOST:PORT, such as 0.0.0.0:8443 or [::]:8443",
            id="an address without a host",
        ),
        pytest.param(
            ["--demo", "--tls-name", "münchen.example"],
            "argument --tls-name: 'münchen.example' is neither a DNS name nor an IP address",
            id="a name that is none",
        ),
        pytest.param(
            ["--demo", "--tls-name", "a"],
            "--tls-name and --tls-lifetime go with --tls-secret",
            id="a name without a Secret",
        ),
        *(
            pytest.param(
                [*FILES, flag],
                "--webhook-configuration and --lease belong together: they say which pods are counted, and by which "
                "replica",
                id=f"{flag} alone",
            )
            for flag in COUNTED
        ),
        pytest.param(
            [*KEEP, COUNTED[1]],
            "--lease goes with --tls-cert: with --tls-secret it is the Lease of that name",
            id="a Lease beside that of the Secret",
        ),
        pytest.param(
            ["--demo", *COUNTED],
            "--demo has no cluster to keep a Secret or a Lease in: leave --tls-secret and --lease out",
            id="a Lease in the demo cluster",
        ),
        pytest.param(["--demo", "--address"], "argument --address: expected one argument", id="a flag without a value"),
    ],
)
def test_mistakes(flags: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_settings(flags)
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.err.splitlines()[-1] == f"qos-webhook: error: {message}"
    assert said.out == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_settings(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"qos-webhook {__version__}\n"


def test_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_settings(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    flags = "version address drain kubeconfig demo tls-cert tls-key tls-secret tls-name tls-lifetime"
    for flag in (
        *flags.split(),
        "webhook-configuration",
        "lease",
        "scheduler-config",
        "write-system-defaults",
        "force-delete-mode",
        "exempt-user",
        "exempt-node-controller",
    ):
        assert f"--{flag}" in said
