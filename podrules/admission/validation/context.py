"""What the rules of one pod share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from podrules.admission.validation.gates import Rules
from podrules.admission.validation.view import View
from podrules.pod.defaults import DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS


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
