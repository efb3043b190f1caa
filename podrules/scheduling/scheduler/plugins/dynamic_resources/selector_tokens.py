"""CEL text in pieces: what an expression reads of the device, and what the evaluator does not know, rewritten.

cel.bind(x, e, body)                       is   [e].map(x, body)[0]
device.attributes["d"].?id.orValue(e)      is   (has(device.attributes["d"].id) ? device.attributes["d"].id : (e))
device.attributes["d"].?id.hasValue()      is   has(device.attributes["d"].id)

Source: github.com/google/cel-go/cel/library.go (OptionalTypes) at v0.26.0.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

_TOKEN: Final = re.compile(
    r"""
    (?P<string>[rR]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<space>\s+|//[^\n]*)
    |(?P<number>[0-9][0-9A-Za-z.]*)
    |(?P<logic>\|\||&&)
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_MAPS: Final = frozenset({"attributes", "capacity"})
_SCALARS: Final = frozenset({"driver", "allowMultipleAllocations"})
_OF_OPTIONALS: Final = frozenset({"hasValue", "or", "orValue", "value"})
_MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})
_MOST_ATTRIBUTES: Final = 32
"""Attributes and capacities of a device together (ResourceSliceMaxAttributesAndCapacitiesPerDevice)."""
_MAX_TOKENS: Final = 100_000

Read = tuple[str, str, str]
"""What an expression reads of a device: ``attributes`` or ``capacity``, the domain, the id; no id: the whole domain."""


class SyntaxUnknown(Exception):
    """The expression is written in a way that is not understood here."""


def tokenize(expression: str) -> list[str]:
    """The pieces of an expression without comments; white space becomes one blank."""
    found = []
    for match in _TOKEN.finditer(expression):
        if match.lastgroup != "space":
            found.append(match.group())
        elif found and found[-1] != " ":
            found.append(" ")
    kept = []
    for index, piece in enumerate(found):
        if piece == " ":
            # Blanks are kept between words only (``a in b``).
            before, after = found[index - 1 : index], found[index + 1 : index + 2]
            if not (before and after and _wordlike(before[0][-1]) and _wordlike(after[0][0])):
                continue
        kept.append(piece)
    return kept


def _wordlike(character: str) -> bool:
    return character.isalnum() or character in "_\"'"


def expand_bind(tokens: list[str]) -> list[str]:
    """The same expression without ``cel.bind``.

    Raises:
        SyntaxUnknown: it is not a plain name that is bound, or too much is bound to too much.
    """
    for index in range(len(tokens) - 3):
        if tokens[index : index + 4] == ["cel", ".", "bind", "("]:
            (name, value, body), end = _arguments(tokens, index + 4)
            bound = _substituted(expand_bind(body), name, expand_bind(value))
            return [*tokens[:index], "(", *bound, ")", *expand_bind(tokens[end:])]
    return tokens


def expand_optional(tokens: list[str]) -> list[str]:
    """The same expression without optional selection of what a device may lack.

    Raises:
        SyntaxUnknown: what is selected is not of a domain of the device, or is used otherwise; or a value that is not
            optional is used as if it were, for which upstream has words of its own.
    """
    for index in range(len(tokens) - 1):
        if _called_on_a_read(tokens, index):
            raise SyntaxUnknown("a value that is not optional")
        if tokens[index : index + 2] != [".", "?"]:
            continue
        owner = _domain_before(tokens, index)
        name, dot, call, opening = (*tokens[index + 2 : index + 6], "", "", "", "")[:4]
        if not name.isidentifier() or (dot, opening) != (".", "("):
            raise SyntaxUnknown("optional selection")
        (argument,), end = _arguments(tokens, index + 6, 1)
        if call == "hasValue" and tokens[end : end + 1] in (["."], ["["]):
            raise SyntaxUnknown("member of a bool")
        # What is there has a value, even if that is empty.
        read = [*owner, ".", name]
        has = ["has", "(", *read, ")"]
        if call == "orValue":
            unfolded = ["(", *has, "?", *read, ":", "(", *expand_optional(argument), ")", ")"]
        elif call == "hasValue" and not argument:
            unfolded = has
        else:
            raise SyntaxUnknown("optional selection")
        return [*tokens[: index - len(owner)], *unfolded, *expand_optional(tokens[end:])]
    return tokens


def _called_on_a_read(tokens: list[str], index: int) -> bool:
    """Whether a function of optional values is called there, on ``device.attributes["domain"].id``."""
    dot, call, opening = (*tokens[index : index + 3], "", "", "")[:3]
    if (dot, opening) != (".", "(") or call not in _OF_OPTIONALS or tokens[max(index - 2, 0)] != ".":
        return False
    try:
        _domain_before(tokens, index - 2)
    except SyntaxUnknown:
        return False
    return True


def _domain_before(tokens: list[str], end: int) -> list[str]:
    """``device.attributes["domain"]``, which ends there."""
    for size in (6, 5):
        found = tokens[max(end - size, 0) : end]
        if found[:2] == ["device", "."] and found[2:3] and found[2] in _MAPS and _domain(found, 3)[1] == len(found):
            return found
    raise SyntaxUnknown("optional selection")


def _substituted(body: list[str], name: list[str], value: list[str]) -> list[str]:
    if len(name) != 1 or len(body) * len(value) > _MAX_TOKENS:
        raise SyntaxUnknown("cel.bind")
    plain = all(piece in {".", "[", "]"} or _wordlike(piece[0]) for piece in value)
    found: list[str] = []
    for index, piece in enumerate(body):
        if piece == name[0] and body[index - 1 : index] != ["."]:
            if body[index - 1 : index] == ["("] and body[index + 1 : index + 2] == [","]:
                raise SyntaxUnknown("cel.bind")  # a macro's variable of the same name, perhaps
            found.extend(value if plain else ["(", *value, ")"])
        else:
            found.append(piece)
    return found


def _arguments(tokens: list[str], start: int, count: int = 3) -> tuple[list[list[str]], int]:
    """So many arguments that start there, and where the call ends."""
    depth, parts = 0, [list[str]()]
    for index in range(start, len(tokens)):
        piece = tokens[index]
        if depth == 0 and piece == ")":
            if len(parts) != count:
                break
            return parts, index + 1
        if depth == 0 and piece == ",":
            parts.append([])
            continue
        depth += (piece in _OPENING) - (piece in _CLOSING)
        parts[-1].append(piece)
    raise SyntaxUnknown("cel.bind")


def operands(tokens: list[str], operator: str) -> list[list[str]]:
    """The operands of ``||`` or ``&&`` at the top of an expression; the expression itself where there are none."""
    depth, parts = 0, [list[str]()]
    for piece in tokens:
        depth += (piece in _OPENING) - (piece in _CLOSING)
        if depth == 0 and piece == "?":
            return [tokens]
        if depth == 0 and piece == operator:
            parts.append([])
        else:
            parts[-1].append(piece)
    return parts


def unwrapped(tokens: list[str]) -> list[str]:
    """The expression without parentheses around all of it."""
    depth = 0
    for index, piece in enumerate(tokens):
        depth += (piece in _OPENING) - (piece in _CLOSING)
        if depth == 0 and index < len(tokens) - 1:
            return tokens
    return unwrapped(tokens[1:-1]) if tokens[:1] == ["("] and tokens[-1:] == [")"] else tokens


def reads_of(tokens: list[str]) -> tuple[tuple[Read, ...], tuple[str, ...]]:
    """What is read of ``device``: map, domain and id (empty: any id of the domain); and its plain fields.

    Raises:
        SyntaxUnknown: the device, its attributes or its capacity are used as a whole.
    """
    reads: dict[Read, None] = {}
    scalars: dict[str, None] = {}
    for index, piece in enumerate(tokens):
        if piece != "device" or tokens[max(index - 1, 0)] == ".":
            continue
        dot, field = (*tokens[index + 1 : index + 3], "", "")[:2]
        if dot == "." and field in _SCALARS:
            scalars[field] = None
        elif dot == "." and field in _MAPS:
            domain, start = _domain(tokens, index + 3)
            dot, name, after = (*tokens[start : start + 3], "", "", "")[:3]
            read_alone = dot == "." and name.isidentifier() and after != "("
            reads[(field, domain, name if read_alone else "")] = None
        else:
            raise SyntaxUnknown("device")
    return tuple(reads), tuple(scalars)


def cost_of(tokens: list[str], reads: tuple[Read, ...]) -> int:
    """At least the steps of one evaluation: nested macros repeat their body for each element of their lists.

    Each list is taken to hold all that is listed anywhere, and no less than a domain that is read as a whole can hold.
    ``+`` can double a list in each of a chain of macros.
    """
    calls, deepest, all_macros = [False], 0, 0
    for before, piece in pairwise(tokens):
        if piece in _OPENING:
            calls.append(piece == "(" and before in _MACROS)
            all_macros += calls[-1]
            deepest = max(deepest, sum(calls))
        elif piece in _CLOSING and calls:
            calls.pop()
    pluses = tokens.count("+")
    listed = max(1 + tokens.count(","), 1 if all(name for _, _, name in reads) else _MOST_ATTRIBUTES)
    longest = listed * (1 + pluses)
    repeats: int = longest ** min(all_macros if pluses else deepest, 64)
    return len(tokens) * repeats


def _domain(tokens: list[str], index: int) -> tuple[str, int]:
    opening, name, closing = (*tokens[index : index + 3], "", "", "")[:3]
    plain = name[:1] in {"'", '"'} and name[:3] not in {'"""', "'''"} and "\\" not in name
    if opening == "[" and closing == "]" and plain:
        return name[1:-1], index + 3
    if opening == "." and name.isidentifier():
        return name, index + 2
    raise SyntaxUnknown("device.attributes")
