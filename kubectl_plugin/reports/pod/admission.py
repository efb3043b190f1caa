"""What the API server's own dry run and the webhook of kubectl qos do with a future pod, as data."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.pod.reading import POLICY_NOT_EVALUATED, WEBHOOK_NOT_ASKED, UnreadInput


class AddedField(Struct, frozen=True, rename="camel"):
    """A part of the pod that admission added or changed."""

    field: str
    """``spec.containers``."""
    what: str
    """``container istio-proxy``."""
    changed: bool
    """Whether admission replaced an existing one."""
    by: str
    """The API server's plugin, or the only webhook that can have done it; empty: unknown."""


class DryRunVerdict(Struct, frozen=True, rename="camel"):
    """The verdict on one object. The object is accepted if both texts are empty."""

    object: str
    """``deployment.apps/web``; ``pod`` for the pod that a workload would create."""
    refusal: str
    """The API server's message."""
    unanswered: str
    """Why the verdict is missing; the offline answer then counts."""
    applied: bool
    """Whether the object exists, so that the dry run was a change."""


class DryRunReport(Struct, frozen=True, rename="camel"):
    """The API server's dry run of a manifest, as the current user."""

    verdicts: tuple[DryRunVerdict, ...]
    """The verdicts on the object, and on the pod that it creates."""
    warnings: tuple[str, ...]
    """The warnings of the API server and its webhooks."""
    added: tuple[AddedField, ...]
    """The changes of the pod."""

    @property
    def refusal(self) -> str:
        """Why the object or its pods are refused; empty: not refused, or unknown."""
        return next((one.refusal for one in self.verdicts if one.refusal), "")

    @property
    def unanswered(self) -> str:
        """Why a verdict is missing; empty: none is."""
        return next((one.unanswered for one in self.verdicts if one.unanswered), "")


class DryRunPod(NamedTuple):
    """A pod as the API server would store it, and the result of the dry run."""

    pod: Pod | None
    """None: the pod is refused, or there is no answer."""
    report: DryRunReport


class OwnWebhookReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The effect of the webhook, by its configuration in the cluster and its own rules."""

    webhook: str = ""
    """Namespace and name of its Deployment, else the name of its configuration; empty: unknown."""
    namespace: str = ""
    """The namespace of the pod."""
    spec: str = ""
    """``deployment/web``, in a plan."""
    priority_class_name: str = ""
    """The default class of the namespace that it writes; empty: it writes none."""
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    """The constraints that it writes."""
    constraints_origin: str = ""
    """``the namespace's defaults`` or ``the cluster's defaults``."""
    warnings: tuple[str, ...] = ()
    """The warnings about fields that it does not write, or pods that it admits."""
    unready: str = ""
    """The failurePolicy, if it does not answer: none of its pods is ready, or ``untrusted``. It then writes nothing."""
    untrusted: bool = False
    """Whether its configuration has no caBundle, so that the API server refuses its certificate."""
    by_policy: bool = False
    """Whether ``webhook`` is a policy of the chart, which writes instead of the webhook."""
    unknown: tuple[str, ...] = ()
    """What is unknown about the effect, and why."""
    class_unknown: bool = False
    """Whether it may give a pod without a class an unknown one."""

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """What makes the answer uncertain, besides unread webhook configurations."""
        found = POLICY_NOT_EVALUATED if self.by_policy else WEBHOOK_NOT_ASKED
        return (found,) if self.unknown and self.webhook else ()
