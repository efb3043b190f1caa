"""CEL selectors of device classes and requests, evaluated for devices.

    device.driver                       string
    device.allowMultipleAllocations     bool
    device.attributes[domain].id        int, bool, string or semantic version; a missing domain is an empty map
    device.capacity[domain].id          quantity; a missing domain is an empty map

Without the gate DRAConsumableCapacity there is no device.allowMultipleAllocations: upstream refuses to compile
an expression that reads it, in words of its compiler that are not restated (`UnknownAnswer`).

A name without a domain has that of its driver. Expressions are evaluated by the package common-expression-language;
``quantity``, ``semver`` and their methods are added to it, and ``cel.bind`` is replaced by what it stands for.
If several operands of ``||`` and ``&&`` fail, CEL reports the first, so these two are judged here.
``.?id`` of a domain is known with ``orValue`` or ``hasValue`` behind it.
An expression that uses more than that (other optional syntax, ``ip``, ``url``, ``find`` and the like,
``device.attributes`` as a whole) is not answered: `UnknownAnswer`.

Source: k8s.io/dynamic-resource-allocation/cel/compile.go and k8s.io/apiserver/pkg/cel/library at v0.36.3.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.quantity import Quantity, QuantityError
from podrules.api.model.resource import Device
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import AllocationError, UnknownAnswer
from podrules.scheduling.scheduler.plugins.dynamic_resources.selector_tokens import (
    Read,
    SyntaxUnknown,
    cost_of,
    expand_bind,
    expand_optional,
    operands,
    reads_of,
    tokenize,
    unwrapped,
)

if TYPE_CHECKING:
    import cel


MAX_COST: Final = 30_000_000
"""What is evaluated in one scheduling cycle, in units of `cost_of`; kube-scheduler stops after a time instead."""


class Logic(Struct, frozen=True):
    """Operands of ``||`` (absorbed by true) or ``&&`` (absorbed by false)."""

    absorbing: bool
    operands: tuple[Node, ...]


class Leaf(Struct, frozen=True):
    """An expression without such operators at its top."""

    program: cel.Program


Node = Logic | Leaf


class CompiledSelector(Struct, frozen=True):
    """A compiled expression."""

    root: Node
    reads: tuple[Read, ...]
    scalars: tuple[str, ...]
    cost: int


class SelectorCache:
    """Answers of one scheduling cycle: each expression is evaluated once for each distinct set of values it reads."""

    def __init__(self, *, shows_shared: bool = True) -> None:
        """Start empty; unless ``shows_shared``, ``allowMultipleAllocations`` is false for every device."""
        self._shows_shared = shows_shared
        self._answers: dict[tuple[Any, ...], bool | Exception] = {}
        self._checked: dict[int, str] = {}
        self._context: cel.Context | None = None
        self._cost = 0

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        """Whether the device satisfies the expression (CompilationResult.DeviceMatches).

        Raises:
            AllocationError: evaluation fails upstream too, with this text.
            UnknownAnswer: the expression cannot be evaluated here.
        """
        selector = compile_selector(expression)
        if id(device) not in self._checked:
            # The first attribute without a value of a known kind; lists are behind a gate that is off by default.
            none = (None, None, None, None)
            unset = (
                name
                for name, held in device.attributes.items()
                if (held.int_value, held.bool_value, held.string_value, held.version_value) == none
            )
            self._checked[id(device)] = next(unset, "")
        if unsupported := self._checked[id(device)]:
            raise AllocationError(f"attribute {unsupported}: unsupported attribute value")
        if device.allow_multiple_allocations and not self._shows_shared:
            device = replace(device, allow_multiple_allocations=False)
        key = (expression, driver, device.allow_multiple_allocations, *_values(selector, driver, device))
        answer = self._answers.get(key)
        if answer is None:
            self._cost += selector.cost
            if self._cost > MAX_COST:
                raise UnknownAnswer("the CEL expressions of its claims need too many steps")
            self._context = self._context or _functions()
            answer = self._answers[key] = _evaluate(selector, self._context, driver, device)
        if isinstance(answer, Exception):
            raise answer
        return answer


@lru_cache(maxsize=256)
def compile_selector(expression: str) -> CompiledSelector:
    """Parse an expression.

    Raises:
        UnknownAnswer: it cannot be read here, or the package that reads it is not installed.
    """
    try:
        import cel
    except ImportError as error:
        raise UnknownAnswer("CEL selectors need the Python package common-expression-language") from error
    try:
        tokens = expand_optional(expand_bind(tokenize(expression)))
        reads, scalars = reads_of(tokens)
        root = _tree(tokens, cel.compile)
    except (SyntaxUnknown, ValueError, RecursionError) as error:
        raise UnknownAnswer(f"cannot read the CEL expression {expression!r}") from error
    return CompiledSelector(root, reads, scalars, cost_of(tokens, reads))


def _functions() -> cel.Context:
    """The functions of expressions; each evaluation adds the device."""
    import cel
    from cel.stdlib import add_stdlib_to_context

    # It logs what a function raises, which is the text of the expression's author.
    logging.getLogger("cel").addHandler(logging.NullHandler())
    context = cel.Context()
    add_stdlib_to_context(context)
    for name, function in FUNCTIONS.items():
        context.add_function(name, function)
    return context


def _tree(tokens: list[str], parse: Callable[[str], cel.Program]) -> Node:
    tokens = unwrapped(tokens)
    for operator in ("||", "&&"):
        parts = operands(tokens, operator)
        if len(parts) > 1:
            return Logic(operator == "||", tuple(_tree(part, parse) for part in parts))
    return Leaf(parse("".join(tokens)))


def _values(selector: CompiledSelector, driver: str, device: Device) -> Iterator[Any]:
    """What is read of the device, apart from its driver."""
    for kind, domain, name in selector.reads:
        held: dict[str, Any] = device.attributes if kind == "attributes" else device.capacity
        if not name:
            yield tuple(sorted((found, repr(value)) for found, value in held.items()))
        yield held.get(f"{domain}/{name}") or (held.get(name) if domain == driver else None)


def _evaluate(selector: CompiledSelector, context: cel.Context, driver: str, device: Device) -> bool | Exception:
    try:
        context.add_variable("device", _variable(selector, driver, device))
    except (UnknownAnswer, OverflowError, ValueError) as error:
        return UnknownAnswer(str(error))
    result: object = _run(selector.root, context)
    if isinstance(result, (bool, Exception)):
        return result
    if isinstance(result, str):
        problem = "unsupported native conversion from string to 'bool'"
        return AllocationError(f"CEL result of type string could not be converted to bool: {problem}")
    return UnknownAnswer("a CEL expression gives neither true nor false")


def _run(node: Node, context: cel.Context) -> Any:
    """What an expression gives; an exception where it fails."""
    if isinstance(node, Leaf):
        try:
            return node.program.execute(context)
        except (LookupError, TypeError, ZeroDivisionError, ValueError, RuntimeError, OverflowError) as error:
            return _worded(error)
    # An operand that decides, whatever the others; else the first that failed; one that is not known counts first.
    failed: list[Exception] = []
    for operand in node.operands:
        result = _run(operand, context)
        if result is node.absorbing:
            return result
        if not isinstance(result, bool):
            failed.append(result if isinstance(result, Exception) else AllocationError("no such overload"))
    unknown = next((error for error in failed if isinstance(error, UnknownAnswer)), None)
    if unknown is not None or failed:
        return unknown or failed[0]
    return not node.absorbing


def _worded(error: Exception) -> Exception:
    """The evaluator's exceptions in upstream's words."""
    match error:
        case KeyError():
            return AllocationError(f"no such key: {error.args[0]}")
        case IndexError():
            return AllocationError(str(error))
        case ZeroDivisionError():
            return AllocationError("modulus by zero" if "modul" in str(error) else "division by zero")
        case TypeError() if str(error).startswith(("No such overload", "Unsupported operation")):
            return AllocationError("no such overload")
        case _:
            return UnknownAnswer(f"a CEL expression cannot be evaluated: {str(error).partition('. ')[0]}")


def _variable(selector: CompiledSelector, driver: str, device: Device) -> dict[str, Any]:
    """``device`` with the domains that the expression reads."""
    attributes: dict[str, dict[str, Any]] = {domain: {} for kind, domain, _ in selector.reads if kind == "attributes"}
    capacity: dict[str, dict[str, Any]] = {domain: {} for kind, domain, _ in selector.reads if kind == "capacity"}
    for domain, name, attribute in _qualified(device.attributes.items(), driver):
        if domain not in attributes:
            continue
        # The one value that is set (getAttributeValue).
        values = (attribute.int_value, attribute.bool_value, attribute.string_value)
        value = next((value for value in values if value is not None), None)
        if value is None:
            try:
                value = semver_value(attribute.version_value or "")
            except SemverError as error:
                raise UnknownAnswer(f"attribute {name}: {error}") from error
        attributes[domain][name] = value
    for domain, name, held in _qualified(device.capacity.items(), driver):
        if domain in capacity:
            capacity[domain][name] = quantity_value(held.value)
    return {
        "driver": driver,
        "allowMultipleAllocations": device.allow_multiple_allocations,
        "attributes": attributes,
        "capacity": capacity,
    }


def _qualified(items: Iterable[tuple[str, Any]], driver: str) -> Iterator[tuple[str, str, Any]]:
    """Names split into domain and id (parseQualifiedName)."""
    for name, value in items:
        domain, slash, rest = name.partition("/")
        yield (domain, rest, value) if slash else (driver, name, value)


# What Kubernetes adds to CEL for devices: quantities and semantic versions.
#
# The evaluator gets both as maps with one entry; equal values have equal text, so that ``==`` works.
#
# Source: k8s.io/apiserver/pkg/cel/library/{quantity,semverlib}.go at v0.36.3; semver.org 2.0.0 for the order.

Value = Mapping[str, str]

_QUANTITY: Final = f"quantity {token_hex()}"
_SEMVER: Final = f"semver {token_hex()}"
"""No expression can write a map with such a key."""
_VERSION: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)


class SemverError(ValueError):
    """The text is not a semantic version."""


def quantity_value(quantity: Quantity) -> dict[str, str]:
    """A quantity as the evaluator sees it: digits without trailing zeros, and the exponent of ten."""
    unscaled, exponent = quantity.unscaled, quantity.exponent
    while unscaled and unscaled % 10 == 0:
        unscaled, exponent = unscaled // 10, exponent + 1
    return {_QUANTITY: f"{unscaled}e{exponent if unscaled else 0}"}


def semver_value(text: str) -> dict[str, str]:
    """A version as the evaluator sees it: without build metadata, which does not count.

    Raises:
        SemverError: the text is not a semantic version.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise SemverError(f"{text!r} is not a semantic version")
    return {_SEMVER: text.partition("+")[0]}


def _quantity(value: Value) -> Quantity:
    if _QUANTITY not in value:
        raise TypeError("No such overload")
    unscaled, _, exponent = value[_QUANTITY].partition("e")
    return Quantity(int(unscaled), int(exponent))


def _order(value: Value) -> Any:
    """What values of either kind are compared by."""
    if _QUANTITY in value:
        return _quantity(value)
    if _SEMVER not in value:
        raise TypeError("No such overload")
    core, dash, labels = value[_SEMVER].partition("-")
    numbers = tuple(map(int, core.split(".")))
    parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in labels.split(".") if dash)
    return numbers, not dash, parts


def _compare(left: Value, right: Value) -> int:
    first, second = _order(left), _order(right)
    return int(first > second) - int(first < second)


def _parses(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _add(left: Value, right: Value | int, sign: int = 1) -> dict[str, str]:
    more = Quantity(right) if isinstance(right, int) else _quantity(right)
    return quantity_value(_quantity(left) + more if sign > 0 else _quantity(left) - more)


def _as_integer(value: Value) -> int:
    quantity = _quantity(value)
    if not _is_integer(value):
        raise QuantityError(str(quantity), "not an integer")
    return quantity.value


def _is_integer(value: Value) -> bool:
    quantity = _quantity(value)
    return quantity.exponent >= 0 and -(2**63) <= quantity.unscaled * 10**quantity.exponent < 2**63


def _approximate(value: Value) -> float:
    quantity = _quantity(value)
    return float(quantity.unscaled) * 10.0**quantity.exponent


def _number(value: Value, index: int) -> int:
    numbers: tuple[int, ...] = _order(value)[0]
    return numbers[index]


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "quantity": lambda text: quantity_value(Quantity.parse(text)),
    "isQuantity": lambda text: _parses(Quantity.parse, text),
    "semver": semver_value,
    "isSemver": lambda text: _parses(semver_value, text),
    "compareTo": _compare,
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "isLessThan": lambda left, right: _compare(left, right) < 0,
    "sign": lambda value: _quantity(value).sign,
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": _approximate,
    "add": _add,
    "sub": lambda left, right: _add(left, right, -1),
    "major": lambda value: _number(value, 0),
    "minor": lambda value: _number(value, 1),
    "patch": lambda value: _number(value, 2),
}
