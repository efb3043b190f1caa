"""What a test needs beyond Python: skipped on a person's machine that lacks it, required where CI=true."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

__all__ = ["in_ci", "without"]


def in_ci() -> bool:
    """Whether everything that the suite can use has to be there."""
    return os.environ.get("CI") == "true"


def without(reason: str) -> NoReturn:
    """Ends a test, or the fixture that it asks for, which cannot run here.

    Args:
        reason: What is missing and what installs it, one sentence for a person.
    """
    if in_ci():
        pytest.fail(f"required with CI=true: {reason}", pytrace=False)
    pytest.skip(reason)
