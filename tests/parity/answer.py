"""Answer conformance cases: ``answer.py SUITE [--kubernetes-version 1.37] < cases.jsonl > answers.jsonl``.

Each input line is ``{"id", "input", …}``; each output line ``{"id", "answer"}``, the answer in the shape of the
recorded ``expected``. Only public functions of `podrules` are used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from msgspec.structs import asdict, replace

from podrules.admission.validation.objects import validate
from podrules.api.features import Features, minor_of
from podrules.api.model.base import ResourceList
from podrules.api.model.decode import from_json, from_object
from podrules.api.model.kubelet import KubeletConfiguration, Summary
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.policy import PriorityClass
from podrules.api.model.quantity import Quantity, QuantityError
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.schema.strict import decode
from podrules.api.schema.table import schema
from podrules.node.eviction.ranking import Disks
from podrules.node.eviction.thresholds import NodeCondition, parse_threshold_config
from podrules.pod import cgroup, priority, qos, resources, termination
from podrules.pod.defaults import default_pod, stored_pod
from podrules.pod.memory_qos import MemorySettings, pod_memory_qos
from podrules.pod.oom import pod_oom_score_adjs
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SnapshotSiblings, default_selector
from tests.parity.limits import answer_limits
from tests.parity.pod_security import answer_pod_security
from tests.parity.schedule import answer_schedule, answer_schedule_dra
from tests.restated import eviction_manager as manager
from tests.restated.cgroup import cpu_weight_to_shares, parse_systemd
from tests.restated.eviction_messages import REASON
from tests.restated.priority import (
    admit_pod_update,
    admit_priority_class,
    validate_priority_class,
    validate_priority_class_update,
)
from tests.restated.termination import DeleteOptions, before_delete

Case = Mapping[str, Any]
Answer = dict[str, Any]
_SIBLINGS = frozenset({"services", "replicationControllers", "replicaSets", "statefulSets"})


def answer_quantity(case: Case, features: Features) -> Answer:
    del features
    try:
        first = Quantity.parse(case["a"])
    except QuantityError:
        return {"refused": True}
    answer: Answer = {
        "string": str(first),
        "value": first.value,
        "milli": first.milli_value,
        "sign": first.sign,
        "format": first.format.value,
        "rounded": str(first.round_up(-3)),
    }
    try:
        second = Quantity.parse(case["b"])
    except QuantityError:
        return answer
    order = (first > second) - (first < second)
    total = first + second
    return {**answer, "cmp": order, "sum": str(total), "sumValue": total.value, "diff": str(first - second)}


def answer_qos(case: Case, features: Features) -> Answer:
    pod = from_object(case["pod"], Pod)
    defaulted = default_pod(pod, features=features)
    return {
        "qosClass": qos.compute_pod_qos(pod, features=features).value,
        "qosClassDefaulted": qos.compute_pod_qos(defaulted, features=features).value,
        "qosClassStored": qos.compute_pod_qos(stored_pod(pod, features=features), features=features).value,
    }


def answer_oom(case: Case, features: Features) -> Answer:
    pod, capacity = from_object(case["pod"], Pod), case["nodeMemoryCapacity"]

    def scores(of: Pod) -> dict[str, int]:
        return {score.container: score.value for score in pod_oom_score_adjs(of, capacity, features=features) or ()}

    return {
        "isCriticalPod": priority.is_critical_pod(pod),
        "isNodeCriticalPod": priority.is_node_critical_pod(pod),
        "isStaticPod": priority.is_static_pod(pod),
        "isMirrorPod": priority.is_mirror_pod(pod),
        "oomScoreAdjRaw": scores(pod),
        "oomScoreAdjDefaulted": scores(default_pod(pod, features=features)),
        "oomScoreAdjStored": scores(stored_pod(pod, features=features)),
    }


def answer_requests(case: Case, features: Features) -> Answer:
    raw = from_object(case["pod"], Pod)
    raw_answer, raw_after = _requests_answer(raw, features)
    return {"raw": raw_answer, "defaulted": _requests_answer(default_pod(raw_after, features=features), features)[0]}


def _requests_answer(pod: Pod, features: Features) -> tuple[Answer, Pod]:
    """The answer, and the pod as upstream's calls leave it.

    Upstream's PodRequests and PodLimits hand out the pod-level amount itself and add the overhead to it; an amount that
    is kept as a big decimal (never one that an API server stored) is shared, so that each call raises it in the pod.
    The recorded answers come from several calls on one object, in this order.
    """
    options = resources.PodResourcesOptions
    named = resources.pod_requests(pod)
    calls = 1 if resources.CPU in named and resources.MEMORY in named else 2
    pod = _with_overhead_added(pod, "requests", calls - 1)
    accounted = resources.scheduler_request(pod, features)
    pod = _with_overhead_added(pod, "requests", 1)
    requests = resources.pod_requests(pod)
    pod = _with_overhead_added(pod, "requests", 1)
    limits = resources.pod_limits(pod)
    pod = _with_overhead_added(pod, "limits", 1)
    bare, containers = options(exclude_overhead=True), options(skip_pod_level_resources=True)
    return {
        "requests": _amounts(requests),
        "limits": _amounts(limits),
        "requestsExcludeOverhead": _amounts(resources.pod_requests(pod, bare)),
        "limitsExcludeOverhead": _amounts(resources.pod_limits(pod, bare)),
        "requestsSkipPodLevel": _amounts(resources.pod_requests(pod, containers)),
        "limitsSkipPodLevel": _amounts(resources.pod_limits(pod, containers)),
        "isPodLevelResourcesSet": resources.is_pod_level_resources_set(pod),
        "isPodLevelRequestsSet": resources.is_pod_level_requests_set(pod),
        "isPodLevelLimitsSet": resources.is_pod_level_limits_set(pod),
        "scheduler": _accounted(accounted),
    }, pod


def _accounted(request: resources.SchedulerRequest) -> Answer:
    return {
        "milliCPU": request.milli_cpu,
        "memory": request.memory,
        "ephemeralStorage": request.ephemeral_storage,
        "scalar": request.scalar or None,
        "nonZeroMilliCPU": request.nonzero_milli_cpu,
        "nonZeroMemory": request.nonzero_memory,
    }


def answer_resize(case: Case, features: Features) -> Answer:
    """The requests that the scheduler counts for a pod during a resize."""
    pod = default_pod(from_object(case["pod"], Pod), features=features)
    return _accounted(resources.scheduler_request(pod, features))


def _with_overhead_added(pod: Pod, side: str, times: int) -> Pod:
    own = pod.spec.resources
    if own is None:
        return pod
    amounts: ResourceList = dict(getattr(own, side))
    for name, overhead in pod.spec.overhead.items():
        for _ in range(times):
            if name in amounts and amounts[name].big and not (side == "limits" and amounts[name].is_zero):
                amounts[name] = amounts[name] + overhead
    return replace(pod, spec=replace(pod.spec, resources=replace(own, **{side: amounts})))


def _amounts(amounts: Mapping[str, Quantity]) -> Answer:
    return {
        "quantity": {name: str(amount) for name, amount in amounts.items()},
        "value": {name: amount.milli_value if name == "cpu" else amount.value for name, amount in amounts.items()},
    }


def answer_priority(case: Case, features: Features) -> Answer:
    del features
    classes = {entry["metadata"]["name"]: from_object(entry, PriorityClass) for entry in case["priorityClasses"]}
    operation = case["operation"]
    if operation == "podCreate":
        admitted = priority.admit_pod_create(from_object(case["pod"], Pod), classes)
        if isinstance(admitted, str):
            return {"error": admitted}
        return {
            "priority": admitted.priority,
            "priorityClassName": admitted.priority_class_name,
            "preemptionPolicy": admitted.preemption_policy,
        }
    if operation == "podUpdate":
        pod, old = from_object(case["pod"], Pod), from_object(case["oldPod"], Pod)
        value, policy = admit_pod_update(pod, old)
        return {"priority": value, "priorityClassName": pod.spec.priority_class_name, "preemptionPolicy": policy}
    new = from_object(case["priorityClass"], PriorityClass)
    is_update = "oldPriorityClass" in case
    if is_update:
        problems = validate_priority_class_update(new, from_object(case["oldPriorityClass"], PriorityClass))
    else:
        problems = validate_priority_class(new)
    refusal = admit_priority_class(new, classes.values(), is_update=is_update)
    return {"admissionError": refusal, "validationErrors": list(map(str, problems))}


def answer_termination(case: Case, features: Features) -> Answer:
    pod = default_pod(from_object(case["pod"], Pod), features=features)
    asked = case["deleteOptions"].get("gracePeriodSeconds")
    kubelet = case["kubelet"]
    grace, shortened = termination.effective_grace_period(
        pod, known_seconds=kubelet["knownGracePeriod"], override_seconds=kubelet.get("override")
    )
    container = pod.spec.containers[0]
    return {
        "storedTerminationGracePeriodSeconds": pod.spec.termination_grace_period_seconds,
        "checkGracefulDelete": {
            "graceful": True,
            "gracePeriodSeconds": termination.check_graceful_delete(pod, asked).seconds,
        },
        "beforeDelete": _before_delete(pod, case["deleteOptions"]),
        "podWorker": {"gracePeriod": grace, "shortened": shortened},
        "containerKill": {
            reason.value: termination.set_termination_grace_period(pod, container, reason)
            for reason in termination.ContainerKillReason
        },
    }


def _before_delete(pod: Pod, given: Case) -> Answer:
    now = datetime.now(UTC).timestamp()
    stamp = pod.metadata.deletion_timestamp
    deletion_time = datetime.fromisoformat(stamp).timestamp() if stamp else None
    wanted = given.get("preconditions", {})
    options = DeleteOptions(
        grace_period_seconds=given.get("gracePeriodSeconds"),
        uid=wanted.get("uid"),
        resource_version=wanted.get("resourceVersion"),
    )
    outcome = before_delete(pod, options, now=now, deletion_time=deletion_time)
    answer: Answer = {"graceful": outcome.graceful, "gracefulPending": outcome.graceful_pending}
    if outcome.error is not None:
        return {**answer, "error": outcome.error}
    if outcome.deletion_time is None:
        when = None
    elif deletion_time is None:
        when = "now+grace"
    elif outcome.deletion_time == now:
        when = "now"
    else:
        when = datetime.fromtimestamp(outcome.deletion_time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        **answer,
        "optionsGracePeriodSeconds": outcome.option_seconds,
        "deletionGracePeriodSeconds": outcome.deletion_grace_period_seconds,
        "deletionTimestamp": when,
        "generation": outcome.generation,
    }


def answer_cgroup(case: Case, features: Features) -> Answer:
    raw = from_object(case["pod"], Pod)
    stored = stored_pod(raw, features=features)
    others = [stored_pod(from_object(pod, Pod), features=features) for pod in case["otherPods"]]
    enforce, period, root = case["enforceCPULimits"], case["cpuPeriod"], tuple(case["cgroupRoot"])

    def pod_config(pod: Pod) -> Answer:
        config = cgroup.pod_resource_config(pod, enforce_cpu_limits=enforce, cpu_period=period, features=features)
        return _config(config)

    name = cgroup.pod_cgroup_name(stored, root, features=features)
    levels = {qos_class: cgroup.qos_cgroup_name(qos_class, root) for qos_class in PodQOSClass}
    configs = cgroup.qos_resource_configs([stored, *others], features=features)
    return {
        "qosClass": qos.get_pod_qos(stored, features=features).value,
        "pod": pod_config(stored),
        "podRaw": pod_config(raw),
        "podMemoryQoSTiered": {**pod_config(stored), **_unified(stored, features)},
        "qosCgroups": {levels[qos_class].to_cgroupfs(): _config(config) for qos_class, config in configs.items()},
        "names": {
            "cgroupfs": {**{level.value: at.to_cgroupfs() for level, at in levels.items()}, "pod": name.to_cgroupfs()},
            "systemd": {**{level.value: at.to_systemd() for level, at in levels.items()}, "pod": name.to_systemd()},
            "podName": list(name.parts),
            "podToSystemd": name.to_systemd(),
            "podToCgroupfs": name.to_cgroupfs(),
            "podSystemdParsedBack": list(parse_systemd(name.to_systemd()).parts),
        },
        "conversions": [_conversion(entry["milliCPU"], period, features) for entry in _asked_conversions(case)],
    }


def _unified(pod: Pod, features: Features) -> Answer:
    """What MemoryQoS protects; the oracle asks no function that sets memory.high."""
    found = pod_memory_qos(pod, MemorySettings(tiered=True), features=features)
    written = {f"memory.{file}": str(value) for file, value in asdict(found).items() if value is not None}
    return {"unified": written} if written else {}


def _asked_conversions(case: Case) -> Iterable[Answer]:
    """The amounts converted are drawn at random and stand in the recorded answer alone."""
    conversions: list[Answer] = case.get("expected", {}).get("conversions", [])
    return conversions


def _conversion(milli_cpu: int, period: int, features: Features) -> Answer:
    shares = cgroup.milli_cpu_to_shares(milli_cpu)
    return {
        "milliCPU": milli_cpu,
        "shares": shares,
        "quota": cgroup.milli_cpu_to_quota(milli_cpu, cgroup.quota_period(period, features)),
        "cpuWeight": cgroup.cpu_weight(shares),
        "cpuWeightLibcontainer": cgroup.cpu_weight_libcontainer(shares),
    }


def _config(config: cgroup.ResourceConfig) -> Answer:
    answer: Answer = {
        "cpuShares": config.cpu_shares,
        "cpuQuota": config.cpu_quota,
        "cpuPeriod": config.cpu_period,
        "memory": config.memory,
    }
    if config.huge_page_limit:
        answer["hugePageLimit"] = {str(size): limit for size, limit in config.huge_page_limit.items()}
    if config.cpu_shares is not None:
        weight = cgroup.cpu_weight(config.cpu_shares)
        answer["cpuWeight"] = weight
        answer["cpuWeightLibcontainer"] = cgroup.cpu_weight_libcontainer(config.cpu_shares)
        answer["cpuWeightBackToShares"] = cpu_weight_to_shares(weight)
    return answer


def answer_spread_defaults(case: Case, features: Features) -> Answer:
    del features
    snapshot = from_object({name: value for name, value in case.items() if name in _SIBLINGS}, ClusterSnapshot)
    selector = default_selector(from_object(case["pod"], Pod), SnapshotSiblings(snapshot))
    return {
        "selector": str(selector),
        "empty": selector.empty,
        "probeMatches": [selector.matches(labels) for labels in case["probeLabels"]],
    }


def answer_eviction(case: Case, features: Features) -> Answer:
    # The recorder parses thresholds without the step that fills in the defaults, and enforces only what it names.
    absent: Answer = {"evictionHard": {}, "enforceNodeAllocatable": []}
    settings = from_object({**absent, **case["kubeletConfiguration"]}, KubeletConfiguration)
    config = manager.ManagerConfig(
        parse_threshold_config(settings),
        settings.eviction_max_pod_grace_period,
        disks=Disks(case["dedicatedImageFs"], case["dedicatedContainerFs"]),
        local_storage_capacity_isolation=case["localStorageCapacityIsolation"],
    )
    pods = [default_pod(from_object(pod, Pod), features=features) for pod in case["pods"]]
    start = case["summary"]["node"]["startTime"]
    times = [datetime.fromisoformat(start)]
    if "secondSyncAfterSeconds" in case:
        times.append(times[0] + timedelta(seconds=case["secondSyncAfterSeconds"]))
    state, syncs = manager.ManagerState(), []
    for now in times:
        measured = json.dumps(case["summary"]).replace(start, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        state, done = manager.synchronize(state, config, pods, from_json(measured, Summary), now, features=features)
        syncs.append(_eviction_pass(state, done))
    refusals = {pod.metadata.name: manager.admit(pod, state.conditions, features=features) for pod in pods}
    admitted: Answer = {name: message is None for name, message in refusals.items()}
    if message := next(filter(None, refusals.values()), None):
        admitted["message"] = message
    return {"syncs": syncs, "admit": admitted}


def _eviction_pass(state: manager.ManagerState, done: manager.Pass) -> Answer:
    answer: Answer = {
        "memoryPressure": NodeCondition.MEMORY_PRESSURE in state.conditions,
        "diskPressure": NodeCondition.DISK_PRESSURE in state.conditions,
        "pidPressure": NodeCondition.PID_PRESSURE in state.conditions,
    }
    if done.reclaim:
        answer["reclaim"] = done.reclaim
        answer["ranked"] = [place.ranked.pod.metadata.name for place in done.ranked]
    if done.evicted:
        answer["evicted"] = [_evicted(entry) for entry in done.evicted]
        if not done.reclaim:
            answer["evicted"].sort(key=lambda entry: entry["pod"])
    return answer


def _evicted(entry: manager.Evicted) -> Answer:
    reason = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    return {
        "pod": entry.pod.metadata.name,
        "gracePeriod": entry.grace_period_seconds,
        "phase": "Failed",
        "reason": REASON,
        "message": entry.message,
        "conditions": [{**reason, "message": entry.message}] if entry.by_pressure else [],
    }


def answer_validate(case: Case, features: Features) -> Answer:
    """The API server's answer when the object is created; an object that cannot be decoded is not validated.

    The input is ``{"object": …}``, or the object itself.
    """
    content = case.get("object") or {name: value for name, value in case.items() if name != "expected"}
    decoding = decode(content, schema(features.minor))
    if decoding is not None and decoding.words:
        return {"refused": True, "errors": [decoding.problem]}
    errors = [str(error) for error in validate(content, features.minor)]
    return {"refused": bool(errors), "errors": errors}


SUITES: dict[str, Callable[[Case, Features], Answer]] = {
    "quantity": answer_quantity,
    "qos": answer_qos,
    "oom": answer_oom,
    "requests": answer_requests,
    "resize": answer_resize,
    "priority": answer_priority,
    "termination": answer_termination,
    "cgroup": answer_cgroup,
    "spread_defaults": answer_spread_defaults,
    "eviction": answer_eviction,
    "schedule": answer_schedule,
    "schedule_dra": answer_schedule_dra,
    "validate": answer_validate,
    "limits": answer_limits,
    "pod_security": answer_pod_security,
}
_UNNAMED: Final = "1.36"
"""The version of cases that were recorded without a version."""


def main() -> int:
    """Answer standard input."""
    parser = argparse.ArgumentParser(prog="answer.py", description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--kubernetes-version", default=_UNNAMED, help=f"the version of the rules; {_UNNAMED}")
    args = parser.parse_args()
    minor = minor_of(args.kubernetes_version)
    if minor is None:
        parser.error(f"--kubernetes-version {args.kubernetes_version!r}: write it like 1.37")
    answer, features = SUITES[args.suite], Features.of_minor(minor)
    for line in sys.stdin:
        if line.strip():
            case = json.loads(line)
            given = {**case["input"], "expected": case.get("expected", {})}
            print(json.dumps({"id": case["id"], "answer": answer(given, features)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
