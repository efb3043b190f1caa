"""The errors of an allocation on a node."""

from __future__ import annotations


class AllocationError(Exception):
    """The claim, its class or an expression is at fault: upstream aborts scheduling with this text."""


class InvalidPoolsError(Exception):
    """Nothing could be allocated, and a pool could not be used (ErrFailedAllocationOnNode)."""


class UnknownAnswer(Exception):
    """Upstream would have an answer that these rules cannot work out; the text says what is missing."""
