"""``-A``, ``-l`` and ``--field-selector``: they select among the objects of a type, as in kubectl."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_plugin.options import Selection


def add_selection(
    parser: argparse.ArgumentParser, *, all_namespaces: bool = True, field: str = "status.phase=Pending"
) -> None:
    """``-l``, ``--field-selector`` and ``-A``.

    Args:
        parser: The parser of a command that takes a type, or lists.
        all_namespaces: Whether to add ``-A``; not for Nodes, and not if the command has its own flag.
        field: An example of a field.
    """
    if all_namespaces:
        parser.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")
    parser.add_argument("-l", "--selector", metavar="LABELS", help="with these labels, e.g. app=web,tier!=test")
    parser.add_argument("--field-selector", metavar="FIELDS", help=f"with these fields, e.g. {field}")


def selects(args: argparse.Namespace) -> bool:
    """Whether a flag selects among the objects of a type."""
    return bool(getattr(args, "all_namespaces", False) or args.selector or args.field_selector)


def wanted_selection(args: argparse.Namespace) -> Selection:
    """The selection of the flags."""
    from kubectl_plugin.options import Selection

    everywhere = bool(getattr(args, "all_namespaces", False))
    return Selection(everywhere, args.selector or "", args.field_selector or "")
