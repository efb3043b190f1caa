"""The result of a check, and the wording of its details.

Source: policy/checks.go (CheckResult) and policy/helpers.go of k8s.io/pod-security-admission at v0.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from podrules.admission.pod_security.pods import SecuredPod
from podrules.admission.validation.view import View


class Violation(NamedTuple):
    """Why a check forbids a pod."""

    reason: str
    detail: str


Check = Callable[[SecuredPod], Violation | None]
"""A check of a level; it returns a pod's violation."""


def plural(word: str, count: int) -> str:
    """A word in singular or plural; zero is plural."""
    return word if count == 1 else f"{word}s"


def quoted_list(texts: Iterable[str]) -> str:
    """Texts in quotes, without escapes."""
    return ", ".join(f'"{text}"' for text in texts)


def named(word: str, names: Sequence[str]) -> str:
    """``containers "a", "b"``."""
    return f"{plural(word, len(names))} {quoted_list(names)}"


def containers_that(pod: SecuredPod, bad: Callable[[View], bool]) -> Sequence[str]:
    """The names of the containers with a bad security context."""
    return [container.name for container in pod.containers if bad(container.context)]


def setters(pod: SecuredPod, bad: Callable[[View], bool]) -> list[str]:
    """The owners of a bad security context: ``pod``, ``containers "a", "b"``, both or none."""
    found = ["pod"] if bad(pod.context) else []
    names = containers_that(pod, bad)
    if names:
        found.append(named("container", names))
    return found


def bad_types(pod: SecuredPod, bad: Callable[[View], bool], field: str) -> Sequence[str]:
    """The types of a profile in the bad security contexts, each once and in order."""
    contexts = [pod.context, *(container.context for container in pod.containers)]
    return sorted({context.struct(field).text("type") for context in contexts if bad(context)})
