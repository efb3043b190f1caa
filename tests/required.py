"""A test's requirements beyond Python: it is skipped on a machine without them, and fails if CI=true."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def in_ci() -> bool:
    """Whether all of the suite's requirements have to be met."""
    return os.environ.get("CI") == "true"


def without(reason: str) -> NoReturn:
    """Ends a test or fixture that cannot run here.

    Args:
        reason: What is missing and what installs it, one sentence for a person.
    """
    if in_ci():
        pytest.fail(f"required with CI=true: {reason}", pytrace=False)
    pytest.skip(reason)
