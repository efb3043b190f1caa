"""The requests of claims, checked before any allocation is tried, and the devices that they select.

    order        claims, their requests, the alternatives of a request; the constraints of a claim come last
    all devices  every device that matches, of complete and valid pools only
    at most      32 devices a claim, each request counted with its smallest alternative

Without a gate:

    DRAAdminAccess              a request that says anything of admin access is an error
    DRAConsumableCapacity       so is one that asks for capacity; the stable allocator passes that over

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (Allocate,
validateDeviceRequest, isSelectable, selectorsMatch) at v0.36.3 and v0.37.1, and stable/allocator_stable.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import Features
from podrules.api.model.resource import (
    ALL_DEVICES,
    EXACT_COUNT,
    CapacityRequirements,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources.constraints import (
    Constraint,
    fits_capacity,
    make_constraint,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources.pools import (
    AllocatedState,
    AllocationError,
    DeviceCandidate,
    DeviceID,
    Pool,
    Slices,
    UnknownAnswer,
    devices_of,
)

if TYPE_CHECKING:
    from podrules.scheduling.scheduler.plugins.dynamic_resources.selectors import SelectorCache


MAX_DEVICES: Final = 32
"""Devices of one claim (AllocationResultsMaxSize)."""


class AllocationRequest(Struct, frozen=True):
    """A request, or one of its alternatives."""

    where: str
    """What errors name."""
    name: str
    parent: str
    selectors: tuple[Selectors, ...]
    """Those of the class, and its own."""
    tolerations: tuple[DeviceToleration, ...]
    capacity: CapacityRequirements | None
    admin_access: bool
    all_devices: bool
    count: int
    devices: tuple[DeviceCandidate, ...] = ()
    """All that match, when all are wanted."""

    @property
    def full_name(self) -> str:
        """The name that a result has."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def names(self) -> tuple[str, str]:
        """The request's name and the subrequest's, as constraints name them."""
        return (self.parent, self.name) if self.parent else (self.name, "")


class Requests:
    """The requests and the constraints of all claims of one search."""

    def __init__(
        self,
        classes: Mapping[str, DeviceClass],
        state: AllocatedState,
        pools: Sequence[Pool],
        selection: DeviceSelection,
        features: Features,
        *,
        stable: bool,
    ) -> None:
        """Start without a claim; ``stable``: the stable allocator answers."""
        self.by_key: dict[RequestKey, AllocationRequest] = {}
        self.alternatives: dict[tuple[int, int], int] = {}
        """By claim and request how many there are; 0 if the request is not a choice."""
        self.constraints: list[list[Constraint]] = []
        """By claim."""
        self._classes = classes
        self._state = state
        self._pools = pools
        self._selection = selection
        self._features = features
        self._stable = stable

    def add(self, index: int, claim: ResourceClaim) -> None:
        """Check a claim's requests and constraints.

        Raises:
            AllocationError: upstream rejects the claim or its class, or an expression fails.
            UnknownAnswer: an expression is beyond these rules.
        """
        least = 0
        for number, request in enumerate(claim.spec.devices.requests):
            found = list(self._alternatives_of(claim, request, index, number))
            self.alternatives[index, number] = len(found) if request.first_available else 0
            fewest = min(one.count for one in found)
            if self._features.dra_limit_by_request and fewest > MAX_DEVICES - least:
                raise AllocationError(
                    f"claim {claim.key}, request {request.name}: adding {fewest} devices "
                    f"exceeds the claim limit of {MAX_DEVICES}, with {least} already accounted for"
                )
            least += fewest
        if least > MAX_DEVICES:
            raise AllocationError(
                f"claim {claim.key}: number of requested devices {least} exceeds the claim limit of {MAX_DEVICES}"
            )
        constraints: list[Constraint] = []
        for number, constraint in enumerate(claim.spec.devices.constraints):
            made = make_constraint(constraint, distinct=not self._stable, features=self._features)
            if made is None:
                raise AllocationError(
                    f"claim {claim.key}, constraint #{number}: empty constraint (unsupported constraint type?)"
                )
            constraints.append(made)
        self.constraints.append(constraints)

    def _alternatives_of(
        self, claim: ResourceClaim, request: DeviceRequest, index: int, number: int
    ) -> Iterator[AllocationRequest]:
        if not (self._features.dra_consumable_capacity or self._stable):
            # Without its gate a request for capacity is an error, save in the stable allocator.
            problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
            if request.exactly is not None and request.exactly.capacity is not None:
                raise AllocationError(f"claim {claim.key}, request {request.name}: {problem}")
            refused = next((sub.name for sub in request.first_available if sub.capacity is not None), None)
            if refused is not None:
                by_binding = self._features.dra_allocator_by_binding
                asked = f"subrequest {refused}" if by_binding else f"request {request.name}"
                raise AllocationError(f"claim {claim.key}, {asked}: {problem}")
        if not request.first_available:
            exactly = request.exactly or ExactDeviceRequest()
            key = index, number, 0
            yield self._request(claim, key, request.name, "", exactly, judged_as=key)
        for alternative, sub in enumerate(request.first_available):
            exactly = ExactDeviceRequest(
                sub.device_class_name,
                sub.selectors,
                sub.allocation_mode,
                sub.count,
                None,
                sub.tolerations,
                sub.capacity,
            )
            # Until 1.35 upstream counts up only after it has looked for all devices of an alternative: what it has
            # found out of them counts as found out for the one before, which may have other selectors.
            judged = alternative if self._features.dra_alternatives_apart else max(alternative - 1, 0)
            key = index, number, alternative
            yield self._request(claim, key, sub.name, request.name, exactly, judged_as=(index, number, judged))

    def _request(
        self,
        claim: ResourceClaim,
        key: RequestKey,
        name: str,
        parent: str,
        asked: ExactDeviceRequest,
        *,
        judged_as: RequestKey,
    ) -> AllocationRequest:
        """A request as the search uses it (validateDeviceRequest)."""
        where = f"claim {claim.key}, request {name}"
        device_class = self._class_of(where, asked)
        wants_all = asked.allocation_mode == ALL_DEVICES
        if not wants_all and asked.allocation_mode != EXACT_COUNT:
            raise AllocationError(f"{where}: unsupported count mode {asked.allocation_mode}")
        request = AllocationRequest(
            where=where,
            name=name,
            parent=parent,
            selectors=(
                Selectors(f"class {device_class.metadata.name}", device_class.spec.selectors),
                Selectors(f"claim {claim.key}", asked.selectors),
            ),
            tolerations=asked.tolerations,
            capacity=asked.capacity,
            admin_access=bool(asked.admin_access),
            all_devices=wants_all,
            count=asked.count,
        )
        if wants_all:
            devices = []
            for pool in self._pools:
                if pool.incomplete or pool.invalid_reason:
                    state = "being updated" if pool.incomplete else "invalid"
                    raise AllocationError(
                        f"{where}: asks for all devices, but resource pool {pool.id} is currently {state}"
                    )
                for candidate in devices_of(pool):
                    if not self._selection.admits(judged_as, request.selectors, candidate):
                        continue
                    # Until 1.36 what is left of the capacity counts, not the whole.
                    whole = self._features.dra_all_by_whole_capacity
                    consumed = {} if whole else self._state.capacity.get(candidate.id, {})
                    if not self._features.dra_consumable_capacity or fits_capacity(
                        candidate.device, asked.capacity, consumed, {}, features=self._features
                    ):
                        devices.append(candidate)
            request = replace(request, devices=tuple(devices), count=len(devices))
        self.by_key[key] = request
        return request

    def _class_of(self, where: str, asked: ExactDeviceRequest) -> DeviceClass:
        """The requested class, after the errors that upstream finds before it reads the class."""
        for number, selector in enumerate(asked.selectors):
            if selector.cel is None:
                raise AllocationError(f"{where}, selector #{number}: CEL expression empty (unsupported selector type?)")
        if asked.admin_access is not None and not self._features.dra_admin_access:
            raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
        if not asked.device_class_name:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._classes.get(asked.device_class_name)
        if device_class is None:
            missing = f'deviceclass.resource.k8s.io "{asked.device_class_name}" not found'
            raise AllocationError(f"{where}: could not retrieve device class {asked.device_class_name}: {missing}")
        return device_class


# Which of a node's devices a request selects.
#
#     selectors    all of the device class and all of the request hold for the device
#     node         a device of a slice with per-device node selection reaches this node
#
# Without the gate DRADeviceBindingConditions no device with binding conditions is selected.

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
        """Nothing is judged yet."""
        self._slices = slices
        self._row = row
        self._expressions = expressions
        self._features = features
        self._matches: dict[tuple[DeviceID, RequestKey], bool] = {}

    def admits(self, key: RequestKey, groups: Sequence[Selectors], found: DeviceCandidate) -> bool:
        """Whether class and request select the device, and it reaches the node (isSelectable).

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
                    where, hint = "", ""
                    if self._features.dra_errors_name_device:
                        where = f" on device {found.id}"
                        hint = MISSING_KEY_HINT if "no such key:" in str(error) else ""
                    text = f"{owner}: selector #{number}{where}: CEL runtime error: {error}{hint}"
                    raise AllocationError(text) from error
                except UnknownAnswer as error:
                    raise UnknownAnswer(f"{owner}: selector #{number}: {error}") from error
        return True
