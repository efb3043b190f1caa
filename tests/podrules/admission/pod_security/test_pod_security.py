"""Pod Security admission: a namespace's labels, and the messages about pods that violate its level."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.admission.pod_security.checks import evaluate, refusal, warning
from podrules.admission.pod_security.pods import SecuredPod, pod_of, secured_pod
from podrules.admission.pod_security.policy import LevelVersion, Policy, PolicyLevel, policy_of
from podrules.admission.validation.view import Rules, View
from tests.table import table

APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
BASELINE = LevelVersion(PolicyLevel.BASELINE)
RESTRICTED = LevelVersion(PolicyLevel.RESTRICTED)


def _pod(spec: dict[str, Any], minor: int = 37, **metadata: Any) -> SecuredPod:
    content = {"kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}}
    found = pod_of(content, Rules(minor))
    assert found is not None
    return found


def _labels(**values: str) -> dict[str, str]:
    return {f"pod-security.kubernetes.io/{mode.replace('_', '-')}": value for mode, value in values.items()}


@table(
    "labels, enforce, audit, warn, problems",
    {
        "none": ({}, "privileged:latest", "privileged:latest", "privileged:latest", 0),
        "warns of what it enforces": (
            _labels(enforce="baseline", enforce_version="v1.30"),
            "baseline:v1.30",
            "privileged:latest",
            "baseline:v1.30",
            0,
        ),
        "warns by a version of its own": (
            _labels(enforce="restricted", enforce_version="v1.30", warn_version="v1.31"),
            "restricted:v1.30",
            "privileged:latest",
            "restricted:v1.31",
            0,
        ),
        "malformed": (
            _labels(enforce="all", audit="all", warn="all", warn_version="1.30"),
            "restricted:latest",
            "privileged:latest",
            "privileged:latest",
            4,
        ),
        "no warning": (_labels(enforce="all"), "restricted:latest", "privileged:latest", "privileged:latest", 1),
    },
)
def test_policy_of_labels(labels: dict[str, str], enforce: str, audit: str, warn: str, problems: int) -> None:
    found = policy_of(labels)
    assert (str(found.enforce), str(found.audit), str(found.warn)) == (enforce, audit, warn)
    assert len(found.problems) == problems


def test_messages_of_malformed_labels() -> None:
    level, version = map(str, policy_of(_labels(audit="all", audit_version="v1.٣")).problems)
    place = "metadata.labels[pod-security.kubernetes.io/audit"
    assert level == f'{place}]: Invalid value: "all": must be one of privileged, baseline, restricted'
    assert version == f'{place}-version]: Invalid value: "v1.٣": must be "latest" or "v1.x"'


def test_pod_refusal_has_upstream_message() -> None:
    policy = Policy(enforce=RESTRICTED, warn=RESTRICTED)
    pod = _pod({})
    assert refusal(pod, policy) == (
        'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set'
        " securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
        '"c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set'
        ' securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set'
        ' securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )
    assert warning(pod, policy) is None


def test_template_gets_only_a_warning() -> None:
    policy = Policy(enforce=BASELINE, warn=BASELINE)
    template = {"spec": {"containers": [{"name": "c", "securityContext": {"privileged": True}}]}}
    cron = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": template}}}}
    found = pod_of(cron, Rules(37))
    assert found is not None
    words = (
        'violate PodSecurity "baseline:latest": privileged (container "c" must not set securityContext.privileged=true)'
    )
    assert (refusal(found, policy), warning(found, policy)) == (None, f"would {words}")
    assert refusal(secured_pod(View(template, ""), Rules(37)), policy) == words.replace("violate", "violates")


def test_objects_without_a_pod() -> None:
    assert pod_of({"kind": "ConfigMap"}, Rules(37)) is None
    assert pod_of({"kind": "ReplicationController", "spec": {}}, Rules(37)) is None
    assert pod_of({"kind": "Deployment", "spec": {}}, Rules(37)) is not None


def test_pod_in_the_hosts_network_takes_its_ports() -> None:
    spec = {
        "hostNetwork": True,
        "containers": [{"name": "c", "ports": [{"containerPort": 90}, {"containerPort": 100}]}],
    }
    assert evaluate(_pod(spec), BASELINE).detail == (
        'host namespaces (hostNetwork=true), hostPort (container "c" uses hostPorts 100, 90)'
    )
    template = secured_pod(View({"spec": spec}, ""), Rules(37), is_pod=False)
    assert evaluate(template, BASELINE).detail == "host namespaces (hostNetwork=true)"


def test_annotations_of_app_armor_become_fields_of_a_pod() -> None:
    annotations = {f"{APP_ARMOR}c": "unconfined", f"{APP_ARMOR}c-2": "b"}
    assert evaluate(_pod({}, annotations=annotations), BASELINE).detail == (
        'forbidden AppArmor profiles (container "c" and annotations must not set AppArmor profile type to'
        f' "Unconfined", "{APP_ARMOR}c-2="b"", "{APP_ARMOR}c="unconfined"")'
    )


@pytest.mark.parametrize(
    ("minor", "at", "allowed"), [(34, None, False), (34, 37, False), (35, 34, False), (35, None, True), (36, 37, True)]
)
def test_checks_are_of_the_version_up_to_the_server(minor: int, at: int | None, allowed: bool) -> None:
    pod = _pod({"hostUsers": False}, minor)
    reasons = evaluate(pod, LevelVersion(PolicyLevel.RESTRICTED, at)).reason
    assert ("runAsNonRoot" not in reasons) is allowed


def test_1_34_drops_volumes_of_images_and_their_other_sources() -> None:
    spec = {"volumes": [{"name": "v", "image": {}, "hostPath": {"path": "/"}}]}
    assert evaluate(_pod(spec, 34), BASELINE).allowed
    assert evaluate(_pod(spec, 35), BASELINE).detail == 'hostPath volumes (volume "v")'
