"""Names of objects, read within a second, so that a slow cluster does not block the shell.

Only metadata is requested from the API server.
"""

from __future__ import annotations

import io
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kubectl_plugin.completion.words import TYPES, Names, Question
from kubectl_plugin.options import ClusterOptions

if TYPE_CHECKING:
    from cluster_io.source import Source

_OF_KUBECONFIG: Final = {
    Names.CONTEXTS: ("get-contexts", "--output=name"),
    Names.CLUSTERS: ("get-clusters",),
    Names.USERS: ("get-users",),
}
_KINDS: Final = {**TYPES, Names.NAMESPACES: ("namespace",)}


def candidates(asked: Question, cluster: ClusterOptions, seconds: float) -> Sequence[str]:
    """The candidates: names, or ``TYPE/`` if the type is not typed yet.

    Args:
        asked: What can follow.
        cluster: The cluster and the user.
        seconds: The time-out of one request.

    Raises:
        ClusterError: they cannot be read.
    """
    if asked.names is None:
        return ()
    if asked.names is Names.TERMS:
        from kubectl_plugin.glossary.catalogue import CATALOGUE

        return [entry.name for entries in CATALOGUE.values() for entry in entries]
    if asked.names in _OF_KUBECONFIG:
        return _of_kubeconfig(_OF_KUBECONFIG[asked.names], cluster, seconds)
    kinds = _KINDS[asked.names]
    if asked.typed_kind is None and "/" not in asked.prefix and len(kinds) > 1:
        return [f"{kind}/" for kind in kinds]
    from kubectl_plugin.cli import source_of

    with source_of(cluster.replace(request_timeout=seconds), io.StringIO()) as source:
        return _of_objects(asked, kinds, source)


def _of_kubeconfig(command: Sequence[str], cluster: ClusterOptions, seconds: float) -> Sequence[str]:
    flags = [f"--kubeconfig={cluster.kubeconfig}"] if cluster.kubeconfig else []
    done = subprocess.run(
        ["kubectl", "config", *command, *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    # Two of the three commands print a heading.
    return [line for line in done.stdout.splitlines() if line not in {"NAME", ""}]


def _of_objects(asked: Question, kinds: Sequence[str], source: Source) -> Sequence[str]:
    # Loaded while kubectl starts.
    from cluster_io.kinds import find_kind

    word, slash, _ = asked.prefix.partition("/")
    named = word if asked.typed_kind is None and slash else asked.typed_kind
    known = [kind for name in kinds if (kind := find_kind(name)) is not None]
    kind = find_kind(named, known) if named else known[0]
    if kind is None and asked.typed_kind:
        # The previous word is a name without a type, so this one is, too.
        kind = known[0]
    if kind is None:
        return ()
    lead = f"{word if slash else kind.singular}/" if asked.typed_kind is None else ""
    return [f"{lead}{name}" for name in source.names(kind, source.namespace)]
