"""Devices that several claims share by capacity.

    asked for      request, else the policy's default, else the whole capacity; rounded up to what the policy allows
    fits           for each capacity of the device:  consumed + being allocated + asked for <= capacity

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go and
structured/schedulerapi/types.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from podrules.api.features import REFERENCE, Features
from podrules.api.model.quantity import Quantity, QuantityFormat
from podrules.api.model.resource import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)

Consumed = dict[str, Quantity]


def add_consumed(total: Consumed, more: Mapping[str, Quantity]) -> None:
    """Add amounts, name by name (ConsumedCapacity.Add)."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def subtract_consumed(total: Consumed, less: Mapping[str, Quantity]) -> None:
    """Take amounts away again (ConsumedCapacity.Sub)."""
    for name, amount in less.items():
        if name in total:
            total[name] -= amount


def fits_capacity(
    device: Device,
    wanted: CapacityRequirements | None,
    consumed: Mapping[str, Quantity],
    allocating: Mapping[str, Quantity],
    *,
    features: Features = REFERENCE,
) -> bool:
    """Whether the device has all requested capacity (CmpRequestOverCapacity).

    A request for a capacity that the device does not have makes it unusable, too.
    """
    requests = wanted.requests if wanted else {}
    if not (requests or consumed or allocating) and all(
        held.request_policy is None for held in device.capacity.values()
    ):
        return True  # the whole of each capacity is asked for, and it is there
    if not all(name in device.capacity for name in requests):
        return False
    for name, capacity in device.capacity.items():
        amount = _rounded(requests.get(name), capacity, features)
        if _violates(amount, capacity.request_policy):
            return False
        total = consumed[name] + amount if name in consumed else amount
        if name in allocating:
            total += allocating[name]
        if total > capacity.value:
            return False
    return True


def consumed_capacity(
    device: Device, wanted: CapacityRequirements | None, *, features: Features = REFERENCE
) -> Consumed:
    """The amount that an allocation takes of each capacity (GetConsumedCapacityFromRequest)."""
    requests = wanted.requests if wanted else {}
    return {name: _rounded(requests.get(name), capacity, features) for name, capacity in device.capacity.items()}


def _rounded(wanted: Quantity | None, capacity: DeviceCapacity, features: Features) -> Quantity:
    """The requested amount, as the policy allows it (calculateConsumedCapacity)."""
    policy = capacity.request_policy
    if wanted is None:
        return policy.default if policy and policy.default is not None else capacity.value
    if policy is None:
        return wanted
    if policy.valid_range and policy.valid_range.min is not None:
        return _rounded_to_range(wanted, policy.valid_range.min, policy.valid_range.step, features)
    return next((value for value in policy.valid_values if wanted <= value), wanted)


def _rounded_to_range(wanted: Quantity, least: Quantity, step: Quantity | None, features: Features) -> Quantity:
    """The next step at or above the requested amount (roundUpRange)."""
    if wanted < least:
        return least
    if step is None:
        return wanted
    form = step.format if features.dra_rounded_like_step else QuantityFormat.BINARY_SI
    steps = -(-(wanted.value - least.value) // step.value)
    return Quantity(least.value + step.value * steps, format=form)


def _violates(amount: Quantity, policy: CapacityRequestPolicy | None) -> bool:
    """Whether the policy forbids the amount (violatesPolicy)."""
    if policy is None or (policy.default is not None and amount == policy.default):
        return False
    if policy.valid_range is not None:
        return _outside(amount, policy.valid_range)
    return bool(policy.valid_values) and amount not in policy.valid_values


def _outside(amount: Quantity, allowed: CapacityRequestPolicyRange) -> bool:
    if allowed.max is not None and amount > allowed.max:
        return True
    least = allowed.min.value if allowed.min is not None else 0
    return allowed.step is not None and (amount.value - least) % allowed.step.value != 0
