"""What can go wrong on the way to an object. Imports nothing: a connection starts before any rule is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podrules.cluster.kinds import Kind

__all__ = ["BadObject", "ClusterError", "Forbidden", "ManifestError", "NotFound", "Unreachable", "UsageError"]


class ClusterError(Exception):
    """Something could not be read. The message is for the user: what, and the remedy."""


class UsageError(ClusterError):
    """The command line asks for something that cannot be done."""


class Unreachable(ClusterError):
    """There is no cluster to ask, or it does not answer."""


class BadObject(ClusterError):
    """An object does not have the shape of its kind."""


class ManifestError(ClusterError):
    """A file that cannot be read: the message names the file, the document and the field."""


class Forbidden(ClusterError):
    """The user may not read it."""

    def __init__(self, verb: str, kind: Kind[Any], namespace: str | None, message: str) -> None:
        place = f" in namespace {namespace}" if kind.namespaced and namespace else ""
        super().__init__(f"you may not {verb} {kind.rbac_name}{place}; the API server says: {message}")
        self.verb = verb
        self.resource = kind.rbac_name
        self.namespace = namespace if kind.namespaced else None


class NotFound(ClusterError):
    """There is no such object."""

    def __init__(self, kind: Kind[Any], name: str, namespace: str | None, near: Sequence[str] = ()) -> None:
        place = f" in namespace {namespace}" if kind.namespaced and namespace else ""
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f'{kind.rbac_name} "{name}" not found{place}{hint}')
        self.resource = kind.rbac_name
        self.namespace = namespace if kind.namespaced else None
