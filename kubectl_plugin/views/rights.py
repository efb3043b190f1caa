"""The Roles that commands need, as a manifest with comments for an administrator."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from msgspec import to_builtins

from kubectl_plugin.render.command import Target, kubectl
from kubectl_plugin.reports.rights import ASKED, KUBELETS, Role
from kubectl_plugin.views.words import listed

_WIDTH: Final = 78
_LEFT_OUT: Final = (
    f"{KUBELETS} is left out, because its holder can run commands in every pod of a node. A metrics API then gives the "
    "usage, and the kubelets' configuration stays unknown. --kubelets adds it."
)
_OTHERS: Final = (
    "Objects of other namespaces stay unread: placement is then not certain (exit code 11), and "
    "-A, place --drain and versions without -n are refused (exit code 4)."
)


def manifest(commands: Sequence[str], roles: Sequence[Role], *, kubelets: bool) -> str:
    """YAML for ``kubectl apply -f -``, with comments."""
    import yaml

    plain = [to_builtins(role) for role in roles]
    documents = (yaml.safe_dump(one, sort_keys=False, default_flow_style=None, width=_WIDTH) for one in plain)
    comments: list[str] = []
    wrap = textwrap.TextWrapper(_WIDTH, break_on_hyphens=False).wrap
    comments += wrap(f"For {listed(commands, most=len(commands))}: all that kubectl qos asks the API server for.")
    comments.append("An administrator applies it (| kubectl apply -f -) and binds it:")
    for role in roles:
        name, kind, space = role.metadata["name"], role.kind.lower(), role.metadata.get("namespace")
        options = f"--{kind}={{}} --group=GROUP"
        comments.append(
            f"  {Target().line(kubectl('create {}binding {}', kind, name, name, namespace=space, options=options))}"
        )
    if not kubelets and any(KUBELETS in ASKED[name].cluster for name in commands):
        comments += wrap(_LEFT_OUT)
    if len(roles) > 1:
        comments += wrap(_OTHERS)
    return "".join(f"# {line}\n" for line in comments) + "---\n".join(documents)
