"""Kubectl's own dialect of JSONPath, over the JSON of reports: ``{range .items[*]}{.name}{" "}{end}``.

    text outside of braces   unchanged
    .name  ['name']          a field; a backslash before a dot that belongs to the name
    [0] [-1] [1:3] [::2]     of a list; [*] all of it
    .*  ..name               every field; at any depth
    [0,2] ['a','b']          one after the other
    [?(@.kind=="Pod")]       elements that pass: == != < <= > >=, or only a path that exists
    "text" 5 1.5 true        literal values
    range … end              the content between them, once for each

Missing fields are not an error, as in ``kubectl get``. Two quirks of kubectl are kept: an empty list ends the search of
``[…]`` in all lists (use ``range``), and a filter that fails passes.

Two rules are stricter: a ``range`` without ``end``, and either word with other text in its braces, are errors; kubectl
prints such a range again for the whole. Fields of one object keep their order; kubectl's order is random.

Source: util/jsonpath of k8s.io/client-go at v0.36.3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from kubectl_plugin.render.formats import TemplateError

Values = list[Any]

_TERMINATORS: Final = frozenset(" \t\r\n.,[]$@{}")
_DICT_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII)
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)")
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_OPERATORS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})


class JSONPathError(TemplateError):
    """A path that cannot be read, or that does not fit the data."""


class _Node(Protocol):
    """One step of a path."""

    def find(self, found: Values) -> Values:
        """The values that this step finds in the values of the previous step.

        Raises:
            JSONPathError: the step does not fit the data.
        """
        ...


Path = tuple[_Node, ...]


def _walk(path: Path, found: Values) -> Values:
    for node in path:
        found = node.find(found)
    return found


class _Field(NamedTuple):
    name: str

    def find(self, found: Values) -> Values:
        return [value[self.name] for value in found if isinstance(value, dict) and self.name in value]


class _Literal(NamedTuple):
    """A number or a truth value."""

    value: float | bool

    def find(self, found: Values) -> Values:
        return [self.value] * len(found)


class _Text(NamedTuple):
    text: str

    def find(self, found: Values) -> Values:
        del found
        return [self.text]


class _Wildcard(NamedTuple):
    def find(self, found: Values) -> Values:
        return [child for value in found for child in _children(value)]


class _Recursive(NamedTuple):
    def find(self, found: Values) -> Values:
        result: Values = []
        for value in found:
            children = list(_children(value))
            if children:
                result += [value, *self.find(children)]
        return result


def _children(value: Any) -> Sequence[Any]:
    """The elements of a value; the elements of a text are its bytes, as in Go."""
    match value:
        case dict():
            return list(value.values())
        case list():
            return value
        case str():
            return list(value.encode(errors="replace"))
    return ()


class _Array(NamedTuple):
    """``[start:end:step]``; a missing number is None."""

    start: int | None
    end: int | None
    step: int | None
    single: bool
    """Whether only ``[start]`` was given."""

    def find(self, found: Values) -> Values:
        result: Values = []
        for value in found:
            if value is None:
                continue
            if not isinstance(value, list):
                raise JSONPathError(f"{self} is for a list, and this is {_kind_of(value)}")
            start, end = self._bounds(len(value))
            if start == end:
                return result
            if self.step is not None and self.step <= 0:
                raise JSONPathError(f"{self}: the step has to be 1 or more")
            result += value[start : end : self.step or 1]
        return result

    def _bounds(self, length: int) -> tuple[int, int]:
        start = self.start or 0
        start += length if start < 0 else 0
        end = length if self.end is None else self.end
        end += length if end < 0 or (end == 0 and self.single) else 0
        if start != end:
            if not (0 <= start < length and 0 <= end <= length):
                raise JSONPathError(f"{self} is out of bounds: the list has {length}")
            if start > end:
                raise JSONPathError(f"{self} starts after its end")
        return start, end

    def __str__(self) -> str:
        numbers = (self.start,) if self.single else (self.start, self.end, self.step)
        text = ":".join("" if number is None else str(number) for number in numbers)
        return f"[{text if self.single or self.step is not None else text[:-1]}]"


class _Union(NamedTuple):
    paths: tuple[Path, ...]

    def find(self, found: Values) -> Values:
        return [value for path in self.paths for value in _walk(path, found)]


class _Filter(NamedTuple):
    """Elements of lists that pass a comparison; without an operator, those that have the path."""

    left: Path
    operator: str
    right: Path

    def find(self, found: Values) -> Values:
        result: Values = []
        for value in found:
            if not isinstance(value, list):
                raise JSONPathError(f"[?(…)] is for a list, and this is {_kind_of(value)}")
            result += [element for element in value if self._passes(element)]
        return result

    def _passes(self, element: Any) -> bool:
        if not self.operator:
            try:
                return bool(_walk(self.left, [element]))
            except JSONPathError:
                return True
        left, right = _walk(self.left, [element]), _walk(self.right, [element])
        if not left or not right:
            return False
        if len(left) > 1 or len(right) > 1:
            raise JSONPathError(f"[?(… {self.operator} …)] compares one value with one other, not several")
        return _compare(left[0], self.operator, right[0])


def _compare(left: Any, operator: str, right: Any) -> bool:
    if type(left) is not type(right) or type(left) not in {bool, int, float, str}:
        raise JSONPathError(f"{_kind_of(left)} {operator} {_kind_of(right)}: these cannot be compared")
    if operator in {"==", "!="}:
        return bool((left == right) is (operator == "=="))
    if isinstance(left, bool):
        raise JSONPathError(f"truth values cannot be compared with {operator}: use == or !=")
    # Go compares UTF-8 bytes, which have the order of code points.
    less, equal = left < right, left == right
    return bool({"<": less, "<=": less or equal, ">": not (less or equal), ">=": not less}[operator])


def _kind_of(value: Any) -> str:
    kinds = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "a truth value",
        int: "a whole number",
        float: "a number with a fraction",
    }
    return kinds.get(type(value), "null")


class _Action(NamedTuple):
    """``{…}``, or text outside of braces."""

    path: Path

    def reached(self, found: Values) -> Iterator[tuple[Path, Values]]:
        yield self.path, found


class _Loop(NamedTuple):
    """``{range …}…{end}``."""

    over: Path
    body: tuple[_Action | _Loop, ...]

    def reached(self, found: Values) -> Iterator[tuple[Path, Values]]:
        for value in _walk(self.over, found):
            for part in self.body:
                yield from part.reached([value])


def _rendered(path: Path, found: Values, shown: Callable[[str], str]) -> str:
    if len(path) == 1 and isinstance(path[0], _Text):
        return path[0].text
    return " ".join(_printed(value, shown) for value in _walk(path, found))


def _printed(value: Any, shown: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return shown(value)
    return shown(go_json(value)) if isinstance(value, (dict, list)) else "null" if value is None else go_print(value)


class JSONPathTemplate(NamedTuple):
    """A parsed template."""

    text: str
    parts: tuple[_Action | _Loop, ...]

    def render(self, data: Any, shown: Callable[[str], str] = str) -> str:
        """The template, filled with data.

        Args:
            data: JSON: dict, list, str, int, float, bool, None.
            shown: Applied to each text in the data.

        Raises:
            JSONPathError: the template does not fit the data.
        """
        return "".join(_rendered(path, found, shown) for path, found in self._reached(data))

    def values(self, data: Any) -> list[Values]:
        """The values that each action finds in the data, and the text between actions.

        Raises:
            JSONPathError: as of `render`.
        """
        return [_walk(path, found) for path, found in self._reached(data)]

    def find(self, data: Any) -> Values:
        """All values that are found in the data.

        Raises:
            JSONPathError: as of `render`.
        """
        return [value for values in self.values(data) for value in values]

    def _reached(self, data: Any) -> Iterator[tuple[Path, Values]]:
        """Each action in order, with the values from which it starts."""
        return (reached for part in self.parts for reached in part.reached([data]))


def parse(text: str) -> JSONPathTemplate:
    """Parse a template.

    Raises:
        JSONPathError: the template is invalid.
    """
    return JSONPathTemplate(text, _Parser(text).template())


class _Parser:
    """Reads a template from left to right; `_at` is the position of the next character."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def template(self) -> tuple[_Action | _Loop, ...]:
        """Text and actions, to the end."""
        open_loops: list[tuple[Path, list[_Action | _Loop]]] = [((), [])]
        while self._at < len(self._text):
            before, brace, _ = self._text[self._at :].partition("{")
            self._at += len(before) + len(brace)
            if before:
                open_loops[-1][1].append(_Action((_Text(before),)))
            if not brace:
                break
            word, path = self._action()
            if word == "range":
                open_loops.append((path, []))
            elif word == "end":
                if len(open_loops) == 1:
                    raise self._error("{end} without {range …} before it")
                over, body = open_loops.pop()
                open_loops[-1][1].append(_Loop(over, tuple(body)))
            else:
                open_loops[-1][1].append(_Action(path))
        if len(open_loops) > 1:
            raise self._error("{range …} without {end} after it")
        return tuple(open_loops[0][1])

    def _error(self, problem: str) -> JSONPathError:
        return JSONPathError(f"{problem}, at {self._at} of {self._text!r}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _action(self) -> tuple[str, Path]:
        """The keyword of an action, range, end or none, and its path."""
        inside = self._text[self._at :].lstrip(" ")
        word = next((word for word in ("range", "end") if re.match(rf"{word}(?![\w-])", inside)), "")
        if word:
            self._at = len(self._text) - len(inside) + len(word)
        path = self.path("}")
        if word == "end" and path:
            raise self._error("{end} must be alone in its braces")
        return word, path

    def path(self, end: str) -> Path:
        """Steps up to and including the character that ends them; empty: up to the end of the text."""
        nodes: list[_Node] = []
        while True:
            char = self._peek()
            if char == end:
                self._at += 1
                return tuple(nodes)
            if not char or char in "\r\n":
                raise self._error("an action is not closed: } is missing")
            if char in " @$":
                self._at += 1
                continue
            nodes += self._step(char, nodes)

    def _step(self, char: str, before: Sequence[_Node]) -> Sequence[_Node]:
        rest = self._text[self._at : self._at + 3]
        if rest == "[?(":
            return [self._filter()]
        if rest.startswith(".."):
            if before and isinstance(before[-1], _Recursive):
                raise self._error("'..' twice")
            self._at += 2
            follows = self._peek()
            return [_Recursive(), *([self._field()] if follows == "_" or follows.isalnum() else [])]
        if char == "[":
            return self._array()
        if char in "\"'":
            return [self._quoted(char)]
        if char == ".":
            self._at += 1
            return [self._field()]
        if char in "+-" or char.isdigit():
            return [self._number()]
        if char == "_" or char.isalpha():
            return [self._word()]
        raise self._error(f"unexpected {char!r}")

    def _until_terminator(self) -> str:
        """Text up to a character that ends a name; a backslash escapes the next one."""
        start = self._at
        while (char := self._peek()) and char not in _TERMINATORS:
            self._at += 2 if char == "\\" else 1
        return self._text[start : self._at]

    def _field(self) -> _Node:
        name = self._until_terminator()
        return _Wildcard() if name == "*" else _Field(name.replace("\\", ""))

    def _word(self) -> _Node:
        start = self._at
        word = self._until_terminator()
        if word in {"true", "false"}:
            return _Literal(word == "true")
        self._at = start
        raise self._error(f"unknown word {word!r}: a field is written .{word}")

    def _number(self) -> _Node:
        found = re.compile(r"[+-]?[\d.]*").match(self._text, self._at)
        text = found[0] if found else ""
        try:
            value = int(text) if re.fullmatch(r"[+-]?\d+", text, re.ASCII) else float(text)
        except ValueError:
            raise self._error(f"{text!r} is not a number") from None
        self._at += len(text)
        return _Literal(value)

    def _quoted(self, quote: str) -> _Node:
        start = self._at
        while True:
            self._at += 1
            char = self._peek()
            if not char or char == "\n":
                self._at = start
                raise self._error(f"the quoted text has no closing {quote}")
            if char == quote and self._text[self._at - 1] != "\\":
                break
        self._at += 1
        return _Text(_ESCAPE.sub(lambda found: self._unescaped(found[1], quote), self._text[start + 1 : self._at - 1]))

    def _unescaped(self, code: str, quote: str) -> str:
        if code in _ESCAPED or code == quote:
            return _ESCAPED.get(code, code)
        base = 16 if code[0] in "xuU" and len(code) > 1 else 8
        number = int(code.lstrip("xuU"), base) if len(code) > 1 else -1
        if not 0 <= number <= 0x10FFFF or 0xD800 <= number < 0xE000:
            raise self._error(rf"unknown escape \{code}: write \n, \t, \\, \{quote} or \u00e9")
        return chr(number)

    def _array(self) -> Sequence[_Node]:
        end = self._text.find("]", self._at)
        if end < 0 or "\n" in self._text[self._at : end]:
            raise self._error("[ is not closed: ] is missing")
        inside = self._text[self._at + 1 : end]
        parts = inside.split(",")
        nodes = [self._element(part.strip(" ") if len(parts) > 1 else part) for part in parts]
        self._at = end + 1
        return nodes[0] if len(parts) == 1 else [_Union(tuple(nodes))]

    def _element(self, text: str) -> Path:
        if key := _DICT_KEY.fullmatch(text):
            return _Parser(f".{key[1]}}}").path("}")
        found = _SLICE.fullmatch(":" if text == "*" else text)
        if found is None:
            raise self._error(f"[{text}]: write a number, *, 1:3, 'name' or ?(@.name=='x')")
        numbers = [
            int(part) if (part := (given or "").removeprefix(":")) not in {"", "-"} else None
            for given in found.groups()
        ]
        single = found[2] is None
        return (_Array(numbers[0], (numbers[0] or 0) + 1 if single else numbers[1], numbers[2], single),)

    def _filter(self) -> _Node:
        start = self._at + 3
        end = self._filter_end(start)
        if self._text[end + 1 : end + 2] != "]":
            raise self._error("a filter ends with )]")
        inside = self._text[start:end]
        found = _COMPARISON.fullmatch(inside)
        if found is not None and found[2] not in _OPERATORS:
            raise self._error(f"unknown operator {found[2]}: use {', '.join(sorted(_OPERATORS))}")
        sides = (inside, "") if found is None else (found[1], found[3])
        left, right = (_Parser(f"{side}}}").path("}") for side in sides)
        self._at = end + 2
        return _Filter(left, found[2] if found else "", right)

    def _filter_end(self, start: int) -> int:
        """The position of the filter's closing parenthesis, outside of quoted text."""
        quote, closed = "", False
        for at in range(start, len(self._text)):
            char = self._text[at]
            if char == "\n":
                break
            if char in "\"'":
                if not quote:
                    quote = char
                elif char == quote and self._text[at - 1] != "\\":
                    closed = True
            elif char == ")" and bool(quote) == closed:
                return at
        raise self._error("a filter is not closed: )] is missing")


# Values of JSON as Go prints them, so that templates print what kubectl prints.
#
# Source: fmt and strconv (``%v``) and encoding/json (`Marshal`) of Go's standard library.

_HTML: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
"""Characters that `json.Marshal` escapes for HTML and JavaScript."""


def go_print(value: Any) -> str:
    """As ``fmt.Sprint``: ``true``, ``1.5``, ``<nil>``, ``map[a:1 b:2]``, ``[1 2]``; a text is unchanged."""
    match value:
        case str():
            return value
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return _float(value, below=6, least=-4)
        case dict():
            return f"map[{' '.join(f'{key}:{go_print(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_print, value))}]"
    return str(value)


def go_json(value: Any) -> str:
    """As ``json.Marshal``: on one line, without spaces, keys in their order."""
    match value:
        case float():
            return re.sub(r"e-0(\d)$", r"e-\1", _float(value, below=21, least=-6))
        case dict():
            return f"{{{','.join(f'{go_json(key)}:{go_json(value[key])}' for key in sorted(value))}}}"
        case list():
            return f"[{','.join(map(go_json, value))}]"
        case str():
            return json.dumps(value, ensure_ascii=False).translate(_HTML)
    return json.dumps(value)


def _float(value: float, *, below: int, least: int) -> str:
    """The shortest digits of a number, with an exponent unless it is at least `least` and below `below`."""
    sign, digits, exponent = _shortest(value)
    if not least <= exponent < below:
        fraction = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}{f'.{fraction}' if fraction else ''}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, significant digits, and the power of ten of the first one."""
    found = re.match(r"(-?)([\d.]+)(?:e([+-]\d+))?$", repr(value))
    if found is None:
        raise ValueError(f"{value} is not a JSON number")
    whole, _, fraction = found[2].partition(".")
    exponent = len(whole) - 1 + int(found[3] or 0)
    digits = whole + fraction
    kept = digits.lstrip("0")
    if not kept:
        return found[1], "0", 0
    return found[1], kept.rstrip("0"), exponent - (len(digits) - len(kept))
