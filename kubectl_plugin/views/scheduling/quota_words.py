"""The sentences about quotas that admit fewer pods than are wanted."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubectl_plugin.views.words import counted, listed
from podrules.scheduling.placement.planned import PlannedSpec


def quota_words(spec: PlannedSpec, what: str, of: str, lead: str = "") -> Iterator[str]:
    """``Quota compute admits 3 of 5 replicas of deployment/web: requests.cpu is then 1800m of 2.``; may be empty.

    Args:
        spec: The pods.
        what: The noun for one of them.
        of: Their owner, as ``of deployment/web``.
        lead: The words before the sentence.
    """
    quota = spec.quota
    if quota is not None:
        pods = counted(quota.pods, what) if spec.wanted is None else f"{quota.pods} of {counted(spec.wanted, what)}"
        shares = listed([f"{share.resource} is then {share.used} of {share.hard}" for share in quota.shares])
        yield f"{lead}{'quota' if lead else 'Quota'} {quota.quota} admits {pods} {of}: {shares}."


def let_in(spec: PlannedSpec) -> PlannedSpec:
    """The spec without the pods that a quota refuses: those need no node."""
    if spec.quota is None or spec.wanted is None:
        return spec
    return replace(spec, wanted=min(spec.wanted, spec.quota.pods))
