"""One module a concern: a request to an answer. Handlers know no HTTP and do no I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.handlers.force_delete import warn_of_force_delete
from webhook.response import Answer
from webhook.review import Request

__all__ = ["validate"]

_HANDLERS: Final[tuple[Callable[[Request], Answer], ...]] = (warn_of_force_delete,)


def validate(request: Request) -> Answer:
    """Ask every handler: one refusal refuses, warnings add up."""
    answers = [handler(request) for handler in _HANDLERS]
    warnings = tuple(warning for answer in answers for warning in answer.warnings)
    return Answer(all(answer.allowed for answer in answers), warnings)
