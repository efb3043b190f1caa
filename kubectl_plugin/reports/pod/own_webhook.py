"""What the webhook of kubectl qos does with a pod to come, as data."""

from __future__ import annotations

from msgspec import Struct

from podrules.api.model.pod import TopologySpreadConstraint
from podrules.pod.reading import POLICY_NOT_EVALUATED, WEBHOOK_NOT_ASKED, Unread

__all__ = ["OwnWebhookReport"]


class OwnWebhookReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """By the configuration of the webhook in the cluster, and by the webhook's own rules."""

    webhook: str = ""
    """Namespace and name of its Deployment, else the name of its configuration; empty: not known."""
    namespace: str = ""
    """The namespace of the pod."""
    spec: str = ""
    """``deployment/web``, in a plan."""
    priority_class_name: str = ""
    """The default class of the namespace, which it writes; empty: it writes none."""
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    """Those that it writes."""
    constraints_origin: str = ""
    """``the namespace's defaults`` or ``the cluster's defaults``."""
    warnings: tuple[str, ...] = ()
    """Those about what it does not write, or lets in."""
    unready: str = ""
    """The failurePolicy, where it does not answer: no pod of it is ready, or ``untrusted``. It then writes nothing."""
    untrusted: bool = False
    """Whether its configuration has no caBundle, so that the API server refuses its certificate."""
    by_policy: bool = False
    """Whether ``webhook`` is a policy of the chart, which writes in place of the webhook."""
    unknown: tuple[str, ...] = ()
    """What is not known of that, and why."""
    class_unknown: bool = False
    """Whether it may give a pod without a class one that is not known."""

    @property
    def lacks(self) -> tuple[Unread, ...]:
        """What makes the answer uncertain, besides webhook configurations that could not be read."""
        found = POLICY_NOT_EVALUATED if self.by_policy else WEBHOOK_NOT_ASKED
        return (found,) if self.unknown and self.webhook else ()
