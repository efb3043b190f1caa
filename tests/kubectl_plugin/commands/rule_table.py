"""The table of docs/lint.md, generated from the rules."""

from __future__ import annotations

from podrules.lint.rules import RULES


def table_of_rules() -> str:
    """One row for each rule, in Markdown."""
    rows = [
        "| rule | | what it objects to | what to do | source in Kubernetes 1.37.1 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule in RULES.values():
        why = f" `kubectl qos why {rule.term}`" if rule.term and " " not in rule.term else ""
        rows.append(f"| `{rule.name}` | {rule.level.value} | {rule.about} | {rule.remedy}{why} | {rule.source} |")
    return "\n".join(rows) + "\n"
