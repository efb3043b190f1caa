"""The words for what a pod's owner does once the pod's object is gone.

The plugin and the webhook use the same words, and a test compares the chart's policies with them. ``{owner}`` is the
owner's kind and name. "It" is the pod.
"""

from __future__ import annotations

from typing import Final

from podrules.workload.safety import Guarantee

NEXT_START: Final = {
    Guarantee.AT_MOST_ONE: "{owner} may start a second {pod}",
    Guarantee.AVAILABILITY_FIRST: "{owner} may start a replacement",
    Guarantee.ONE_PER_NODE: "{owner} may start the next copy",
    Guarantee.RUNS_TO_COMPLETION: "{owner} may start the work again",
    Guarantee.UNKNOWN: "{owner} may start a second copy",
}
"""What an owner may start; ``{pod}`` is the pod's name. The owners that are missing here start no pod."""
_WHILE: Final = "while it still runs"
OWNER_RISK: Final = {
    Guarantee.AT_MOST_ONE: f"{{owner}} promises at most one, but a second may start {_WHILE}",
    Guarantee.AVAILABILITY_FIRST: f"{NEXT_START[Guarantee.AVAILABILITY_FIRST]} {_WHILE}",
    Guarantee.ONE_PER_NODE: f"{NEXT_START[Guarantee.ONE_PER_NODE]} {_WHILE}",
    Guarantee.RUNS_TO_COMPLETION: f"{NEXT_START[Guarantee.RUNS_TO_COMPLETION]} {_WHILE}",
    Guarantee.KUBELET_OWNED: "it mirrors a static pod, and deleting it stops nothing",
    Guarantee.NOT_REPLACED: "its processes may run on, and no controller replaces it",
    Guarantee.UNKNOWN: f"{{owner}} decides whether a second starts {_WHILE}",
}
"""The risk of a force deletion, by the owner's guarantee."""
REPLACED: Final = "{owner} has another instead"
"""The owner has created another pod: it no longer counts this one, which is being deleted."""
REPLACED_RISK: Final = f"{REPLACED}, and this one may still run"
