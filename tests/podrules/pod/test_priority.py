"""Priority: values and refusals of the admission plugin; criticality."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PriorityClass
from podrules.pod.priority import (
    HIGHEST_USER_DEFINABLE_PRIORITY,
    SYSTEM_CLUSTER_CRITICAL,
    SYSTEM_CRITICAL_PRIORITY,
    SYSTEM_NODE_CRITICAL,
    SYSTEM_PRIORITY_CLASSES,
    PrioritySource,
    ResolvedPriority,
    UnknownPriorityClass,
    admit_pod_create,
    default_priority_class,
    is_critical_pod,
    is_mirror_pod,
    is_node_critical_pod,
    is_static_pod,
    resolve_priority,
)
from tests.objects import make_pod, raw_priority_class
from tests.restated.priority import (
    admit_pod_update,
    admit_priority_class,
    validate_priority_class,
    validate_priority_class_update,
)
from tests.table import table

LOWER, NEVER = "PreemptLowerPriority", "Never"


def _class(
    name: str, value: int, *, global_default: bool = False, preemption_policy: str | None = LOWER
) -> PriorityClass:
    """A stored one always has a policy."""
    raw = raw_priority_class(name, value, globalDefault=global_default, preemptionPolicy=preemption_policy)
    return from_object(raw, PriorityClass)


DEFAULT_1 = _class("default1", 1000, global_default=True)
DEFAULT_2 = _class("default2", 2000, global_default=True)
NONDEFAULT = _class("nondefault1", 2000)
CLUSTER_CRITICAL = _class(SYSTEM_CLUSTER_CRITICAL, 2_000_000_000)
NEVER_CLASS = _class("batch", 2000, preemption_policy=NEVER)
NEVER_DEFAULT = _class("batch", 2000, global_default=True, preemption_policy=NEVER)
MIRROR = {"annotations": {"kubernetes.io/config.mirror": ""}}
FROM_FILE, FROM_HTTP, FROM_API = (
    {"annotations": {"kubernetes.io/config.source": source}} for source in ("file", "http", "api")
)


def _by_name(*classes: PriorityClass) -> Mapping[str, PriorityClass]:
    return {entry.metadata.name: entry for entry in classes}


NONE = ResolvedPriority("", 0, LOWER, PrioritySource.NONE)
CRITICAL = ResolvedPriority(SYSTEM_CLUSTER_CRITICAL, 2_000_000_000, LOWER, PrioritySource.CLASS)
OF_DEFAULT_1 = ResolvedPriority("default1", 1000, LOWER, PrioritySource.GLOBAL_DEFAULT)
OF_DEFAULT_2 = ResolvedPriority("default2", 2000, LOWER, PrioritySource.GLOBAL_DEFAULT)


def _critical_pod(namespace: str = "default", **more: Any) -> Pod:
    return make_pod("web", namespace, priorityClassName=SYSTEM_CLUSTER_CRITICAL, **more)


@table(
    "pod, classes, expected",
    {
        "Pod with priority class": (
            make_pod(priorityClassName="default1"),
            [DEFAULT_1, NONDEFAULT],
            ResolvedPriority("default1", 1000, LOWER, PrioritySource.CLASS),
        ),
        "Pod without priority class": (make_pod(), [DEFAULT_1], OF_DEFAULT_1),
        "pod without priority class and no existing priority class": (make_pod(), [], NONE),
        "pod without priority class and no default class": (make_pod(), [NONDEFAULT], NONE),
        "pod with a system priority class": (_critical_pod("kube-system"), [CLUSTER_CRITICAL], CRITICAL),
        "mirror pod with system priority class": (_critical_pod(metadata=MIRROR), [CLUSTER_CRITICAL], CRITICAL),
        "pod with system critical priority in non-system namespace": (
            _critical_pod("non-system-namespace"),
            [CLUSTER_CRITICAL],
            CRITICAL,
        ),
        "pod with priority that matches computed priority": (make_pod(priority=0), [NONDEFAULT], NONE),
        "pod with priority that matches default priority": (make_pod(priority=2000), [DEFAULT_2], OF_DEFAULT_2),
        "pod with priority that matches resolved priority": (
            _critical_pod(priority=2_000_000_000),
            [CLUSTER_CRITICAL],
            CRITICAL,
        ),
    },
)
def test_P1_priority_of_a_new_pod(pod: Pod, classes: Sequence[PriorityClass], expected: ResolvedPriority) -> None:
    assert admit_pod_create(pod, _by_name(*classes)) == expected


@table(
    "pod, name, missing",
    {
        "Pod with non-existing priority class": (make_pod(priorityClassName="missing"), "web", "missing"),
        "pod with integer priority": (make_pod(priorityClassName="gone", priority=1000), "web", "gone"),
        "mirror pod with integer priority": (
            make_pod(metadata=MIRROR, priorityClassName="gone", priority=1000),
            "web",
            "gone",
        ),
        "a name that is generated": (
            make_pod("", metadata={"generateName": "web-"}, priorityClassName="missing"),
            "web-",
            "missing",
        ),
    },
)
def test_P1_unknown_class_of_a_new_pod_is_refused(pod: Pod, name: str, missing: str) -> None:
    refusal = f'pods "{name}" is forbidden: no PriorityClass with name {missing} was found'
    assert admit_pod_create(pod, _by_name(DEFAULT_1, NONDEFAULT)) == refusal


@table(
    "pod, classes, given, computed",
    {
        "another integer than the class gives": (
            make_pod(priorityClassName="default1", priority=5),
            [DEFAULT_1],
            5,
            1000,
        ),
        "an integer without any class": (make_pod(priority=5), [], 5, 0),
        "zero is given too": (make_pod(priority=0), [DEFAULT_1], 0, 1000),
    },
)
def test_P1_other_priority_than_the_class_is_refused(
    pod: Pod, classes: Sequence[PriorityClass], given: int, computed: int
) -> None:
    assert admit_pod_create(pod, _by_name(*classes)) == (
        f'pods "web" is forbidden: the integer value of priority ({given}) must not be provided in pod spec; '
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


@table(
    "classes, expected",
    {
        "simple resolution with a default class": ([DEFAULT_1], DEFAULT_1),
        "add a default class: before": ([NONDEFAULT], None),
        "add a default class: after": ([NONDEFAULT, DEFAULT_1], DEFAULT_1),
        "multiple default classes resolves to the minimum value among them": ([DEFAULT_2, DEFAULT_1], DEFAULT_1),
        "delete default priority class": ([], None),
        "update default class and remove its global default": ([_class("default1", 1000)], None),
        "negative values are lower still": (
            [DEFAULT_1, _class("low", -5, global_default=True)],
            _class("low", -5, global_default=True),
        ),
    },
)
def test_P1_default_class(classes: Sequence[PriorityClass], expected: PriorityClass | None) -> None:
    assert default_priority_class(classes) == expected


def test_P1_deleted_class_stays_on_existing_pods() -> None:
    classes = _by_name(DEFAULT_1)
    assert resolve_priority("nondefault1", classes) == UnknownPriorityClass("nondefault1")
    old = make_pod(priorityClassName="nondefault1", priority=2000, preemptionPolicy=LOWER)
    update = make_pod(labels={"new": "label"}, priorityClassName="nondefault1")
    assert admit_pod_update(update, old) == (2000, LOWER)


@table(
    "update, expected",
    {
        "absent: the old values": (make_pod(), (7, NEVER)),
        "repeated": (make_pod(priority=7, preemptionPolicy=NEVER), (7, NEVER)),
        "changed: left for validation to refuse": (make_pod(priority=8), (8, NEVER)),
        "zero is a value": (make_pod(priority=0, preemptionPolicy=LOWER), (0, LOWER)),
    },
)
def test_P1_update_keeps_priority_and_policy(update: Pod, expected: tuple[int | None, str | None]) -> None:
    assert admit_pod_update(update, make_pod(priority=7, preemptionPolicy=NEVER)) == expected


@pytest.mark.parametrize("new", [DEFAULT_2, NONDEFAULT])
@pytest.mark.parametrize("is_update", [False, True])
def test_P1_first_global_default_is_admitted(new: PriorityClass, is_update: bool) -> None:
    assert admit_priority_class(new, [NONDEFAULT], is_update=is_update) is None


@table(
    "is_update",
    {"create operator with one existing default class": False, "update operator with one existing default class": True},
)
def test_P1_second_global_default_is_refused(is_update: bool) -> None:
    assert admit_priority_class(DEFAULT_2, [NONDEFAULT, DEFAULT_1], is_update=is_update) == (
        'priorityclasses.scheduling.k8s.io "default2" is forbidden: '
        "PriorityClass default1 is already marked as default. Only one default can exist"
    )


def test_P1_global_default_can_be_updated() -> None:
    assert admit_priority_class(DEFAULT_1, [DEFAULT_1], is_update=True) is None
    assert admit_priority_class(DEFAULT_1, [DEFAULT_1], is_update=False) is not None


def test_P1_non_default_class_is_admitted_beside_default() -> None:
    assert admit_priority_class(NONDEFAULT, [DEFAULT_1], is_update=False) is None


RESERVED = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
)
TOO_HIGH = "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"


@table(
    "new",
    {
        "no description": _class("tier1", 100),
        "system node critical": _class(SYSTEM_NODE_CRITICAL, 2_000_001_000),
        "system cluster critical": CLUSTER_CRITICAL,
        "the highest value": _class("tier1", HIGHEST_USER_DEFINABLE_PRIORITY),
        "the lowest value": _class("tier1", -2_147_483_648),
        "preemption policy Never": NEVER_CLASS,
        "no preemption policy": _class("tier1", 1, preemption_policy=None),
        "system without a dash is no prefix": _class("system", 1),
        "a name of 253 characters": _class("a" * 253, 1),
    },
)
def test_P1_valid_class(new: PriorityClass) -> None:
    assert validate_priority_class(new) == ()


@table(
    "new, problem",
    {
        "incorrect system class name": (
            _class(SYSTEM_NODE_CRITICAL, 0),
            RESERVED + "value of system-node-critical PriorityClass must be 2000001000",
        ),
        "incorrect system class value": (
            _class("system-something", 2_000_001_000),
            RESERVED + "system-something is not a known system priority class",
        ),
        "system class as global default": (
            _class(SYSTEM_CLUSTER_CRITICAL, 2_000_000_000, global_default=True),
            RESERVED + "globalDefault of system-cluster-critical PriorityClass must be false",
        ),
        "value beyond the highest": (_class("tier1", HIGHEST_USER_DEFINABLE_PRIORITY + 1), TOO_HIGH),
        "unknown preemption policy": (
            _class("tier1", 1, preemption_policy="Sometimes"),
            'preemptionPolicy: Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"',
        ),
        "empty preemption policy": (_class("tier1", 1, preemption_policy=""), "preemptionPolicy: Required value"),
    },
)
def test_P1_refused_class(new: PriorityClass, problem: str) -> None:
    assert [str(error) for error in validate_priority_class(new)] == [problem]


@table(
    "name",
    {
        "invalid name": "tier&1",
        "capital letter": "Tier1",
        "dash in front": "-tier",
        "dot at the end": "tier.",
        "line break at the end": "tier\n",
        "too long name": "a" * 254,
    },
)
def test_P1_class_name_is_a_subdomain(name: str) -> None:
    problems = validate_priority_class(_class(name, 1))
    assert len(problems) == 1
    assert str(problems[0]).startswith(f"metadata.name: Invalid value: {json.dumps(name)}: ")


def test_P1_class_needs_a_name() -> None:
    assert validate_priority_class(_class("", 1)) == (
        ("metadata.name", "Required value: name or generateName is required"),
    )


def test_P1_classes_of_every_cluster_are_valid() -> None:
    assert {name: entry.value for name, entry in SYSTEM_PRIORITY_CLASSES.items()} == {
        "system-node-critical": 2_000_001_000,
        "system-cluster-critical": 2_000_000_000,
    }
    assert [validate_priority_class(entry) for entry in SYSTEM_PRIORITY_CLASSES.values()] == [(), ()]
    assert default_priority_class(SYSTEM_PRIORITY_CLASSES.values()) is None


def test_P1_all_problems_of_a_class_are_reported() -> None:
    errors = validate_priority_class(_class("Tier", HIGHEST_USER_DEFINABLE_PRIORITY + 1, preemption_policy="no"))
    assert [error.field for error in errors] == ["metadata.name", "value", "preemptionPolicy"]


OLD = _class("tier1", 100)


@table(
    "new, problems",
    {
        "no change": (_class("tier1", 100), []),
        "change globalDefault": (_class("tier1", 100, global_default=True), []),
        "remove value": (_class("tier1", 0), ["value: Forbidden: may not be changed in an update."]),
        "change value": (_class("tier1", 101), ["value: Forbidden: may not be changed in an update."]),
        "change preemptionPolicy": (
            _class("tier1", 100, preemption_policy=NEVER),
            ['preemptionPolicy: Invalid value: "Never": field is immutable'],
        ),
        "an absent policy is the default one": (_class("tier1", 100, preemption_policy=None), []),
    },
)
def test_P1_class_update(new: PriorityClass, problems: list[str]) -> None:
    assert [str(error) for error in validate_priority_class_update(new, OLD)] == problems


@table(
    "pod, classes, expected",
    {
        "pod with nil preemtpion policy": (make_pod(priorityClassName="batch", priority=2000), [NEVER_CLASS], NEVER),
        "pod with preemtpion policy that matches resolved preemtpion policy": (
            make_pod(priorityClassName="nondefault1", preemptionPolicy=LOWER),
            [NONDEFAULT],
            LOWER,
        ),
        "class without a policy preempts": (
            make_pod(priorityClassName="old"),
            [_class("old", 1, preemption_policy=None)],
            LOWER,
        ),
        "the default class says Never": (make_pod(preemptionPolicy=NEVER), [NEVER_DEFAULT], NEVER),
        "no class, the default policy repeated": (make_pod(preemptionPolicy=LOWER), [], LOWER),
    },
)
def test_P2_preemption_policy_of_a_new_pod(pod: Pod, classes: Sequence[PriorityClass], expected: str) -> None:
    admitted = admit_pod_create(pod, _by_name(*classes))
    assert isinstance(admitted, ResolvedPriority)
    assert admitted.preemption_policy == expected


@table(
    "pod, classes, given, computed",
    {
        "pod with preemtpion policy that does't matches resolved preemtpion policy": (
            make_pod(priorityClassName="nondefault1", priority=2000, preemptionPolicy=NEVER),
            [NONDEFAULT],
            NEVER,
            LOWER,
        ),
        "Never without a class that says so": (make_pod(preemptionPolicy=NEVER), [], NEVER, LOWER),
        "a pod may not preempt where its class does not": (
            make_pod(priorityClassName="batch", preemptionPolicy=LOWER),
            [NEVER_CLASS],
            LOWER,
            NEVER,
        ),
    },
)
def test_P2_other_preemption_policy_than_the_class_is_refused(
    pod: Pod, classes: Sequence[PriorityClass], given: str, computed: str
) -> None:
    assert admit_pod_create(pod, _by_name(*classes)) == (
        f'pods "web" is forbidden: the string value of PreemptionPolicy ({given}) must not be provided in pod spec; '
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


def _of_node(**more: Any) -> Pod:
    return make_pod(priorityClassName=SYSTEM_NODE_CRITICAL, **more)


@table(
    "pod, mirror, static, critical",
    {
        "not critical if not static, mirror or without a priority": (make_pod(), False, False, False),
        "critical pod with file source": (make_pod(metadata=FROM_FILE), False, True, True),
        "static pod with http source": (make_pod(metadata=FROM_HTTP), False, True, True),
        "not a critical pod with api server annotation": (make_pod(metadata=FROM_API), False, False, False),
        "critical pod with mirror annotation": (make_pod(metadata=MIRROR), True, False, True),
        "critical pod using system priority": (make_pod(priority=SYSTEM_CRITICAL_PRIORITY), False, False, True),
        "critical pod using greater than system priority": (
            make_pod(priority=SYSTEM_CRITICAL_PRIORITY + 1000),
            False,
            False,
            True,
        ),
        "a non system critical pod": (make_pod(priority=HIGHEST_USER_DEFINABLE_PRIORITY), False, False, False),
    },
)
def test_Q2_critical_pods(pod: Pod, mirror: bool, static: bool, critical: bool) -> None:
    assert (is_mirror_pod(pod), is_static_pod(pod), is_critical_pod(pod)) == (mirror, static, critical)


@table(
    "pod, expected",
    {
        "critical pod with file source and systemNodeCritical": (_of_node(metadata=FROM_FILE), True),
        "critical pod with mirror annotation and systemNodeCritical": (_of_node(metadata=MIRROR), True),
        "critical pod using system priority and systemNodeCritical": (
            _of_node(priority=SYSTEM_CRITICAL_PRIORITY),
            True,
        ),
        "critical pod using greater than system priority and systemNodeCritical": (
            _of_node(priority=SYSTEM_CRITICAL_PRIORITY + 1000),
            True,
        ),
        "not a critical pod with api server annotation and systemNodeCritical": (_of_node(metadata=FROM_API), False),
        "not critical if not static, mirror or without a priority and systemNodeCritical": (_of_node(), False),
        "system-cluster-critical is not node-critical": (
            make_pod(priority=SYSTEM_CRITICAL_PRIORITY, priorityClassName=SYSTEM_CLUSTER_CRITICAL),
            False,
        ),
    },
)
def test_Q2_node_critical_pods(pod: Pod, expected: bool) -> None:
    assert is_node_critical_pod(pod) is expected
