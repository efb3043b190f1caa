"""The controller of a workload's pods: the workload, or the ReplicaSet of a Deployment's revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from cluster_io.gather import Gatherer
from cluster_io.kinds import DEPLOYMENTS, REPLICA_SETS, Kind
from kubectl_plugin.gather.manifest_pods import PodManifest
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Selector, SelectorError

if TYPE_CHECKING:
    from podrules.api.model.workload import Workload
    from podrules.scheduling.placement.controllers import ControlledPod
    from podrules.scheduling.placement.revisions import WrittenWorkload


class Controllers:
    """Finds the controllers of future pods by the revisions in the cluster."""

    def __init__(self, gatherer: Gatherer) -> None:
        """Read nothing yet."""
        self._gatherer = gatherer

    def of(self, pod: Pod, manifest: PodManifest, args: Mapping[str, Any]) -> ControlledPod:
        """A future pod with its controller.

        Args:
            pod: The pod as it will be stored, with the workload's name.
            manifest: The workload.
            args: Arguments of the scheduler's plugins by plugin name.
        """
        # Loaded on demand.
        from cluster_io.needs import goes_by_revision
        from podrules.scheduling.placement.controllers import controlled

        gatherer, revision = self._gatherer, None
        kind, entry, written = manifest.kind, manifest.entry, manifest.written
        name, namespace = entry.metadata.name, pod.metadata.namespace
        selector = _selector(entry) if kind is DEPLOYMENTS and goes_by_revision(pod, args) else None
        sets = None
        if selector is not None:
            sets = gatherer.noted(gatherer.list(_as_written(REPLICA_SETS), namespace, selector=selector))
        if sets:
            from podrules.scheduling.placement.revisions import current_revision

            if written is None:
                there = gatherer.noted(gatherer.get(_as_written(DEPLOYMENTS), name, namespace))
                template = None if there is None else there.spec.get("template")
            else:
                template = written["spec"]["template"]
            revision = current_revision(name, template, sets)
        return controlled(pod, kind.singular, entry, revision)


def _as_written(kind: Kind[Workload]) -> Kind[WrittenWorkload]:
    from podrules.scheduling.placement.revisions import WrittenWorkload

    return cast("Kind[WrittenWorkload]", replace(kind, model=WrittenWorkload))


def _selector(entry: Any) -> Selector | None:
    """The selector of a Deployment; None: the API server would refuse it."""
    try:
        return None if entry.spec.selector is None else Selector.from_label_selector(entry.spec.selector)
    except SelectorError:
        return None
