"""A pod's claims that keep it from every node, and what would mend each, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from kubectl_plugin.render.command import Command, kubectl, why
from kubectl_plugin.views.words import listed, quoted
from podrules.placement.outcome import ClaimProblem, ClaimTrouble

__all__ = ["claim_command", "claim_lines", "claim_sentences"]

_SHOWN: Final = 2


def claim_sentences(problems: Sequence[ClaimProblem]) -> Iterator[str]:
    """For a verdict: what is wrong with the first claims, and what would mend the first of them."""
    for problem in problems[:_SHOWN]:
        yield f"Claim {quoted(problem.claim)} {_WHAT[problem.trouble](problem)}."
    rest = len(problems) - _SHOWN
    if rest > 0:
        yield f"{rest} more of its claims {'has' if rest == 1 else 'have'} no volume either."
    yield f"Way out: {_WAY[problems[0].trouble](problems[0])}."


def claim_lines(problems: Sequence[ClaimProblem]) -> Iterator[str]:
    """Every claim, and what would mend it."""
    for problem in problems:
        yield f"claim {quoted(problem.claim)} {_WHAT[problem.trouble](problem)} ({problem.field})"
        yield f"way out: {_WAY[problem.trouble](problem)}"


def claim_command(problems: Sequence[ClaimProblem]) -> Iterator[Command]:
    """What to look at for the first claim."""
    for problem in problems[:1]:
        if problem.trouble is ClaimTrouble.NEEDS_SCHEDULER:
            yield why("WaitForFirstConsumer")
        elif problem.trouble in {ClaimTrouble.CLASS_MISSING, ClaimTrouble.NO_CLASS}:
            yield kubectl("get storageclass")
        elif problem.trouble in {ClaimTrouble.MISSING, ClaimTrouble.NOT_MADE_YET}:
            yield kubectl("get pvc", namespace=problem.namespace)
        else:
            yield kubectl("describe pvc {}", problem.claim, namespace=problem.namespace)


def _of_class(problem: ClaimProblem) -> str:
    return f"of class {quoted(problem.storage_class)}" if problem.storage_class else "without a class"


def _wanted(problem: ClaimProblem) -> str:
    return f" ({', '.join(problem.wanted)})" if problem.wanted else ""


def _there(problem: ClaimProblem) -> str:
    return f" ({listed(problem.classes)})" if problem.classes else ""


def _nor_any(problem: ClaimProblem) -> str:
    """Said, for a snapshot may have been taken without them."""
    return "" if problem.classes else ", and there is no other"


def _no_default(problem: ClaimProblem) -> str:
    return "none is the default" if problem.classes else "there is none"


def _choice(problem: ClaimProblem) -> str:
    """How a pod that goes through the scheduler names its node."""
    if problem.hostname:
        return f"nodeSelector kubernetes.io/hostname: {problem.hostname}"
    return "required node affinity (matchFields metadata.name)"


def _anew(problem: ClaimProblem) -> str:
    """A claim's class cannot be changed once it has one."""
    other = f", or recreate the claim with a class that exists{_there(problem)}" if problem.classes else ""
    return f"make StorageClass {quoted(problem.storage_class)}{other}"


def _by_default(problem: ClaimProblem) -> str:
    if not problem.classes:
        return "make a StorageClass and mark it as the default"
    return f"mark a StorageClass{_there(problem)} as the default, or name one in the claim"


_WHAT: Final[Mapping[ClaimTrouble, Callable[[ClaimProblem], str]]] = {
    ClaimTrouble.MISSING: lambda _: "does not exist",
    ClaimTrouble.NOT_MADE_YET: lambda _: "of its ephemeral volume is not made yet",
    ClaimTrouble.LOST: lambda one: f"has lost its volume {quoted(one.volume)}",
    ClaimTrouble.BEING_DELETED: lambda _: "is being deleted",
    ClaimTrouble.NOT_OWNED: lambda _: "has the name of its ephemeral volume's claim and is not this pod's",
    ClaimTrouble.VOLUME_MISSING: lambda one: f"names volume {quoted(one.volume)}, which does not exist",
    ClaimTrouble.VOLUME_TAKEN: lambda one: f"is unbound: its volume {quoted(one.volume)} is another claim's",
    ClaimTrouble.CLASS_MISSING: lambda one: (
        f"is unbound: its StorageClass {quoted(one.storage_class)} does not exist{_nor_any(one)}"
    ),
    ClaimTrouble.NO_CLASS: lambda one: f"is unbound: it names no StorageClass, and {_no_default(one)}",
    ClaimTrouble.NO_VOLUME: lambda one: (
        f"is unbound: no PersistentVolume {_of_class(one)} matches it, and nobody makes one"
    ),
    ClaimTrouble.NO_BINDING_MODE: lambda one: (
        f"is unbound: its StorageClass {quoted(one.storage_class)} has no volumeBindingMode"
    ),
    ClaimTrouble.NEEDS_SCHEDULER: lambda one: (
        f"stays unbound: its StorageClass {quoted(one.storage_class)} waits for a pod that the scheduler places "
        "(WaitForFirstConsumer), and spec.nodeName passes it over"
    ),
    ClaimTrouble.WAITS_FOR_CLASS: lambda one: (
        f"is unbound and names no StorageClass: it is given the default, {quoted(one.storage_class)}"
    ),
    ClaimTrouble.WAITS_FOR_VOLUME: lambda one: f"is not bound yet to volume {quoted(one.volume)}",
    ClaimTrouble.WAITS_FOR_PROVISIONER: lambda one: (
        f"is unbound: {one.provisioner} has not made a volume {_of_class(one)} yet"
    ),
}
_WAY: Final[Mapping[ClaimTrouble, Callable[[ClaimProblem], str]]] = {
    ClaimTrouble.MISSING: lambda one: (
        f"make PersistentVolumeClaim {quoted(one.claim)} in namespace {one.namespace}, or name one that is there"
    ),
    ClaimTrouble.NOT_MADE_YET: lambda _: "kube-controller-manager makes it; the pod's events tell why it has not",
    ClaimTrouble.LOST: lambda one: f"make PersistentVolume {quoted(one.volume)} again, or recreate the claim",
    ClaimTrouble.BEING_DELETED: lambda _: "wait until it is gone, then create it again",
    ClaimTrouble.NOT_OWNED: lambda _: "rename the pod or its volume, or delete that claim if nobody needs it",
    ClaimTrouble.VOLUME_MISSING: lambda one: f"make PersistentVolume {quoted(one.volume)}, or recreate the claim",
    ClaimTrouble.NEEDS_SCHEDULER: lambda one: f"replace spec.nodeName by {_choice(one)}",
    ClaimTrouble.VOLUME_TAKEN: lambda _: "recreate the claim without spec.volumeName, or with a free volume",
    ClaimTrouble.CLASS_MISSING: _anew,
    ClaimTrouble.NO_CLASS: _by_default,
    ClaimTrouble.NO_VOLUME: lambda one: f"make a PersistentVolume {_of_class(one)} that matches it{_wanted(one)}",
    ClaimTrouble.NO_BINDING_MODE: lambda one: (
        f"recreate StorageClass {quoted(one.storage_class)} with a volumeBindingMode"
    ),
    ClaimTrouble.WAITS_FOR_CLASS: lambda _: (
        "kube-controller-manager gives it that; the claim's events tell why not yet"
    ),
    ClaimTrouble.WAITS_FOR_VOLUME: lambda _: "kube-controller-manager binds it; the claim's events tell why not yet",
    ClaimTrouble.WAITS_FOR_PROVISIONER: lambda _: "see that the provisioner runs; the claim's events tell what it says",
}
