"""The objects that the chart renders, and the values that it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from podrules import __version__
from podrules.admission.mutating_webhooks import CONFIG_ARGUMENT
from podrules.qos_webhook.rules import (
    ConstraintRules,
    LintRules,
    ObjectRef,
    PriorityClassRules,
    RuleMode,
    WarningLevel,
    read_constraints,
    read_rules,
)
from tests.charts.chart import CHART, EVENTS, FULL_VALUES, NODE_CONTROLLERS, Chart, HelmError, config_of, of_kind
from tests.controlplane.client import Object
from webhook.settings import (
    AuditOptions,
    CertificateOptions,
    ForceDeletion,
    ForceDeletionMode,
    KeptCertificate,
    LogFormat,
    LogLevel,
    Settings,
    TlsOptions,
)

VALUES = [pytest.param(None, id="defaults"), pytest.param(FULL_VALUES, id="all values")]
CLUSTER_WIDE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


def pod_spec(objects: list[Object]) -> Object:
    (deployment,) = of_kind("Deployment", objects)
    spec: Object = deployment["spec"]["template"]["spec"]
    return spec


def arguments(objects: list[Object]) -> list[str]:
    args: list[str] = pod_spec(objects)["containers"][0]["args"]
    return args


def webhooks(objects: list[Object]) -> dict[str, Object]:
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    found = [entry for kind in kinds for configuration in of_kind(kind, objects) for entry in configuration["webhooks"]]
    return {entry["name"]: entry for entry in found}


def keys(value: Any) -> Iterator[str]:
    """Every key at every depth."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield key
            yield from keys(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from keys(inside)


def replaced(values: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The values with another one at a path such as ``webhook.url``."""
    head, _, rest = path.partition(".")
    return {**values, head: replaced(values.get(head, {}), rest, value) if rest else value}


# The whole manifest


@pytest.mark.parametrize("values", VALUES)
def test_lint(chart: Chart, values: Mapping[str, Any] | None) -> None:
    assert "0 chart(s) failed" in chart.run("lint", "--strict", CHART, values=values)


@pytest.mark.parametrize("values", VALUES)
def test_two_renders_are_the_same(chart: Chart, values: Mapping[str, Any] | None) -> None:
    assert chart.rendered(values) == chart.rendered_anew(values)


def test_upgrade_renders_the_same_as_install(chart: Chart) -> None:
    assert chart.rendered(None, "--is-upgrade") == chart.rendered()


def test_no_hooks_and_no_look_ups(chart: Chart) -> None:
    files = (file for file in (CHART / "templates").rglob("*") if file.is_file())
    templates = "".join(file.read_text(encoding="utf-8") for file in files)
    assert "helm.sh/hook" not in chart.rendered(FULL_VALUES, "--skip-tests")
    actions = re.findall(r"\{\{(?!-? ?/\*).*?\}\}", templates)
    assert len(actions) > 100
    assert not [action for action in actions if re.search(r"\b(lookup|now|(gen[A-Z]|rand|uuid)\w*) ", action)]


def test_version_is_the_programs() -> None:
    metadata = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert metadata["appVersion"] == __version__


@pytest.mark.parametrize("values", VALUES)
def test_nothing_is_null(chart: Chart, values: Mapping[str, Any] | None) -> None:
    # If the API server drops a field, a GitOps tool reports a difference forever.
    def nulls(value: Any, path: str) -> Iterator[str]:
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, entry in inside:
            yield from [f"{path}.{key}"] if entry is None else nulls(entry, f"{path}.{key}")

    for entry in [*chart.objects(values), chart.test_pod(values)]:
        assert not list(nulls(entry, entry["kind"]))


def test_labels_and_annotations_of_every_object(chart: Chart) -> None:
    for entry in [*chart.objects(FULL_VALUES), chart.test_pod(FULL_VALUES)]:
        metadata = entry["metadata"]
        own = entry["kind"] == "PrometheusRule"
        assert metadata["labels"]["cost-centre"] == ("7" if own else "42"), entry
        assert metadata["labels"]["app.kubernetes.io/instance"] == "qos-webhook"
        assert metadata["annotations"]["example.com/owner"] == "platform", entry


def test_two_releases_share_no_name(chart: Chart) -> None:
    def outside(release: str, namespace: str) -> set[tuple[str, str, str]]:
        return {
            (entry["kind"], entry["metadata"].get("namespace", ""), entry["metadata"]["name"])
            for entry in chart.objects({**FULL_VALUES, "fullnameOverride": ""}, release=release, namespace=namespace)
            if entry["metadata"].get("namespace") != namespace
        }

    # Joined with a dash, these two names would be equal.
    first, second = outside("b-qos-webhook", "a"), outside("qos-webhook", "a-b")
    assert {kind for kind, namespace, _ in first if not namespace} == CLUSTER_WIDE
    assert not first & second
    assert not outside("qos-webhook", "a") & outside("other", "a")


def test_every_object_says_its_namespace(chart: Chart) -> None:
    for entry in chart.objects(FULL_VALUES):
        assert ("namespace" in entry["metadata"]) == (entry["kind"] not in CLUSTER_WIDE), entry


# The pods


@pytest.mark.parametrize("values", VALUES)
def test_pods_are_restricted(chart: Chart, values: Mapping[str, Any] | None) -> None:
    spec = pod_spec(chart.objects(values))
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for container in spec["containers"] + spec.get("initContainers", []):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    assert not {"hostNetwork", "hostPID", "hostIPC", "runAsUser", "runAsGroup", "fsGroup"} & set(keys(spec))
    volume, config = spec["volumes"]
    assert config["configMap"]["name"].endswith("-config")
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "8Mi"}


def test_only_the_pods_mount_the_token(chart: Chart) -> None:
    objects = chart.objects()
    (account,) = of_kind("ServiceAccount", objects)
    assert account["automountServiceAccountToken"] is False
    assert pod_spec(objects)["automountServiceAccountToken"] is True


def test_probes(chart: Chart) -> None:
    (container,) = pod_spec(chart.objects())["containers"]
    asked = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["path"] for name, probe in asked.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    assert {(probe["scheme"], probe["port"]) for probe in asked.values()} == {("HTTPS", "https")}


def test_configuration_file_by_default(chart: Chart) -> None:
    objects = chart.objects()
    container = pod_spec(objects)["containers"][0]
    assert (container["command"], arguments(objects)) == (["qos-webhook"], [CONFIG_ARGUMENT])
    settings = read_rules(config_of(objects), Settings)
    users = frozenset(name for names in NODE_CONTROLLERS.values() for name in names)
    assert settings == Settings(
        address="0.0.0.0:10250",
        metrics_address="0.0.0.0:9090",
        drain_seconds=5,
        certificate=CertificateOptions(
            kept=KeptCertificate(
                secret=ObjectRef("qos-system", "qos-webhook-tls"),
                names=("qos-webhook.qos-system.svc",),
                configuration="qos-webhook.qos-system",
                lifetime_seconds=90 * 86400,
            )
        ),
        audit=AuditOptions(interval_seconds=3600),
        force_deletion=ForceDeletion(exempt_node_controllers=users),
    )
    assert not settings.cluster_default_constraints.enabled
    assert not list(settings.problems())


def test_configuration_file_of_all_values(chart: Chart) -> None:
    settings = read_rules(config_of(chart.objects(FULL_VALUES)), Settings)
    users = [name for key, names in NODE_CONTROLLERS.items() if key != "karpenter" for name in names]
    constraints = FULL_VALUES["clusterDefaultConstraints"]["namespaces"]["shop"]
    assert settings.cluster_default_constraints.namespaces == {
        "shop": read_constraints(json.dumps(constraints)),
        "team-*": (),
    }
    assert settings == Settings(
        address="0.0.0.0:9443",
        metrics_address="0.0.0.0:9191",
        drain_seconds=30,
        log_format=LogFormat.JSON,
        log_level=LogLevel.DEBUG,
        audit=AuditOptions(interval_seconds=600),
        tls=TlsOptions(cipher_suites=tuple(FULL_VALUES["tls"]["cipherSuites"])),
        certificate=CertificateOptions(
            kept=KeptCertificate(
                secret=ObjectRef("qos-system", "harbour-tls"),
                names=("harbour.qos-system.svc", "qos.example.com"),
                configuration="harbour.qos-system",
                lifetime_seconds=12 * 3600,
            )
        ),
        force_deletion=ForceDeletion(
            mode=ForceDeletionMode.CONFIRM,
            namespaces={
                "qos-system": ForceDeletionMode.WARN,
                "kube-system": ForceDeletionMode.DENY,
                "kube-public": ForceDeletionMode.WARN,
                "shop": ForceDeletionMode.DENY,
            },
            exempt_users=frozenset({"fencer", 'system:serviceaccount:ops:"fencer"'}),
            exempt_node_controllers=frozenset({*users, "reaper", 'system:serviceaccount:ops:"reaper"'}),
        ),
        cluster_default_constraints=ConstraintRules(
            config_map=ObjectRef("qos-system", "harbour-scheduler"),
            namespaces=settings.cluster_default_constraints.namespaces,
            leave_out_template_hash=True,
            write_system_defaults=True,
        ),
        priority_classes=PriorityClassRules(
            defaults={"*": "shop-high", "shop": "shop-low"},
            allowed={"shop": ("shop-low", "shop-high"), "batch": (), "team-*": ("*",)},
            disallowed=RuleMode.WARN,
            templates=RuleMode.DENY,
        ),
        lint=LintRules(spread_selectors=False, topology_keys=True),
        warnings=WarningLevel.VERBOSE,
    )


def test_another_configuration_makes_new_pods(chart: Chart) -> None:
    def checksum(values: Mapping[str, Any]) -> str:
        (deployment,) = of_kind("Deployment", chart.objects(values))
        return str(deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"])

    assert checksum({}) == checksum({"replicas": 3})
    assert len({checksum(values) for values in ({}, {"warnings": "verbose"}, {"drainSeconds": 6})}) == 3


def test_image(chart: Chart) -> None:
    def image(**values: str) -> str:
        found: str = pod_spec(chart.objects({"image": values}))["containers"][0]["image"]
        return found

    digest = f"sha256:{'0' * 64}"
    assert image() == f"registry.example.com/kubectl-qos/qos-webhook:{__version__}"
    assert image(tag="edge") == "registry.example.com/kubectl-qos/qos-webhook:edge"
    assert image(repository="localhost/qos") == f"localhost/qos:{__version__}"
    assert image(repository="registry:5000/qos", tag="edge", digest=digest) == f"registry:5000/qos@{digest}"


@pytest.mark.parametrize(
    "repository",
    [
        pytest.param("", id="none"),
        pytest.param("kubectl-qos/qos-webhook", id="the default of old releases"),
        pytest.param("qos-webhook", id="a bare name"),
    ],
)
def test_image_without_a_registry_is_refused(chart: Chart, repository: str) -> None:
    # By the template: helm's message about a schema does not say what to set.
    with pytest.raises(HelmError) as refused:
        chart.rendered({"image": {"repository": repository}}, "--is-upgrade")
    assert (
        f'image.repository: "{repository}" does not begin with a registry: no image is published; build one '
        "(make image), push it, and name it: --set image.repository=registry.example.com/qos-webhook"
    ) in str(refused.value)


def test_policies_need_no_image(chart: Chart) -> None:
    assert not of_kind("Deployment", chart.objects({"mode": "policy", "image": {"repository": ""}}))


def test_pods_have_time_to_end(chart: Chart) -> None:
    spec = pod_spec(chart.objects({"preStopSeconds": 3, "drainSeconds": 7}))
    assert spec["containers"][0]["lifecycle"] == {"preStop": {"sleep": {"seconds": 3}}}
    # webhook.serving.server: 20 s after the drain for requests under way.
    assert spec["terminationGracePeriodSeconds"] >= 3 + 7 + 20 + 1


def test_no_wait_before_the_end(chart: Chart) -> None:
    # Before 1.33 the API server refuses a sleep of 0 s.
    assert "lifecycle" not in pod_spec(chart.objects({"preStopSeconds": 0}))["containers"][0]


def test_no_pod_is_removed_before_its_successor_is_ready(chart: Chart) -> None:
    (deployment,) = of_kind("Deployment", chart.objects())
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


@pytest.mark.parametrize(
    ("values", "budgets"),
    [
        ({"replicas": 1}, 0),
        ({"replicas": 2}, 1),
        ({"replicas": 3}, 1),
        ({"replicas": 1, "autoscaling": {"enabled": True, "minReplicas": 2}}, 1),
        ({"replicas": 2, "autoscaling": {"enabled": True, "minReplicas": 1}}, 0),
    ],
)
def test_disruption_budget_for_more_than_one(chart: Chart, values: Mapping[str, Any], budgets: int) -> None:
    objects = chart.objects(values)
    (deployment,) = of_kind("Deployment", objects)
    found = of_kind("PodDisruptionBudget", objects)
    assert [entry["spec"]["selector"] for entry in found] == [deployment["spec"]["selector"]] * budgets


def test_labels_of_the_pods(chart: Chart) -> None:
    objects = chart.objects(FULL_VALUES)
    (deployment,), (service,) = of_kind("Deployment", objects), of_kind("Service", objects)
    selected = deployment["spec"]["selector"]["matchLabels"]
    assert service["spec"]["selector"] == selected
    assert deployment["spec"]["template"]["metadata"]["labels"] == {
        **selected,
        "team": "platform",
        "cost-centre": "42",
    }


def test_pods_spread_themselves(chart: Chart) -> None:
    by_default = pod_spec(chart.objects())["topologySpreadConstraints"]
    assert [entry["topologyKey"] for entry in by_default] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]

    objects = chart.objects(FULL_VALUES)
    (deployment,) = of_kind("Deployment", objects)
    without_selector, with_selector = pod_spec(objects)["topologySpreadConstraints"]
    assert without_selector == {
        "maxSkew": 2,
        "topologyKey": "rack",
        "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": 2,
        "labelSelector": deployment["spec"]["selector"],
        "matchLabelKeys": ["pod-template-hash"],
    }
    assert with_selector == FULL_VALUES["topologySpreadConstraints"][1]


@pytest.mark.parametrize(
    "name", ["imagePullSecrets", "priorityClassName", "nodeSelector", "tolerations", "affinity", "podAnnotations"]
)
def test_values_that_are_passed_through(chart: Chart, name: str) -> None:
    (deployment,) = of_kind("Deployment", chart.objects({name: FULL_VALUES[name]}))
    template = deployment["spec"]["template"]
    own = template["metadata"]["annotations"]
    assert own.pop("checksum/config")
    assert (own if name == "podAnnotations" else template["spec"][name]) == FULL_VALUES[name]


# Objects that the program writes


@pytest.mark.parametrize("values", VALUES)
def test_secret_is_empty(chart: Chart, values: Mapping[str, Any] | None) -> None:
    (secret,) = of_kind("Secret", chart.objects(values))
    assert set(secret) == {"apiVersion", "kind", "metadata", "type"}
    assert secret["type"] == "Opaque"


@pytest.mark.parametrize("values", VALUES)
def test_no_ca_bundle(chart: Chart, values: Mapping[str, Any] | None) -> None:
    assert "caBundle" not in set(keys(chart.objects(values)))


# The webhook configurations


def test_rules_of_the_webhook(chart: Chart) -> None:
    objects = chart.objects()
    asked = {
        name: {
            (group, resource, operation)
            for rule in entry["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for operation in rule["operations"]
        }
        for name, entry in webhooks(objects).items()
    }
    written = ("CREATE", "UPDATE")
    assert asked == {
        "pods.mutate.kubectl-qos.io": {("", "pods", "CREATE")},
        "pods.validate.kubectl-qos.io": {("", "pods", "CREATE")},
        "force-delete.kubectl-qos.io": {("", "pods", "DELETE")},
        "evictions.kubectl-qos.io": {("", "pods/eviction", "CREATE")},
        "nodes.kubectl-qos.io": {("", "nodes", "DELETE")},
        "workloads.kubectl-qos.io": {
            *(
                ("apps", kind, how)
                for kind in ("deployments", "statefulsets", "daemonsets", "replicasets")
                for how in written
            ),
            *(("batch", kind, how) for kind in ("jobs", "cronjobs") for how in written),
            *(("", "replicationcontrollers", how) for how in written),
        },
    }
    (mutating,) = of_kind("MutatingWebhookConfiguration", objects)
    assert [entry["name"] for entry in mutating["webhooks"]] == ["pods.mutate.kubectl-qos.io"]
    assert mutating["webhooks"][0]["reinvocationPolicy"] == "Never"


def test_settings_of_the_webhook(chart: Chart) -> None:
    for name, entry in webhooks(chart.objects()).items():
        assert entry["clientConfig"] == {
            "service": {
                "name": "qos-webhook",
                "namespace": "qos-system",
                "path": "/mutate" if "mutate" in name else "/validate",
                "port": 443,
            }
        }
        assert entry["failurePolicy"] == "Ignore"
        assert entry["timeoutSeconds"] == 2
        assert entry["sideEffects"] == "None"
        assert entry["admissionReviewVersions"] == ["v1"]
        assert entry["matchPolicy"] == "Equivalent"
        assert entry["namespaceSelector"]["matchExpressions"] == [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["qos-system", "kube-system"]}
        ]


def test_events_are_side_effects_but_not_of_dry_runs(chart: Chart) -> None:
    effects = {name: entry["sideEffects"] for name, entry in webhooks(chart.objects(EVENTS)).items()}
    forced = {"force-delete.kubectl-qos.io", "evictions.kubectl-qos.io", "nodes.kubectl-qos.io"}
    assert {name for name, effect in effects.items() if effect == "NoneOnDryRun"} == forced
    assert {effect for name, effect in effects.items() if name not in forced} == {"None"}
    assert config_of(chart.objects(EVENTS))["forceDeletion"]["events"] is True


def test_values_of_the_webhook(chart: Chart) -> None:
    for name, entry in webhooks(chart.objects(FULL_VALUES)).items():
        assert entry["clientConfig"].keys() == {"url"}
        assert entry["clientConfig"]["url"] in {
            "https://qos.example.com:8443/mutate",
            "https://qos.example.com:8443/validate",
        }
        # Nodes can be deleted in any case.
        policy = "Ignore" if name == "nodes.kubectl-qos.io" else "Fail"
        assert (entry["failurePolicy"], entry["timeoutSeconds"]) == (policy, 1)
        excluded, more = entry["namespaceSelector"]["matchExpressions"]
        assert excluded["values"] == ["qos-system", "kube-system", "kube-public"]
        assert more == {"key": "qos", "operator": "NotIn", "values": ["off"]}


def test_service_leads_to_the_pods(chart: Chart) -> None:
    (service,) = of_kind("Service", chart.objects())
    port, metrics = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (443, "https")
    assert metrics["targetPort"] == "metrics"


# The scheduler's configuration


def test_scheduler_configuration_is_rendered(chart: Chart) -> None:
    found = {entry["metadata"]["name"]: entry for entry in of_kind("ConfigMap", chart.objects(FULL_VALUES))}
    config_map = found["harbour-scheduler"]
    assert list(config_map["data"]) == ["config.yaml"]
    given = FULL_VALUES["clusterDefaultConstraints"]["schedulerConfiguration"]
    assert yaml.safe_load(config_map["data"]["config.yaml"]) == given


@pytest.mark.parametrize(("namespace", "reference"), [("kube-system", "kube-system/sched"), ("", "qos-system/sched")])
def test_scheduler_configuration_that_exists(chart: Chart, namespace: str, reference: str) -> None:
    existing = {"namespace": namespace, "name": "sched"}
    objects = chart.objects({"clusterDefaultConstraints": {"existingConfigMap": existing}})
    assert len(of_kind("ConfigMap", objects)) == 1
    config_map = config_of(objects)["clusterDefaultConstraints"]["configMap"]
    assert f"{config_map['namespace']}/{config_map['name']}" == reference


# Refusals


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("replica", 2, "additional properties 'replica' not allowed"),
        ("webhook.failPolicy", "Fail", "at '/webhook': additional properties 'failPolicy' not allowed"),
        ("replicas", "2", "at '/replicas': got string, want integer"),
        ("drainSeconds", None, "at '': missing property 'drainSeconds'"),
        ("forceDeletion.namespaces", None, "at '/forceDeletion': missing property 'namespaces'"),
        ("forceDeletion.exemptUsers", None, "at '/forceDeletion': missing property 'exemptUsers'"),
        ("drainSeconds", "10s", "at '/drainSeconds': got string, want integer"),
        ("commonLabels", {"team": "a b"}, "at '/commonLabels/team': 'a b' does not match"),
        ("autoscaling.averageCPU", "half", "at '/autoscaling/averageCPU': 'half' does not match"),
        ("extraEnv", [{"value": "x"}], "at '/extraEnv/0': missing property 'name'"),
        ("networkPolicy.from", [{}], "at '/networkPolicy/from/0': minProperties: got 0, want 1"),
        ("networkPolicy.apiServer", {"cidrs": ["10.0.0.1"]}, "at '/networkPolicy/apiServer/cidrs/0': '10.0.0.1' does"),
        ("networkPolicy.apiServer", {"ports": []}, "at '/networkPolicy/apiServer/ports': minItems: got 0, want 1"),
        ("metrics.serviceMonitor", {"interval": "often"}, "at '/metrics/serviceMonitor/interval': 'often' does not"),
        ("logLevel", "trace", "at '/logLevel': value must be one of 'debug', 'info', 'warning', 'error'"),
        ("tls.minVersion", "1.3", "at '/tls/minVersion': value must be one of 'VersionTLS12', 'VersionTLS13'"),
        ("tls.cipherSuites", ["AES"], "at '/tls/cipherSuites/0': value must be one of 'TLS_ECDHE_ECDSA_"),
        ("webhook.failurePolicy", "ignore", "at '/webhook/failurePolicy': value must be one of 'Ignore', 'Fail'"),
        ("webhook.url", "http://qos.example.com", "at '/webhook/url': 'http://qos.example.com' does not match"),
        ("webhook.url", "https://a_b.example.com:8443", "at '/webhook/url': 'https://a_b.example.com:8443' does not"),
        ("containerPort", 443, "at '/containerPort': minimum: got 443, want 1,024"),
        ("metrics.port", 80, "at '/metrics/port': minimum: got 80, want 1,024"),
        ("webhook.timeoutSeconds", 31, "at '/webhook/timeoutSeconds': maximum: got 31, want 30"),
        ("clientAuthentication.configMap", "Own", "at '/clientAuthentication/configMap': 'Own' does not match"),
        ("clientAuthentication.names", [""], "at '/clientAuthentication/names/0': minLength: got 0, want 1"),
        ("certificate.lifetime", "3 months", "at '/certificate/lifetime': '3 months' does not match"),
        ("forceDeletion.mode", "Deny", "at '/forceDeletion/mode': value must be one of 'warn', 'confirm', 'deny'"),
        (
            "forceDeletion.namespaces",
            {"shop": "no"},
            "at '/forceDeletion/namespaces/shop': value must be one of 'warn', 'confirm', 'deny'",
        ),
        (
            "priorityClasses.defaults",
            {"Shop": "low"},
            "at '/priorityClasses/defaults': additional properties 'Shop' not",
        ),
        ("priorityClasses.defaults", {"shop": ""}, "at '/priorityClasses/defaults/shop': '' does not match"),
        ("priorityClasses.allowed", {"shop": "low"}, "at '/priorityClasses/allowed/shop': got string, want array"),
        ("priorityClasses.allowed", {"shop": ["hi*"]}, "at '/priorityClasses/allowed/shop/0'"),
        ("priorityClasses.templates", "Deny", "at '/priorityClasses/templates': value must be one of 'warn', 'deny'"),
        ("warnings", "all", "at '/warnings': value must be one of 'usual', 'verbose'"),
        (
            "clusterDefaultConstraints.namespaces",
            {"shop": [{"maxSkew": 1, "topologyKey": "rack"}]},
            "at '/clusterDefaultConstraints/namespaces/shop/0': missing property 'whenUnsatisfiable'",
        ),
        *(
            (path, values, f"at '/{path.replace('.', '/')}{inside}/0/{said}")
            for fields, said in (
                ({"maxSkew": 0}, "maxSkew': minimum: got 0, want 1"),
                ({"maxSkew": 2**31}, "maxSkew': maximum: got 2.147483648"),
                ({"minDomains": 0}, "minDomains': minimum: got 0, want 1"),
                ({"minDomains": 2**31}, "minDomains': maximum: got 2.147483648"),
                ({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}, "whenUnsatisfiable': value must be 'DoNot"),
            )
            for one in [[{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", **fields}]]
            for path, inside, values in (
                ("topologySpreadConstraints", "", one),
                ("clusterDefaultConstraints.namespaces", "/shop", {"shop": one}),
            )
        ),
        ("podLabels", {"team": 1}, "at '/podLabels/team': got number, want string"),
        (
            "clusterDefaultConstraints.schedulerConfiguration",
            {"profiles": []},
            "at '/clusterDefaultConstraints/schedulerConfiguration': missing properties 'apiVersion', 'kind'",
        ),
    ],
)
def test_schema_names_the_value(chart: Chart, path: str, value: Any, said: str) -> None:
    with pytest.raises(HelmError) as refused:
        chart.rendered(replaced({}, path, value))
    assert said in str(refused.value)


def test_schema_accepts_a_parent_chart(chart: Chart) -> None:
    assert chart.rendered({"global": {"registry": "registry.example.com"}}) == chart.rendered()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param(
            replaced(FULL_VALUES, "clusterDefaultConstraints.existingConfigMap", {"name": "sched"}),
            "clusterDefaultConstraints: schedulerConfiguration and existingConfigMap.name are both set: "
            "leave one of them empty",
            id="two configurations",
        ),
        pytest.param(
            {"clusterDefaultConstraints": {"existingConfigMap": {"namespace": "kube-system"}}},
            "clusterDefaultConstraints.existingConfigMap.name: name the ConfigMap, or leave",
            id="namespace without name",
        ),
        pytest.param(
            {"serviceAccount": {"create": False}},
            "serviceAccount.name: name the ServiceAccount to use, or set serviceAccount.create to true",
            id="no account",
        ),
        pytest.param(
            {"webhook": {"url": "http://qos.example.com"}},
            'webhook.url: "http://qos.example.com" cannot be called by the API server: write https://HOST',
            id="not https",
        ),
        pytest.param(
            {"autoscaling": {"enabled": True, "minReplicas": 5, "maxReplicas": 4}},
            "autoscaling.maxReplicas: 4 is less than autoscaling.minReplicas, 5: make it at least as many",
            id="fewer than the least",
        ),
        pytest.param(
            {"metrics": {"enabled": False, "serviceMonitor": {"enabled": True}}},
            "metrics.serviceMonitor.enabled: there is nothing to read while metrics.enabled is false: set it to true",
            id="nothing to read",
        ),
        pytest.param(
            {"metrics": {"enabled": False, "prometheusRule": {"enabled": True}}},
            "metrics.prometheusRule.enabled: there is nothing to go by while metrics.enabled is false: set it to true",
            id="nothing to go by",
        ),
        *(
            pytest.param(
                {"clientAuthentication": clients, "forceDeletion": {"events": True}},
                "forceDeletion.events: without client certificates any pod could cause Events about any object: "
                "set clientAuthentication.configMap and clientAuthentication.names, or leave it false",
                id=f"Events of anybody's reviews{', by any name' if clients else ''}",
            )
            for clients in ({}, {"configMap": "apiserver-authorities"})
        ),
        pytest.param(
            {"clientAuthentication": {"names": ["kube-apiserver"]}},
            "clientAuthentication.configMap: names belong to certificates: name the ConfigMap with the authorities",
            id="names without authorities",
        ),
        pytest.param(
            {"hostNetwork": True},
            "containerPort: 10250 is the kubelet's port in a node's network: with hostNetwork set another one, such as",
            id="the kubelet's port",
        ),
        pytest.param(
            {"containerPort": 9090},
            "metrics.port: 9090 is also containerPort: set another one",
            id="one port for two",
        ),
        pytest.param(
            {"webhook": {"url": "https://a_b.example.com"}},
            'webhook.url: "https://a_b.example.com" cannot be called by the API server: write https://HOST',
            id="no DNS name",
        ),
        *(
            pytest.param(replaced({}, path, value), f"{path}: {value} is outside its limits: {limits}", id=value)
            for path, value, limits in (
                ("auditInterval", "9s", "at least 10s, at most 24h"),
                ("auditInterval", "2d", "at least 10s, at most 24h"),
                ("certificate.lifetime", "11s", "at least 12s, at most 3650d"),
                ("certificate.lifetime", "3651d", "at least 12s, at most 3650d"),
            )
        ),
        pytest.param(
            {"tls": {"minVersion": "VersionTLS13", "cipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}},
            "tls.cipherSuites: chooses among the suites of TLS 1.2, which tls.minVersion VersionTLS13 disables",
            id="no suite to choose",
        ),
        pytest.param(
            {"priorityClasses": {"defaults": {"shop": "high"}, "allowed": {"shop": ["low"]}}},
            "priorityClasses.defaults.shop: high is not among the allowed classes: low",
            id="a default that is not allowed",
        ),
    ],
)
def test_refusal_names_value_and_remedy(chart: Chart, values: Mapping[str, Any], said: str) -> None:
    with pytest.raises(HelmError) as refused:
        chart.rendered(values, "--skip-schema-validation")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("release", "name"), [("qos.prod", "qos-prod-qos-webhook"), ("my-qos-webhook", "my-qos-webhook")]
)
def test_names_come_from_the_release(chart: Chart, release: str, name: str) -> None:
    (service,) = of_kind("Service", chart.objects(release=release))
    assert service["metadata"]["name"] == name


def test_release_that_cannot_name_a_service(chart: Chart) -> None:
    with pytest.raises(
        HelmError, match=r'fullnameOverride: "1st-qos-webhook" is not a valid name for a Service: set one of'
    ):
        chart.rendered(release="1st")
