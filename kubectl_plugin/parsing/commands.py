"""The commands: their names, and the flags of each as data, for the parser, completion, manual pages and messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Final

from kubectl_plugin.options import CommandOptions
from kubectl_plugin.options.flag import OPTIONS, POSITIONAL, Flag

COMMANDS: Final = {
    "explain": "explain a pod, a node, a workload or a manifest",
    "died": "show what ended a pod or its containers, with the evidence",
    "place": "predict where pods would be placed, without creating them",
    "node": "show what is killed and evicted first on a node under pressure, and how close that is",
    "report": "list problems in the cluster; with -o FILE.html write a page of nodes, budgets and pods",
    "snapshot": "capture the data that the rules need, for --snapshot of the other commands",
    "lint": "check manifests for problems, without a cluster; for CI",
    "versions": "list the running versions; with --to show what changes in another version",
    "why": "explain a term or a message of Kubernetes",
    "partitions": "list silent nodes, and what depends on them",
    "delete": "delete a pod and follow it; without grace only a pod that was checked",
    "fence": "declare a silent node out of service, once its machine is off",
    "unfence": "take back a node that was declared out of service",
    "rights": "print the ClusterRole that commands need, for an administrator to apply",
}
"""The help line of each command."""
LISTED: Final = {**COMMANDS, "options": "list the flags of the connection to the cluster"}
"""The same with ``options``, which only prints help."""
_MODULES: Final = {
    **dict.fromkeys(("explain", "died", "place"), "pod_commands"),
    **dict.fromkeys(("node", "report", "snapshot", "versions", "partitions"), "cluster_commands"),
    **dict.fromkeys(("delete", "fence", "unfence"), "change_commands"),
    **dict.fromkeys(("lint", "why"), "offline_commands"),
    "rights": "rights_command",
}
"""The module in `kubectl_plugin.options` of each command."""
_HELP: Final = Flag(("-h", "--help"), OPTIONS, {"action": "help", "help": "show this help message and exit"})


def options_of(command: str) -> type[CommandOptions]:
    """The options of a command, with its flags."""
    import_module(f"kubectl_plugin.options.{_MODULES[command]}")
    return CommandOptions.of_command[command]


@cache
def flags_of(command: str) -> dict[str, Flag]:
    """The flags of a command, by each of their names."""
    return {name: flag for flags in groups_of(command).values() for flag in flags for name in flag.names}


def groups_of(command: str) -> dict[str, Sequence[Flag]]:
    """All flags and words of a command by heading, the words first."""
    groups: dict[str, list[Flag]] = {POSITIONAL: [], OPTIONS: [_HELP]}
    for flag in options_of(command).all_flags().values():
        groups.setdefault(flag.group, []).append(flag)
    return {title: flags for title, flags in groups.items() if flags}


def find_flag(name: str, command: str) -> Flag | None:
    """The flag of a command, else of any other; None: no command has it. Others are loaded only if they are needed."""
    having = (flags[name] for one in (command, *COMMANDS) if name in (flags := flags_of(one)))
    return next(having, None)


def takes_value(word: str, command: str) -> bool:
    """Whether a flag takes the next word as its value.

    Args:
        word: As typed. With its value, it takes no other.
        command: As of `find_flag`.
    """
    if word in {"-h", "--help", "--version"} or "=" in word or (len(word) > 2 and word[1] != "-"):
        return False
    flag = find_flag(word, command)
    return flag is not None and flag.takes_value
