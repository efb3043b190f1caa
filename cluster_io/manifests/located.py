"""Reads objects of manifests with the line and column of each field, and the comments that disable a check.

    # kubectl-qos: ignore RULE[, RULE] - reason

The comment applies to the field on its line or below it; before the first field of a document it applies to the whole
document. Inside a text value it is not a comment. Input is untrusted: a file's size, a document's values and their
depth are limited before any object is built, also after aliases and merge keys are expanded.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from msgspec import Struct

from cluster_io.errors import ManifestError
from cluster_io.manifests.files import Document, check_depth, check_expanded, go_loader, objects_in
from cluster_io.manifests.json_stream import JsonValue, json_stream, readable_part
from cluster_io.manifests.text import yaml_problem

MAX_TEXT: Final = 16 << 20
"""Characters of a file: kubectl refuses an object of a tenth of this size."""
MAX_VALUES: Final = 500_000
"""Values of one document with its aliases and merge keys expanded."""
_BEFORE_VALUE: Final = re.compile(r"[\n,:\[{]")
_COMMENT: Final = re.compile(r"(?:^|[ \t])(#[ \t]*kubectl-qos:[ \t]*ignore\b(.*))$", re.MULTILINE)
_REASON: Final = re.compile(r"\s+-+\s+")
_NOTHING: Final = re.compile(r"[ \t]*(?:#.*)?$")


class Place(NamedTuple):
    """The line and column where something begins, both from 1."""

    line: int
    column: int


class Places(Struct, frozen=True):
    """Finds the line and column of an object's fields."""

    by_path: Mapping[str, Any]
    """The mark of ``spec.containers[0].name`` in YAML; the empty path is the object itself."""
    origin: Place = Place(1, 1)
    """Where the text of these marks begins."""

    def of(self, path: str) -> Place:
        """The place of a field; of an absent field, the place of its nearest parent.

        The API server writes the keys of maps in brackets: ``limits[cpu]``.
        """
        while path and path not in self.by_path:
            parent, bracket, key = path.removesuffix("]").rpartition("[")
            if bracket and path.endswith("]") and f"{parent}.{key}" in self.by_path:
                path = f"{parent}.{key}"
            else:
                path = path[: max(path.rfind("."), path.rfind("["), 0)]
        mark = self.by_path.get(path)
        if mark is None:
            return Place(1, 1)
        return Place(self.origin.line + mark.line, mark.column + (1 if mark.line else self.origin.column))


class Ignore(Struct, frozen=True):
    """A comment that disables rules."""

    rules: tuple[str, ...]
    reason: str
    line: int
    """The line of the comment."""
    target: int | None
    """The line of the field; None: the whole document."""


class LocatedObject(Struct, frozen=True):
    """One API object of a file, with the places of its fields."""

    document: int
    """The number of its document in the file, from 1."""
    content: Mapping[str, Any]
    places: Places
    ignores: tuple[Ignore, ...]
    """The comments in its document."""


def located_objects(
    where: str, text: str, kinds: Container[tuple[str, str]] | None = None
) -> Iterator[LocatedObject | ManifestError | None]:
    """All objects of a text, and the items of its Lists.

    None stands for an object of another kind, and for a document with neither apiVersion nor kind. An error stands for
    what is too large, not YAML or JSON, or lacks one of the two.

    Args:
        where: What messages call the text.
        text: YAML or JSON.
        kinds: The wanted kinds, as (apiVersion, kind); None: all.
    """
    if len(text) > MAX_TEXT:
        yield ManifestError(f"{where}: larger than {MAX_TEXT >> 20} MiB: split it into files of fewer objects")
        return
    done = 0
    try:
        for number, found in _numbered(where, text, kinds):
            yield from found
            done = number
    except ManifestError as error:
        part = readable_part(where, text, lambda place, document: sum(1 for _ in _documents(place, document)))
        if part is None:
            yield error
            return
        text, errors = part
        yield from errors
        for number, found in _numbered(where, text, kinds):
            if number > done:
                yield from found


def _numbered(
    where: str, text: str, kinds: Container[tuple[str, str]] | None
) -> Iterator[tuple[int, Iterable[LocatedObject | ManifestError | None]]]:
    """The number of each document, and its objects."""
    # Line and column, from 0, of each text that looks like an ignore comment, and its content.
    comments = []
    line, counted = 0, 0
    for match in _COMMENT.finditer(text):
        line += text.count("\n", counted, match.start(1))
        counted = match.start(1)
        comments.append((line, match.start(1) - text.rfind("\n", 0, match.start(1)) - 1, match[2]))
    lines = text.split("\n") if comments else []
    before = 0
    for number, (node, content, origin) in enumerate(_documents(where, text), start=1):
        # JSON has no comments.
        ignores = _ignores(comments, lines, node, before) if comments and node is not None and not origin else ()
        before = node.end_mark.line if node is not None else 0
        if content is None:
            continue
        if isinstance(content, Mapping) and "kind" not in content and "apiVersion" not in content:
            yield number, (None,)
            continue
        place = f"{where}, document {number}" if number > 1 else where
        read = _Read(node, content, origin)
        yield number, _located(Document(place, content, text, number, place), read, kinds, ignores)


def _located(
    document: Document, read: _Read, kinds: Container[tuple[str, str]] | None, ignores: tuple[Ignore, ...]
) -> Iterator[LocatedObject | ManifestError | None]:
    for item in objects_in(document.where, document.content):
        if isinstance(item, ManifestError):
            yield item
        elif kinds is not None and (item.content["apiVersion"], item.content["kind"]) not in kinds:
            yield None
        else:
            path = _item_path(item.where, document.place)
            yield LocatedObject(document.number, item.content, _places(read, path), ignores)


def _item_path(where: str, place: str) -> str:
    """``items[3]`` of ``list.yaml, items[3]``."""
    return where.removeprefix(place).removeprefix(", ").replace(", ", ".")


def line_of(document: Document, field: str) -> int | None:
    """The line of a field of an object, or of its nearest parent; None: not known."""
    if not document.text or len(document.text) > MAX_TEXT:
        return None
    try:
        read = next(islice(_documents(document.where, document.text), document.number - 1, None), None)
    except ManifestError:
        return None
    if read is None or read.node is None:
        return None
    return _places(read, _item_path(document.where, document.place)).of(field).line


class _Read(NamedTuple):
    """A document."""

    node: Any
    """Its YAML node, which has places; None: YAML cannot read it."""
    content: Any
    origin: Place | None = None
    """Where JSON begins, from which its node counts; None: it is YAML."""


def _documents(where: str, text: str) -> Iterator[_Read]:
    try:
        stream = json_stream(text)
    except RecursionError as error:
        raise ManifestError(f"{where}: nested too deeply") from error
    if stream is None:
        yield from _yaml_documents(where, text)
        return
    origin, counted = Place(1, 1), 0
    for entry in stream.values:
        lines = text.count("\n", counted, entry.start)
        column = (
            entry.start - text.rfind("\n", counted, entry.start) if lines else origin.column + entry.start - counted
        )
        origin = Place(origin.line + lines, column)
        counted = entry.start
        yield _json_document(where, text, entry, origin)
    if problem := stream.problem(where):
        raise problem


def _json_document(where: str, text: str, entry: JsonValue, origin: Place) -> _Read:
    """A value of JSON; YAML cannot read all of them, such as texts with surrogate pairs: then no places are known."""
    import yaml

    own = text[entry.start : entry.end]
    _check_values(where, own)
    loader = None
    try:
        check_depth(where, own)
        loader = go_loader()(own)
        return _Read(loader.get_single_node(), entry.value, origin)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        return _Read(None, entry.value, origin)
    finally:
        if loader is not None:
            loader.dispose()


def _yaml_documents(where: str, text: str) -> Iterator[_Read]:
    import yaml

    _check_values(where, text)
    loader = None
    try:
        check_depth(where, text)
        loader = go_loader()(text)
        while loader.check_node():
            node = loader.get_node()
            check_expanded(where, node, _parts, MAX_VALUES)
            yield _Read(node, loader.construct_document(node))
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise yaml_problem(where, error, text) from error
    finally:
        if loader is not None:
            loader.dispose()


def _check_values(where: str, text: str) -> None:
    """Refuse documents of too many values, event by event, which takes no memory.

    Each value comes after a line break or one of a few signs, so a text with few of these needs no such check.
    """
    if len(text) < MAX_VALUES or sum(1 for _ in islice(_BEFORE_VALUE.finditer(text), MAX_VALUES)) < MAX_VALUES:
        return
    import yaml

    check_depth(where, text)
    values = 0
    try:
        for event in yaml.parse(text, Loader=go_loader()):
            if isinstance(event, yaml.DocumentStartEvent):
                values = 0
            values += isinstance(event, yaml.NodeEvent)
            if values > MAX_VALUES:
                raise ManifestError(f"{where}: a document of more than {MAX_VALUES} values: split it into smaller ones")
    except yaml.YAMLError as error:
        raise yaml_problem(where, error, text) from error


def _parts(node: Any) -> Any:
    """The child nodes of a node, with keys; merge keys are not expanded yet, so they are children too."""
    if isinstance(node.value, str):
        return None
    return chain.from_iterable(node.value) if node.id == "mapping" else node.value


def _places(read: _Read, path: str) -> Places:
    """Where each field below a path begins: the key of a field, or the item of a list."""
    if read.node is None:
        return Places({})
    node = read.node
    for step in re.findall(r"items\[(\d+)\]", path):
        items = next(value for key, value in node.value if key.value == "items")
        node = items.value[int(step)]
    found = {"": node.start_mark}
    waiting = [] if isinstance(node.value, str) else [("", node)]
    while waiting:
        at, node = waiting.pop()
        for index, entry in enumerate(node.value):
            key, value = entry if isinstance(entry, tuple) else (entry, entry)
            below = f"{at}[{index}]" if key is value else f"{at}.{key.value}" if at else str(key.value)
            found[below] = key.start_mark
            if not isinstance(value.value, str):
                waiting.append((below, value))
    return Places(found, read.origin or Place(1, 1))


def _ignores(comments: Iterable[tuple[int, int, str]], lines: list[str], root: Any, before: int) -> tuple[Ignore, ...]:
    """The comments of a document: from the end of the one before it to its own end."""
    own = [entry for entry in comments if before <= entry[0] < max(root.end_mark.line, root.start_mark.line + 1)]
    if not own:
        return ()
    texts = list(_text_spans(root))
    found = []
    for line, column, asked in own:
        if any(start <= (line, column) < end for start, end in texts):
            continue
        names, *reason = _REASON.split(asked, maxsplit=1)
        rules = tuple(name for name in re.split(r"[\s,]+", names) if name)
        target = None if line < root.start_mark.line else _target(lines, line, column) + 1
        found.append(Ignore(rules, reason[0].strip() if reason else "", line + 1, target))
    return tuple(found)


def _target(lines: list[str], line: int, column: int) -> int:
    """The line that a comment applies to: its own if it has a field, else the next one with content."""
    if lines[line][:column].strip():
        return line
    below = range(line + 1, len(lines))
    return next((number for number in below if not _NOTHING.match(lines[number])), line)


def _text_spans(root: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Start and end of each text value of a document."""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node.value, str):
            yield (node.start_mark.line, node.start_mark.column), (node.end_mark.line, node.end_mark.column)
        elif id(node) not in seen:
            seen.add(id(node))
            for entry in node.value:
                waiting += entry if isinstance(entry, tuple) else (entry,)
