"""Defines and reads the flags of qos-webhook for rules.

Namespaces are given by name, or by a prefix and ``*`` where the help says so. An invalid value ends the program with
exit code 2 and a message that names the flag.
"""

from __future__ import annotations

import argparse

from podrules.qos_webhook.arguments import add_pod_flags
from webhook.settings import ForceDeletion, ForceDeletionMode


def add_rule_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags for rules to a parser."""
    add_pod_flags(parser)
    _add_force_deletions(parser)


def _add_force_deletions(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("force deletions").add_argument
    add(
        "--force-delete-mode",
        type=_force_delete_mode,
        action="append",
        default=[],
        metavar="[NAMESPACE=]MODE",
        help="warn, confirm or deny: for one namespace, or for all that have no mode themselves; may be repeated "
        "(default warn)",
    )
    add(
        "--exempt-user",
        type=_username,
        action="append",
        default=[],
        metavar="USERNAME",
        help="an account that gets neither warnings nor refusals of force deletions, like the cluster's controllers; "
        "may be repeated",
    )
    add(
        "--exempt-node-controller",
        type=_username,
        action="append",
        default=[],
        metavar="USERNAME",
        help="the same only for deletions of Nodes; may be repeated",
    )
    add(
        "--force-delete-events",
        action="store_true",
        help="create an Event for each force deletion, refused or not; needs --client-ca and --client-name",
    )


def _force_delete_mode(text: str) -> tuple[str, ForceDeletionMode]:
    namespace, equals, mode = text.rpartition("=")
    try:
        if equals and not namespace:
            raise ValueError("a namespace without a name")
        return namespace, ForceDeletionMode(mode)
    except ValueError:
        message = f"{text!r} is not MODE or NAMESPACE=MODE, where MODE is warn, confirm or deny"
        raise argparse.ArgumentTypeError(message) from None


def _username(text: str) -> str:
    if not text or "*" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a username; wildcards are not supported")
    return text


def read_force_deletion(args: argparse.Namespace) -> ForceDeletion:
    """Read the rules for force deletions from the flags."""
    by_namespace = dict(args.force_delete_mode)
    return ForceDeletion(
        mode=by_namespace.pop("", ForceDeletionMode.WARN),
        namespaces=by_namespace,
        exempt_users=frozenset(args.exempt_user),
        exempt_node_controllers=frozenset(args.exempt_node_controller),
    )
