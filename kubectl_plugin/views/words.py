"""Formatting of amounts, times and lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from podrules.api.model.instant import instant
from podrules.api.model.quantity import Quantity
from podrules.pod.memory_qos import MemoryQoS

_MAX_READ: Final = 16_384
"""The most characters of a message that are read."""
_MAX_NAME: Final = 253
"""The most characters of a DNS subdomain."""
_LONG_ID: Final = (
    r"\b([0-9a-f]{8})(?:[0-9a-f]{24,56}\b|-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)|\b(\w{8})[\w+=-]{72,}"
)
"""Matches ids of containers and sandboxes, digests, uids, and encoded texts."""
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi")


def memory(size: int, *, enough: bool = False) -> str:
    """Bytes as people write them: ``128Mi``, ``62.8Gi``, ``0``; ``enough`` rounds up."""
    if abs(size) < 1024:
        return str(size)
    power = min((abs(size).bit_length() - 1) // 10, len(_UNITS))
    value = size / 1024**power
    if enough:
        step = 10 if abs(value) < 100 else 1
        value = -(-size * step // 1024**power) / step
    text = f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"
    return text.removesuffix(".0") + _UNITS[power - 1]


def cpu(milli: int) -> str:
    """Thousandths of a cpu: ``250m``, ``2``, ``1.5``."""
    if milli % 1000 == 0:
        return str(milli // 1000)
    return f"{milli / 1000:g}" if milli % 100 == 0 and milli > 1000 else f"{milli}m"


def cpus(milli: Sequence[int]) -> list[str]:
    """Thousandths of a cpu that stand side by side, in one unit: ``7800m`` and ``5990m``, ``8`` and ``1.5``."""
    if len(milli) == 1:
        return [cpu(milli[0])]
    if any(one % 100 for one in milli):
        return [f"{one}m" if one else "0" for one in milli]
    return [f"{one / 1000:g}" for one in milli]


def cores(milli: int) -> str:
    """The same for large amounts: ``81.6``, ``1,240``; below ten as in `cpu`."""
    return cpu(milli) if abs(milli) < 10_000 else f"{milli / 1000:,.1f}".removesuffix(".0")


def amount(resource: str, text: str) -> str:
    """A quantity of a resource, memory rounded for reading."""
    return amounts(resource, (text,))[0]


def amounts(resource: str, texts: Sequence[str]) -> list[str]:
    """Quantities of a resource that stand side by side; cpu in one unit: ``7800m`` and ``5990m``, ``8`` and ``1.5``."""
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        return [memory(Quantity.parse(text).value) for text in texts]
    if resource != "cpu":
        return list(texts)
    return cpus([Quantity.parse(text).milli_value for text in texts])


def resource_amount(resource: str, value: int, *, named: bool = True, enough: bool = False) -> str:
    """An amount as the scheduler counts it, cpu in thousandths: ``220Mi memory``, ``100m cpu``, ``1 pod``."""
    if resource == "cpu":
        text = cpu(value)
    elif resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        text = memory(value, enough=enough)
    elif resource == "pods" and named:
        return counted(value, "pod")
    else:
        text = str(value)
    return f"{text} {resource}" if named else text


def bar(used: int, whole: int, mark: int = 0, *, width: int = 20) -> str:
    """``[######---|----------]``: a share of a limit; ``|`` marks the request. Empty without a limit.

    A bar is full only at the limit, and empty only at 0.
    """
    if whole <= 0:
        return ""
    filled = min(max(used * width // whole, int(used > 0)), width)
    cells = "#" * filled + "-" * (width - filled)
    at = mark * width // whole
    return f"[{cells[:at]}|{cells[at + 1 :]}]" if 0 < mark < whole else f"[{cells}]"


def amounts_apart(resource: str, free: int, asked: int) -> tuple[str, str, str]:
    """The missing, free and requested amounts, precise enough to show the difference; more is requested than free.

    Amounts are as the scheduler counts them: cpu in thousandths, memory in bytes. Memory uses the unit of the missing
    amount: ``107Mi``, ``1045Mi`` and ``1152Mi`` instead of about ``1Gi`` twice.
    """
    lacks = resource_amount(resource, asked - free, named=False, enough=True)
    unit, tenths = lacks[-2:], "." in lacks
    if unit not in _UNITS:
        in_words = cpu if resource == "cpu" else str
        return lacks, in_words(max(free, 0)), in_words(asked)
    # In the unit of the node's page, the free amount is the same as there; in a finer unit the numbers add up.
    own = memory(max(free, 0))
    there = own if own.endswith(unit) else _in_unit(free, unit, up=False, tenths=tenths)
    return lacks, there, _in_unit(asked, unit, up=True, tenths=tenths)


def _in_unit(size: int, unit: str, *, up: bool, tenths: bool) -> str:
    """Bytes in one unit, with one decimal or none, rounded up or down."""
    bytes_of_unit, step = 1024 ** (_UNITS.index(unit) + 1), 10 if tenths else 1
    count = -(-size * step // bytes_of_unit) if up else size * step // bytes_of_unit
    return f"{count / step:.{int(tenths)}f}".removesuffix(".0") + unit if count > 0 else "0"


def few(items: Sequence[str], most: int) -> str:
    """``a, b``, or ``a, b and 5 more``: for cells and lists, which have no ``and`` before the last of all."""
    return ", ".join(items) if len(items) <= most else f"{', '.join(items[:most])} and {len(items) - most} more"


def listed(items: Sequence[str], most: int | None = None) -> str:
    """``a, b and c``, or ``a, b and 5 more``."""
    if most is not None and len(items) > most:
        return few(items, most)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``11th``, ``23rd``."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def place_words(number: int, of: int, what: str) -> str:
    """``2nd of 9 containers``, or ``the only container``."""
    return f"the only {what}" if of == 1 else f"{ordinal(number)} of {counted(of, what)}"


def counted(count: int, what: str) -> str:
    """``1 pod``, ``2 pods``."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def wrong_words(wrong: int, all_words: str, *, known: bool = True) -> str:
    """The headline of a list: ``24 of 126 pods have something wrong.``; ``all_words``: ``126 pods``."""
    has = "has" if wrong == 1 else "have"
    nothing = f"Nothing is {'' if known else 'known to be '}wrong with {all_words}."
    return f"{wrong} of {all_words} {has} something wrong." if wrong else nothing


def none_fit(nodes: int) -> str:
    """``0 of 12 nodes fit``; without nodes, which may be unread, no count."""
    return "no node fits" if not nodes else f"0 of {counted(nodes, 'node')} {'fits' if nodes == 1 else 'fit'}"


def quoted(name: str) -> str:
    """A name in double quotes."""
    return f'"{name}"'


def bounded(name: str) -> str:
    """A name from a field that accepts any text: longer than any object name, it is cut."""
    return name if len(name) <= _MAX_NAME else f"{name[:40]}…{name[-40:]}"


def clock(when: datetime, now: datetime | None) -> str:
    """The time of day in UTC, with the date unless it is today's."""
    utc = when.astimezone(UTC)
    today = now is not None and utc.date() == now.astimezone(UTC).date()
    return utc.strftime("%H:%M:%S UTC" if today else "%Y-%m-%d %H:%M:%S UTC")


def now_words(now: datetime, source: str, later: datetime | None = None) -> str:
    """Which time counts as the present for a List that has no capture time.

    ``source``: the name of the List in messages, as ``snapshot nodes.yaml``; ``later``: the newest time in the List if
    it is too long after all heartbeats to count.
    """
    taken, file = f"Now is taken to be {clock(now, None)}", source.removeprefix("snapshot ")
    if later is not None:
        return f"{taken}, by the heartbeats in {file}; later times, up to {clock(later, None)}, do not count."
    return f"{taken}, the newest time in {file}."


def lasting(span: timedelta) -> str:
    """``45 s``, ``6 min``, ``3 h``, ``9 d``, rounded down."""
    seconds = max(0, int(span.total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 180:
        return f"{minutes} min"
    return f"{hours} h" if hours < 48 else f"{days} d"


def ago(stamp: str | None, now: datetime | None) -> str | None:
    """How long ago that was; None if either time is unknown."""
    when = instant(stamp)
    return None if when is None or now is None else lasting(now - when)


def when_words(stamp: str | None, now: datetime | None) -> str:
    """``3 min ago``; ``at 10:06:00 UTC`` if that is in the future or now is unknown; empty without a time."""
    when = instant(stamp)
    if when is None:
        return ""
    if now is None or when > now:
        return f"at {clock(when, now)}"
    span = now - when
    return f"{lasting(span)} ago" if span >= timedelta(seconds=1) else "just now"


def for_words(stamp: str | None, now: datetime | None) -> str:
    """``for 3 min``; ``since 10:06:00 UTC`` in the same cases as in `when_words`; empty without a time."""
    when = instant(stamp)
    if when is None:
        return ""
    return f"since {clock(when, now)}" if now is None or when > now else f"for {lasting(now - when)}"


_BYTES: Final = re.compile(r"\b(\d{4,})Ki\b|\b((?:requested|used|capacity): )(\d{7,})\b")
"""Amounts of memory in Ki, and in bytes, that a kubelet writes."""


def in_units(message: str) -> str:
    """A kubelet's message with readable amounts of memory: ``requested: 42949672960`` becomes ``requested: 40Gi``."""

    def readable(found: re.Match[str]) -> str:
        kibibytes, label, size = found.groups()
        return memory(int(kibibytes) << 10) if kibibytes else f"{label}{memory(int(size))}"

    return _BYTES.sub(readable, message)


def cut(message: str, most: int = 240) -> str:
    """A message in one line: long ids are shortened, then the middle is cut, because the end is often decisive."""
    text = in_units(" ".join(message[:_MAX_READ].split()))
    if len(message) > _MAX_READ:
        text = f"{text[: _MAX_READ // 2]} {' '.join(message[-_MAX_READ // 2 :].split())}"
    text = re.sub(_LONG_ID, r"\1\2…", text)
    if len(text) <= most:
        return text
    head, tail = text[: most // 2].rpartition(" ")[0], text[-(most // 2) :].partition(" ")[2]
    return f"{head or text[: most // 2]} … {tail or text[-(most // 2) :]}"


def memory_qos_values(kept: MemoryQoS | None) -> Iterator[str]:
    """The values that MemoryQoS sets, the smallest first; values that it does not change are omitted."""
    if kept is not None:
        for file, value in (("memory.min", kept.min), ("memory.low", kept.low), ("memory.high", kept.high)):
            if value:
                yield f"{file} {memory(value)}"
