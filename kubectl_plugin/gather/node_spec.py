"""``--add-node``: the description of new nodes.

like=NODE                labels, room and taints of an existing node
name=NAME  count=N       its name, and how many; each of several gets a number
zone=ZONE                the label topology.kubernetes.io/zone
cpu=8  memory=32Gi  …    allocatable resources by name; pods is 110 by default.
                         A name without a domain must be one of Kubernetes' own
label=KEY=VALUE          may be repeated
taint=KEY=VALUE:EFFECT   may be repeated; the value may be left out
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cluster_io.errors import UsageError
from podrules.api.model.base import ResourceList
from podrules.api.model.node import Taint
from podrules.api.model.quantity import Quantity, whole_number
from podrules.api.names import nearest_word
from podrules.scheduling.placement.what_if import NodeSpecification

_ZONE: Final = "topology.kubernetes.io/zone"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST: Final = 10_000
_WORDS: Final = ("name", "like", "count", "zone", "label", "taint")
_OWN_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods")


def read_node_specification(text: str) -> tuple[NodeSpecification, ...]:
    """The nodes that a specification asks for.

    Raises:
        UsageError: the specification is invalid.
    """
    name, like, count = "", "", 1
    labels: dict[str, str] = {}
    resources: ResourceList = {}
    taints: list[Taint] = []
    for key, value in _pairs(text):
        match key:
            case "name":
                name = value
            case "like":
                like = value
            case "count":
                count = _count(text, value)
            case "zone":
                labels[_ZONE] = value
            case "label":
                label, equals, content = value.partition("=")
                if not equals:
                    raise UsageError(f"--add-node {text}: label={value}: not a label", advice="Write label=KEY=VALUE")
                labels[label] = content
            case "taint":
                taints.append(_taint(text, value))
            case _:
                resources[key] = _amount(text, key, value)
    if not like:
        missing = [key for key in ("cpu", "memory") if key not in resources]
        if missing:
            raise UsageError(
                f"--add-node {text}: without like=NODE it needs {' and '.join(missing)}",
                advice="Write e.g. cpu=8,memory=32Gi, or like=NODE for the room of an existing node",
            )
        resources.setdefault("pods", Quantity.parse("110"))
    name = name or (f"{like}-copy" if like else "added-node")
    names = [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]
    return tuple(NodeSpecification(entry, labels, resources, tuple(taints), like) for entry in names)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value:
            raise UsageError(
                f'--add-node {text}: "{part}": not KEY=VALUE',
                advice="Write e.g. like=node-1,count=2 or cpu=8,memory=32Gi",
            )
        yield key.strip(), value


def _count(text: str, value: str) -> int:
    if not value.isascii() or not value.isdecimal() or not 0 < whole_number(value) <= _MOST:
        raise UsageError(
            f"--add-node {text}: count={value}: not a number of nodes", advice=f"Write a number from 1 to {_MOST}"
        )
    return int(value)


def _taint(text: str, value: str) -> Taint:
    pair, colon, effect = value.rpartition(":")
    if not colon or effect not in _EFFECTS:
        raise UsageError(
            f"--add-node {text}: taint={value}: not a taint",
            advice=f"Write taint=KEY=VALUE:EFFECT with {', '.join(_EFFECTS)}",
        )
    key, _, content = pair.partition("=")
    return Taint(key=key, value=content, effect=effect)


def _amount(text: str, key: str, value: str) -> Quantity:
    if "/" not in key and key not in _OWN_RESOURCES and not key.startswith("hugepages-"):
        known = (*_WORDS, *_OWN_RESOURCES)
        near = nearest_word(key, known)
        advice = f"Did you mean {near}=?" if near else f"Write one of {', '.join(known)}, or DOMAIN/RESOURCE"
        raise UsageError(f"--add-node {text}: {key}= is not a key", advice=advice)
    try:
        amount = Quantity.parse(value)
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        advice = remedy[:1].upper() + remedy[1:] or "Write e.g. 250m, 1.5, 128Mi or 2Gi"
        raise UsageError(f"--add-node {text}: {key}={value}: {problem}", advice=advice) from error
    if amount.sign < 0:
        raise UsageError(f"--add-node {text}: {key}={value}: below 0", advice="Write an amount of 0 or more")
    return amount
