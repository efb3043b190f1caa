"""A lint rule made up for tests: one module with the check, the statement and the texts."""

from __future__ import annotations

from collections.abc import Iterator

from podrules.lint.finding import Finding, Level, LintRule
from podrules.lint.objects import PodCase


def check_images(case: PodCase) -> Iterator[Finding]:
    """Images without a version."""
    for ref in case.pod.containers():
        if ref.container.image.endswith(":latest"):
            yield LatestImage(*case.at(f"{ref.field}.image"), ref.container.image)


class LatestImage(Finding, frozen=True):
    """The node pulls whatever image the tag names then."""

    rule = LintRule(
        name="toy-latest-image",
        level=Level.WARNING,
        about="An image has the tag latest.",
        remedy="Write a version.",
        source="toy.go",
        term="BestEffort",
        check_pod=check_images,
    )
    image: str

    def __str__(self) -> str:
        return f"{self.image} names another image tomorrow."
