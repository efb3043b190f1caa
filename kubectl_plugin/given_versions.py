"""Reads and checks ``--kubernetes-version`` and ``--feature-gates``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from cluster_io.errors import ManifestError, UsageError
from podrules.api.features import GATES
from podrules.api.names import nearest_word
from podrules.pod.versions import GATE_FIELDS, StatedFacts

_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""As Go's strconv.ParseBool reads them."""
_WRITE: Final = "Write e.g. --feature-gates=PodLevelResources=false"
_NAME_A_FILE: Final = (
    "Name a file with a KubeletConfiguration that has featureGates, or with the configz of a node, or write NAME=BOOL"
)


def read_versions(version: str | None, gates: Iterable[str]) -> tuple[StatedFacts, tuple[str, ...]]:
    """Read the version and the gates, with a warning for each gate that no rule reads.

    Args:
        version: The value of ``--kubernetes-version``, which the parser has checked.
        gates: The values of ``--feature-gates``: ``NAME=BOOL,…`` or ``@FILE``; later ones win.

    Raises:
        UsageError: a gate is not ``NAME=BOOL``, its value is not a bool, or a file has no gates.
    """
    known: dict[str, bool] = {}
    unknown = []
    for name, on in _named(gates):
        if name in GATE_FIELDS:
            known[GATE_FIELDS[name]] = on
        else:
            near = nearest_word(name, GATE_FIELDS)
            unknown.append(f"--feature-gates: no rule reads {name}" + (f"; did you mean {near}?" if near else ""))
    return StatedFacts(version, tuple(sorted(known.items()))), tuple(dict.fromkeys(unknown))


def gates_without_effect(versions: StatedFacts, minors: Collection[int]) -> Iterator[str]:
    """A warning for each gate that no compared version allows to be set to this value.

    Args:
        versions: The result of `read_versions`.
        minors: The minor versions of API server and scheduler, and the one to compare with.
    """
    those = " and ".join(f"1.{minor}" for minor in sorted(set(minors)))
    for field, on in versions.gates:
        change = GATES[field]
        problem = ""
        if max(minors) < change.introduced:
            problem = f"came with Kubernetes 1.{change.introduced}"
        elif not on and not any(map(change.can_be_set, minors)):
            problem = f"is locked to true since Kubernetes 1.{change.locked}"
        if problem:
            yield f"--feature-gates: {change.gate} {problem}, and the rules are those of {those}"


def _named(gates: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for text in gates:
        if not text.strip(" ,"):
            raise UsageError("--feature-gates: no gate given", advice=_WRITE)
        if text.startswith("@"):
            yield from _of_file(text[1:])
            continue
        for entry in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = entry.partition("=")
            if not equals or not name:
                raise UsageError(f'--feature-gates "{entry}": not NAME=BOOL', advice=_WRITE)
            yield name.strip(), _bool(name, value.strip())


def _of_file(file: str) -> Iterator[tuple[str, bool]]:
    """The gates of a file: ``featureGates`` of a KubeletConfiguration."""
    # Loaded only for files.
    from cluster_io.kubelet_config import configuration_in

    flag = f"--feature-gates @{file}"
    if not file:
        raise UsageError(f"{flag}: no file name", advice=_NAME_A_FILE)
    try:
        gates = configuration_in(file)[1].get("featureGates")
    except ManifestError as error:
        raise UsageError(f"{flag}: {error}", advice=_NAME_A_FILE) from error
    if not isinstance(gates, Mapping):
        raise UsageError(f"{flag}: it has no featureGates", advice=_NAME_A_FILE)
    for name, value in gates.items():
        yield str(name), _bool(str(name), value)


def _bool(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value not in _BOOLS:
        written = "null" if value is None else value
        raise UsageError(f'--feature-gates "{name}={written}": neither true nor false', advice=_WRITE)
    return _BOOLS[value]
