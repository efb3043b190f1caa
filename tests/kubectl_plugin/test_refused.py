"""Refused changes: who refused, that nothing was changed, the remedy, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from cluster_io.errors import Unreachable
from cluster_io.live.responses import ChangeAnswer
from tests.kubectl_plugin.answers import check_texts
from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.scripted import TAKEN, Given, change, refusal

DELETE: Final = ("delete", "-n", "shop", "pod/db-0")
FORCE: Final = (*DELETE, "--grace-period=0", "--confirm")
FENCE: Final = ("fence", "node/node-c3", "--confirm-powered-off")
NO_RIGHT: Final = (
    'pods "db-0" is forbidden: User "jane" cannot delete resource "pods" in API group "" in the namespace "shop"'
)
WEBHOOK: Final = (
    'admission webhook "force-delete.kubectl-qos.io" denied the request: db-0 on node-b2: namespace shop forbids force '
    "deletions"
)
POLICY: Final = (
    "pods \"db-0\" is forbidden: ValidatingAdmissionPolicy 'qos.force-delete' with binding 'qos.force-delete' denied "
    "request: namespace shop forbids force deletions"
)
CONFIRM: Final = (
    "pods \"db-0\" is forbidden: ValidatingAdmissionPolicy 'qos.force-delete' with binding 'qos.force-delete' denied "
    "request: namespace shop requires a confirmation: kubectl annotate pod db-0 kubectl-qos.io/confirm-force-delete=1"
)
RIGHTS: Final = "Ask an administrator of the cluster for this right"
ASK_THE_TEAM: Final = "Do what its reason asks for, or ask the team that runs it."
OWN_WORDS: Final = "Correct what it names, then run the same command again."


def _report(words: tuple[str, ...], given: dict[str, list[Given]], *, allowed: bool = True) -> tuple[int, Any, str]:
    ran = change(*words, "-o", "json", given=given, allowed=allowed)
    return ran.code, json.loads(ran.out), ran.err


FORBIDS: Final = "namespace shop forbids force deletions"
BY_POLICY: Final = f"ValidatingAdmissionPolicy 'qos.force-delete' refuses to delete pod/db-0: {FORBIDS}"
REFUSED: Final[Mapping[str, Any]] = {
    "no right": (
        DELETE,
        refusal(403, NO_RIGHT),
        "Rights",
        f"you may not delete pods in namespace shop; the API server says: {NO_RIGHT}",
        RIGHTS,
    ),
    "webhook": (
        FORCE,
        refusal(403, WEBHOOK),
        "Admission",
        f'admission webhook "force-delete.kubectl-qos.io" refuses to delete pod/db-0: db-0 on node-b2: {FORBIDS}',
        ASK_THE_TEAM,
    ),
    "webhook without a reason": (
        FORCE,
        refusal(403, 'admission webhook "x.example" denied the request without explanation'),
        "Admission",
        'admission webhook "x.example" refuses to delete pod/db-0: it gives no reason',
        ASK_THE_TEAM,
    ),
    "policy": (FORCE, refusal(422, POLICY), "Admission", BY_POLICY, ASK_THE_TEAM),
    "policy with reason Forbidden": (FORCE, refusal(403, POLICY), "Admission", BY_POLICY, ASK_THE_TEAM),
    "API server": (
        DELETE,
        refusal(429, "Too many requests, please try again later."),
        "APIServer",
        "the API server refuses to delete pod/db-0: Too many requests, please try again later.",
        OWN_WORDS,
    ),
}


@pytest.mark.parametrize(("words", "answer", "by", "message", "helps"), REFUSED.values(), ids=REFUSED)
def test_F2_deletion_that_the_api_server_refuses(
    words: tuple[str, ...], answer: Given, by: str, message: str, helps: str
) -> None:
    code, report, err = _report(words, {"DELETE": [answer]})
    assert (code, report["outcome"], report["verdict"]["code"]) == (4, "Refused", "Refused")
    assert (report["refusal"]["by"], report["refusal"]["message"]) == (by, message)
    assert report["verdict"]["severity"] == "trouble"
    assert report["verdict"]["text"] == f"Not deleted: {message.rstrip('.')}. Nothing was changed. {helps.rstrip('.')}."
    error, remedy, state = err.splitlines()[-3:]
    assert (error, state) == (f"error: {message}", "Nothing was changed.")
    assert remedy.startswith(helps)


def test_F2_missing_right_is_found_before_any_request() -> None:
    code, report, err = _report(DELETE, {}, allowed=False)
    assert (code, report["outcome"], report["steps"]) == (4, "Refused", [])
    assert report["refusal"] == {
        "by": "Rights",
        "message": "you may not delete pods in namespace shop",
        "verb": "delete",
        "resource": "pods",
        "namespace": "shop",
    }
    assert err == (
        "error: you may not delete pods in namespace shop\n"
        f"{RIGHTS} (kubectl auth can-i delete pods -n shop).\n"
        "Nothing was changed.\n"
    )


LOOK: Final = FORCE[:-1]
IDLE: Final = ("delete", "pod/nightly-report-29870100-wm6rq", "-n", "batch", "--grace-period=0")


def _look(words: tuple[str, ...], dry: Given = TAKEN, *, allowed: bool | frozenset[str] = True) -> tuple[int, str, str]:
    """The output of a preview; a change that would be stored fails the test."""
    ran = change(*words, given={"DRY RUN": [dry]}, allowed=allowed)
    return ran.code, " ".join(ran.out.split()), ran.err


@pytest.mark.parametrize("answer", [refusal(403, WEBHOOK), refusal(422, POLICY), refusal(403, POLICY)])
def test_F2_preview_checks_whether_confirm_would_help(answer: ChangeAnswer) -> None:
    code, page, err = _look(LOOK, answer)
    assert code == 4
    assert "Not deleted, and --confirm does not help: " in page
    assert "forbids force deletions. Nothing was changed. Do what its reason asks for" in page
    check_texts(page, (), ("add --confirm", "--grace-period=0 --confirm"))
    assert "Safer: a deletion with grace (its budget would refuse an eviction)." in page
    assert "kubectl qos delete pod/db-0 -n shop # safer: with grace" in page
    assert err.endswith(f"{ASK_THE_TEAM}\nNothing was changed.\n")
    code, report, _ = _report(LOOK, {"DRY RUN": [answer]})
    assert (code, report["outcome"], report["refusal"]["by"], report["steps"]) == (4, "Refused", "Admission", [])
    assert report["stakes"]["safety"] == "NotSafe"


def test_F2_preview_without_right_suggests_no_deletion() -> None:
    code, page, err = _look(LOOK, refusal(500, "not to be asked"), allowed=False)
    assert code == 4
    said = "Not deleted, and --confirm does not help: you may not delete pods in namespace shop."
    check_texts(page, f"{said} Nothing was changed. {RIGHTS}.", ("kubectl qos delete", "Safer"))
    assert f"{RIGHTS} (kubectl auth can-i delete pods -n shop).\n" in err


def test_F2_preview_of_ended_pod_checks_too() -> None:
    code, page, _ = _look(IDLE, allowed=False)
    assert code == 4
    assert "Safe: its processes have ended. Not deleted, and --confirm does not help: you may not delete pods" in page
    assert "--confirm" not in page.partition("does not help")[2]
    assert _look(IDLE)[0] == 3


def test_F2_confirmation_needs_the_right_to_patch() -> None:
    assert _look(LOOK, refusal(403, CONFIRM))[:1] == (3,)
    code, page, _ = _look(LOOK, refusal(403, CONFIRM), allowed=frozenset({"delete"}))
    assert code == 4
    assert "Not deleted, and --confirm does not help: you may not patch pods in namespace shop." in page
    assert "Safer: a deletion with grace (its budget would refuse an eviction)." in page


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(refusal(400, 'admission webhook "x.example" does not support dry run'), id="takes no dry run"),
        pytest.param(refusal(429, "Too many requests, please try again later."), id="too many requests"),
        pytest.param(refusal(500, "etcdserver: request timed out"), id="no etcd"),
        pytest.param(refusal(404, "gone"), id="gone"),
        pytest.param(refusal(409, "another"), id="another"),
        pytest.param(Unreachable("no answer"), id="no answer"),
    ],
)
def test_F2_preview_that_cannot_check_does_not_mention_it(answer: Given) -> None:
    code, page, err = _look(LOOK, answer)
    assert (code, err) == (3, "")
    assert "Not deleted: to delete it without grace, add --confirm." in page


def test_F2_failed_webhook_suggests_no_confirmation() -> None:
    said = 'failed calling webhook "x.example": failed to call webhook: EOF'
    code, page, _ = _look(LOOK, refusal(500, f"Internal error occurred: {said}"))
    assert code == 4
    check_texts(page, ("Not deleted, and --confirm does not help: the API server refuses to delete pod/db-0: ", said))


def test_F6_preview_of_unfence_checks_the_right() -> None:
    words = ("unfence", "node/node-c3")
    denied = change(*words, given={}, allowed=False, fenced="node-c3")
    page = " ".join(denied.out.split())
    assert denied.code == 4
    said = f"Not taken back, and --confirm does not help: you may not patch nodes. Nothing was changed. {RIGHTS}."
    check_texts(page, f"{said} It is declared out of service", "kubectl qos unfence")
    assert denied.err.endswith("Nothing was changed.\n")
    looked = change(*words, given={}, fenced="node-c3")
    assert (looked.code, looked.err) == (3, "")
    assert "Not taken back: add --confirm. It is declared out of service" in " ".join(looked.out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            FORCE, "leave --confirm out: --grace-period=0 alone shows the risk of a force deletion", id="delete"
        ),
        pytest.param(FENCE, "without a confirmation and --dry-run it shows what would be removed", id="fence"),
    ],
)
def test_F6_demo_and_snapshot_cannot_be_changed(words: tuple[str, ...], message: str) -> None:
    ran = run(*words, "--demo", "-o", "json")
    report = json.loads(ran.out)
    assert (ran.code, report["outcome"], report["refusal"]["by"]) == (2, "Refused", "Command")
    lead = "Not deleted" if words is FORCE else "Not fenced"
    said = f"the demo cluster cannot be changed; {message}"
    assert report["verdict"]["text"] == f"{lead}: {said}. Nothing was changed."
    assert ran.err == f"error: {said}\nNothing was changed.\n"


def test_F6_fence_without_the_right() -> None:
    code, report, err = _report(FENCE, {}, allowed=False)
    assert (code, report["outcome"], report["refusal"]["resource"]) == (4, "Refused", "nodes")
    assert report["verdict"]["text"] == f"Not fenced: you may not patch nodes. Nothing was changed. {RIGHTS}."
    page = change(*FENCE, given={}, allowed=False)
    assert f"Not fenced: you may not patch nodes. Nothing was changed. {RIGHTS}." in " ".join(page.out.split())
    assert err == page.err


def test_F6_taint_that_is_refused() -> None:
    code, report, _ = _report(FENCE, {"PATCH": [refusal(403, WEBHOOK)]})
    assert (code, report["outcome"]) == (4, "Refused")
    refused = 'Not fenced: admission webhook "force-delete.kubectl-qos.io" refuses to patch node/node-c3: '
    assert report["verdict"]["text"].startswith(refused)


@pytest.mark.parametrize(
    ("status", "code"), [pytest.param(409, 9, id="another pod"), pytest.param(404, 8, id="no such pod")]
)
def test_F2_pod_replaced_since_the_preview(status: int, code: int) -> None:
    ran, report, err = _report(DELETE, {"DELETE": [refusal(status, "it is another")]})
    assert (ran, report["outcome"], report["refusal"]) == (code, "NotPossible", None)
    assert report["verdict"]["text"] == (
        "Not deleted: the pod is gone, or another pod has its name now. Nothing was changed."
    )
    assert err.endswith("Nothing was changed.\n")


@pytest.mark.parametrize(
    ("words", "patches", "why"),
    [
        (
            FENCE,
            [refusal(409, "the object has been modified")] * 5,
            "the Node has been deleted or changed since it was read",
        ),
        (("fence", "node/node-c3", "--confirm", "--fence-command=false"), [], "the fence command failed (exit code 1)"),
    ],
    ids=["constant write conflicts", "the fence command fails"],
)
def test_F6_fence_that_is_not_possible(words: tuple[str, ...], patches: list[Given], why: str) -> None:
    code, report, _ = _report(words, {"PATCH": patches})
    assert (code, report["outcome"]) == (9, "NotPossible")
    assert report["verdict"]["text"] == f"Not fenced: {why}. Nothing in the cluster was changed."


def test_F2_earlier_change_is_no_refusal() -> None:
    """The confirmation is stored, and the deletion is still refused."""
    given: dict[str, list[Given]] = {"DELETE": [refusal(403, CONFIRM), refusal(403, POLICY)], "PATCH": [TAKEN]}
    code, report, err = _report(FORCE, given)
    assert (code, report["outcome"], report["refusal"]) == (4, "Failed", None)
    assert report["verdict"]["text"] == "The deletion failed: the steps show how far it got."
    assert err.endswith("pod/db-0 carries the confirmation kubectl-qos.io/confirm-force-delete, and is not deleted.\n")


def test_F6_power_off_before_the_error_is_no_refusal() -> None:
    command = ("fence", "node/node-c3", "--confirm", "--fence-command=true")
    code, report, err = _report(command, {"PATCH": [refusal(403, WEBHOOK)]})
    assert (code, report["outcome"], report["refusal"]) == (4, "Failed", None)
    assert "The fence command has run; node/node-c3 is not declared out of service." in err


def test_F2_no_answer_is_no_refusal() -> None:
    code, report, err = _report(DELETE, {"DELETE": [Unreachable("no answer")]})
    assert (code, report["outcome"], report["refusal"]) == (5, "Failed", None)
    assert "Unknown whether pod/db-0 was deleted: there was no answer." in err
