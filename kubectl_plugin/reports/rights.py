"""The Roles that allow the API requests of commands.

`rights.json` lists the resources by command. A test writes it from the requests of the commands.

Source: k8s.io/api/rbac/v1/types.go (ClusterRole, Role, PolicyRule) at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.resources import files
from typing import Any, Final

import msgspec
from msgspec import Struct

from podrules.admission.mutating_webhooks import NAME
from podrules.node.reachability import LEASE_NAMESPACE
from podrules.pod.versions import SCHEDULER_NAMESPACE

KUBELETS: Final = "nodes/proxy"
"""Reaches the kubelets through the API server, also their exec."""
_READ: Final = ("get", "list", "watch")
"""A list shows the same data as get, and a watch the same as the next list."""
_LESS: Final = {KUBELETS: ("get",), "configmaps": ("get",)}
_NAMES: Final = {"configmaps": ("kube-scheduler", "qos-webhook-config", "qos-webhook-scheduler")}
"""The usual names of the only objects that are read: the ConfigMaps with the constraints that the webhook writes."""
_ELSEWHERE: Final = {
    "configmaps": "",
    "leases.coordination.k8s.io": LEASE_NAMESPACE,
    "leasecandidates.coordination.k8s.io": SCHEDULER_NAMESPACE,
}
"""The namespace of kinds that are read in only one; empty: objects of these names in any namespace."""
_OF_WEBHOOK: Final = ("deployments.apps", (NAME,), ("get",))
"""The objects of our webhook that are read besides ConfigMaps, in any namespace."""


class _Asked(Struct, frozen=True):
    """The requests of one command: resources by their names in RBAC."""

    cluster: frozenset[str]
    """Without a namespace."""
    namespaced: frozenset[str]
    changes: dict[str, tuple[str, ...]] = {}
    """Verbs by resource."""


class Role(Struct, frozen=True, rename="camel"):
    """A ClusterRole or a Role, as kubectl applies it."""

    api_version: str
    kind: str
    metadata: dict[str, str]
    rules: tuple[dict[str, Any], ...]


ASKED: Final = msgspec.json.decode(files(__package__).joinpath("rights.json").read_bytes(), type=dict[str, _Asked])
"""By command."""


def is_namespaced(resource: str) -> bool:
    """Whether a resource is namespaced."""
    return any(resource in asked.namespaced for asked in ASKED.values())


def read_only() -> tuple[str, ...]:
    """The commands that only read."""
    return tuple(name for name, asked in ASKED.items() if not asked.changes)


def roles(commands: Collection[str], namespace: str, *, kubelets: bool) -> Iterator[Role]:
    """The Roles that allow all requests of commands; with a namespace, only that one may be read."""
    # No other call may print a role of that name: applied, it would replace this role for all bound users.
    of_one = ("in", namespace) if namespace else ()
    name = "-".join(("kubectl-qos", *(() if set(commands) == set(read_only()) else commands), *of_one))
    given: dict[str, tuple[str, ...]] = {}
    spaces: dict[str, str] = {}
    for asked in map(ASKED.__getitem__, commands):
        given |= {one: given.get(one, _LESS.get(one, _READ)) for one in asked.cluster | asked.namespaced}
        given |= {one: tuple(dict.fromkeys((*given[one], *verbs))) for one, verbs in asked.changes.items()}
        spaces |= {one: _ELSEWHERE.get(one, namespace) for one in asked.namespaced if namespace}
    if not kubelets:
        given.pop(KUBELETS, None)
    for space in sorted({"", *spaces.values()}, key=lambda one: (one != "", one != namespace, one)):
        grouped: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
        read = [(one, _NAMES.get(one, ()), given[one]) for one in sorted(given) if spaces.get(one, "") == space]
        webhook = not space and "configmaps" in spaces
        for resource, names, verbs in (*read, *([_OF_WEBHOOK] if webhook else ())):
            plural, _, group = resource.partition(".")
            grouped.setdefault((group, names, verbs), []).append(plural)
        rules = (
            {
                "apiGroups": [group],
                "resources": resources,
                **({"resourceNames": names} if names else {}),
                "verbs": verbs,
            }
            for (group, names, verbs), resources in sorted(grouped.items())
        )
        place = {"namespace": space} if space else {}
        kind = "Role" if space else "ClusterRole"
        yield Role("rbac.authorization.k8s.io/v1", kind, {"name": name, **place}, tuple(rules))
