"""Rules of two neighbouring versions."""

from __future__ import annotations

from podrules.api.features import CHANGES, Features


def around(field: str) -> tuple[Features, Features]:
    """The defaults of the last minor without a change, and of the first with it.

    Args:
        field: Of `Features`.
    """
    since = CHANGES[field].since
    return Features.of_minor(since - 1), Features.of_minor(since)
