"""Constraints among the devices of a claim.

    matchAttribute      all devices have the attribute with the same value
    distinctAttribute   all devices have the attribute, each with another value; upstream keeps one value a request, the
                        last, so that devices of the same request are compared with the last one only

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating at v0.36.3 (allocator_incubating.go,
constraint.go).
"""

from __future__ import annotations

from typing import Protocol

from podrules.api.features import REFERENCE, Features
from podrules.api.model.resource import Device, DeviceAttribute, DeviceConstraint


class Constraint(Protocol):
    """A check that runs before a device is taken, and is notified when it is returned."""

    def add(self, request: str, sub_request: str, driver: str, device: Device) -> bool:
        """Whether the device may join; if so it has joined."""
        ...

    def remove(self, request: str, sub_request: str) -> None:
        """A device that joined leaves again."""
        ...


def make_constraint(
    constraint: DeviceConstraint, *, distinct: bool = True, features: Features = REFERENCE
) -> Constraint | None:
    """The constraint at work; None when it is of no known kind.

    Args:
        constraint: As the claim has it.
        distinct: Whether distinctAttribute is a known kind.
        features: How that compares devices.
    """
    requests = frozenset(constraint.requests)
    if constraint.match_attribute is not None:
        return MatchAttribute(requests, constraint.match_attribute)
    if constraint.distinct_attribute is not None and distinct:
        return DistinctAttribute(requests, constraint.distinct_attribute, features)
    return None


class MatchAttribute:
    """Devices share the value of an attribute (matchAttributeConstraint)."""

    def __init__(self, requests: frozenset[str], name: str) -> None:
        self._requests = requests
        self._name = name
        self._value: DeviceAttribute | None = None
        self._devices = 0

    def add(self, request: str, sub_request: str, driver: str, device: Device) -> bool:
        """Whether the device may join; if so it has joined."""
        if not _applies(self._requests, request, sub_request):
            return True
        value = _lookup(device, driver, self._name)
        if value is None or (self._devices and value != self._value):
            return False
        if not self._devices:
            self._value = value
        self._devices += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """A device that joined leaves again."""
        if _applies(self._requests, request, sub_request):
            self._devices -= 1


class DistinctAttribute:
    """No two devices share the value of an attribute (distinctAttributeConstraint)."""

    def __init__(self, requests: frozenset[str], name: str, features: Features) -> None:
        self._requests = requests
        self._name = name
        self._by_value = features.dra_distinct_by_value
        self._by_device = features.dra_distinct_by_device
        self._values: dict[str | int, DeviceAttribute] = {}
        self._devices = 0

    def add(self, request: str, sub_request: str, driver: str, device: Device) -> bool:
        """Whether the device may join; if so it has joined."""
        if not _applies(self._requests, request, sub_request):
            return True
        value = _lookup(device, driver, self._name)
        if value is None or (self._by_value and value in self._values.values()):
            return False
        self._values[self._devices if self._by_device else request] = value
        self._devices += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """The device that joined last leaves again; with it the value that it, or its request, is remembered by."""
        if _applies(self._requests, request, sub_request):
            self._devices -= 1
            self._values.pop(self._devices if self._by_device else request, None)


def _applies(requests: frozenset[str], request: str, sub_request: str) -> bool:
    return not requests or request in requests or bool(sub_request and f"{request}/{sub_request}" in requests)


def _lookup(device: Device, driver: str, name: str) -> DeviceAttribute | None:
    """An attribute by its full name; attributes of the driver's own domain may lack it (lookupAttribute)."""
    found = device.attributes.get(name)
    if found is not None:
        return found
    domain, slash, rest = name.partition("/")
    return device.attributes.get(rest) if slash and domain == driver else None
