"""A webhook rule is one function and one entry in a table: answers and the audit log follow."""

from __future__ import annotations

import pytest

from podrules.api.model.pod import Pod
from tests.webhook.clusters import make_cluster
from tests.webhook.review_objects import create_review, pod_object, workload_object
from webhook import rules as handlers
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import decode_review
from webhook.reviews.partial_objects import PartialObject
from webhook.reviews.response import ALLOWED, Answer, denied
from webhook.rules import Rule
from webhook.rules.pod_template import TemplateReview

CLUSTER = make_cluster()


def refuse_host_network(seen: PartialObject[Pod], _cluster: Cluster) -> Answer:
    return denied("no host network here") if seen.object.spec.host_network else ALLOWED


def warn_of_host_network(review: TemplateReview, _cluster: Cluster) -> Answer:
    if not review.template.spec.host_network:
        return ALLOWED
    return Answer(warnings=(f"{review.path}.spec.hostNetwork: its pods will be refused",))


def failing(_judged: object, _cluster: Cluster) -> Answer:
    raise ZeroDivisionError


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registrations."""
    pods = [*handlers.POD_RULES, Rule("toy", "spec.hostNetwork", refuse_host_network)]
    templates = [*handlers.TEMPLATE_RULES, Rule("toy", "spec.hostNetwork", warn_of_host_network)]
    monkeypatch.setattr(handlers, "POD_RULES", pods)
    monkeypatch.setattr(handlers, "TEMPLATE_RULES", templates)


@pytest.mark.usefixtures("toys")
def test_registered_rule_checks_pods() -> None:
    refused = handlers.validate(decode_review(create_review(pod_object(name="web", hostNetwork=True))), CLUSTER)
    assert (refused.denial, refused.audit) == ("no host network here", (("refused", "toy: spec.hostNetwork"),))
    assert handlers.validate(decode_review(create_review(pod_object(name="web"))), CLUSTER) == ALLOWED


@pytest.mark.usefixtures("toys")
def test_registered_rule_checks_templates() -> None:
    workload = workload_object("Deployment", None)
    workload["spec"]["template"]["spec"]["hostNetwork"] = True
    answer = handlers.validate(decode_review(create_review(workload)), CLUSTER)
    assert answer.warnings == ("spec.template.spec.hostNetwork: its pods will be refused",)
    assert answer.audit == (("warned", "toy: spec.template.spec.hostNetwork"),)


def test_an_error_in_advice_ends_nothing() -> None:
    judged = PartialObject(Pod())
    assert Rule("toy", "spec", failing, advice=True).answer(judged, CLUSTER) == ALLOWED
    with pytest.raises(ZeroDivisionError):
        Rule("toy", "spec", failing).answer(judged, CLUSTER)
