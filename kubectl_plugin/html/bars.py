"""Draws bars as inline SVG: requests by QoS class, limits and usage, as a share of what is allocatable.

filled     requests: Guaranteed plain, Burstable hatched, BestEffort dotted (only in bars that count pods)
outline    limits of the pods that have one; the bar cuts it at the right end, and the text gives the number
mark       usage
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kubectl_plugin.html.markup import Markup, element
from kubectl_plugin.reports.cluster.cluster_entries import PromisedResource
from podrules.api.model.pod import PodQOSClass

HEIGHT: Final = 18
CLASS_MARKS: Final = {
    PodQOSClass.GUARANTEED: "guaranteed",
    PodQOSClass.BURSTABLE: "burstable",
    PodQOSClass.BEST_EFFORT: "besteffort",
}
"""The CSS class of each QoS class."""


def patterns() -> Markup:
    """The fill patterns of all bars; a page needs them once."""
    hatch = element("path", d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2", class_="hatch")
    dots = element("circle", cx=2, cy=2, r=1.1, class_="dots")
    made = [("p-burstable", "burstable", 6, hatch), ("p-besteffort", "besteffort", 4, dots)]
    return element(
        "svg",
        element(
            "defs",
            [
                element(
                    "pattern",
                    element("rect", width=size, height=size, class_=f"fill-{mark}"),
                    shape,
                    id=name,
                    width=size,
                    height=size,
                    patternUnits="userSpaceOnUse",
                )
                for name, mark, size, shape in made
            ],
        ),
        class_="defs",
        width=0,
        height=0,
        aria_hidden="true",
    )


def resource_bar(promised: PromisedResource, words: str, *, height: int = HEIGHT) -> Markup:
    """Draw one resource of a node or a cluster.

    Args:
        promised: The amounts.
        words: The same as text, for screen readers.
        height: The height of the bar in pixels.
    """
    whole = max(promised.allocatable, promised.total, 1)
    parts = _parts(promised.requested, whole, height)
    if promised.limited:
        width = min(100 * promised.limited / whole, 100)
        parts.append(element("rect", class_="limited", x=0, y=height - 4.5, width=_percent(width), height=3))
    if promised.used is not None:
        at = min(100 * promised.used / whole, 99)
        parts.append(element("rect", class_="used", x=_percent(at), y=0, width=2.5, height=height))
    return _drawing(words, parts)


def share_bar(counts: Mapping[PodQOSClass, int], words: str, *, height: int = HEIGHT) -> Markup:
    """Draw how many pods are in each QoS class; for the arguments see `resource_bar`."""
    return _drawing(words, _parts(counts, max(sum(counts.values()), 1), height))


def _parts(amounts: Mapping[PodQOSClass, int], whole: int, height: int) -> list[Markup]:
    """The part of each QoS class, on the background of the bar."""
    parts = [element("rect", class_="track", x=0, y=1, width="100%", height=height - 2, rx=3)]
    start = 0.0
    for qos_class, mark in CLASS_MARKS.items():
        width = 100 * amounts[qos_class] / whole
        if width:
            place, share = _percent(start), _percent(width)
            parts.append(element("rect", class_=f"part {mark}", x=place, y=1, width=share, height=height - 2))
        start += width
    return parts


def _percent(number: float) -> str:
    return f"{number:.1f}%"


def _drawing(words: str, parts: list[Markup]) -> Markup:
    return element("svg", parts, class_="bar", role="img", aria_label=words)


def promised_words(promised: PromisedResource, words: Callable[[int], str]) -> str:
    """The text of a bar: ``requested 3 of 8 (37%), limits 4 (50%), used 2``."""
    whole = promised.allocatable or 1
    parts = [f"requested {words(promised.total)} of {words(promised.allocatable)} ({100 * promised.total // whole}%)"]
    parts.append(f"limits {words(promised.limited)} ({100 * promised.limited // whole}%)")
    if promised.used is not None:
        parts.append(f"used {words(promised.used)}")
    return ", ".join(parts)


def cell_bar(name: str, promised: PromisedResource, words: Callable[[int], str]) -> Markup:
    """A bar for a table cell, with the requested percentage."""
    text = promised_words(promised, words)
    percent = 100 * promised.total // (promised.allocatable or 1)
    return element("div", resource_bar(promised, f"{name}: {text}"), element("span", f"{percent}%"), class_="with-bar")


def legend() -> Markup:
    """The legend of the bars."""
    entries = [
        ("part guaranteed", "Guaranteed requests"),
        ("part burstable", "Burstable requests"),
        ("part besteffort", "BestEffort (pods; it requests nothing)"),
        ("limited", "limits"),
        ("used", "used"),
        ("track", "not requested"),
    ]
    return element("ul", [element("li", _swatch(mark), words) for mark, words in entries], class_="legend")


def _swatch(mark: str) -> Markup:
    shape = element("rect", class_=mark, x=1, y=1, width=16, height=10)
    if mark == "limited":
        shape = element("rect", class_=mark, x=1, y=7, width=16, height=3)
    elif mark == "used":
        shape = element("rect", class_=mark, x=8, y=0, width=2.5, height=12)
    return element("svg", shape, viewBox="0 0 18 12", width=18, height=12, aria_hidden="true")
