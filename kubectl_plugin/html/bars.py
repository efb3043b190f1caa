"""Bars: requests by QoS class, the limits beyond them and what is used, against what is allocatable. Inline SVG.

filled     requests: Guaranteed plain, Burstable hatched, BestEffort dotted (it requests nothing, and has pods)
outline    what the pods that have a limit may take; beyond the right end it is cut, and the words tell
mark       what is used
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kubectl_plugin.html.markup import Markup, element
from kubectl_plugin.reports.cluster import Promised
from podrules.model.pod import PodQOSClass

__all__ = ["CLASS_MARKS", "cell_bar", "legend", "patterns", "promised_words", "resource_bar", "share_bar"]

HEIGHT: Final = 18
CLASS_MARKS: Final = {
    PodQOSClass.GUARANTEED: "guaranteed",
    PodQOSClass.BURSTABLE: "burstable",
    PodQOSClass.BEST_EFFORT: "besteffort",
}
"""Names of classes in styles."""


def patterns() -> Markup:
    """What bars are filled with, once a page."""
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


def resource_bar(promised: Promised, words: str, *, height: int = HEIGHT) -> Markup:
    """One resource of a node, or of a cluster.

    Args:
        promised: The amounts.
        words: The same for those who do not see it.
        height: Of the bar, in pixels.
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
    """How many pods are of each class; for the arguments see `resource_bar`."""
    return _drawing(words, _parts(counts, max(sum(counts.values()), 1), height))


def _parts(amounts: Mapping[PodQOSClass, int], whole: int, height: int) -> list[Markup]:
    """The classes' parts, on what is behind them."""
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


def promised_words(promised: Promised, words: Callable[[int], str]) -> str:
    """``requested 3 of 8 (37%), limits 4 (50%), used 2``."""
    whole = promised.allocatable or 1
    parts = [f"requested {words(promised.total)} of {words(promised.allocatable)} ({100 * promised.total // whole}%)"]
    parts.append(f"limits {words(promised.limited)} ({100 * promised.limited // whole}%)")
    if promised.used is not None:
        parts.append(f"used {words(promised.used)}")
    return ", ".join(parts)


def cell_bar(name: str, promised: Promised, words: Callable[[int], str]) -> Markup:
    """A bar in a table, with what is requested of all in percent."""
    told = promised_words(promised, words)
    percent = 100 * promised.total // (promised.allocatable or 1)
    return element("div", resource_bar(promised, f"{name}: {told}"), element("span", f"{percent}%"), class_="with-bar")


def legend() -> Markup:
    """What the parts of a bar are."""
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
