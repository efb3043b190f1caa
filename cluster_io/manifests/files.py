"""Reads manifests and Lists, in YAML or JSON, from files, folders and standard input.

Scalars are read as kubectl reads them (go-yaml: ``yes`` is a boolean, ``017`` is octal, ``1e3`` a float, a date a
string), not as Python's YAML 1.1. Input is untrusted: its size is limited, also after aliases are expanded.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import ManifestError
from cluster_io.manifests.json_stream import json_stream, readable_part, sent_number
from cluster_io.manifests.text import STDIN, files_of, no_manifest, read_stdin, read_text, yaml_problem

MAX_VALUES: Final = 50_000_000
"""Values of one document with its aliases expanded: more is an attack or a mistake."""
MAX_DEPTH: Final = 1000
"""Levels of nested mappings and lists."""
_LINE_HEADS: Final = re.compile(r"^(?: |[-?](?=[ \n]))+", re.MULTILINE)
_BRACKETS: Final = re.compile(r"[\[{](?![\]}])")
_NEXT_DOCUMENT: Final = re.compile(r"^---(?=[ \n])", re.MULTILINE)
MAX_MERGED: Final = 100_000
"""Fields of one mapping with its merge keys written out."""
_MERGE: Final = "<<"


class Twice(NamedTuple):
    """A field that occurs more than once in one mapping: the last one counts."""

    field: str
    line: int
    """The line of the last one, from 1."""
    first: int
    """The line of the one before it."""


class Document(Struct, frozen=True):
    """One API object of a file."""

    where: str
    """``deploy.yaml, document 2``."""
    content: Mapping[str, Any]
    text: str = ""
    """The file's text, for the lines of its fields; documents that cannot be read are blank in it."""
    number: int = 1
    """The document's number in the text, from 1."""
    place: str = ""
    """What messages call the document: ``where`` without the item of a List."""
    file: str = ""
    """What messages call the file; empty: the text is not from a file."""
    twice: tuple[Twice, ...] = ()
    """Fields that occur more than once in one mapping of the document."""


def read_documents(path: str, stdin: IO[str] | None = None) -> Iterator[Document]:
    """All objects, and all items of Lists, in a file, in a folder's .yaml, .yml and .json files, or in ``-`` (stdin).

    Raises:
        ManifestError: a file is missing, too large, not YAML or JSON, or holds something else than API objects.
    """
    return _raise_errors(read_what_can_be(path, stdin))


def read_what_can_be(path: str, stdin: IO[str] | None = None) -> Iterator[Document | ManifestError]:
    """All objects as `read_documents` gives them, and an error for each file, document or item that cannot be read."""
    if path == "-":
        yield from _read_one(STDIN, partial(read_stdin, stdin))
        return
    try:
        files = files_of(path)
    except ManifestError as error:
        yield error
        return
    for file in files:
        yield from _read_one(str(file), partial(read_text, file))


def parse_documents(where: str, text: str) -> Iterator[Document]:
    """All objects of a text; ``where`` is what messages call it.

    Raises:
        ManifestError: as `read_documents`.
    """
    return _raise_errors(_documents(where, text))


def read_values(path: str, stdin: IO[str] | None = None) -> Iterator[Any]:
    """What the documents of one file, or of ``-`` (stdin), hold, whether or not they are API objects.

    Raises:
        ManifestError: the file is missing, too large, or not YAML or JSON.
    """
    return (document.content for document in read_value_documents(path, stdin))


def read_value_documents(path: str, stdin: IO[str] | None = None) -> Iterator[Document]:
    """The documents that hold these values; the arguments are those of `read_values`."""
    where, text = (STDIN, read_stdin(stdin)) if path == "-" else (path, read_text(Path(path)))
    for number, (content, twice) in enumerate(_parse(where, text), start=1):
        check_expanded(where, content, _parts, MAX_VALUES)
        if content is not None:
            yield Document(where, content, text, number, where, "", twice)


def _raise_errors(found: Iterable[Document | ManifestError]) -> Iterator[Document]:
    for entry in found:
        if isinstance(entry, ManifestError):
            raise entry
        yield entry


def _read_one(where: str, read: Callable[[], str]) -> Iterator[Document | ManifestError]:
    try:
        text = read()
    except ManifestError as error:
        yield error
        return
    yield from _documents(where, text)


def _documents(where: str, text: str) -> Iterator[Document | ManifestError]:
    try:
        parsed = list(_parse(where, text))
    except ManifestError as error:
        part = readable_part(where, text, lambda place, document: list(_parse(place, document)))
        if part is None:
            yield error
            return
        text, errors = part
        yield from errors
        parsed = list(_parse(where, text))
    for number, (content, twice) in enumerate(parsed, start=1):
        place = where if len(parsed) == 1 else f"{where}, document {number}"
        if content is not None:
            yield from _objects_of(Document(place, content, text, number, place, where, twice))


def _objects_of(document: Document) -> Iterator[Document | ManifestError]:
    try:
        check_expanded(document.place, document.content, _parts, MAX_VALUES)
    except ManifestError as error:
        yield error
        return
    for found in objects_in(document.place, document.content, document.file):
        if isinstance(found, Document):
            yield replace(document, where=found.where, content=found.content)
        else:
            yield found


def objects_in(where: str, content: Any, file: str = "") -> Iterator[Document | ManifestError]:
    """The object of a document, or the items of a List; an error for what is not an API object."""
    problem = _object_problem(where, content, file)
    if problem:
        yield problem
        return
    items = content.get("items")
    if content["kind"].endswith("List") and isinstance(items, list):
        item_kind = content["kind"].removesuffix("List")
        for number, item in enumerate(items):
            # `kubectl get --raw` leaves kind and apiVersion out of the items of a PodList; a List says neither.
            known = {"apiVersion": content["apiVersion"], "kind": item_kind} if item_kind else {}
            typed = {**known, **item} if isinstance(item, dict) else item
            yield from objects_in(f"{where}, items[{number}]", typed)
    else:
        yield Document(where, content)


def _object_problem(where: str, content: Any, file: str) -> ManifestError | None:
    """Why a value is not an API object; None: it is one."""
    if not isinstance(content, Mapping):
        return ManifestError(
            f"{where}: an API object is a mapping, this is {_name_of(content)}",
            advice="Write apiVersion: and kind: at its head, e.g. apiVersion: v1, kind: Pod",
        )
    missing = [field for field in ("apiVersion", "kind") if not isinstance(content.get(field), str)]
    known = no_manifest(where, file) if missing or content["kind"] == "Kustomization" else None
    if known or not missing:
        return known
    if content.get(missing[0]) is not None:
        problem = f"{missing[0]}: {_name_of(content[missing[0]])} stands here; write a string"
    else:
        absent = [field for field in missing if content.get(field) is None]
        problem = f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing"
    return ManifestError(
        f"{where}: {problem}", advice="Every API object has an apiVersion and a kind, e.g. apiVersion: v1, kind: Pod"
    )


def _parse(where: str, text: str) -> Iterator[tuple[Any, tuple[Twice, ...]]]:
    """Each document, and the fields that occur twice in it."""
    try:
        stream = json_stream(text)
    except RecursionError as error:
        raise ManifestError(f"{where}: nested too deeply") from error
    if stream is not None:
        yield from ((entry.value, ()) for entry in stream.values)
        if problem := stream.problem(where):
            raise problem
        return
    import yaml

    try:
        check_depth(where, text)
        merges = _MERGE in text
        loader = go_loader()(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                if merges:
                    _check_merged(where, node)
                loader.twice = []
                yield loader.construct_document(node), tuple(loader.twice)
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise yaml_problem(where, error, text) from error


def check_depth(where: str, text: str) -> None:
    """Refuse a text with nesting that would overflow the C loader's stack, which would end the process.

    Depth comes from ``- - -`` at the start of a line, from indentation, or from the brackets of one document. Only a
    text with enough of one of them for a thousand levels is read event by event, which needs no stack.

    Raises:
        ManifestError: the text has more than `MAX_DEPTH` levels.
    """
    columns = max(map(len, _LINE_HEADS.findall(text)), default=0)
    brackets = map(_BRACKETS.finditer, _NEXT_DOCUMENT.split(text))
    if columns < 2 * MAX_DEPTH and not any(next(islice(found, MAX_DEPTH, None), None) for found in brackets):
        return
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=go_loader()):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ManifestError(f"{where}: nested too deeply: more than {MAX_DEPTH} levels")


def _check_merged(where: str, root: Any) -> None:
    """Refuse mappings that merge keys make too large: the loader expands them before any other check can run."""
    import yaml

    written: dict[int, int] = {}

    def pairs(node: Any) -> int:
        """The number of fields of a mapping with its merged ones, or of all mappings of a list."""
        if id(node) in written:
            return written[id(node)]
        written[id(node)] = MAX_MERGED + 1  # what is merged into itself has no end
        parts = node.value if isinstance(node.value, list) else ()
        count = 0
        for part in parts:
            key, value = part if isinstance(part, tuple) else (None, part)
            below = pairs(value)
            merged = key is None if isinstance(node, yaml.SequenceNode) else key.value == _MERGE
            count += below if merged else 1
        written[id(node)] = count
        if count > MAX_MERGED and isinstance(node, yaml.MappingNode):
            raise ManifestError(f"{where}: its merge keys write out more than {MAX_MERGED} fields of one object")
        return count

    pairs(root)


def check_expanded(where: str, root: Any, parts: Callable[[Any], Iterable[Any] | None], most: int) -> None:
    """Refuse a document that has too many values once its aliases are expanded.

    Each shared part is counted once and multiplied.

    Args:
        where: What messages call the document.
        root: A value, or a YAML node.
        parts: Gives the parts of a value; None: the value is a scalar.
        most: The most values that are accepted.

    Raises:
        ManifestError: the document has more.
    """
    counted: dict[int, int] = {}

    def size(value: Any) -> int:
        inside = parts(value)
        if inside is None:
            return 1
        if id(value) not in counted:
            counted[id(value)] = most + 1  # a value that contains itself has no size
            counted[id(value)] = 1 + sum(map(size, inside))
        return counted[id(value)]

    try:
        total = size(root)
    except RecursionError as error:
        raise ManifestError(f"{where}: nested too deeply") from error
    if total > most:
        raise ManifestError(f"{where}: its aliases expand to more than {most} values, the most that this command reads")


def _parts(value: Any) -> Iterable[Any] | None:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else None


def _twice(entries: Iterable[tuple[Any, Any]]) -> Iterator[Twice]:
    """The fields that occur twice among a mapping's own ones, without merged fields."""
    lines: dict[str, int] = {}
    for key, _ in entries:
        line = key.start_mark.line + 1
        if isinstance(key.value, str) and key.value in lines:
            yield Twice(key.value, line, lines[key.value])
        lines[str(key.value)] = line


def _name_of(content: Any) -> str:
    if content is None:
        return "null"
    return {list: "a list", str: "text", bool: "a boolean", dict: "a mapping"}.get(type(content), "a number")


@lru_cache(maxsize=1)
def go_loader() -> type[Any]:
    """A safe loader that resolves plain scalars as go-yaml v2 does, which kubectl uses."""
    import yaml

    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class GoLoader(base):  # type: ignore[misc]  # the C loader is optional, so its type is not known
        """PyYAML's safe loader that reads scalars as kubectl does."""

        yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        twice: list[Twice]

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            """Construct a value; most are texts, which are complete."""
            if node.tag == "tag:yaml.org,2002:str" and isinstance(node.value, str):
                return node.value
            return super().construct_object(node, deep=deep)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            """Construct a mapping, and note the fields that occur twice in it."""
            own = node.value
            found = super().construct_mapping(node, deep=deep)
            if len(found) < len(node.value) and hasattr(self, "twice"):
                self.twice += _twice(own)
            return found

    def resolve(name: str, pattern: str, first: str) -> None:
        GoLoader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(rf"(?:{pattern})\Z"), list(first))

    words = "y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF"
    resolve("bool", words, "yYtTnNfFoO")
    resolve("int", r"[-+]?(?:0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)", "-+0123456789")
    resolve("float", r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789")
    resolve("null", "~|null|Null|NULL|", "~nN\0")
    GoLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"\Z"), [""])
    resolve("merge", "<<", "<")

    def construct_int(loader: Any, node: Any) -> int:
        text = loader.construct_scalar(node).replace("_", "")
        digits = text.lstrip("+-")
        legacy_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        number = int(digits, 8 if legacy_octal else 0)
        return -number if text.startswith("-") else number

    def construct_bool(loader: Any, node: Any) -> bool:
        return str(loader.construct_scalar(node)).lower() in {"y", "yes", "true", "on"}

    def construct_float(loader: Any, node: Any) -> int | float:
        return sent_number(loader.construct_scalar(node).replace("_", ""))

    GoLoader.add_constructor("tag:yaml.org,2002:int", construct_int)
    GoLoader.add_constructor("tag:yaml.org,2002:bool", construct_bool)
    GoLoader.add_constructor("tag:yaml.org,2002:float", construct_float)
    return GoLoader


def only_document(documents: Iterable[Document], place: str, kind: str, *, alone: bool = True) -> Mapping[str, Any]:
    """The one document of a kind.

    Args:
        documents: All documents.
        place: What messages call the place of the documents.
        kind: The kind.
        alone: Whether other documents are refused, and a List too.

    Raises:
        ManifestError: there is none or more than one, or a field of it is repeated.
    """
    there = list(documents)
    found = [document for document in there if document.content["kind"] == kind]
    others = ", ".join(dict.fromkeys(str(entry.content["kind"]) for entry in there if entry.content["kind"] != kind))
    listed = alone and any(entry.where != entry.place for entry in there)
    if len(found) != 1 or (alone and (others or listed)):
        counted = f"{len(found)} document{'' if len(found) == 1 else 's'} of kind {kind}"
        besides = (f", and {others}" if others else "") + (", in a List" if listed else "")
        raise ManifestError(f"{place}: {counted}{besides}: it needs one{' and nothing else' if alone else ''}")
    for twice in found[0].twice:
        raise ManifestError(f"{place}, line {twice.line}: {twice.field} is a duplicate of line {twice.first}: keep one")
    if name := twice_in_json(found[0].text):
        raise ManifestError(f"{place}: {name} is repeated in one mapping: keep one")
    return found[0].content


def twice_in_json(text: str) -> str:
    """A field that is repeated in one object of a JSON text; a reader keeps the last one. Empty: no field is."""
    repeated: list[str] = []

    def read(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in pairs)
        repeated.extend(name for name, count in counts.items() if count > 1)

    with suppress(ValueError, RecursionError):
        json.loads(text, object_pairs_hook=read)
    return next(iter(repeated), "")
