"""Defines and reads the flags of qos-webhook that state rules.

Namespaces are given by name, or by a prefix and ``*`` where the help says so. A mistake ends the program with
exit code 2 and a message that names the flag.
"""

from __future__ import annotations

import argparse

from webhook.namespace_rules import NamespaceRule, NamespaceRules, RuleError, read_constraints
from webhook.settings import ForceDeletion, ForceDeletionMode, ObjectRef, Options, RuleMode

__all__ = ["add_rule_flags", "object_ref", "read_force_deletion", "read_options"]


def add_rule_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that state rules to a parser."""
    _add_spread(parser)
    _add_classes(parser)
    parser.add_argument(
        "--warnings",
        type=_is_verbose,
        default=False,
        metavar="usual|verbose",
        help="verbose: also report which defaults were filled in (default)",
    )
    _add_force_deletions(parser)


def _add_spread(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("default topology spread constraints").add_argument
    add(
        "--scheduler-config",
        type=object_ref,
        metavar="NAMESPACE/NAME",
        help="ConfigMap with the cluster's KubeSchedulerConfiguration",
    )
    add(
        "--write-system-defaults",
        action="store_true",
        help="write constraints of defaultingType System too, which kube-scheduler applies by itself",
    )
    add(
        "--default-constraints",
        type=_namespace_constraints,
        action="append",
        default=[],
        metavar="NAMESPACE=JSON",
        help="a list of constraints in place of the cluster's, for a namespace or, as team-*, those whose names begin "
        "so; [] for none; may be repeated",
    )
    add(
        "--constraints-from-annotations",
        action="store_true",
        help="let Namespaces' annotations give constraints also where none of the above does; what selectors are built "
        "from is read only where some pod may get constraints",
    )
    add(
        "--leave-out-template-hash",
        action="store_true",
        help="select the pods of all revisions of a Deployment; kube-scheduler's own selector spreads revisions apart",
    )
    add(
        "--lint-spread-selectors",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="warn of constraints whose selector does not match the pod itself (default on)",
    )
    add(
        "--lint-topology-keys",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="warn of constraints whose topologyKey no node has; keeps the labels of all nodes in memory (default off)",
    )


def _add_classes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("PriorityClasses").add_argument
    add(
        "--default-class",
        type=_namespace_class,
        action="append",
        default=[],
        metavar="NAMESPACE=CLASS",
        help="class of pods that name none; NAMESPACE as above; may be repeated",
    )
    add(
        "--allowed-classes",
        type=_namespace_classes,
        action="append",
        default=[],
        metavar="NAMESPACE=CLASS,…",
        help="the classes that pods may have, * for any, empty for none; NAMESPACE as above; may be repeated",
    )
    add(
        "--disallowed-class",
        type=_verdict,
        default=RuleMode.DENY,
        metavar="deny|warn",
        help="for pods of a class that is not allowed (default deny)",
    )
    add(
        "--template-class",
        type=_verdict,
        default=RuleMode.WARN,
        metavar="warn|deny",
        help="for workloads whose pods would be refused for their class (default warn)",
    )


def _add_force_deletions(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("force deletions").add_argument
    add(
        "--force-delete-mode",
        type=_force_delete_mode,
        action="append",
        default=[],
        metavar="[NAMESPACE=]MODE",
        help="warn, confirm or deny: for one namespace, or for all without a mode of their own; may be repeated "
        "(default warn)",
    )
    add(
        "--exempt-user",
        type=_username,
        action="append",
        default=[],
        metavar="USERNAME",
        help="an account that is neither warned of force deletions nor refused, as the cluster's controllers; "
        "may be repeated",
    )
    add(
        "--exempt-node-controller",
        type=_username,
        action="append",
        default=[],
        metavar="USERNAME",
        help="the same for deletions of Nodes alone; may be repeated",
    )
    add(
        "--force-delete-events",
        action="store_true",
        help="create an Event for each force deletion, refused or not; needs --client-ca and --client-name",
    )


def object_ref(text: str) -> ObjectRef:
    """Read ``NAMESPACE/NAME``."""
    namespace, slash, name = text.partition("/")
    if not (slash and namespace and name) or "/" in name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE/NAME")
    return ObjectRef(namespace, name)


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
        raise argparse.ArgumentTypeError(f"{text!r} is no username: write it whole, there are no wildcards")
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


def _namespace_value(text: str) -> tuple[str, str]:
    namespace, equals, value = text.partition("=")
    if not (equals and namespace):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE=…")
    return namespace, value


def _namespace_class(text: str) -> tuple[str, NamespaceRule]:
    namespace, name = _namespace_value(text)
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} names no class")
    return namespace, NamespaceRule(default_class=name)


def _namespace_classes(text: str) -> tuple[str, NamespaceRule]:
    namespace, names = _namespace_value(text)
    return namespace, NamespaceRule(allowed_classes=tuple(filter(None, names.split(","))))


def _namespace_constraints(text: str) -> tuple[str, NamespaceRule]:
    namespace, constraints = _namespace_value(text)
    try:
        return namespace, NamespaceRule(constraints=read_constraints(constraints))
    except RuleError as error:
        raise argparse.ArgumentTypeError(f"{namespace}: {error}") from error


def _verdict(text: str) -> RuleMode:
    try:
        return RuleMode(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither warn nor deny") from None


def _is_verbose(text: str) -> bool:
    if text not in {"usual", "verbose"}:
        raise argparse.ArgumentTypeError(f"{text!r} is neither usual nor verbose")
    return text == "verbose"


def read_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> Options:
    """Read the rules for new pods and their workloads from the flags."""
    entries: dict[str, NamespaceRule] = {}
    for namespace, rule in (*args.default_class, *args.allowed_classes, *args.default_constraints):
        entries[namespace] = rule.or_else(entries.get(namespace, NamespaceRule()))
    rules = NamespaceRules(entries)
    try:
        rules.check()
    except RuleError as error:
        parser.error(str(error))
    return Options(
        rules=rules,
        disallowed_class=args.disallowed_class,
        template_class=args.template_class,
        verbose=args.warnings,
        default_constraints=args.demo
        or args.scheduler_config is not None
        or args.write_system_defaults
        or args.constraints_from_annotations
        or any(rule.constraints for rule in entries.values()),
        leave_out_template_hash=args.leave_out_template_hash,
        lint_selectors=args.lint_spread_selectors,
        lint_topology_keys=args.lint_topology_keys,
    )
