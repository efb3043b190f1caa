"""What the webhook of kubectl qos does with a future pod, as data."""

from __future__ import annotations

from msgspec import Struct

from podrules.api.model.pod import TopologySpreadConstraint
from podrules.pod.reading import POLICY_NOT_EVALUATED, WEBHOOK_NOT_ASKED, UnreadInput


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
