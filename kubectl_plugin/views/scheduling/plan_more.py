"""The sentences of `place` for more pods of existing objects: the answer first, then what is placed before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from cluster_io.kinds import find_kind
from kubectl_plugin.reports.plan import PlanReport
from kubectl_plugin.views.pod.safety_words import ordinal_words
from kubectl_plugin.views.scheduling.placement import why_no_node
from kubectl_plugin.views.words import counted, listed
from podrules.api.model.pod import PodReference
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.scheduling.placement.planned import PlannedSpec, PlannedVictim

_SHOWN_NODES = 4
_SHOWN_VICTIMS = 2


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
            if _is_paid_for(spec):
                yield from (*_against_words([spec]), *_leaving_words(_leaving([spec])))
            else:
                yield from victim_words([spec])
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


def paid_words(specs: Sequence[PlannedSpec], *, named: bool = False) -> str:
    """``if 2 pods are preempted and 1 that is ending is gone``; empty if no pod has to end."""
    victims, leaving = len(_victims(specs)), len(_leaving(specs))
    who = listed(_names(_victims(specs)), most=_SHOWN_VICTIMS) if named else counted(victims, "pod")
    preempted = f"if {who} {_are(victims)} preempted" if victims else ""
    if not leaving:
        return preempted
    gone = f"that {_are(leaving)} ending {_are(leaving)} gone"
    return f"{preempted} and {leaving} {gone}" if victims else f"once {counted(leaving, 'pod')} {gone}"


def victim_words(specs: Sequence[PlannedSpec]) -> Iterator[str]:
    """The pods that are preempted for some specs, and those that are ending already; empty if there are none."""
    paid = [spec for spec in specs if spec.preempted]
    if paid:
        them = "it" if paid[0].placed == 1 else "them"
        beneficiary = them if len(specs) == 1 else listed([spec.name for spec in paid], most=_SHOWN_VICTIMS)
        yield f"The scheduler preempts {listed(_names(_victims(specs)), most=_SHOWN_VICTIMS)} for {beneficiary}."
        yield from _against_words(specs)
    yield from _leaving_words(_leaving(specs))


def replacement_words(specs: Sequence[PlannedSpec]) -> Iterator[str]:
    """What happens to the preempted pods."""
    victims = _victims(specs)
    lost = _names(victim for victim in victims if not victim.replaced)
    if lost:
        them = "it" if len(lost) == 1 else "them"
        yield f"{listed(lost, most=_SHOWN_VICTIMS)} would be lost: no controller recreates {them}."
    if len(lost) < len(victims):
        need = "pod's replacement needs" if len(victims) == 1 else "pods' replacements need"
        yield f"The preempted {need} room too: that is not counted here."


def _leaving_words(victims: Sequence[PlannedVictim]) -> Iterator[str]:
    """Pods that are ending already, and the pods for which they make room: no preemption is needed."""
    groups: dict[tuple[tuple[PodReference, ...], str], list[PlannedVictim]] = {}
    for victim in victims:
        groups.setdefault((victim.preempted_for, victim.node), []).append(victim)
    for (first, node), found in groups.items():
        who = f"{listed(_names(found), most=_SHOWN_VICTIMS)} {_are(len(found))} already being"
        if not first:
            yield f"{who} deleted."
            continue
        pods = listed([f"{pod.namespace}/{pod.name}" for pod in first], most=_SHOWN_VICTIMS)
        goes = "is nominated to {} and goes first" if len(first) == 1 else "are nominated to {} and go first"
        yield f"{who} preempted for {pods}, which {goes.format(node)}."


def _against_words(specs: Sequence[PlannedSpec]) -> Iterator[str]:
    """The budgets that the scheduler violates, which it does only if no other node helps."""
    against = [victim for victim in _victims(specs) if victim.violates]
    if against:
        budgets = listed(sorted({name for victim in against for name in victim.violates}), most=_SHOWN_VICTIMS)
        yield f"To preempt {listed(_names(against), most=_SHOWN_VICTIMS)} violates PodDisruptionBudget {budgets}."


def weightiest(victim: PlannedVictim) -> tuple[bool, bool, bool]:
    """The sort key of victims: budget violations, then lost pods, then StatefulSet pods, then the others."""
    return not victim.violates, victim.replaced, not victim.stateful


def _victims(specs: Sequence[PlannedSpec]) -> list[PlannedVictim]:
    return sorted((victim for spec in specs for victim in spec.preempted), key=weightiest)


def _leaving(specs: Sequence[PlannedSpec]) -> list[PlannedVictim]:
    return [victim for spec in specs for victim in spec.leaving]


def _names(victims: Iterable[PlannedVictim]) -> list[str]:
    return [f"{victim.pod.namespace}/{victim.pod.name}" for victim in victims]


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
        paid = f", {paid_words([spec], named=True)}" if spec.victims else ""
        return f"{lead}1 more pod {of} fits, on {next(iter(spec.nodes))}{paid}."
    if _is_paid_for(spec):
        alone, paid = spec.without_preemption, paid_words([spec], named=True)
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
    if len(places) > _SHOWN_NODES + 1:
        rest = places[_SHOWN_NODES:]
        places = [*places[:_SHOWN_NODES], (sum(count for count, _ in rest), counted(len(rest), "more node"))]
    return [f"{count} on {node}" for count, node in places]


def _of(spec: PlannedSpec) -> str:
    word, _, name = spec.name.partition("/")
    kind = find_kind(word)
    return f"like {name}" if word == "pod" else f"of {kind.kind if kind is not None else word} {name}"


def pending_words(specs: Sequence[PlannedSpec], *, leading: bool = False) -> Iterator[str]:
    """The pending pods that are placed before the requested ones, and the pods preempted for them.

    ``leading``: the answer begins with it, because the pod was named.
    """
    names, going = _names(_victims(specs)), _names(_leaving(specs))
    who = f"{listed(names, most=_SHOWN_VICTIMS)} {_are(len(names))} preempted for" if names else ""
    last = f"{listed(going, most=_SHOWN_VICTIMS)}, already being deleted, {_are(len(going))} gone" if going else ""
    once = f", once {last}" if last else ""
    if len(specs) == 1:
        (spec,) = specs
        name = spec.name.removeprefix("pod/")
        first = "is pending" if leading else "is pending already and goes first"
        to, nowhere = (
            (" and fits, on {}", " and does not fit now") if leading else (", to {}", ", and does not fit either")
        )
        goes = to.format(next(iter(spec.nodes))) if spec.placed else nowhere
        goes = "" if unknown_words(spec) else goes
        price = f", if {who.removesuffix(' for')}" if who and leading else f"; {who} it" if who else ""
        yield f"{name} {first}{goes}{once}{price}."
    elif specs:
        placed = sum(spec.placed for spec in specs)
        fit = "fits" if placed == 1 else "fit"
        first = f"{len(specs)} of its pods are pending already and go first: {placed} of {len(specs)} {fit}"
        yield f"{first}{once}{f', and {who} them' if who else ''}."
    yield from _against_words(specs)


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
