"""Which of a node's devices a request selects.

    selectors    all of the device class and all of the request hold for the device
    node         a device of a slice with per-device node selection reaches this node

Without the gate DRADeviceBindingConditions no device with binding conditions is selected.

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (isSelectable,
selectorsMatch) at v0.36.3 and v0.37.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from podrules.api.features import Features
from podrules.api.model.resource import DeviceSelector
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import DeviceCandidate, DeviceID, Slices
from podrules.scheduling.scheduler.plugins.dynamic_resources.selectors import AllocationError, UnknownAnswer

if TYPE_CHECKING:
    from podrules.scheduling.scheduler.plugins.dynamic_resources.selectors import SelectorCache

MISSING_KEY_HINT: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)
"""What upstream adds since 1.37 where an expression reads a key that a device does not have."""

RequestKey = tuple[int, int, int]
"""The numbers of claim, request and alternative."""


class Selectors(NamedTuple):
    """Selectors and their owner."""

    owner: str
    selectors: Sequence[DeviceSelector]


class DeviceSelection:
    """The devices of one node that requests select; a device is judged once for a request."""

    def __init__(self, slices: Slices, row: int, expressions: SelectorCache, features: Features) -> None:
        """Nothing is judged yet.

        Args:
            slices: All of the cluster.
            row: The node.
            expressions: Evaluates them.
            features: Whether binding conditions are known, and how errors are worded.
        """
        self._slices = slices
        self._row = row
        self._expressions = expressions
        self._features = features
        self._matches: dict[tuple[DeviceID, RequestKey], bool] = {}

    def admits(self, key: RequestKey, groups: Sequence[Selectors], found: DeviceCandidate) -> bool:
        """Whether class and request select the device, and it reaches the node (isSelectable).

        Args:
            key: Of the request.
            groups: The selectors of its class and its own.
            found: The device.

        Raises:
            AllocationError: an expression fails.
            UnknownAnswer: an expression is beyond these rules.
        """
        if found.device.binding_conditions and not self._features.dra_device_binding_conditions:
            return False
        cached = self._matches.get((found.id, key))
        if cached is None:
            cached = self._selected(groups, found) and (
                not found.slice.spec.per_device_node_selection or self._slices.device_reaches(found.device, self._row)
            )
            self._matches[found.id, key] = cached
        return cached

    def forget(self) -> None:
        """Judge every device again."""
        self._matches.clear()

    def _selected(self, groups: Sequence[Selectors], found: DeviceCandidate) -> bool:
        for owner, selectors in groups:
            for number, selector in enumerate(selectors):
                expression = selector.cel.expression if selector.cel else ""
                try:
                    if not self._expressions.matches(expression, found.id.driver, found.device):
                        return False
                except AllocationError as error:
                    raise self._error(f"{owner}: selector #{number}", found, error) from error
                except UnknownAnswer as error:
                    raise UnknownAnswer(f"{owner}: selector #{number}: {error}") from error
        return True

    def _error(self, which: str, found: DeviceCandidate, error: AllocationError) -> AllocationError:
        if not self._features.dra_errors_name_device:
            return AllocationError(f"{which}: CEL runtime error: {error}")
        hint = MISSING_KEY_HINT if "no such key:" in str(error) else ""
        return AllocationError(f"{which} on device {found.id}: CEL runtime error: {error}{hint}")
