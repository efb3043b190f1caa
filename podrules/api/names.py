"""Names: whether one is safe to print or to send, and existing names that resemble one that does not exist.

A plain name is safe as a word of a pasted command, and as a segment of a request's path. The API server validates the
names of objects, but not all texts that refer to a name: ``pods/binding`` stores any ``spec.nodeName``, and owner
references may have any kind and name. A name is plain if it has only the characters of a DNS subdomain (RFC 1123); all
kinds that the product reads have such names.

The domains kubernetes.io and k8s.io, and their subdomains, are Kubernetes' own. A label's key there is a mistake if it
has the name of a node's label with another domain (topology.kubernetes.io/hostname), or one letter more, less or
different (topology.kubernetes.io/zome). The API server accepts such keys everywhere.

Source: staging/src/k8s.io/api/core/v1/well_known_labels.go and cluster/addons at v1.36.3; the reference "Well-Known
Labels, Annotations and Taints".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

NO_COMMAND: Final = "no command: a name in it is not plain"
_PLAIN: Final = re.compile("[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


def is_plain_name(name: str) -> bool:
    """Whether it can be the name of an object: no shell interprets it, and it is not a flag."""
    return _PLAIN.fullmatch(name) is not None


def command(text: str, *names: str) -> str:
    """A command to paste, or `NO_COMMAND` if one of the names is not plain.

    Args:
        text: The command, with ``{}`` for each name.
        names: The names. A name without a place in the text is also checked.
    """
    return text.format(*names) if all(map(is_plain_name, names)) else NO_COMMAND


_MAX_NAMES: Final = 3
_MIN_BEGINNING_RATIO: Final = 0.8
"""The minimum ratio of difflib for the beginning of a name: many names share a beginning."""


def nearest_word(word: str, known: Iterable[str], *, closeness: float = 0.6) -> str:
    """The word in a fixed list that is most similar to a typed word; empty: none is similar.

    Args:
        word: The typed word.
        known: The list.
        closeness: The minimum ratio of difflib, from 0 to 1.
    """
    # Loaded only for a mistyped word.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=closeness)), "")


def near_names(name: str, names: Iterable[str]) -> Sequence[str]:
    """At most three similar names, the most similar first.

    If none is similar, names with a similar beginning count, such as a workload's pods.

    Args:
        name: The typed name.
        names: The existing names.
    """
    # Loaded only for a mistyped name.
    from difflib import get_close_matches

    names = list(names)
    if found := get_close_matches(name, names, n=_MAX_NAMES):
        return found
    beginnings: dict[str, list[str]] = {}
    for other in names:
        beginnings.setdefault(other[: len(name) + 1], []).append(other)
    near = get_close_matches(name, beginnings, n=_MAX_NAMES, cutoff=_MIN_BEGINNING_RATIO)
    return [other for beginning in near for other in beginnings[beginning]][:_MAX_NAMES]


NODE_LABELS: Final = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
)
"""The labels; if several domains have the same name, the current one is first."""
_OPEN: Final = ("node-role.kubernetes.io", "node-restriction.kubernetes.io", "feature.node.kubernetes.io")
"""Domains with names that others choose, as CSI drivers do."""
_ALIKE: Final = 0.75
"""The ratio of difflib from which two names in one domain count as one word with a typing error."""
_DOMAINS_ALIKE: Final = 0.9
_MAX_LENGTH: Final = 316
"""A domain with 253 characters and a name with 63: the maximum length of a label's key."""


def meant_label(key: str) -> str:
    """The node's label that a key probably should be; empty: the key is one, or resembles none."""
    domain, slash, name = key.partition("/")
    if not slash or key in NODE_LABELS or domain in _OPEN or "csi" in domain.split(".") or len(key) > _MAX_LENGTH:
        return ""
    known = [label.partition("/")[::2] for label in NODE_LABELS]
    if any(domain == own or domain.endswith(f".{own}") for own in ("kubernetes.io", "k8s.io")):
        same = next((one for one in known if one[1] == name), None)
        close = (
            one
            for one in known
            if one[0] == domain and abs(len(one[1]) - len(name)) <= 1 and _alike(name, one[1], _ALIKE)
        )
    else:
        same = None
        close = (one for one in known if one[1] == name and _alike(domain, one[0], _DOMAINS_ALIKE))
    return "/".join(same or next(close, ()))


def _alike(one: str, other: str, ratio: float) -> bool:
    # Loaded only for an unknown key.
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio() >= ratio
