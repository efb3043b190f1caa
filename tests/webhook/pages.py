"""Commands in the documentation, run on a real cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.controlplane.control_plane import ControlPlane


def typed(control_plane: ControlPlane, block: str, manifests: Mapping[str, Mapping[str, Any]]) -> str:
    """Run a block of commands; return it with their current output.

    Args:
        control_plane: The cluster.
        block: Lines that begin with ``$`` are commands of kubectl; all others are ignored.
        manifests: The contents of files, by name.
    """
    commands = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {line}\n{_printed(control_plane, line, manifests)}" for line in commands)


def _printed(control_plane: ControlPlane, line: str, manifests: Mapping[str, Mapping[str, Any]]) -> str:
    """Warnings and errors come first."""
    arguments = line.split()[1:]
    text, file = None, "STDIN"
    if "-f" in arguments:
        place = arguments.index("-f") + 1
        file = arguments[place]
        text, arguments[place] = json.dumps(manifests[file]), "-"
    done = control_plane.kubectl(*arguments, input=text, check=False)
    output = (done.stderr + done.stdout).replace('"STDIN"', f'"{file}"')
    return output if output.endswith("\n") else f"{output}\n"
