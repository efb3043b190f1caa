"""What makes pods: which kinds, and where each holds its pods' template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from podrules.cluster.kinds import WORKLOADS
from podrules.model.pod import PodTemplateSpec
from podrules.model.workload import CronJob, ReplicationController, Workload

__all__ = ["WORKLOADS_WITH_TEMPLATES", "Template", "TemplateOwner", "template_of"]

TemplateOwner = Workload | ReplicationController | CronJob

WORKLOADS_WITH_TEMPLATES: Final[Mapping[tuple[str, str], type[TemplateOwner]]] = {
    (kind.group, kind.plural): kind.model for kind in WORKLOADS
}
"""By group and resource: how each is read."""


class Template(NamedTuple):
    """A template and where it stands."""

    template: PodTemplateSpec
    path: str
    """``spec.template``."""


def template_of(workload: TemplateOwner) -> Template:
    """The template of a workload's pods; an empty one where there is none, as a ReplicationController may have it."""
    if isinstance(workload, CronJob):
        return Template(workload.spec.job_template.spec.template, "spec.jobTemplate.spec.template")
    return Template(workload.spec.template or PodTemplateSpec(), "spec.template")
