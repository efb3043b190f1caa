"""How the API server validates the names of resources, in containers, pods, quotas and limit ranges, and the amounts.

    no slash   one of the standard resources, and of those only the ones that fit the place
    a slash    any qualified name; in containers also one that makes a name of a quota after ``requests.``

Source: pkg/apis/core/validation/validation.go (validateResourceName, ValidateContainerResourceName,
validatePodResourceName, ValidateResourceQuotaResourceName, validateLimitRangeResourceName,
ValidateResourceQuantityValue), pkg/apis/core/v1/defaults.go (SetDefaults_ResourceList) and
pkg/apis/core/helper/helpers.go at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.errors import TypedText, invalid, unsupported
from podrules.admission.validation.formats import qualified_name
from podrules.admission.validation.view import Rules, View
from podrules.api.model.base import ResourceList
from podrules.api.model.field_error import FieldError
from podrules.api.model.quantity import Quantity, QuantityError
from podrules.pod.defaults import rounded_list
from podrules.pod.resources import HUGEPAGES_PREFIX as _HUGEPAGES
from podrules.pod.resources import is_native_resource, is_supported_pod_level_resource

_REQUESTS: Final = "requests."
_POD_LEVEL: Final = ("cpu", "memory")
_CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED: Final = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_QUOTA: Final = (
    _CONTAINER
    | _COUNTED
    | {f"{_REQUESTS}{name}" for name in (*_CONTAINER, "storage")}
    | {f"limits.{name}" for name in _CONTAINER}
)
_STANDARD: Final = _QUOTA | {"storage"}
_LIMITED_AS_CONTAINERS: Final = frozenset({"Pod", "Container"})
_THOUSAND: Final = 1000


def is_hugepage_resource_name(name: str) -> bool:
    """Whether it is huge pages of some size."""
    return name.startswith(_HUGEPAGES)


def is_hugepage_value_divisible(name: str, amount: Quantity) -> bool:
    """Whether an amount is a whole number of huge pages; false as well where the size of a page cannot be read."""
    try:
        page = Quantity.parse(name.removeprefix(_HUGEPAGES))
    except QuantityError:
        return False
    whole = page.sign > 0 and page.milli_value % _THOUSAND == 0 and page.value != 0
    return whole and amount.value % page.value == 0


def is_extended_resource_name(name: str, rules: Rules) -> bool:
    """Whether it is a resource that another component adds, such as a device."""
    if is_native_resource(name) or name.startswith(_REQUESTS):
        return False
    return not qualified_name(f"{_REQUESTS}{name}", rules)


def is_integer_resource_name(name: str, rules: Rules) -> bool:
    """Whether there are only whole units of it."""
    return name in _COUNTED or is_extended_resource_name(name, rules)


def is_standard_container_resource_name(name: str) -> bool:
    """Whether a container may request it by a name without a domain."""
    return name in _CONTAINER or is_hugepage_resource_name(name)


def is_standard_quota_resource_name(name: str) -> bool:
    """Whether a quota may have it by a name without a domain."""
    return name in _QUOTA or name.startswith((_HUGEPAGES, _REQUESTS + _HUGEPAGES))


def is_standard_resource_name(name: str) -> bool:
    """Whether it is a resource that Kubernetes knows."""
    return name in _STANDARD or name.startswith((_HUGEPAGES, _REQUESTS + _HUGEPAGES))


def stored_amounts(struct: View, name: str) -> ResourceList:
    """A map of amounts as the API server stores them: in whole thousandths."""
    return rounded_list(struct.amounts(name))


def validate_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules that hold everywhere."""
    problems = qualified_name(name, rules)
    for problem in problems:
        yield invalid(path, TypedText(name), problem)
    if not problems and "/" not in name and not is_standard_resource_name(name):
        yield invalid(path, TypedText(name), "must be a standard resource type or fully qualified")


def validate_container_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for containers."""
    yield from validate_resource_name(name, path, rules)
    if "/" not in name:
        if not is_standard_container_resource_name(name):
            yield invalid(path, TypedText(name), "must be a standard resource for containers")
    elif not is_native_resource(name) and not is_extended_resource_name(name, rules):
        yield invalid(path, TypedText(name), "doesn't follow extended resource name standard")


def validate_pod_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for the resources of a pod as a whole."""
    problems = tuple(validate_resource_name(name, path, rules))
    yield from problems
    if not problems and not is_supported_pod_level_resource(name):
        yield unsupported(path, name, sorted((*_POD_LEVEL, _HUGEPAGES)))


def validate_quota_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for quotas."""
    yield from validate_resource_name(name, path, rules)
    if "/" not in name and not is_standard_quota_resource_name(name):
        yield invalid(path, TypedText(name), "must be a standard resource for quota")


def validate_limit_range_resource_name(kind: str, name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for a limit range's type."""
    check = validate_container_resource_name if kind in _LIMITED_AS_CONTAINERS else validate_resource_name
    return check(name, path, rules)


def validate_nonnegative_quantity(amount: Quantity, path: str) -> Iterator[FieldError]:
    """Hold an amount against the rule that it is not below zero."""
    if amount.sign < 0:
        yield invalid(path, amount, "must be greater than or equal to 0")


def validate_resource_value(name: str, amount: Quantity, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's amount against the rules of its name: not below zero, and whole where it is counted."""
    yield from validate_nonnegative_quantity(amount, path)
    if is_integer_resource_name(name, rules) and amount.milli_value % _THOUSAND:
        yield invalid(path, amount, "must be an integer")
