"""Words for claims and volumes: claims that keep a pod from every node, what corrects each, and volumes that move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from kubectl_plugin.render.command import Command, kubectl, qos, why
from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.views.pod.safety_words import overdue_words
from kubectl_plugin.views.words import bounded, clock, counted, cut, listed, quoted
from podrules.api.model.instant import later
from podrules.ending.attachment import FORCE_DETACH_AFTER, MoveStep, VolumePosition, WaitsFor
from podrules.ending.deleted_pod import PATIENCE
from podrules.node.reachability import Reach
from podrules.scheduling.placement.outcome import Binding, BindingStage, ClaimProblem, ClaimTrouble, VolumePlace

_SHOWN: Final = 2
_SEE_PROVISIONER: Final = "check that the provisioner runs; the claim's events show its messages"
SEE_PROVISIONER: Final = f"Way out: {_SEE_PROVISIONER}."
"""Of no help if the provisioner runs: the event that it wrote says more."""
_RESELECTS: Final = "the scheduler selects a node again"
HOSTNAME: Final = "kubernetes.io/hostname"


def claim_sentences(problems: Sequence[ClaimProblem]) -> Iterator[str]:
    """For a verdict: what is wrong with the first claims, and what corrects the first of them."""
    for problem in problems[:_SHOWN]:
        yield f"Claim {quoted(problem.claim)} {_WHAT[problem.trouble](problem)}."
    rest = len(problems) - _SHOWN
    if rest > 0:
        yield f"{rest} more of its claims {'has' if rest == 1 else 'have'} no volume either."
    yield f"Way out: {_WAY[problems[0].trouble](problems[0])}."


def volume_sentences(volumes: Sequence[VolumePlace]) -> Iterator[str]:
    """For a verdict: where the first volumes can be used, and what helps if no node is there."""
    volumes = sorted(volumes, key=lambda one: one.count)
    for one in volumes[:_SHOWN]:
        of = f" of claim {quoted(one.claim)}" if one.volume else ""
        what = f"Volume {quoted(one.volume)}" if one.volume else f"The volume that claim {quoted(one.claim)} is to get"
        if one.count:
            more = one.count - len(one.nodes)
            nodes = [*one.nodes, f"{more} more"] if more > 0 else list(one.nodes)
            if one.apart:
                who = f": on {listed(nodes)}, and volume {quoted(one.apart)} on none of these"
            else:
                why = f": {listed(one.reasons)}" if one.reasons else " for other reasons"
                who = f": on {listed(nodes)}, which {'rejects' if one.count == 1 else 'reject'} the pod{why}"
        elif one.hostnames:
            labels = [f"{label or 'missing'} on node {node}" for node, label in one.hostnames.items()]
            who = f", and no node has that label: it is {listed(labels)}"
        elif one.lacking:
            exist, lack = ("exists", "lacks") if len(one.lacking) == 1 else ("exist", "lack")
            who = f": {listed(one.lacking)} {exist} but {lack} that label"
        else:
            who = ", and no node is there" if one.labels else ", and no node does"
        places = [f"{_place(key, values)} ({key})" for key, values in one.labels.items()]
        where = listed(places) if places else "where its node affinity matches"
        yield f"{what}{of}{_facts(one)} can be used only {where}{who}."
    if len(volumes) > _SHOWN:
        yield f"{counted(len(volumes) - _SHOWN, 'more volume')} can be used on some nodes only."
    if volumes and (way := _volume_way(volumes[0])):
        yield f"Way out: {way}."


def volume_command(volumes: Sequence[VolumePlace], pod: str, namespace: str, like: str) -> Iterator[Command]:
    """For a volume that no node can use: the command that checks whether another node in its zone helps."""
    for one in volumes:
        zones = [values for key, values in one.labels.items() if _last(key) == "zone"]
        if not one.count and not one.lacking and zones and len(zones[0]) == 1 and like:
            options = "--add-node like={},zone={}"
            yield qos("place pod/{}", pod, like, zones[0][0], namespace=namespace, options=options)
            return


def _facts(one: VolumePlace) -> str:
    facts = ", ".join(filter(None, (one.size, one.phase, one.kind)))
    return f" ({facts})" if facts else ""


def _place(key: str, values: Sequence[str]) -> str:
    """``in zone a``."""
    leads = {"zone": "in zone", "region": "in region", "hostname": "on host", "selected-node": "on node"}
    lead = leads.get(_last(key), "where the label is")
    more = f" or {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return f"{lead} {' or '.join(map(bounded, values[:_SHOWN]))}{more}"


def _last(key: str) -> str:
    """The name of a label without its prefix: ``zone``."""
    return key.rpartition("/")[2]


def _volume_way(one: VolumePlace) -> str:
    """What lets a node use the volume; empty if other changes let the pod onto a node that can use it."""
    if "volume.kubernetes.io/selected-node" in one.labels:
        return f"remove annotation volume.kubernetes.io/selected-node from claim {quoted(one.claim)}: {_RESELECTS}"
    if one.count:
        recreate = f"recreate claim {quoted(one.claim)} where volume {quoted(one.apart)} is, from a snapshot or backup"
        return recreate if one.apart else ""
    if hosts := [label for label in one.hostnames.values() if label]:
        return f"recreate PersistentVolume {quoted(one.volume)} with spec.nodeAffinity for host {' or '.join(hosts)}"
    if one.lacking and all("kubernetes.io" in key for key in one.labels):
        return f"label {listed(one.lacking)} {','.join(f'{key}={values[0]}' for key, values in one.labels.items())}"
    if one.lacking:
        return f"check that the node plugin of {one.kind} runs on {listed(one.lacking)}: it sets that label"
    if HOSTNAME in one.labels:
        return "bring the node back, or recreate the claim and restore its data"
    add = f"add a node {' and '.join(_place(key, values) for key, values in one.labels.items()) or 'that it matches'}"
    other = "restore a copy of the volume where nodes are"
    return f"{add}, or {other if one.volume else 'recreate the claim with a StorageClass that allows other places'}"


def binding_sentences(binding: Binding, since: datetime | None, now: datetime | None) -> Iterator[str]:
    """For a verdict: what the scheduler waits for after it chose a node, since when, how long, and what helps."""
    yield f"{awaited_words(binding)}."
    for problem in binding.claims[1:_SHOWN]:
        yield f"Claim {quoted(problem.claim)} {_WHAT[problem.trouble](problem)}."
    if (rest := len(binding.claims) - _SHOWN) > 0:
        yield f"It also waits for {counted(rest, 'more claim')}."
    driver = binding.claims[0].provisioner if binding.claims else ""
    yield from missing_driver(binding.missing, driver, binding.node)
    # Since when it waits, when that ends, and how an earlier attempt ended.
    if binding.stage is not BindingStage.FAILED and any(one.failed for one in binding.claims):
        yield "That is a binding failure condition: the attempt ends, and the scheduler tries again."
    else:
        until = later(since, binding.timeout_seconds) if since is not None and not binding.error else None
        if binding.claims and binding.stage is not BindingStage.FAILED:
            field = "bindTimeoutSeconds" if binding.stage is BindingStage.VOLUMES else "bindingTimeout"
            limit = f"{binding.timeout_seconds} s ({field}{', the default' if binding.timeout_seconds == 600 else ''})"
            begun = "The" if since is None else f"The volume was requested at {clock(since, now)}; the"
            at = f", at {clock(until, now)}," if until is not None and (now is None or until > now) else ""
            yield f"{begun} scheduler gives up after {limit}{at} and tries again."
        if binding.error:
            yield f"An attempt failed: {cut(binding.error).rstrip('. ')}."
    if binding.claims:
        yield f"Way out: {_WAY[binding.claims[0].trouble](binding.claims[0])}."


def missing_driver(missing: str, driver: str, node: str) -> Iterator[str]:
    """See `Binding.missing`."""
    if missing == "CSIDriver":
        yield f"No CSIDriver is named {bounded(driver)}: if it is a CSI driver, it is not installed."
    elif missing:
        yield f"CSINode {bounded(node)} does not list {driver}: its node plugin does not run there."


def awaited_words(binding: Binding) -> str:
    """``kube-scheduler chose n-a and waits for claim "data", which is unbound: …``."""
    waits = "waited" if binding.stage is BindingStage.FAILED else "waits"
    chose = f"kube-scheduler chose {bounded(binding.node)} and {waits} for"
    if binding.claims:
        first = binding.claims[0]
        return f"{chose} claim {quoted(first.claim)}, which {_WHAT[first.trouble](first)}"
    if binding.stage is BindingStage.FAILED:
        return "kube-scheduler's last attempt failed, and it tries again"
    if binding.stage is BindingStage.PERMIT:
        return f"{chose} a plugin of its profile (Permit)"
    return f"{bounded(binding.node)} is named for it (status.nominatedNodeName), and nothing shows what it waits for"


def claim_lines(problems: Sequence[ClaimProblem]) -> Iterator[str]:
    """Every claim, and what corrects it."""
    for problem in problems:
        yield f"claim {quoted(problem.claim)} {_WHAT[problem.trouble](problem)} ({problem.field})"
        yield f"way out: {_WAY[problem.trouble](problem)}"


def claim_command(problems: Sequence[ClaimProblem]) -> Iterator[Command]:
    """The command that shows more about the first claim."""
    for problem in problems[:1]:
        if problem.trouble is ClaimTrouble.NEEDS_SCHEDULER:
            yield why("WaitForFirstConsumer")
        elif problem.trouble in {ClaimTrouble.CLASS_MISSING, ClaimTrouble.NO_CLASS}:
            yield kubectl("get storageclass")
        elif problem.trouble in {ClaimTrouble.MISSING, ClaimTrouble.NOT_MADE_YET}:
            yield kubectl("get pvc", namespace=problem.namespace)
        elif problem.trouble is ClaimTrouble.WAITS_FOR_DEVICE:
            yield kubectl("describe resourceclaim {}", problem.claim, namespace=problem.namespace)
        else:
            yield qos("explain pvc/{}", problem.claim, namespace=problem.namespace)


def _users(problem: ClaimProblem) -> str:
    """``pod shop/dbg``."""
    names = [f"{pod.namespace}/{pod.name}" for pod in problem.users]
    return f"{'pod' if len(names) == 1 else 'pods'} {listed(names, most=_SHOWN)}"


def _of_class(problem: ClaimProblem) -> str:
    return f"of class {quoted(problem.storage_class)}" if problem.storage_class else "without a class"


def _there(problem: ClaimProblem) -> str:
    return f" ({listed(problem.classes)})" if problem.classes else ""


def _near(problem: ClaimProblem) -> str:
    """Volumes that do not match it, with the facts that may be the reason."""
    names = [f"{quoted(one.volume)}{_facts(one)}" for one in problem.near]
    return f"; {listed(names)} {'does' if len(names) == 1 else 'do'} not match" if names else ""


def _unlike(problem: ClaimProblem) -> str:
    """``capacity 10Gi, not 100Gi``."""
    differences = (
        f"{field} {has or 'none'}, not {asks or 'none'}" if field != "metadata.deletionTimestamp" else "being deleted"
        for field, (has, asks) in problem.unlike.items()
    )
    return "; ".join(differences)


def _of_devices(problem: ClaimProblem) -> str:
    """What a driver reports about a device's conditions: a failure decides."""
    names = problem.failed or problem.wanted
    said = listed(list(dict.fromkeys(cut(text).rstrip(". ") for name in names if (text := problem.messages.get(name)))))
    what = f"{'set' if problem.failed else 'has not set'} {listed([quoted(name) for name in names])} to True"
    return f"is not ready: driver {problem.provisioner} {what}{f' ({said})' if said else ''}"


def _by_hand(problem: ClaimProblem) -> str:
    wanted = f" ({', '.join(problem.wanted)})" if problem.wanted else ""
    # A volume of an earlier claim can be used again.
    released = any(one.phase == "Released" for one in problem.near)
    reuse = "; a Released one is Available again without its spec.claimRef" if released else ""
    return f"create a PersistentVolume {_of_class(problem)} that matches it{wanted}{reuse}"


_WHAT: Final[Mapping[ClaimTrouble, Callable[[ClaimProblem], str]]] = {
    ClaimTrouble.MISSING: lambda _: "does not exist",
    ClaimTrouble.NOT_MADE_YET: lambda _: "of its ephemeral volume is not created yet",
    ClaimTrouble.LOST: lambda one: f"has lost its volume {quoted(one.volume)}",
    ClaimTrouble.BEING_DELETED: lambda one: (
        f"is being deleted, and {_users(one)} {'uses' if len(one.users) == 1 else 'use'} it"
        if one.users
        else "is being deleted"
    ),
    ClaimTrouble.NOT_OWNED: lambda _: "has the name of its ephemeral volume's claim, but is not owned by this pod",
    ClaimTrouble.VOLUME_MISSING: lambda one: f"names volume {quoted(one.volume)}, which does not exist",
    ClaimTrouble.VOLUME_TAKEN: lambda one: (
        f"has no volume: {quoted(one.volume)}, which it names, belongs to another claim"
    ),
    ClaimTrouble.VOLUME_MISMATCH: lambda one: (
        f"has no volume: {quoted(one.volume)}, which it names, does not match it ({_unlike(one)})"
    ),
    ClaimTrouble.CLASS_MISSING: lambda one: (
        f"is unbound: no PersistentVolume {_of_class(one)} matches it, and no StorageClass has that name{_near(one)}"
        if one.near
        else f"is unbound: its StorageClass {quoted(one.storage_class)} does not exist"
        # A snapshot may not contain the StorageClasses.
        f"{'' if one.classes else ', and no other exists'}"
    ),
    ClaimTrouble.NO_CLASS: lambda one: (
        f"is unbound: it names no StorageClass, and {'none is the default' if one.classes else 'none exists'}"
    ),
    ClaimTrouble.NO_VOLUME: lambda one: (
        f"is unbound: no PersistentVolume {_of_class(one)} matches it, and no provisioner creates one{_near(one)}"
    ),
    ClaimTrouble.NO_BINDING_MODE: lambda one: (
        f"is unbound: its StorageClass {quoted(one.storage_class)} has no volumeBindingMode"
    ),
    ClaimTrouble.SELECTED_NODE_REMOVED: lambda one: (
        f"is unbound: its volume is to be created for node {bounded(one.selected_node)}, which does not exist"
    ),
    ClaimTrouble.NEEDS_SCHEDULER: lambda one: (
        f"stays unbound: its StorageClass {quoted(one.storage_class)} waits for a pod that the scheduler places "
        "(WaitForFirstConsumer), and spec.nodeName bypasses the scheduler"
    ),
    ClaimTrouble.WAITS_FOR_CLASS: lambda one: (
        f"is unbound and names no StorageClass: it is given the default, {quoted(one.storage_class)}"
    ),
    ClaimTrouble.WAITS_FOR_VOLUME: lambda one: f"is not bound yet to volume {quoted(one.volume)}",
    ClaimTrouble.WAITS_FOR_PROVISIONER: lambda one: (
        f"is unbound: {one.provisioner or 'its provisioner'} has not created a volume {_of_class(one)} yet"
    ),
    ClaimTrouble.WAITS_FOR_DEVICE: _of_devices,
}
_WAY: Final[Mapping[ClaimTrouble, Callable[[ClaimProblem], str]]] = {
    ClaimTrouble.MISSING: lambda one: (
        f"create PersistentVolumeClaim {quoted(one.claim)} in namespace {one.namespace}, or name one that exists"
    ),
    ClaimTrouble.NOT_MADE_YET: lambda _: "kube-controller-manager creates it; the pod's events show why it has not",
    ClaimTrouble.LOST: lambda one: (
        f"recreate PersistentVolume {quoted(one.volume)} where its data still is, or recreate the claim: its new "
        "volume is empty"
    ),
    ClaimTrouble.BEING_DELETED: lambda one: (
        f"save its data, delete {_users(one)}, then create the claim again"
        if one.users
        else "wait until it is gone, then create it again"
    ),
    ClaimTrouble.SELECTED_NODE_REMOVED: lambda _: (
        f"remove annotation volume.kubernetes.io/selected-node from the claim: {_RESELECTS}"
    ),
    ClaimTrouble.NOT_OWNED: lambda _: "rename the pod or its volume, or delete that claim if it is not needed",
    ClaimTrouble.VOLUME_MISSING: lambda one: f"create PersistentVolume {quoted(one.volume)}, or recreate the claim",
    ClaimTrouble.NEEDS_SCHEDULER: lambda one: (
        f"replace spec.nodeName by nodeSelector kubernetes.io/hostname: {one.hostname}"
        if one.hostname
        else "replace spec.nodeName by required node affinity (matchFields metadata.name)"
    ),
    ClaimTrouble.VOLUME_TAKEN: lambda _: "recreate the claim without spec.volumeName, or with a free volume",
    ClaimTrouble.VOLUME_MISMATCH: lambda _: (
        "recreate the claim without spec.volumeName, or with a free volume that matches it"
    ),
    # The class of a claim cannot be changed once it is set.
    ClaimTrouble.CLASS_MISSING: lambda one: (
        f"{f'{_by_hand(one)}, or ' if one.near else ''}create StorageClass {quoted(one.storage_class)}"
        f"{f', or recreate the claim with a class that exists{_there(one)}' if one.classes else ''}"
    ),
    ClaimTrouble.NO_CLASS: lambda one: (
        f"mark a StorageClass{_there(one)} as the default, or name one in the claim"
        if one.classes
        else "create a StorageClass and mark it as the default"
    ),
    ClaimTrouble.NO_VOLUME: _by_hand,
    ClaimTrouble.NO_BINDING_MODE: lambda one: (
        f"recreate StorageClass {quoted(one.storage_class)} with a volumeBindingMode"
    ),
    ClaimTrouble.WAITS_FOR_CLASS: lambda _: "kube-controller-manager sets it; the claim's events show why it has not",
    ClaimTrouble.WAITS_FOR_VOLUME: lambda _: "kube-controller-manager binds it; the claim's events show why it has not",
    ClaimTrouble.WAITS_FOR_PROVISIONER: lambda _: _SEE_PROVISIONER,
    ClaimTrouble.WAITS_FOR_DEVICE: lambda one: (
        "correct what the driver reports about the device"
        if one.failed
        else f"check that {one.provisioner} runs; it sets that in the claim's status"
    ),
}


_STEPS: Final = tuple(MoveStep)
_MINUTES: Final = int(FORCE_DETACH_AFTER.total_seconds() // 60)
_WAITS: Final = {
    WaitsFor.USER: "no client has deleted {holders} on {node}",
    WaitsFor.KUBELET: "the kubelet of {node} has to stop {holders}",
    WaitsFor.SILENT_KUBELET: "{holders}{deleted} on silent {node}: this waits for ever",
    WaitsFor.POD_GC: (
        "{holders}{deleted} on {node}: garbage collection removes the object, without confirmation that processes ended"
    ),
    WaitsFor.FORCE_DETACH: f"{{node}} is silent: detached by force {_MINUTES} min after the pod object is gone",
    WaitsFor.DRIVER: "its driver has to {verb} it at {node}",
    WaitsFor.CONTROLLER: "the attach/detach controller has to {verb} it at {node}",
    WaitsFor.OWN_KUBELET: "the kubelet of {node} has to mount it and start the containers",
}
_UNMOUNT: Final = "the kubelet of {node} still has it mounted"
_VERBS: Final = {MoveStep.DETACH: "detach", MoveStep.ATTACH: "attach"}


def moving_section(positions: Iterable[VolumePosition], now: datetime | None) -> Section:
    """``data  1 of 4, stop: db-1 on silent node-c3 …``."""
    rows = [
        Row((entry.volume, f"step {_STEPS.index(entry.step) + 1} of 4, {waiting_words(entry, now)}"))
        for entry in positions
    ]
    if not rows:
        return Section("Volumes", ())
    return Section("Volumes", (*rows, "steps: stop, detach, attach, start"))


def detach_overdue(by: datetime, now: datetime) -> str:
    """Words for a forced detach that is overdue after 6 min, and what to check."""
    flag = "--disable-force-detach-on-timeout"
    return f"should have been detached by force by {clock(by, now)}: check kube-controller-manager ({flag})"


def advice_words(entry: VolumePosition) -> str:
    """What helps while another node has the volume; empty if the wait ends by itself or the driver has to act."""
    if entry.reach is Reach.SILENT and entry.waits_for is not WaitsFor.DRIVER:
        return f"Make sure that the machine of {entry.node} is off, then fence {entry.node}."
    rollout = "The rolling update waits for itself: set strategy Recreate."
    return rollout if entry.rollout and not entry.reach.quiet else ""


def waiting_words(entry: VolumePosition, now: datetime | None) -> str:
    """``detach: node-c3 is silent: …, since 03:12:04 UTC``."""
    text = _WAITS[entry.waits_for]
    if entry.step is MoveStep.DETACH and entry.waits_for is WaitsFor.KUBELET:
        text = _UNMOUNT
    elif entry.step is MoveStep.DETACH and entry.waits_for is not WaitsFor.FORCE_DETACH and entry.reach.quiet:
        text += ", which is silent"
    if entry.forced_by is not None and now is not None and now - entry.forced_by > PATIENCE:
        text = f"{{node}} is silent; it {detach_overdue(entry.forced_by, now)}"
    if late := overdue_words(entry.collected_by, now):
        text = f"{{holders}}{{deleted}} on {{node}}: {late[:1].lower()}{late[1:]}"
    at = clock(entry.since, now) if entry.since is not None else ""
    deleted, since = (f" (deleted at {at})", f", since {at}") if at else ("", "")
    holders = listed(entry.held_by, most=3) or "its pod"
    words = text.format(node=entry.node, holders=holders, verb=_VERBS.get(entry.step, ""), deleted=deleted)
    said = f"; it says: {entry.error}" if entry.error else ""
    return f"{entry.step.value.lower()}: {words}{'' if '{deleted}' in text else since}{said}"
