"""What would take a topology spread constraint's rejection away: one part of one constraint relaxed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from podrules.api.label_spelling import meant_label
from podrules.scheduling.scheduler.framework.candidate_change import CandidateChange, ChangeKind
from podrules.scheduling.scheduler.framework.pod_on_cluster import MEANT, AppliedChange, S
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import Relaxation

_PARTS: Final = {
    # The pods stay as even as they were to be, over the nodes that they can go to.
    "nodeTaintsPolicy": ("node_taints_policy", 0),
    "nodeAffinityPolicy": ("node_affinity_policy", 0),
    "minDomains": ("min_domains", 0),
    "maxSkew": ("max_skew", 1),
    "whenUnsatisfiable": ("when_unsatisfiable", 15),
    "topologyKey": ("topology_key", 35),
}
"""Parts of a constraint that may change: the pod's own field, and its extra cost."""


def relaxed(situation: S, relaxations: Sequence[Relaxation], row: int) -> Iterator[AppliedChange[S]]:
    """Each relaxation that frees a row's node, applied to the pod's own constraints."""
    name = situation.table.names[row]
    own = situation.pod.spec.topology_spread_constraints
    for relaxation in relaxations:
        index = re.fullmatch(r"spec\.topologySpreadConstraints\[(\d+)\]\.(\w+)", relaxation.field)
        if index is None:
            continue  # A default of the scheduler's: no field of the pod.
        place, (part, extra_cost) = int(index[1]), _PARTS[index[2]]
        key = own[place].topology_key
        meant = part == "topology_key" and not any(key in node.metadata.labels for node in situation.table.nodes)
        # The key in use today has the name of the old one.
        meant = meant and relaxation.value in {meant_label(key), f"topology.kubernetes.io/{key.rpartition('/')[2]}"}
        if name not in relaxation.nodes and not meant:
            continue
        changed = replace(own[place], **{part: relaxation.value})
        then = situation.with_spec(topology_spread_constraints=(*own[:place], changed, *own[place + 1 :]))
        change = CandidateChange(ChangeKind.SPREAD, field=relaxation.field, value=str(relaxation.value))
        yield AppliedChange(change, then, MEANT if meant else extra_cost)
