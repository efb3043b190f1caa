"""What the API server's dry run says of an object, and of the pod that it makes."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["AddedField", "DryRunReport", "DryRunVerdict"]


class AddedField(Struct, frozen=True, rename="camel"):
    """Something that admission added to the pod, or changed in it."""

    field: str
    """``spec.containers``."""
    what: str
    """``container istio-proxy``."""
    changed: bool
    """Whether it was there, and is another one now."""
    by: str
    """The API server's plugin, or the only webhook that may have done it; empty: nobody records that."""


class DryRunVerdict(Struct, frozen=True, rename="camel"):
    """The verdict on one object. It is taken where both texts are empty."""

    object: str
    """``deployment.apps/web``; ``pod`` of the pod that a workload would make."""
    refusal: str
    """The API server's words."""
    unanswered: str
    """Why there is no verdict; the offline answer stands."""
    applied: bool
    """Whether the object exists, so that a change of it was asked about."""


class DryRunReport(Struct, frozen=True, rename="camel"):
    """The API server's dry run of a manifest, as the user who asks."""

    verdicts: tuple[DryRunVerdict, ...]
    """The object's, and that of the pod that it makes."""
    warnings: tuple[str, ...]
    """Those of the API server and its webhooks."""
    added: tuple[AddedField, ...]
    """To the pod."""

    @property
    def refusal(self) -> str:
        """Why it is refused, or the pods that it makes; empty: it is not, or nobody knows."""
        return next((one.refusal for one in self.verdicts if one.refusal), "")

    @property
    def unanswered(self) -> str:
        """Why a verdict is missing; empty: none is."""
        return next((one.unanswered for one in self.verdicts if one.unanswered), "")
