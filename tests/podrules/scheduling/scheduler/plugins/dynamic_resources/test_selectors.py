"""CEL selectors on one device; cases after upstream's cel/compile_test.go."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.resource import Device
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import AllocationError, UnknownAnswer
from podrules.scheduling.scheduler.plugins.dynamic_resources.selectors import SelectorCache, compile_selector
from tests.podrules.scheduling.scheduler.plugins.building_devices import make_device
from tests.table import row, table

DEVICE = make_device(
    "device-1",
    attributes={
        "name": "fish",
        "count": 3,
        "ok": True,
        "empty": "",
        "off": False,
        "fw": {"version": "1.10.0-rc.1+build"},
        "pcie.example.com/root": "r0",
    },
    capacity={"memory": "16Gi"},
)
D = 'device.attributes["dra.example.com"]'
FW = f"{D}.fw"
MEMORY = 'device.capacity["dra.example.com"].memory'
DIGITS = f"[{','.join(map(str, range(10)))}]"
NESTED = f"{DIGITS}.exists(a, {DIGITS}.exists(b, {DIGITS}.exists(c, a + b + c == 100)))"


def matches(expression: str, device: Mapping[str, Any] = DEVICE) -> bool:
    return SelectorCache().matches(expression, "dra.example.com", from_object(device, Device))


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "dra.example.com"',
        f'{D}.name == "fish"',
        'device.attributes["pcie.example.com"].root == "r0"',
        f"{D}.count + 1 == 4",
        f"{D}.ok",
        f'{D}.name != 3 && {D}.name in ["fish"]',
        f'has({D}.name) && !has({D}.nope) && "name" in {D}',
        '!has(device.attributes["other.example.com"].name)',
        f'{D}.nope == 1 || {D}.name == "fish"',
        f"cel.bind(d, {D}, d.count == 3 && d.ok)",
        f"cel.bind(n, {D}.count + 1, cel.bind(m, n + 1, m == 5))",
        f'{FW}.isGreaterThan(semver("1.9.9")) && {FW}.isLessThan(semver("1.10.0"))',
        f'{FW}.compareTo(semver("1.10.0-rc.1")) == 0 && {FW} == semver("1.10.0-rc.1+other")',
        f'{FW}.major() == 1 && {FW}.minor() == 10 && {FW}.patch() == 0 && isSemver("1.0.0") && !isSemver("1")',
        f'{FW}.isLessThan(semver("1.10.0-rc.2")) && {FW}.isGreaterThan(semver("1.10.0-1"))',
        f'{FW}.isLessThan(semver("1.10.0-rc.1.1"))',
        f'{MEMORY}.compareTo(quantity("16384Mi")) == 0 && {MEMORY} == quantity("16Gi")',
        f'{MEMORY}.isLessThan(quantity("20G")) && {MEMORY}.add(quantity("1Gi")) == quantity("17Gi")',
        f'{MEMORY}.sub(quantity("6Gi")).isGreaterThan(quantity("9Gi"))',
        f"{MEMORY}.isInteger() && {MEMORY}.asInteger() == 17179869184 && {MEMORY}.asApproximateFloat() > 1.0",
        f'{MEMORY}.sign() == 1 && quantity("1").add(2) == quantity("3") && isQuantity("1Gi") && !isQuantity("x")',
        f'{D}.name.lowerAscii().matches("^f.*$") ? true : false',
        '["fish", "cat"].exists(x, x == device.attributes["dra.example.com"].name)',
        "device.allowMultipleAllocations == false",
        f'{D}.?name.orValue("cat") == "fish" && {D}.?nope.orValue("cat") == "cat"',
        f'{D}.?nope.orValue({D}.?nor_this.orValue("a") + "b") == "ab"',
        "device.attributes.other.?name.orValue(true)",
        f"{D}.?name.hasValue() && !{D}.?nope.hasValue()",
        f"{D}.?empty.hasValue() && {D}.?off.hasValue()",
        "!device.attributes.other.?name.hasValue()",
        'device.attributes["pcie.example.com"].?root.hasValue()',
        'device.capacity["dra.example.com"].?memory.hasValue() && !device.capacity.other.?memory.hasValue()',
        f'{D}.?name.hasValue() ? {D}.name == "fish" : false',
        f"{D}.?nope.orValue({D}.?name.hasValue())",
        f"cel.bind(d, {D}, d.?name.hasValue())",
        f"[{D}.?name . hasValue ( )].all(x, x)",
        f"optional.of({D}.name).hasValue() && !optional.none().hasValue()",
    ],
)
def test_true(expression: str) -> None:
    assert matches(expression)


@table(
    "expression, problem",
    {
        "missing attribute": row(f'{D}.nope == "x"', "no such key: nope"),
        "missing domain": row('device.attributes["other"].name == "x"', "no such key: name"),
        "of two failures the first": row(f"!{D}.first || {D}.second", "no such key: first"),
        "missing attribute before one that may be missing": row(
            f"{D}.nope || {D}.?nope.hasValue()", "no such key: nope"
        ),
        "types that have no order": row(f"{D}.name > 3", "no such overload"),
        "a word is not true": row(f"{D}.name && true", "no such overload"),
        "division": row(f"1 / ({D}.count - 3) == 1", "division by zero"),
        "modulus": row(f"1 % ({D}.count - 3) == 1", "modulus by zero"),
        "index": row("[1][5] == 1", "index out of bounds: 5"),
        "result is a word": row(
            f"{D}.name",
            "CEL result of type string could not be converted to bool:"
            " unsupported native conversion from string to 'bool'",
        ),
    },
)
def test_fails_as_upstream(expression: str, problem: str) -> None:
    with pytest.raises(AllocationError) as caught:
        matches(expression)
    assert str(caught.value) == problem


@table(
    "expression",
    {
        "optional without a default": f'{D}.?name == "fish"',
        "optional of anything but a domain": f'[{D}][0].?name.orValue("") == "fish"',
        "optional index": f'{D}[?"name"].orValue("") == "fish"',
        "optional index that has a value": f'{D}[?"name"].hasValue()',
        "optional of an optional": f"{D}.?name.?first.hasValue()",
        "whether anything but a domain has a value": f"[{D}][0].?name.hasValue()",
        "hasValue with an argument": f"{D}.?name.hasValue(true)",
        "hasValue that is not called": f"{D}.?name.hasValue",
        "hasValue of what is not optional": f"{D}.name.hasValue()",
        "orValue of what is not optional": f'{D}.name.orValue("cat") == "fish"',
        "value of what is not optional": "device.attributes.other.name.value() == 1",
        "hasValue of hasValue": f"{D}.?name.hasValue().hasValue()",
        "orValue of hasValue": f"{D}.?name.hasValue().orValue(1)",
        "orValue without a default": f"{D}.?name.orValue()",
        "another function of optional values": f'{D}.?name.value() == "fish"',
        "attributes as a whole": '"a" in device.attributes',
        "attributes as a whole before a name": '"a" in device.attributes && device.driver != ""',
        "capacity as a whole": "size(device.capacity) > 0",
        "device as a whole": "[device].exists(d, d.driver == '')",
        "a library that is not there": 'ip("10.0.0.1").family() == 4',
        "unknown beside a failure": f'{D}.nope == 1 || cidr("x") == 1',
        "four nested macros": f"{DIGITS}.exists(d, {NESTED})",
        "over a whole domain": f"{D}.all(a, {D}.all(b, {D}.all(c, {D}.all(d, a != b + c + d))))",
        "a list that doubles forty times": f"[[1]]{'.map(x, x + x)' * 40}.size() == 1",
        "deep parentheses": f"{'(' * 4_000}true{')' * 4_000}",
        "not an expression": f"{D}.name ==",
        "cel.bind with two arguments": f"cel.bind(d, {D})",
        "cel.bind and a macro of the same name": f"cel.bind(x, {D}, [1].exists(x, x == 1))",
        "result is a number": f"{D}.count",
        "normalised version": 'semver("v1", true).major() == 1',
        "a map that is no quantity": 'dyn({"quantity":"5e0"}).isInteger()',
        "a map that is no version": 'dyn({"semver":"1.2.3"}).isLessThan(semver("2.0.0"))',
        "a number that is too long": f'semver("{"9" * 5000}.0.0").major() > 1',
    },
)
def test_unknown(expression: str) -> None:
    with pytest.raises(UnknownAnswer):
        matches(expression)


def test_deciding_expression_is_evaluated_again_if_changed() -> None:
    cache = SelectorCache()
    for value in ("fish", "cat", "fish"):
        device = from_object(make_device("device-1", attributes={"name": value}), Device)
        assert cache.matches(f'{D}.name == "fish"', "dra.example.com", device) is (value == "fish")
        assert cache.matches(f'"name" in {D}', "dra.example.com", device)


def test_attribute_lists_fail_while_their_gate_is_off() -> None:
    with pytest.raises(AllocationError, match="attribute many: unsupported attribute value"):
        matches("true", make_device("device-1", attributes={"many": {"ints": [1]}}))


def test_missing_package_gives_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "cel":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    compile_selector.cache_clear()
    with pytest.raises(UnknownAnswer, match="common-expression-language"):
        matches("device.driver == 'x'")


def test_expressions_of_a_cycle_share_a_limit() -> None:
    """Each alone is short; a cluster with as many devices as fit into an answer is not."""
    devices = [from_object(make_device("gpu", attributes={"uuid": f"{n}"}), Device) for n in range(2_000)]
    cache = SelectorCache()
    assert not any(cache.matches(f'{D}.uuid == "none"', "dra.example.com", device) for device in devices)
    listed = ", ".join(f'"{number}-{"x" * 30}"' for number in range(100))
    search = f"[{listed}].exists(x, x == {D}.uuid)"
    with pytest.raises(UnknownAnswer, match="too many steps"):
        any(cache.matches(search, "dra.example.com", device) for device in devices)
