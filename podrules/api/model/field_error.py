"""Describes a problem with one field of an object: the path, the problem, and upstream's text of both.

Source: pkg/util/validation/field/errors.go (Error.Error) in k8s.io/apimachinery at v0.36.3.
"""

from __future__ import annotations

from typing import NamedTuple


class FieldError(NamedTuple):
    """One problem with one field."""

    field: str
    """``spec.containers[0].image``; empty: the whole object."""
    problem: str
    """``Invalid value: "": must not be empty``."""

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}" if self.field else self.problem
