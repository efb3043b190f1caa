"""Targets on the command line: types, names, or a selection of the objects of a type."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from cluster_io.errors import BadObject, ClusterError, NotFound, NotListed, UsageError
from cluster_io.field_selector import check_fields, equal_fields
from cluster_io.kinds import (
    ALL_KINDS,
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RELATED,
    WORKLOADS,
    Kind,
    find_kind,
)
from cluster_io.source import Source
from kubectl_plugin.options import Selection
from kubectl_plugin.views.words import counted, listed
from podrules.api.model.base import KubeObject
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Selector, SelectorError
from podrules.api.model.workload import selector_of
from podrules.api.names import is_plain_name, near_names, nearest_word

EXPLAINED: Final[tuple[Kind[Any], ...]] = (PODS, NODES, *WORKLOADS)
_MAX_NAMESPACES: Final = 3
_EXPLAIN: Final = ("kubectl", "qos", "explain")
_COMMANDS: Final = {"explained": "explain", "placed": "place", "reported": "report", "examined": "died"}
"""The command for each verb."""
_ELSEWHERE: Final[tuple[Kind[Any], ...]] = (*ALL_KINDS, CONFIG_MAPS, EVENTS)
_TYPE_WITH_SLIP: Final = 0.8
"""Similarity by difflib: ``deplyment`` is a misspelt type, ``payments`` a namespace."""
_OTHER_TYPES: Final = frozenset(
    {
        *("all", "secret", "secrets", "ingress", "ingresses", "ing", "serviceaccount", "serviceaccounts", "sa", "crd"),
        *("hpa", "horizontalpodautoscaler", "horizontalpodautoscalers", "netpol", "networkpolicy", "networkpolicies"),
        *("role", "roles", "rolebinding", "rolebindings", "clusterrole", "clusterroles", "clusterrolebinding"),
        *("endpoints", "ep", "endpointslice", "endpointslices", "vpa", "podtemplate", "podtemplates"),
    }
)
"""Types of kubectl without a kind here."""


class ObjectQuery(NamedTuple):
    """One object, or all selected objects of a kind."""

    kind: Kind[Any]
    name: str = ""
    """Empty: all selected objects."""
    bare: bool = False
    """Whether the name was typed without a type: it is a pod's."""


def targets_of(words: Sequence[str], selection: Selection, *, verb: str = "explained") -> list[ObjectQuery]:
    """``TYPE/NAME …``, ``TYPE[,TYPE] [NAME …]``, or ``NAME …`` of pods; ``verb`` is for the error.

    Raises:
        UsageError: another target was typed, or a name together with a selection.
    """
    asked = _queries(words, verb) if words else [ObjectQuery(PODS)] if selection.flags else []
    named = next((one for one in asked if one.name), None)
    if named is not None and selection.flags:
        name = f"{named.kind.singular}/{named.name}"
        raise UsageError(
            f"{selection.flags} selects among all {named.kind.plural}, and {name} names one",
            advice=f"Leave {selection.flags} or the name out",
        )
    # A target that is typed twice counts once.
    found: dict[tuple[str, str], ObjectQuery] = {}
    for one in asked:
        found.setdefault((one.kind.kind, one.name), one)
    return list(found.values())


def find(
    asked: ObjectQuery, selection: Selection, source: Source, *, live: bool, command: str = "explain"
) -> Sequence[KubeObject]:
    """The objects of a query; ``command`` is the plugin's command, for the error.

    Raises:
        UsageError: the selection cannot be read.
        ClusterError: they cannot be read, or a named object does not exist.
    """
    if not asked.name:
        check_fields(selection.fields, asked.kind, live=live)
        namespace = None if selection.everywhere else source.namespace
        selector = label_selector(selection.labels)
        return source.list(asked.kind, namespace, selector=selector, field_selector=selection.fields)
    try:
        return [source.get(asked.kind, asked.name, source.namespace)]
    except NotFound as error:
        error.advice = _advice(asked, error, source)
        suggest_namespace(asked, error, source, command)
        raise


def source_pods(selection: Selection, source: Source, *, live: bool) -> Sequence[Pod]:
    """The pods of a selection.

    Raises:
        ClusterError: the selection or the pods cannot be read.
    """
    return [pod for pod in find(ObjectQuery(PODS), selection, source, live=live) if isinstance(pod, Pod)]


def label_selector(text: str) -> Selector | None:
    """The selector of ``-l``; None: no selector.

    Raises:
        UsageError: it cannot be parsed.
    """
    try:
        return Selector.from_text(text) if text.strip() else None
    except SelectorError as error:
        advice = "Write e.g. app=web, tier!=test, 'zone in (a,b)', '!canary', with commas between them"
        raise UsageError(f"-l: {error}", advice=advice) from error


def pod_selector(entry: KubeObject) -> Selector | None:
    """The selector of a workload's pods; None: it has none.

    Raises:
        BadObject: the API server would refuse the selector.
    """
    try:
        return selector_of(entry)
    except SelectorError as error:
        raise BadObject(f"{entry.metadata.name}: spec.selector: {error}") from error


def _queries(words: Sequence[str], verb: str) -> list[ObjectQuery]:
    kinds = _kinds(words[0], verb)
    if not kinds:
        return [_one(word, verb) for word in words]
    mixed = next((word for word in words[1:] if "/" in word), None)
    if mixed is not None:
        raise UsageError(
            f'"{mixed}": TYPE/NAME after the type {words[0]}',
            advice="Write TYPE NAME [NAME …], or TYPE/NAME [TYPE/NAME …]",
        )
    if "" in words[1:]:
        raise UsageError(
            "an empty name", advice=f"Write {kinds[0].singular} NAME, or {kinds[0].plural} alone for all of a namespace"
        )
    comma = next((word for word in words[1:] if "," in word), None)
    if comma is not None:
        raise _with_comma(comma)
    return [ObjectQuery(kind, name) for kind in kinds for name in words[1:] or [""]]


def _accepted_kinds(verb: str) -> tuple[Kind[Any], ...]:
    return (*EXPLAINED, *RELATED) if verb == "explained" else EXPLAINED


def _kinds(word: str, verb: str) -> list[Kind[Any]]:
    """``pod`` or ``pod,deploy``; empty: not a type."""
    if "/" in word:
        return []
    names = word.split(",")
    kinds = {name: find_kind(name, _accepted_kinds(verb)) for name in names if name}
    strange = next((name for name, kind in kinds.items() if kind is None), None)
    if strange is None:
        return list(dict.fromkeys(kind for kind in kinds.values() if kind is not None))
    if len(names) > 1 or strange.lower() in _OTHER_TYPES or find_kind(strange, _ELSEWHERE) is not None:
        raise _not_explained(strange, verb)
    return []


def _one(word: str, verb: str) -> ObjectQuery:
    """``TYPE/NAME``, or a pod's name."""
    typed, slash, name = word.partition("/")
    if slash and "," in word:
        raise _with_comma(word)
    if "/" in name:
        raise UsageError(f'"{word}": a name cannot contain "/"', advice="Write TYPE/NAME, and the namespace with -n")
    if not slash and word and find_kind(word, _accepted_kinds(verb)) is None:
        return ObjectQuery(PODS, word, bare=True)
    if not name:
        raise UsageError(f'"{word}": no name', advice="Write TYPE/NAME, e.g. pod/web-0")
    kind = find_kind(typed, _accepted_kinds(verb))
    if kind is None:
        if is_namespace_of_pod(typed):
            raise namespace_in_front(word, _COMMANDS[verb])
        raise _not_explained(typed, verb)
    return ObjectQuery(kind, name)


def is_namespace_of_pod(typed: str) -> bool:
    """Whether the text before the slash can be a namespace: it is not a type, and not similar to one."""
    known = typed.lower() in _OTHER_TYPES or find_kind(typed, _ELSEWHERE) is not None
    return bool(typed) and not known and not _near_type(typed, closeness=_TYPE_WITH_SLIP)


def namespace_in_front(word: str, command: str = "") -> UsageError:
    """The error for ``shop/db-1``, the form of pods in lists of all namespaces.

    Args:
        word: As typed.
        command: The plugin's command that is correct as it is; empty: more flags decide what it does.
    """
    namespace, _, name = word.partition("/")
    wrong = f'"{word}": {namespace} is not a type; use -n for a namespace'
    if not command:
        return UsageError(wrong, advice=f"Write pod/{name} -n {namespace} in place of {word}")
    return UsageError(wrong, remedy=("kubectl", "qos", command, f"pod/{name}", "-n", namespace), corrects=True)


def _with_comma(word: str) -> UsageError:
    """The error for a name with a comma. Commas separate types: ``pod,deploy NAME``."""
    return UsageError(
        f'"{word}": a name cannot contain a comma',
        advice="Write spaces between names, e.g. pod/web-0 pod/web-1, or TYPE NAME NAME",
    )


def _not_explained(word: str, verb: str) -> UsageError:
    near = _near_type(word, among=_accepted_kinds(verb))
    known = ", ".join(kind.singular for kind in _accepted_kinds(verb))
    return UsageError(f'"{word}" cannot be {verb}', advice=f"{f'Did you mean {near}? ' if near else ''}Types: {known}")


def _advice(asked: ObjectQuery, error: NotFound, source: Source) -> str:
    """The advice for a name without an object; empty: no advice."""
    near = _near_type(asked.name) if asked.bare else ""
    if near:
        return f"Did you mean the type {near}? A word that is not a type is the name of a pod"
    if asked.kind.namespaced and (said := namespace_hint(source)):
        return said
    # The names of a workload's pods begin with the name of the workload.
    own = [name for name in error.near if not name.startswith(f"{asked.name}-")]
    return error.advice if own or not asked.bare else _type_advice(asked.name)


def suggest_namespace(
    asked: ObjectQuery, error: NotFound, source: Source, command: str = "explain", *, workloads: bool = True
) -> None:
    """Add to the error where an object of the name exists, if nothing else is wrong, and ``command`` for it.

    The name of a pod may be a workload's, too; ``workloads``: look for those, which the command's role lets it read.
    """
    name, typeless = asked.name, _type_advice(asked.name)
    if not asked.kind.namespaced or not is_plain_name(name) or error.advice not in {"", error.meant, typeless}:
        return
    kinds = [asked.kind, *(WORKLOADS if asked.kind is PODS and workloads else ())]
    named = [(kind, one, one.metadata.namespace) for kind in kinds for one in _named(kind, name, source)]
    # A similar pod was probably meant rather than a workload elsewhere.
    similar = bool(error.advice) and error.advice == error.meant
    found = [
        one
        for one in named
        if is_plain_name(one[2]) and (not similar or one[0] is asked.kind or one[2] == source.namespace)
    ]
    if not found:
        return
    kind, entry, place = min(found, key=lambda one: one[2] != source.namespace)
    places = [place, *(other for of, _, other in found if of is kind and other != place)]
    spaces = f"namespace{'' if len(places) == 1 else 's'} {listed(places, most=_MAX_NAMESPACES)}"
    error.advice = f"{kind.singular}/{name} exists in {spaces}."
    if place == source.namespace:
        with contextlib.suppress(ClusterError):
            selector = pod_selector(entry)
            pods = "" if selector is None else counted(len(source.list(PODS, place, selector=selector)), "pod")
            error.advice = f"{kind.kind} {name} has {pods or 'this name'}."
    error.remedy = ("kubectl", "qos", command, f"{kind.singular}/{name}", "-n", place)
    error.corrects = True


def _named(kind: Kind[Any], name: str, source: Source) -> Sequence[KubeObject]:
    """The objects of the name in all namespaces, as far as the user may list them."""
    for namespace in (None, source.namespace):
        with contextlib.suppress(ClusterError):
            found = source.list(kind, namespace, field_selector=equal_fields(("metadata.name", name)))
            return sorted(found, key=lambda one: one.metadata.namespace)
    return ()


def namespace_hint(source: Source) -> str:
    """A hint that the namespace does not exist, or is not in the file; empty: it exists, or unknown."""
    try:
        names = source.names(NAMESPACES, None)
    except ClusterError:
        return ""
    if not names or source.namespace in names:
        return ""
    near = near_names(source.namespace.lower(), names)
    place = source.namespace
    said = f"Namespace {place} is not in the file" if source.is_plain_list else f"Namespace {place} does not exist"
    return f"{said}{f': did you mean -n {near[0]}?' if near else ''}"


def check_namespace(source: Source) -> None:
    """Check that a namespace without pods exists, if the source can show it.

    Raises:
        NotFound: it does not exist.
    """
    if advice := namespace_hint(source):
        missing = (NotListed if source.is_plain_list else NotFound)(NAMESPACES, source.namespace, None)
        missing.advice = advice
        raise missing


def _type_advice(name: str) -> str:
    """The advice for a name without a type that is not the name of a pod."""
    return f"A name alone is a pod's; write TYPE/NAME for others, e.g. deployment/{name}"


def _near_type(word: str, *, closeness: float = 0.65, among: Sequence[Kind[Any]] = EXPLAINED) -> str:
    """The type that is most similar to a word; empty: none.

    The required similarity is that of `nearest_word`.
    """
    names = {name: kind.singular for kind in among for name in (kind.singular, kind.plural)}
    return names.get(nearest_word(word.lower(), names, closeness=closeness), "")
