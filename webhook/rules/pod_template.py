"""The kinds of workloads, and the pod template of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from cluster_io.kinds import WORKLOADS
from podrules.api.model.pod import PodTemplateSpec
from podrules.api.model.workload import CronJob, ReplicationController, Workload
from webhook.reviews.admission_review import Request
from webhook.reviews.partial_objects import PartialObject

TemplateOwner = Workload | ReplicationController | CronJob

WORKLOADS_WITH_TEMPLATES: Final[Mapping[tuple[str, str], type[TemplateOwner]]] = {
    (kind.group, kind.plural): kind.model for kind in WORKLOADS
}
"""The type that reads each workload, by group and resource."""


class Template(NamedTuple):
    """A template and its path."""

    template: PodTemplateSpec
    path: str
    """``spec.template``."""


def template_of(workload: TemplateOwner) -> Template:
    """The template of a workload's pods; an empty one if a ReplicationController has none."""
    if isinstance(workload, CronJob):
        return Template(workload.spec.job_template.spec.template, "spec.jobTemplate.spec.template")
    return Template(workload.spec.template or PodTemplateSpec(), "spec.template")


class TemplateReview(NamedTuple):
    """A request that creates or changes a workload."""

    request: Request
    workload: PartialObject[TemplateOwner]
    """The workload, as far as it was read."""

    @property
    def template(self) -> PodTemplateSpec:
        """The template of the workload's pods."""
        return template_of(self.workload.object).template

    @property
    def path(self) -> str:
        """``spec.template``."""
        return template_of(self.workload.object).path

    @property
    def is_controlled(self) -> bool:
        """Whether a controller owns the workload; the rules then check that controller instead."""
        return self.workload.object.metadata.controller is not None
