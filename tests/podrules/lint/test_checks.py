"""Every rule: what it finds, and similar manifests that are fine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from podrules.api.controllers import scaled
from podrules.api.features import REFERENCE
from podrules.api.schema.table import schema
from podrules.lint.claims import TwoWriters
from podrules.lint.finding import Finding, Level, LintRule
from podrules.lint.objects import Objects
from podrules.lint.rules import RULES, check
from podrules.lint.shape import REFUSED_VALUES, RefusedValue, read_manifest
from tests.objects import raw_object, raw_priority_class, raw_workload
from tests.table import table

DATA = Path(__file__).resolve().parents[2] / "testdata" / "lint"
REFUSED = list(yaml.safe_load_all((DATA / "refused.yaml").read_text(encoding="utf-8")))
UNWANTED = list(yaml.safe_load_all((DATA / "unwanted.yaml").read_text(encoding="utf-8")))

Object = dict[str, Any]
LIMITED = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


KNOWN = schema(REFERENCE.minor)


def _check(*objects: Mapping[str, Any]) -> list[Finding]:
    read = [read_manifest(number, entry, known=KNOWN) for number, entry in enumerate(objects)]
    misshapen = [finding for found in read for finding in found.findings]
    good = [found.manifest for found in read if found.manifest is not None]
    return [*misshapen, *check(Objects.of(good))]


def _rules(*objects: Mapping[str, Any]) -> set[str]:
    return {finding.rule.name for finding in _check(*objects)}


def _workload(kind: str = "Deployment", *, replicas: int | None = None, **spec: Any) -> Object:
    """A workload without findings."""
    # Nulls of a manifest are kept.
    return raw_workload(kind, pod_spec={"containers": _container(), **spec}, replicas=replicas)


def _budget(name: str = "web", selector: Object | None = None, **spec: Any) -> Object:
    body = {"selector": {"matchLabels": {"app": "web"}} if selector is None else selector, **spec}
    return raw_object("PodDisruptionBudget", name, spec=body)


def _claim(*modes: str, **more: Any) -> Object:
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": "1Gi"}}, **more}
    return raw_object("PersistentVolumeClaim", "data", spec=spec)


LATER = "WaitForFirstConsumer"


def _of_class(name: str, **spec: Any) -> Object:
    claim = _claim("ReadWriteOnce")
    return {**claim, "spec": {**claim["spec"], "storageClassName": name, **spec}}


def _storage_class(name: str, mode: str) -> Object:
    more: dict[str, Any] = {"provisioner": "disk.example.com", "volumeBindingMode": mode}
    return raw_object("StorageClass", name, **more)


def _class(name: str, value: int = 5, **more: Any) -> Object:
    return raw_priority_class(name, value, **more)


def _spread(**more: Any) -> list[Object]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash"],
    }
    return [constraint | more]


def _apart(**more: Any) -> Object:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}} | more
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _uses_claim() -> list[Object]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def _with_strategy(workload: Object, **strategy: Any) -> Object:
    workload["spec"]["strategy"] = strategy
    return workload


def _rolling(**rolling: Any) -> Object:
    strategy: Object = {"rollingUpdate": rolling} if rolling else {"type": "Recreate"}
    return _with_strategy(_workload(volumes=_uses_claim()), **strategy)


def _container(**more: Any) -> list[Object]:
    return [{"name": "app", "image": "a", "resources": LIMITED, **more}]


def _tolerates(**more: Any) -> list[Object]:
    return [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"} | more]


def _scaler() -> Object:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 5}
    return raw_object("HorizontalPodAutoscaler", "web", spec=spec)


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry["metadata"]["name"])
def test_api_server_refusals_are_errors(entry: Object) -> None:
    errors = {finding.rule.name for finding in _check(entry) if finding.rule.level is Level.ERROR}
    assert errors == {entry["metadata"]["annotations"]["expect"]}


def test_each_finding_is_registered_once_with_one_check() -> None:
    kinds = [kind for kind in _subclasses(Finding) if kind.__module__.startswith("podrules.")]
    rules = [*REFUSED_VALUES, *(kind.rule for kind in kinds if kind is not RefusedValue)]
    assert sorted(rule.name for rule in rules if isinstance(rule, LintRule)) == sorted(RULES)
    assert len(rules) == len(RULES)
    levels = [rule.level.rank for rule in RULES.values()]
    assert levels == sorted(levels)
    without = {name for name, rule in RULES.items() if (rule.check_pod is None) == (rule.check_objects is None)}
    read = {"invalid-field", "unknown-field", "unserved-version", *(rule.name for rule in REFUSED_VALUES)}
    assert without == read, "found while manifests are read"


def _subclasses(kind: type[Finding]) -> list[type[Finding]]:
    return [one for below in kind.__subclasses__() for one in (below, *_subclasses(below))]


def test_every_rule_has_an_example() -> None:
    assert _rules(*UNWANTED) | {entry["metadata"]["annotations"]["expect"] for entry in REFUSED} == set(RULES)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_plain_workload_has_no_findings(kind: str) -> None:
    assert _check(_workload(kind, topologySpreadConstraints=_spread(), priorityClassName="system-node-critical")) == []


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEIGHTED = [
    {"weight": weight, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}} for weight in (1, 100)
]
FINE: dict[str, list[Object]] = {
    "two of three": [_workload(replicas=3), _budget(minAvailable=2)],
    "half of two": [_workload(replicas=2), _budget(minAvailable="50%")],
    "replicas that an autoscaler decides": [_workload(replicas=1), _budget(minAvailable=1), _scaler()],
    "a budget that is written twice": [_workload(replicas=3), _budget(minAvailable=3), _budget(minAvailable=2)],
    "a budget of a DaemonSet": [_workload("DaemonSet"), _budget(minAvailable=1)],
    "budgets alone": [_budget(maxUnavailable=1)],
    "budget with pods of another namespace": [
        _workload() | {"metadata": {"name": "web", "namespace": "b"}},
        _budget(maxUnavailable=1),
    ],
    "budgets of different pods": [
        _workload(),
        _budget(maxUnavailable=1),
        _budget("all", {"matchLabels": {"app": "web", "tier": "x"}}, maxUnavailable=1)
        | {"metadata": {"name": "all", "namespace": "elsewhere"}},
    ],
    "claim for many": [_workload(replicas=3, volumes=_uses_claim()), _claim("ReadWriteMany")],
    "claim for many and for one": [
        _workload(replicas=3, volumes=_uses_claim()),
        _claim("ReadWriteOnce", "ReadWriteMany"),
    ],
    "claim for one, one replica": [_workload(volumes=_uses_claim()), _claim("ReadWriteOnce")],
    "rollout that ends the old pod first": [_rolling(maxSurge=0, maxUnavailable=1), _claim("ReadWriteOncePod")],
    "rollout that may have none": [_rolling(maxUnavailable="100%"), _claim("ReadWriteOncePod")],
    "rollout with a single writer": [_rolling(), _claim("ReadWriteOncePod")],
    "StatefulSet of one": [_workload("StatefulSet", volumes=_uses_claim()), _claim("ReadWriteOncePod")],
    "toleration for a while": [_workload(tolerations=_tolerates(tolerationSeconds=5))],
    "the first toleration ends": [_workload(tolerations=[*_tolerates(tolerationSeconds=5), *_tolerates()])],
    "toleration of a DaemonSet": [_workload("DaemonSet", tolerations=_tolerates())],
    "toleration of another effect": [_workload(tolerations=_tolerates(effect="NoSchedule"))],
    "toleration of another taint": [_workload(tolerations=_tolerates(key="dedicated"))],
    "class of the files": [_workload(priorityClassName="gold", priority=5), _class("gold")],
    "priority of the files' default": [_workload(priority=5), _class("gold", globalDefault=True)],
    "priority 0": [_workload(priority=0)],
    "highest value": [_class("gold", 1_000_000_000)],
    "preStop shorter": [_workload(containers=_container(lifecycle={"preStop": {"sleep": {"seconds": 29}}}))],
    "liveness probe's own grace": [
        _workload(containers=_container(livenessProbe={"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 5}))
    ],
    "host port of one": [_workload(containers=_container(ports=[{"containerPort": 1, "hostPort": 1}]))],
    "soft spread": [
        _workload(topologySpreadConstraints=_spread(whenUnsatisfiable="ScheduleAnyway", matchLabelKeys=[]))
    ],
    "spread of a StatefulSet": [_workload("StatefulSet", topologySpreadConstraints=_spread(matchLabelKeys=[]))],
    "spread of a Deployment that ends its old pods first": [
        _with_strategy(_workload(topologySpreadConstraints=_spread(matchLabelKeys=[])), type="Recreate")
    ],
    "spread by label keys alone": [_workload(topologySpreadConstraints=_spread(labelSelector={}))],
    "spread by two keys": [_workload(topologySpreadConstraints=[*_spread(), *_spread(topologyKey="host")])],
    "anti-affinity by another key": [
        _workload(topologySpreadConstraints=_spread(), affinity=_apart(topologyKey="host"))
    ],
    "anti-affinity of other pods": [
        _workload(topologySpreadConstraints=_spread(), affinity=_apart(labelSelector={"matchLabels": {"app": "db"}}))
    ],
    "anti-affinity of other namespaces": [
        _workload(
            topologySpreadConstraints=_spread(), affinity=_apart(namespaces=["b"], matchLabelKeys=["pod-template-hash"])
        )
    ],
    "weights at their ends": [_workload(affinity={"nodeAffinity": {PREFERRED: WEIGHTED}})],
    "pod-level resources": [
        _workload(resources=LIMITED, containers=[{"name": name, "image": "a"} for name in ("app", "proxy")])
    ],
    "other versions are other kinds": [_workload() | {"apiVersion": "example.com/v1", "spec": {"replicas": "x"}}],
    "nulls are absent": [_workload(tolerations=None, affinity=None, initContainers=None, nodeName=None)],
}


def _volume(source: Object, **more: Any) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, **source, **more}
    return raw_object("PersistentVolume", "pv", spec=spec)


def _named(*modes: str) -> Object:
    claim = _claim(*modes)
    claim["spec"]["volumeName"] = "pv"
    return claim


NFS: Object = {"nfs": {"server": "s", "path": "/"}}
CSI: Object = {"csi": {"driver": "files.example.com", "volumeHandle": "h"}}
ISCSI: Object = {"iscsi": {"targetPortal": "1.2.3.4:3260", "iqn": "iqn.2001-04.com.example:storage", "lun": 0}}
RWO = "ReadWriteOnce"


def _driver(**spec: Any) -> Object:
    return raw_object("CSIDriver", "files.example.com", spec=spec)


_NFS_CLASS = raw_object("StorageClass", "nfs", provisioner="cluster.local/nfs-subdir-external-provisioner")
LOCAL: Object = {"local": {"path": "/disk"}}


def _on_node(name: str) -> Object:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}


def _pinned(label: str) -> Object:
    return _workload(volumes=_uses_claim(), nodeSelector={label: "node-7"})


def _deployment(**strategy: Any) -> Object:
    return _with_strategy(_workload(volumes=_uses_claim()), **strategy)


@table(
    "objects, surges",
    {
        "NFS, one replica": ([_deployment(), _named(RWO), _volume(NFS)], True),
        "without surge": (
            [_deployment(rollingUpdate={"maxSurge": 0, "maxUnavailable": 1}), _named(RWO), _volume(NFS)],
            False,
        ),
        "bound by claimRef": (
            [_deployment(), _claim(RWO), _volume(NFS, claimRef={"namespace": "default", "name": "data"})],
            True,
        ),
        "CSI, not attached": ([_deployment(), _named(RWO), _volume(CSI), _driver(attachRequired=False)], True),
        "iSCSI in the pod itself": ([_workload(volumes=[{"name": "data", **ISCSI}])], True),
        "NFS, by its class": ([_deployment(), _claim(RWO, storageClassName="nfs"), _NFS_CLASS], True),
        "one node, whatever the volume is": ([_pinned("kubernetes.io/hostname"), _claim(RWO)], True),
        "local": ([_deployment(), _named(RWO), _volume({**LOCAL, **_on_node("a")})], True),
    },
)
def test_two_writers_of_a_deployment(objects: Sequence[Object], surges: bool) -> None:
    [found] = [finding for finding in _check(*objects) if isinstance(finding, TwoWriters)]
    assert (found.surges, found.volume) == (surges, "data")
    assert found.field == "spec.template.spec.volumes[0]"


@table(
    "objects",
    {
        "Recreate": [_deployment(type="Recreate"), _named(RWO), _volume(NFS)],
        "StatefulSet": [_workload("StatefulSet", volumes=_uses_claim()), _named(RWO), _volume(NFS)],
        "made for many": [_deployment(), _named("ReadWriteMany"), _volume(NFS)],
        "one pod: the scheduler keeps it": [_deployment(), _named("ReadWriteOncePod"), _volume(CSI)],
        "FC: two nodes kept apart": [_deployment(), _named(RWO), _volume({"fc": {"wwids": ["w"]}})],
        "CSI: not known from files": [_deployment(), _named(RWO), _volume(CSI)],
        "one pod, by its class": [_deployment(), _named("ReadWriteOncePod"), _NFS_CLASS],
        "a label of many nodes": [_pinned("node-role.kubernetes.io/node"), _claim(RWO)],
        "one pod on one node": [_pinned("kubernetes.io/hostname"), _claim("ReadWriteOncePod")],
        "other folders": [_deployment(), _named(RWO), _volume({"hostPath": {"path": "/"}})],
        "a volume that is not in the files": [_deployment(), _named(RWO)],
        "a volume of another claim": [_deployment(), _claim(RWO), _volume(NFS)],
        "no replica": [_workload(replicas=0, volumes=_uses_claim()), _named(RWO), _volume(NFS)],
    },
)
def test_no_second_writer(objects: Sequence[Object]) -> None:
    assert "two-writers" not in _rules(*objects)


@pytest.mark.parametrize("name", FINE)
def test_no_finding(name: str) -> None:
    assert _check(*FINE[name]) == []


CASES: dict[str, tuple[str, list[Object]]] = {
    "one of one": ("budget-blocks-drains", [_workload(), _budget(minAvailable=1)]),
    "half of one, rounded up": ("budget-blocks-drains", [_workload(), _budget(minAvailable="50%")]),
    "all": ("budget-blocks-drains", [_workload(replicas=9), _budget(minAvailable="100%")]),
    "none, in percent": ("budget-blocks-drains", [_workload(replicas=9), _budget(maxUnavailable="0%")]),
    "replicas of two workloads": (
        "budget-blocks-drains",
        [_workload(), _workload("StatefulSet", replicas=2), _budget(minAvailable=3)],
    ),
    "neither setting": ("budget-blocks-drains", [_workload(replicas=3), _budget()]),
    "all pods of a Deployment and a Job": (
        "budget-blocks-drains",
        [_workload(replicas=2), _workload("Job"), _budget(minAvailable=3)],
    ),
    "a pod of a StatefulSet by its name": (
        "budget-blocks-drains",
        [
            _workload("StatefulSet", replicas=3),
            _budget(selector={"matchLabels": {"statefulset.kubernetes.io/pod-name": "web-0"}}, minAvailable=1),
        ],
    ),
    "share of a Job": ("uncounted-budget", [_workload("Job"), _budget(minAvailable="50%")]),
    "share of a DaemonSet": ("uncounted-budget", [_workload("DaemonSet"), _budget(maxUnavailable=1)]),
    "share of a Deployment and a Job": (
        "uncounted-budget",
        [_workload(replicas=3), _workload("Job"), _budget(maxUnavailable=1)],
    ),
    "RWOP for three": ("claim-for-one", [_workload(replicas=3, volumes=_uses_claim()), _claim("ReadWriteOncePod")]),
    "default strategy": ("rollout-waits-for-claim", [_workload(volumes=_uses_claim()), _claim("ReadWriteOncePod")]),
    "the first toleration never ends": (
        "stays-on-silent-node",
        [_workload(tolerations=[*_tolerates(), *_tolerates(tolerationSeconds=5)])],
    ),
    "tolerates everything": ("stays-on-silent-node", [_workload(tolerations=[{"operator": "Exists"}])]),
    "hostNetwork makes host ports": (
        "host-port-replicas",
        [_workload(replicas=2, hostNetwork=True, containers=_container(ports=[{"containerPort": 80}]))],
    ),
    "a node's label in another domain": ("misspelt-label", [_workload(nodeSelector={"kubernetes.io/zone": "a"})]),
    "a topology key of two labels": (
        "misspelt-label",
        [_workload(topologySpreadConstraints=_spread(topologyKey="topology.kubernetes.io/hostname"))],
    ),
    "anti-affinity of the same pods": (
        "spread-is-redundant",
        [_workload(topologySpreadConstraints=_spread(), affinity=_apart(matchLabelKeys=["pod-template-hash"]))],
    ),
    "init container without limits": (
        "almost-guaranteed",
        [_workload(initContainers=[{"name": "setup", "image": "registry.example/setup"}])],
    ),
    "sleep below zero": (
        "prestop-over-grace",
        [_workload(containers=_container(lifecycle={"preStop": {"sleep": {"seconds": -1}}}))],
    ),
    "no selector": (
        "spread-misses-own-pod",
        [_workload(topologySpreadConstraints=_spread(labelSelector=None, matchLabelKeys=None))],
    ),
    "empty selector": (
        "spread-misses-own-pod",
        [_workload(topologySpreadConstraints=_spread(labelSelector={}, matchLabelKeys=None))],
    ),
    "template hash in both": (
        "invalid-spread",
        [
            _workload(
                topologySpreadConstraints=_spread(
                    labelSelector={"matchLabels": {"app": "web", "pod-template-hash": "x"}}
                )
            )
        ],
    ),
    "preemptionPolicy without a class": ("priority-without-class", [_workload(preemptionPolicy="Never")]),
}


@pytest.mark.parametrize("name", CASES)
def test_finding(name: str) -> None:
    rule, objects = CASES[name]
    assert _rules(*objects) == {rule}


def test_spread_without_own_pod_is_not_also_redundant() -> None:
    wrong = {"matchLabels": {"app": "wbe"}}
    spread = _spread(labelSelector=wrong, matchLabelKeys=[])
    assert _rules(_workload(topologySpreadConstraints=spread, affinity=_apart(labelSelector=wrong))) == {
        "spread-misses-own-pod"
    }


def test_pod_fields_are_below_their_template() -> None:
    job = _workload(tolerations=_tolerates(), restartPolicy="Never")["spec"]["template"]
    spec = {"schedule": "@daily", "jobTemplate": {"spec": {"template": job}}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "web"}, "spec": spec}
    assert [finding.field for finding in _check(cron)] == ["spec.jobTemplate.spec.template.spec.tolerations[0]"]


@given(st.data())
def test_malformed_objects_do_not_break_the_checks(data: st.DataObject) -> None:
    """A manifest with one part replaced by any value has findings or is skipped."""
    entry = deepcopy(data.draw(st.sampled_from([*REFUSED, *UNWANTED])))
    at: Any = entry
    while isinstance(at, dict | list) and at:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], dict | list) or data.draw(st.booleans()):
            at[key] = data.draw(st.sampled_from([None, 0, -1, True, "", "x", [], {}, [None], {"x": None}, 1.5]))
            break
        at = at[key]
    for finding in _check(entry):
        assert RULES[finding.rule.name] is finding.rule
        assert str(finding)


@given(st.integers(0, 100), st.integers(0, 10_000))
def test_percentages_are_rounded_as_asked(percent: int, replicas: int) -> None:
    up, down = (scaled(f"{percent}%", replicas, up=way) for way in (True, False))
    assert up is not None
    assert down is not None
    assert down * 100 <= percent * replicas <= up * 100
    assert up - down in {0, 1}


@table(
    "others",
    {
        "bound at once": [_of_class("now"), _storage_class("now", "Immediate")],
        "names a volume": [_of_class("late", volumeName="disk")],
        "kept": [_of_class("late"), _volume(CSI, claimRef={"namespace": "default", "name": "data"})],
    },
)
def test_claim_that_needs_no_scheduler(others: list[Object]) -> None:
    assert "claim-needs-scheduler" not in _rules(_workload(nodeName="a", volumes=_uses_claim()), *others)


def test_claim_of_an_unknown_class_may_need_the_scheduler() -> None:
    found = [str(one) for one in _check(_workload(nodeName="a", volumes=_uses_claim())) if "unbound" in str(one)]
    assert found == ["Claim data stays unbound if its StorageClass waits for the scheduler (WaitForFirstConsumer)."]


def test_claim_template_needs_the_scheduler_too() -> None:
    workload = _workload("StatefulSet", nodeName="a")
    workload["spec"]["volumeClaimTemplates"] = [_of_class("late")]
    found = [str(one) for one in _check(workload, _storage_class("late", LATER)) if "unbound" in str(one)]
    assert found == ["Claim data stays unbound: its StorageClass late waits for the scheduler (WaitForFirstConsumer)."]
