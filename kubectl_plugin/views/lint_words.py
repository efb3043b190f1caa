"""What is said of each rule of `podrules.checks.rules`: what it is about, what is wrong, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

__all__ = ["WORDS", "RuleWords"]


class RuleWords(Struct, frozen=True):
    """The words of a rule."""

    about: str
    """One sentence for the table of rules."""
    messages: Mapping[str, str]
    """By the finding's ``why``, empty where it has none; names in braces are its values."""
    remedy: str
    term: str = ""
    """For ``kubectl qos why``."""


def _words(about: str, message: str, remedy: str, term: str = "") -> RuleWords:
    return RuleWords(about, {"": message}, remedy, term)


WORDS: Final = {
    "invalid-field": _words(
        "A field has the wrong type.",
        "{problem}.",
        "Write the type that the field has; amounts and label values often need quotes.",
    ),
    "no-containers": _words(
        "A pod has no container.",
        "The list of containers is empty or missing.",
        "Write one container or more, e.g. containers: [{name: web, image: nginx}].",
    ),
    "negative-number": _words(
        "A request, a limit or a number of pods is below 0.",
        "{value}: must be greater than or equal to 0.",
        "Write a number that is not below 0.",
    ),
    "request-over-limit": _words(
        "A request is above its limit, or differs where both must be the same.",
        "{resource} request {request}, limit {limit}: {problem}.",
        "Lower the request or raise the limit.",
        "requests",
    ),
    "invalid-pod-resources": _words(
        "Pod-level resources and those of the containers contradict each other.",
        "The pod's {what} is {amount}, and {problem}.",
        "Raise the pod's amount or lower the containers'.",
    ),
    "invalid-spread": _words(
        "A topology spread constraint that the API server refuses.",
        "{problem}.",
        "Correct the constraint.",
        "topologySpreadConstraints",
    ),
    "readiness-probe-grace": _words(
        "A readiness probe has a termination grace period of its own.",
        "A readiness probe ends no container, so it may have no terminationGracePeriodSeconds.",
        "Remove the field, or set it on the liveness or startup probe.",
    ),
    "prestop-over-grace": _words(
        "A preStop sleep is longer than the grace period.",
        "preStop sleeps {sleep} s, the grace period is {grace} s.",
        "Shorten the sleep or raise terminationGracePeriodSeconds.",
        "preStop",
    ),
    "invalid-node-affinity": _words(
        "A node affinity term that cannot be read.",
        "{problem}.",
        "Correct the term.",
        "nodeAffinity",
    ),
    "invalid-toleration": _words(
        "Fields of a toleration do not go together.",
        "{problem}.",
        "Correct the toleration.",
        "toleration",
    ),
    "priority-differs": _words(
        "Priority or preemptionPolicy is not what the named class gives.",
        "{problem}.",
        "Remove the field: the class decides.",
        "PriorityClass",
    ),
    "no-such-system-class": _words(
        "A class name begins with system- and is not Kubernetes' own.",
        "There is no class {name}: system- names are system-node-critical and system-cluster-critical.",
        "Name one of these, or a class of your own.",
        "PriorityClass",
    ),
    "invalid-priority-class": _words(
        "A PriorityClass that the API server refuses.",
        "{problem}.",
        "Choose a value up to 1000000000 and a name that does not begin with system-.",
        "PriorityClass",
    ),
    "invalid-budget": _words(
        "A PodDisruptionBudget that the API server refuses.",
        "{problem}.",
        "Set one of minAvailable and maxUnavailable, to a number or to 0% to 100%.",
        "PodDisruptionBudget",
    ),
    "invalid-access-modes": _words(
        "A claim has ReadWriteOncePod beside another access mode.",
        "ReadWriteOncePod may not stand beside others: {modes}.",
        "Keep one of the modes.",
        "ReadWriteOncePod",
    ),
    "selector-differs": _words(
        "A workload's selector does not match the labels of its own pods.",
        "The selector does not select the workload's own pods: {problem}.",
        "Give the template the labels that the selector asks for.",
    ),
    "best-effort": _words(
        "No container requests or limits cpu or memory.",
        "The pod is BestEffort: killed first when the node's memory is gone, and nothing is kept free for it.",
        "Request memory and cpu for every container.",
        "BestEffort",
    ),
    "grace-zero": _words(
        "The grace period is 0.",
        "With terminationGracePeriodSeconds 0 each deletion is a force deletion: a copy may start while this one runs.",
        "Remove the field (30 s), or set 1 to end at once and still wait for the kubelet.",
        "force deletion",
    ),
    "prestop-takes-grace": _words(
        "A preStop sleep takes the whole grace period.",
        "preStop sleeps {sleep} s of {grace} s of grace: the process gets 2 s between SIGTERM and SIGKILL.",
        "Raise terminationGracePeriodSeconds by what the process needs to stop.",
        "preStop",
    ),
    "several-default-classes": _words(
        "More than one PriorityClass is the default.",
        "{count} classes are the default; {first} is one already, and the API server refuses another.",
        "Leave globalDefault: true to one class.",
        "PriorityClass",
    ),
    "priority-without-class": _words(
        "A priority or preemptionPolicy is given and no class.",
        "Refused unless the cluster's default class gives just this: {problem}.",
        "Name a PriorityClass instead.",
        "PriorityClass",
    ),
    "spread-misses-own-pod": RuleWords(
        "A spread constraint does not count the pod that has it.",
        {
            "NoSelector": "Without labelSelector the constraint counts no pods, so it spreads nothing.",
            "EmptySelector": "An empty labelSelector counts no pods, so it spreads nothing.",
            "NotMatched": "{term} does not match the pod's own labels: copies of it may all go to one place.",
        },
        "Select the pod's own labels.",
        "topologySpreadConstraints",
    ),
    "budget-blocks-drains": RuleWords(
        "A PodDisruptionBudget never lets a healthy pod be evicted.",
        {
            "None": "maxUnavailable {value} lets no pod go: a drain waits for ever.",
            "All": "minAvailable {value} lets no pod go: a drain waits for ever.",
            "Replicas": "minAvailable {value} of {replicas} replicas lets no pod go: a drain waits for ever.",
        },
        "Let one pod go, e.g. maxUnavailable: 1 in place of minAvailable.",
        "PodDisruptionBudget",
    ),
    "two-budgets": _words(
        "Pods are selected by several PodDisruptionBudgets.",
        "Budgets {budgets} select these pods: the API server evicts no pod that more than one selects.",
        "Let one budget select them.",
        "PodDisruptionBudget",
    ),
    "rollout-waits-for-claim": _words(
        "A rolling update starts the new pod while the old one holds a ReadWriteOncePod claim.",
        "Claim {claim} is ReadWriteOncePod: a rollout's new pod waits for the old, which is kept until it is ready.",
        "Set strategy.type: Recreate, or maxSurge: 0 with maxUnavailable: 1.",
        "ReadWriteOncePod",
    ),
    "claim-for-one": RuleWords(
        "Several replicas use one claim that is made for one writer.",
        {
            "OnePod": "Only one of {replicas} replicas can use claim {claim} ({mode}).",
            "OneNode": "All {replicas} replicas have to be on one node: claim {claim} is {mode}.",
        },
        "Use a StatefulSet with volumeClaimTemplates, or a ReadWriteMany claim.",
        "ReadWriteOncePod",
    ),
    "two-writers": RuleWords(
        "A Deployment's rolling update starts a second writer on a volume that nothing guards.",
        {
            "Surge": "A rolling update starts the next pod before this one ends, and nothing keeps a second writer off "
            "volume {volume} ({what}).",
            "Stopping": "A rolling update starts the next pod while this one is still ending, and nothing keeps a "
            "second writer off volume {volume} ({what}).",
        },
        "Use a StatefulSet; strategy.type: Recreate helps with rollouts alone, not with drains and lost nodes.",
        "ReadWriteOncePod",
    ),
    "stays-on-silent-node": _words(
        "A toleration without tolerationSeconds keeps pods on nodes that do not answer.",
        "It tolerates {taints} for ever: the pod is not replaced when its node goes silent.",
        "Set tolerationSeconds, or remove the toleration: the default is 300 s.",
        "tolerationSeconds",
    ),
    "unusable-node-affinity": _words(
        "A node affinity term that the API server takes and the scheduler cannot read.",
        "{problem}: the scheduler does not read the term.",
        "Correct the value: the pod stays pending with it, or is not placed as meant.",
        "nodeAffinity",
    ),
    "node-name-set": _words(
        "spec.nodeName is set by hand.",
        "The scheduler is passed over: nothing looks whether the pod fits on {node}, or whether it is there.",
        "Use nodeSelector or node affinity with kubernetes.io/hostname.",
        "spec.nodeName",
    ),
    "almost-guaranteed": _words(
        "Other containers than the first keep the pod from being Guaranteed.",
        "Without {containers} the pod would be Guaranteed; to set are {missing}.",
        "Set limits of cpu and memory there, and requests equal to them.",
        "Guaranteed",
    ),
    "limit-without-request": _words(
        "A memory limit has no request.",
        "Container {container} limits memory to {limit} and requests none: it requests all of that.",
        "Write the request that is meant.",
        "requests",
    ),
    "request-without-limit": _words(
        "A memory request has no limit.",
        "Container {container} requests {request} of memory and may use all that the node has.",
        "Set a memory limit.",
        "OOMKilled",
    ),
    "unknown-priority-class": _words(
        "The named PriorityClass is in none of the files.",
        "PriorityClass {name} is in none of these files: without it in the cluster the pod is refused.",
        "Check the name, or apply the class first.",
        "PriorityClass",
    ),
    "spread-counts-old-pods": _words(
        "A DoNotSchedule constraint of a Deployment counts pods of the old revision.",
        "While it rolls out, old pods by {key} count too: the new ones may end up uneven, or wait.",
        "Add matchLabelKeys: [pod-template-hash].",
        "matchLabelKeys",
    ),
    "spread-is-redundant": _words(
        "Required anti-affinity by the same key and selector makes a spread constraint redundant.",
        "Required anti-affinity by {key} allows one pod for each value already: no skew is ever above 1.",
        "Keep one of the two; the constraint alone also rules out nodes without the label.",
        "topologySpreadConstraints",
    ),
    "budget-selects-nothing": _words(
        "A PodDisruptionBudget selects no pod of the files.",
        "It selects no pod of these files in namespace {namespace}: it may protect nothing.",
        "Compare the selector with the labels of the pods.",
        "PodDisruptionBudget",
    ),
    "host-port-replicas": _words(
        "Several replicas ask for one port of their node.",
        "{replicas} replicas need {replicas} nodes: port {port} is there once on each.",
        "Use a Service, or a DaemonSet.",
        "hostPort",
    ),
    "bare-pod": _words(
        "A pod has no controller.",
        "No controller replaces this pod when its node goes, and a drain stops at it without --force.",
        "Use a Deployment, StatefulSet or Job.",
    ),
}
"""By rule."""
