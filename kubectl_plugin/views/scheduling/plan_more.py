"""The sentences of `place` for more pods of existing objects: the answer first, then what is placed before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from cluster_io.kinds import find_kind
from kubectl_plugin.reports.plan import PlanReport
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.pod.safety_words import ordinal_words
from kubectl_plugin.views.scheduling.placement import why_no_node
from kubectl_plugin.views.words import counted, listed
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.scheduling.placement.planned import PlannedSpec, PlannedVictim

SHOWN_NODES = 4
_SHOWN_VICTIMS = 2
_SHOWN_ROWS = 10


def more_words(report: PlanReport) -> Iterator[str]:
    """The sentences for each workload or pod that was named."""
    for spec in report.specs:
        if spec.origin == "more" and spec.daemon is None:
            if (awaited := spec.awaited) is not None:
                name, silent = spec.name.partition("/")[2], awaited.silent_node
                reason = f"StatefulSet {name} makes no other pod before {awaited.name} is Ready (OrderedReady)"
                if awaited.deleted:
                    reason = ordinal_words(name, awaited.name, ordered=True)
                yield f"No: {reason}{f'; its node {silent} is silent' if silent else ''}."
                if silent:
                    yield f"Way out: bring {silent} back, or fence it."
            job = spec.job
            if job is not None and not job.schedule and not spec.suspended and spec.there >= job.now:
                left = "" if job.completions is None else f"; {job.succeeded} of {job.completions} have succeeded"
                yield f"{spec.name} makes no other pod before one ends: it has {spec.there} of {job.now} at once{left}."
            yield from quota_words(spec, "more pod", _of(spec), lead="" if spec.wanted is None else "No: ")
            yield _answer(let_in(spec), report.silent, guess=report.is_guess(let_in(spec)))
            if spec.victims and spec.nodes_unaided:
                yield f"Without preemption: {nodes_words(spec.nodes_unaided)}."
            if spec.stopped is not None and not unknown_words(spec):
                yield from why_no_node(spec.stopped, drained=report.what_if.drained_nodes)
            yield from suspended_words(spec)


def guessed(text: str, *, guess: bool) -> str:
    """A sentence about placement; ``guess``: it depends on what could not be read."""
    return f"Unknown; by what was read, {text[:1].lower()}{text[1:]}" if guess else text


def fit_words(specs: Sequence[PlannedSpec], what: str, of: str = "") -> str:
    """``2 of 3 more pods of Deployment web fit``; the number without preemption comes first if it differs.

    ``24 more pods of Deployment cart fit without preemption, 50 if 9 pods are preempted``

    The specs are counted together. ``what``: the noun for one of their pods; ``of``: their owner, unless the context
    names it.
    """
    placed = sum(spec.placed for spec in specs)
    wanted = [spec.wanted for spec in specs if spec.wanted is not None]
    paid = paid_words(specs)
    first = sum(spec.without_preemption for spec in specs) if paid else placed
    count = f"{first} of {counted(sum(wanted), what)}" if wanted else counted(first, what)
    fit = " ".join(filter(None, (count, of, "fits" if first == 1 else "fit")))
    if not paid:
        return fit
    alone = "without preemption" if any(spec.preempted for spec in specs) else "now"
    return f"{fit} {alone}, {'all ' if wanted and placed == sum(wanted) else ''}{placed} {paid}"


def paid_words(specs: Sequence[PlannedSpec]) -> str:
    """``if 2 pods are preempted and 1 that is ending is gone``; empty if no pod has to end."""
    victims, leaving = sum(len(spec.preempted) for spec in specs), sum(len(spec.leaving) for spec in specs)
    preempted = f"if {counted(victims, 'pod')} {_are(victims)} preempted" if victims else ""
    if not leaving:
        return preempted
    gone = f"that {_are(leaving)} ending {_are(leaving)} gone"
    return f"{preempted} and {leaving} {gone}" if victims else f"once {counted(leaving, 'pod')} {gone}"


def replacement_words(specs: Sequence[PlannedSpec]) -> Iterator[str]:
    """What the answer leaves out about the preempted pods."""
    replaced = sum(victim.replaced for spec in specs for victim in spec.preempted)
    if replaced:
        pods = "replacement of the preempted pod needs" if replaced == 1 else "replacements of preempted pods need"
        yield f"The {pods} room that is not counted here."


def victim_rows(specs: Sequence[PlannedSpec], *, wide: bool) -> Iterator[tuple[Severity | None, str, str]]:
    """The pods that have to end for others, the costliest first."""
    victims = sorted(((spec, one) for spec in specs for one in spec.victims), key=lambda row: _weightiest(row[1]))
    most = len(victims) if wide else _SHOWN_ROWS
    for spec, victim in victims[:most]:
        name = f"{spec.namespace}/{spec.name.removeprefix('pod/')}" if spec.origin == "drain" else row_name(spec)
        ends = f"preempted for {name} on {victim.node}"
        if victim.leaving:
            pods = listed([f"{pod.namespace}/{pod.name}" for pod in victim.preempted_for], most=_SHOWN_VICTIMS)
            goes = "goes" if len(victim.preempted_for) == 1 else "go"
            first = f"preempted for {pods}, which {goes} first" if pods else "deleted"
            ends = f"already being {first}; {name} needs its room on {victim.node}"
        ends += f" (priority {victim.priority})" if wide else ""
        ends += "" if victim.replaced else "; lost: no controller recreates it"
        ends += f"; violates PodDisruptionBudget {listed(victim.violates)}" if victim.violates else ""
        yield None if victim.leaving else Severity.NOTICE, f"{victim.pod.namespace}/{victim.pod.name}", ends
    if len(victims) > most:
        yield Severity.NOTICE, f"{len(victims) - most} more", "preempted or already being deleted (-o wide)"


def _weightiest(victim: PlannedVictim) -> tuple[bool, bool, bool]:
    """The sort key of victims: budget violations, then lost pods, then StatefulSet pods, then the others."""
    return not victim.violates, victim.replaced, not victim.stateful


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def row_name(spec: PlannedSpec) -> str:
    """The name of a spec in a table; it marks pods that are pending rather than requested."""
    if spec.origin == "pending":
        return f"{spec.name} (pending)"
    if spec.origin == "autoscaler" and spec.autoscaler is not None:
        return f"{spec.name} (up to {spec.autoscaler.max_replicas})"
    return f"like {spec.name}" if spec.origin == "more" and spec.name.startswith("pod/") else spec.name


def suspended_words(spec: PlannedSpec) -> Iterator[str]:
    """Says that a spec's controller is suspended and makes no pods."""
    if spec.suspended:
        yield f"{spec.name} is suspended (spec.suspend): it makes no pod before it is resumed."


def unknown_words(spec: PlannedSpec) -> str:
    """Why the placement of a spec is unknown; empty if it is known or guessed."""
    stopped = spec.stopped
    if stopped is None or stopped.outcome is not PlacementOutcome.UNKNOWN or spec.placed:
        return ""
    return f"Unknown where {'it' if spec.wanted == 1 else 'they'} would go: {stopped.reason}."


def _answer(spec: PlannedSpec, silent: Sequence[str], *, guess: bool) -> str:
    """``Yes: 3 of 3 more pods of Deployment web fit: 2 on node-b1 and 1 on node-a2.``."""
    of = _of(spec)
    if unknown := unknown_words(spec):
        return unknown
    where = f": {nodes_words(spec.nodes)}" if spec.nodes else ""
    next_one = " The next does not." if spec.stopped is not None and spec.placed else ""
    if spec.wanted is None:
        return guessed(f"{fit_words([spec], 'more pod', of)}{where or ' now'}.{next_one}", guess=guess)
    short = spec.is_short
    # A pod placed on a silent node has a place but does not start.
    lead = "No: "
    if not short:
        lead = "Only with preemption: " if spec.preempted else "Yes: "
        lead = "" if any(node in silent for node in spec.nodes) else lead
    if spec.awaited is not None or spec.quota is not None:
        lead = "" if short else "There is room: "
    if guess:
        lead = guessed("", guess=True)
    if spec.wanted == 1:
        if short:
            return f"{lead}1 more pod {of} does not fit now."
        paid = f", {paid_words([spec])}" if spec.victims else ""
        return f"{lead}1 more pod {of} fits, on {next(iter(spec.nodes))}{paid}."
    if _is_paid_for(spec):
        alone, paid = spec.without_preemption, paid_words([spec])
        fit = f"{alone or 'none'} of {spec.wanted} {'fit' if alone > 1 else 'fits'}"
        fit += " without" if spec.preempted else " now"
        lead += f"{counted(spec.wanted, 'more pod')} {of} fit {paid}"
        return f"{lead} ({', '.join(_places(spec.nodes))}); {fit}."
    now = " now" if short and not spec.victims else ""
    return f"{lead}{fit_words([spec], 'more pod', of)}{now}{where}.{next_one}"


def _is_paid_for(spec: PlannedSpec) -> bool:
    """True if all wanted pods fit, but only if other pods end."""
    return spec.placed == spec.wanted and bool(spec.victims)


def nodes_words(nodes: Mapping[str, int]) -> str:
    """``2 on node-b1 and 1 on node-a2``, or ``… and 5 on 3 more nodes``."""
    return listed(_places(nodes))


def _places(nodes: Mapping[str, int]) -> list[str]:
    places = [(count, node) for node, count in nodes.items()]
    # Naming one more node is as short as counting it.
    if len(places) > SHOWN_NODES + 1:
        rest = places[SHOWN_NODES:]
        places = [*places[:SHOWN_NODES], (sum(count for count, _ in rest), counted(len(rest), "more node"))]
    return [f"{count} on {node}" for count, node in places]


def _of(spec: PlannedSpec) -> str:
    word, _, name = spec.name.partition("/")
    kind = find_kind(word)
    return f"like {name}" if word == "pod" else f"of {kind.kind if kind is not None else word} {name}"


def pending_words(specs: Sequence[PlannedSpec], *, leading: bool = False) -> Iterator[str]:
    """The pending pods that are placed before the requested ones, and the pods preempted for them.

    ``leading``: the answer begins with it, because the pod was named.
    """
    price = f", {paid}" if (paid := paid_words(specs)) else ""
    if len(specs) == 1:
        (spec,) = specs
        name = spec.name.removeprefix("pod/")
        first = "is pending" if leading else "is pending already and goes first"
        to, nowhere = (
            (" and fits, on {}", " and does not fit now") if leading else (", to {}", ", and does not fit either")
        )
        goes = to.format(next(iter(spec.nodes))) if spec.placed else nowhere
        goes = "" if unknown_words(spec) else goes
        yield f"{name} {first}{goes}{price}."
    elif specs:
        placed = sum(spec.placed for spec in specs)
        fit = "fits" if placed == 1 else "fit"
        yield f"{len(specs)} of its pods are pending already and go first: {placed} of {len(specs)} {fit}{price}."


def quota_words(spec: PlannedSpec, what: str, of: str, lead: str = "") -> Iterator[str]:
    """``Quota compute admits 3 of 5 replicas of deployment/web: requests.cpu is then 1800m of 2.``; may be empty.

    ``what``: the noun for one pod; ``of``: the owner, as ``of deployment/web``; ``lead``: the words before it.
    """
    quota = spec.quota
    if quota is not None:
        pods = counted(quota.pods, what) if spec.wanted is None else f"{quota.pods} of {counted(spec.wanted, what)}"
        shares = listed([f"{share.resource} is then {share.used} of {share.hard}" for share in quota.shares])
        yield f"{lead}{'quota' if lead else 'Quota'} {quota.quota} admits {pods} {of}: {shares}."


def let_in(spec: PlannedSpec) -> PlannedSpec:
    """The spec without the pods that a quota refuses: those need no node."""
    if spec.quota is None or spec.wanted is None:
        return spec
    return replace(spec, wanted=min(spec.wanted, spec.quota.pods))
