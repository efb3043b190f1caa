"""What every rule reads: a struct of an object as the API server holds it after decoding, its version, and the pod.

What is absent or null in a struct has its zero value. The object has passed `podrules.api.schema.strict`, so that every
value has its field's type. A plain text, number or boolean that is absent is the same as an empty one (`text`,
`number`); a pointer distinguishes them (`has`, `pointer`).

Source: pkg/features/kube_features.go of k8s.io/kubernetes at v1.37.1, which keeps the defaults of every version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from podrules.api.features import CHANGES
from podrules.api.model.decode import key_text
from podrules.api.model.quantity import Quantity
from podrules.pod.defaults import DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS


class View:
    """A struct within an object, and its path."""

    __slots__ = ("content", "path")

    def __init__(self, content: Mapping[str, Any] | None, path: str) -> None:
        self.content: Mapping[str, Any] = content or {}
        self.path = path

    def at(self, field: str) -> str:
        """The path of a field below."""
        return f"{self.path}.{field}" if self.path else field

    def has(self, name: str) -> bool:
        """Whether a field is there at all."""
        return self.content.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        """A text; the default where it is absent or empty."""
        return self.content.get(name) or default

    def pointer(self, name: str) -> str | None:
        """A text that may be absent, null or empty, and is not the same each time."""
        found: str | None = self.content.get(name)
        return found

    def number(self, name: str) -> int | None:
        """An integer; None where it is absent."""
        found = self.content.get(name)
        return None if found is None else int(found)

    def flag(self, name: str) -> bool | None:
        """A boolean; None where it is absent."""
        found: bool | None = self.content.get(name)
        return found

    def port(self, name: str) -> int | str | None:
        """A number or a text (IntOrString); None where it is absent."""
        found = self.content.get(name)
        return int(found) if isinstance(found, float) else found

    def quantity(self, name: str) -> Quantity | None:
        """An amount; None where it is absent."""
        found = self.content.get(name)
        return None if found is None else Quantity.from_json(found)

    def struct(self, name: str) -> View:
        """A struct below; an empty one where it is absent."""
        return View(self.content.get(name), self.at(name))

    def structs(self, name: str) -> Sequence[View]:
        """A list of structs."""
        found = self.content.get(name)
        if not found:
            return ()
        path = self.at(name)
        return [View(entry, f"{path}[{index}]") for index, entry in enumerate(found)]

    def texts(self, name: str) -> Sequence[str]:
        """A list of texts."""
        found = self.content.get(name)
        return [entry or "" for entry in found] if found else ()

    def numbers(self, name: str) -> Sequence[int]:
        """A list of integers."""
        return [int(entry or 0) for entry in self.content.get(name) or ()]

    def texts_by_key(self, name: str) -> Mapping[str, str]:
        """A map of texts."""
        found = self.content.get(name)
        return {key_text(key): entry or "" for key, entry in found.items()} if found else {}

    def amounts(self, name: str) -> Mapping[str, Quantity]:
        """A map of amounts."""
        found = self.content.get(name)
        amounts = {} if found is None else found
        return {key_text(key): Quantity.from_json("0" if one is None else one) for key, one in amounts.items()}


_ON_SINCE: Final[Mapping[str, int]] = {
    "ClusterTrustBundleProjection": 37,
    "ContainerRestartRules": 35,
    "EnvFiles": 35,
    "HPAConfigurableTolerance": 35,
    "HPAScaleToZero": 37,
    "HostnameOverride": 35,
    "ImageVolume": 35,
    "MaxUnavailableStatefulSet": 37,
    "PodCertificateRequest": 37,
    "PodLevelResources": CHANGES["pod_level_resources"].since,
    "RestartAllContainersOnContainerExits": 36,
    "SELinuxMount": 37,
    "StrictIPCIDRValidation": 36,
}
"""The feature gates that decide what the API server accepts, and the first minor in which each is on by default.

A field with its gate off is dropped before it is validated, or rejected, as its rule says. Gates with one default in
all versions are not listed or checked: those that are on are rules like others, and fields of those that are off
(ContainerStopSignals, ImageVolumeWithDigest, TaintTolerationComparisonOperators, UserNamespacesHostNetworkSupport,
GenericWorkload, EmptyDirVolumeMode and others of 1.37) have the rule of an API server that drops them.

Versions before 1.34 were not compared with upstream. A gate that other rules know, too, has its minor from there
(`podrules.api.features`).
"""


class Rules(Struct, frozen=True):
    """The API server's version, by which some rules differ."""

    minor: int

    def on(self, gate: str) -> bool:
        """Whether a gate is on by default."""
        return self.minor >= _ON_SINCE[gate]


class PodContext(Struct, frozen=True):
    """A pod's spec as it is validated, in a Pod or in a template."""

    spec: View
    meta: View
    """The metadata of the pod or of the template."""
    rules: Rules
    is_pod: bool
    """Whether the object is a Pod: some rules leave templates alone."""
    volumes: Mapping[str, View]
    """The volumes with a valid name, by name; each is the whole entry of ``spec.volumes``."""
    claims: frozenset[str]
    """The names of ``spec.resourceClaims`` that containers may use."""

    @property
    def grace_seconds(self) -> int:
        """The grace period as it is stored: 30 where there is none. Below zero: 1 in a Pod, kept in a template."""
        written = self.spec.number("terminationGracePeriodSeconds")
        if written is None:
            return DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS
        return 1 if self.is_pod and written < 0 else written

    @property
    def restart_policy(self) -> str:
        """The pod's restart policy."""
        return self.spec.text("restartPolicy", "Always")

    @property
    def os(self) -> str:
        """The operating system that the pod names; empty: none."""
        return self.spec.struct("os").text("name")

    @property
    def host_users(self) -> bool:
        """Whether the pod runs in the host's user namespace."""
        return self.spec.flag("hostUsers") is not False

    def every_container(self) -> Iterator[View]:
        """The containers in the order in which upstream visits them."""
        for name in ("initContainers", "containers", "ephemeralContainers"):
            yield from self.spec.structs(name)
