"""Errors of reading and changing objects. It imports nothing: a connection starts before any rule is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

__all__ = [
    "ASK_ANOTHER",
    "BadEntry",
    "BadObject",
    "ClusterError",
    "Conflict",
    "Forbidden",
    "KubeletUnavailable",
    "ManifestError",
    "NotCaptured",
    "NotFound",
    "NotServed",
    "RequestRefused",
    "TooLong",
    "Unreachable",
    "UsageError",
]


ASK_ANOTHER: Final = "Name a cluster that runs: --context, --kubeconfig; or ask none: --snapshot FILE, --demo"
"""What helps where nothing answers."""


class NamedKind(Protocol):
    """What a message says of a kind (`podrules.cluster.kinds`)."""

    @property
    def plural(self) -> str:
        """``pods``."""
        ...

    @property
    def namespaced(self) -> bool:
        """Whether its objects are in namespaces."""
        ...

    @property
    def singular(self) -> str:
        """``pod``."""
        ...

    @property
    def api_version(self) -> str:
        """``apps/v1``."""
        ...

    @property
    def rbac_name(self) -> str:
        """``deployments.apps``."""
        ...


class ClusterError(Exception):
    """Something could not be read. The message is for the user: what, and the remedy."""

    def __init__(self, message: str, *, remedy: tuple[str, ...] = (), advice: str = "", corrects: bool = False) -> None:
        """Take it in parts.

        Args:
            message: What, and what helps.
            remedy: A command that helps. Whoever knows how the cluster was chosen names it with the flags for that;
                ``str`` gives it without.
            corrects: The remedy is what was typed with another target: other flags that were typed belong to it.
            advice: What helps, as a sentence of its own below the message; ``str`` leaves it out.
        """
        super().__init__(f"{message}; try `{' '.join(remedy)}`" if remedy else message)
        self.message = message
        self.remedy = remedy
        self.corrects = corrects
        self.advice = advice


class UsageError(ClusterError):
    """The command line asks for something that cannot be done."""


class Unreachable(ClusterError):
    """There is no cluster to ask, or it does not answer."""


class TooLong(Unreachable):
    """An answer is longer than what is read of one."""


class NotServed(Unreachable):
    """The API server does not know the kind: it is of another version, or has the API group switched off."""

    def __init__(self, kind: NamedKind) -> None:
        super().__init__(f"the API server does not serve {kind.plural} of {kind.api_version}")


class RequestRefused(ClusterError):
    """The API server does not make a change that the user may ask for: an admission webhook's answer, or its own."""

    def __init__(self, message: str, *, admission: bool = False) -> None:
        """Take it in parts.

        Args:
            message: Who refuses what, and why.
            admission: Whether that is a webhook or a policy of the cluster.
        """
        super().__init__(message)
        self.admission = admission


class Conflict(ClusterError):
    """The object is no longer the one that was looked at: somebody was first."""


class KubeletUnavailable(ClusterError):
    """A node's kubelet does not answer, or not what it was asked."""


class BadObject(ClusterError):
    """An object does not have the shape of its kind."""


class ManifestError(ClusterError):
    """A file that cannot be read: the message names the file, the document and the field."""


class BadEntry(BadObject, ManifestError):
    """An object of a file does not have the shape of its kind: the message names the object and the field."""


class NotCaptured(ManifestError):
    """A snapshot does not have the kind: whether there are such objects is not known."""

    def __init__(self, kind: NamedKind, source: str, reason: str) -> None:
        because = f": {reason}" if reason else ""
        super().__init__(
            f"{kind.rbac_name} are not in {source}{because}; capture that cluster anew (kubectl qos snapshot)"
        )


class Forbidden(ClusterError):
    """The user may not read it."""

    def __init__(self, verb: str, kind: NamedKind, namespace: str | None, message: str) -> None:
        place = f" in namespace {namespace}" if kind.namespaced and namespace else ""
        said = f"; the API server says: {message}" if message else ""
        super().__init__(f"you may not {verb} {kind.rbac_name}{place}{said}")
        self.verb = verb
        self.resource = kind.rbac_name
        self.namespace = namespace if kind.namespaced else None


class NotFound(ClusterError):
    """There is no such object."""

    def __init__(self, kind: NamedKind, name: str, namespace: str | None, near: Sequence[str] = ()) -> None:
        place = f" in namespace {namespace}" if kind.namespaced and namespace else ""
        *first, last = [f"{kind.singular}/{other}" for other in near] or [""]
        meant = f"{', '.join(first)} or {last}" if first else last
        self.meant = f"Did you mean {meant}?" if meant else ""
        """The advice, unless whoever knows what was typed knows better."""
        super().__init__(f'{kind.rbac_name} "{name}" not found{place}', advice=self.meant)
        self.near = near
        self.plural = kind.plural
        self.resource = kind.rbac_name
        self.namespace = namespace if kind.namespaced else None
