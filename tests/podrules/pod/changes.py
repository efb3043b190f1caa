"""A manifest after the changes that `explain_qos` proposes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from podrules.api.model.pod import Container, Pod, ResourceRequirements
from podrules.pod.qos import FieldChange
from tests.objects import make_resources


def with_changes(pod: Pod, changes: Iterable[FieldChange], *, chosen: Mapping[str, str]) -> Pod:
    """The manifest after the edits; ``chosen`` has the amounts that the author may choose."""
    for change in changes:
        path, side, resource = change.field.rsplit(".", 2)
        amount = change.after or chosen[resource]
        if path == "spec.resources":
            assert pod.spec.resources is not None
            pod = replace(pod, spec=replace(pod.spec, resources=_edited(pod.spec.resources, side, resource, amount)))
            continue
        place, _, index = path.removeprefix("spec.").removesuffix("].resources").partition("[")
        attribute = {"containers": "containers", "initContainers": "init_containers"}[place]
        entries: list[Container] = list(getattr(pod.spec, attribute))
        entry = entries[int(index)]
        entries[int(index)] = replace(entry, resources=_edited(entry.resources, side, resource, amount))
        pod = replace(pod, spec=replace(pod.spec, **{attribute: tuple(entries)}))
    return pod


def _edited(resources: ResourceRequirements, side: str, resource: str, amount: str) -> ResourceRequirements:
    return replace(resources, **{side: {**getattr(resources, side), **make_resources({resource: amount}).requests}})
