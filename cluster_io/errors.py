"""Errors of reading and changing objects.

The module imports nothing of the project: a connection starts before any rule is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final, Protocol

ASK_ANOTHER: Final = "Name a cluster that runs: --context, --kubeconfig; or ask none: --snapshot FILE, --demo"
"""The advice when no API server answers."""


class NamedKind(Protocol):
    """What error messages use of a kind (`cluster_io.kinds`)."""

    @property
    def plural(self) -> str:
        """``pods``."""
        ...

    @property
    def namespaced(self) -> bool:
        """Whether its objects live in namespaces."""
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
    """Something could not be read. The message describes the problem and the remedy."""

    def __init__(self, message: str, *, remedy: tuple[str, ...] = (), advice: str = "", corrects: bool = False) -> None:
        """Take the parts of the message.

        Args:
            message: The problem.
            remedy: A command that helps. The command line adds the flags that choose the cluster; ``str`` shows the
                command without them.
            corrects: The remedy is the typed command with another target, so it keeps the other typed flags.
            advice: What helps, as a sentence below the message; ``str`` leaves it out.
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
    """An answer is longer than the limit for one answer."""

    def __init__(self, message: str, beginning: bytes = b"") -> None:
        """Take the message and the beginning of the answer."""
        super().__init__(message)
        self.beginning = beginning


class NotServed(Unreachable):
    """The API server does not serve the kind: its version has no such kind, or the API group is disabled."""

    def __init__(self, kind: NamedKind) -> None:
        super().__init__(f"the API server does not serve {kind.plural} of {kind.api_version}")


class RequestRefused(ClusterError):
    """The API server, or an admission webhook or policy, rejects a change of an authorized user."""

    def __init__(self, message: str, *, admission: bool = False) -> None:
        """Take the parts of the rejection.

        Args:
            message: Who rejects which change, and why.
            admission: Whether an admission webhook or policy rejects it.
        """
        super().__init__(message)
        self.admission = admission


class Conflict(ClusterError):
    """The object has changed since it was read."""


class KubeletUnavailable(ClusterError):
    """A node's kubelet does not answer, or does not serve what was asked."""


class BadObject(ClusterError):
    """An object does not have the shape of its kind."""


class ManifestError(ClusterError):
    """A file that cannot be read: the message names the file, the document and the field."""


class BadEntry(BadObject, ManifestError):
    """An object of a file does not have the shape of its kind: the message names the object and the field."""


class NotCaptured(ManifestError):
    """A file holds nothing of the kind: whether the cluster has such objects is unknown."""

    def __init__(self, kind: NamedKind, source: str, reason: str, *, is_list: bool = False) -> None:
        """Take the parts of the message.

        Args:
            kind: The kind.
            source: The file.
            reason: Why it has none; empty: unknown.
            is_list: Whether the file is a plain List.
        """
        because = f" ({reason})" if reason else ""
        super().__init__(
            f"{kind.rbac_name} are not in {source}{because}",
            advice="Capture the cluster again: kubectl qos snapshot -o FILE"
            + (f"; or add them to this file: kubectl get {kind.plural} -A -o json >> FILE" if is_list else ""),
        )
        self.reason = reason
        self.is_list = is_list


class Forbidden(ClusterError):
    """The API server does not authorize the user to do this."""

    def __init__(self, verb: str, kind: NamedKind, namespace: str | None, message: str) -> None:
        place = f" in namespace {namespace}" if kind.namespaced and namespace else ""
        said = f"; the API server says: {message}" if message else ""
        super().__init__(f"you may not {verb} {kind.rbac_name}{place}{said}")
        self.verb = verb
        self.resource = kind.rbac_name
        self.namespace = namespace if kind.namespaced else None


class NotFound(ClusterError):
    """The object does not exist. Similar names are looked up only on demand."""

    _message = 'no {kind.singular} "{name}"{place}'

    def __init__(
        self,
        kind: NamedKind,
        name: str,
        namespace: str | None,
        near: Sequence[str] | Callable[[], Sequence[str]] = (),
    ) -> None:
        """Take the object.

        Args:
            kind: Its kind.
            name: Its name.
            namespace: The searched namespace.
            near: Similar names that exist, or how to find them, which may take a request.
        """
        place = f" in {namespace}" if kind.namespaced and namespace else ""
        super().__init__(self._message.format(kind=kind, name=name, place=place))
        self._find_near = near
        self.may_list = True
        """Whether the user may list objects of the kind there."""
        self._singular = kind.singular
        self._advice: str | None = None
        self.plural = kind.plural
        self.resource = kind.rbac_name
        self.namespace = namespace if kind.namespaced else None

    @cached_property
    def near(self) -> Sequence[str]:
        """Similar names that exist."""
        try:
            return self._find_near() if callable(self._find_near) else self._find_near
        except Forbidden:
            self.may_list = False
            return ()

    @property
    def meant(self) -> str:
        """The advice, unless a caller that knows what was typed has replaced it."""
        *first, last = [f"{self._singular}/{other}" for other in self.near] or [""]
        meant = f"{', '.join(first)} or {last}" if first else last
        return f"Did you mean {meant}?" if meant else ""

    @property
    def advice(self) -> str:
        """What helps."""
        return self.meant if self._advice is None else self._advice

    @advice.setter
    def advice(self, advice: str) -> None:
        self._advice = advice


class NotListed(NotFound):
    """A List does not hold the object. It may exist all the same: a List holds only what was captured."""

    _message = '{kind.singular} "{name}"{place} is not in the file'
