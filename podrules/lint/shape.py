"""Whether the API server accepts an object of a manifest: its shape first, then its values.

An object without the shape of its kind is not checked further. `podrules.admission.validation` finds the errors of
values, in the API server's words. Here each gets the first rule of `REFUSED_VALUES` with a matching kind, field and
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from podrules.admission.validation.objects import validate
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.misfit import FieldError
from podrules.api.names import nearest_word
from podrules.api.schema.strict import decode, unknown_field
from podrules.api.schema.table import Schema
from podrules.lint.finding import PODS, Finding, Level, LintRule
from podrules.lint.objects import DEFAULT_NAMESPACE, KINDS, Manifest
from podrules.workload.made_pod import made_pod

_CLOSE: Final = 0.75
"""The similarity of names: terminationGracePeriod is near terminationGracePeriodSeconds, command not near comment."""


class InvalidField(Finding, frozen=True):
    """The object does not have the shape of its kind."""

    rule = LintRule(
        name="invalid-field",
        level=Level.ERROR,
        about="A field has the wrong type.",
        remedy="Use the type of the field; amounts and label values often need quotes.",
        source="k8s.io/api (the Go types of the field)",
    )
    problem: str

    def __str__(self) -> str:
        return f"{self.problem}."


class UnknownField(Finding, frozen=True):
    """The kind has no such field."""

    rule = LintRule(
        name="unknown-field",
        level=Level.ERROR,
        about="The kind has no such field in this version of Kubernetes.",
        remedy="Use the field's correct name and place.",
        source="k8s.io/apimachinery/pkg/runtime/serializer/json/json.go (strict decoding)",
    )
    known: tuple[str, ...]
    """The fields that exist at its place."""

    @property
    def problem(self) -> str:
        """The API server's words."""
        return unknown_field(self.field)

    @property
    def near(self) -> str:
        """The intended field; empty: none is similar."""
        return _near(self.field.rpartition(".")[2], self.known)

    def __str__(self) -> str:
        near = self.near
        return f"{self.problem}; the nearest is {near}." if near else f"{self.problem}."


class UnservedVersion(Finding, frozen=True):
    """The API server does not serve the kind in this apiVersion."""

    rule = LintRule(
        name="unserved-version",
        level=Level.ERROR,
        about="This version of Kubernetes does not serve the kind in that apiVersion.",
        remedy="Use a kind and an apiVersion that the version serves.",
        source="api/openapi-spec/v3",
    )
    kind: str
    api_version: str
    minor: int
    served: str
    """The best apiVersion that has the kind; empty: none has it."""
    near: str
    """The most similar kind, if no apiVersion has it; empty: none is similar."""

    @property
    def problem(self) -> str:
        """The API server's words, as in kubectl, and the version."""
        return f'no matches for kind "{self.kind}" in version "{self.api_version}" in Kubernetes 1.{self.minor}'

    def __str__(self) -> str:
        if self.served:
            return f"{self.problem}: write {self.served}."
        return f"{self.problem}; the nearest is {self.near}." if self.near else f"{self.problem}."


def _near(name: str, known: Iterable[str]) -> str:
    """The intended field or kind; empty: none is similar."""
    lower = {one.lower(): one for one in known}
    return lower.get(name.lower()) or lower.get(nearest_word(name.lower(), lower, closeness=_CLOSE), "")


def check_shape(position: int, written: Mapping[str, Any], known: Schema) -> list[Finding]:
    """Why the API server rejects an object, also for fields that no rule reads; findings name it by its position."""
    api_version, kind = str(written.get("apiVersion")), str(written.get("kind"))
    if known.serves(api_version, kind) is False:
        served = next(iter(known.versions_of(kind)), "")
        near = "" if served else _near(kind, known.kinds)
        return [UnservedVersion(position, "apiVersion", kind, api_version, known.minor, served, near)]
    decoding = decode(written, known)
    if decoding is None:
        return []
    misfits = [InvalidField(position, one.field, one.problem) for one in decoding.misfits]
    unknown = [UnknownField(position, one.field, one.known) for one in decoding.unknown]
    return [*misfits, *unknown, *(() if misfits else refused_values(position, written, known.asked))]


class ReadManifest(NamedTuple):
    """An object of a manifest, if it fits its kind."""

    manifest: Manifest | None
    """The object; None: it does not fit, or its kind is not checked."""
    findings: Sequence[Finding]
    """The errors, also in fields that no rule reads."""


def read_manifest(
    position: int, written: Mapping[str, Any], *, known: Schema, namespace: str = DEFAULT_NAMESPACE
) -> ReadManifest:
    """The typed object, in a namespace if it has none itself, and its errors against the schema of its kind."""
    findings = check_shape(position, written, known)
    kind = str(written.get("kind"))
    model = KINDS.get((str(written.get("apiVersion")), kind))
    if model is None:
        return ReadManifest(None, findings)
    try:
        content = from_object(written, model)
    except DecodeError as error:
        if not any(isinstance(one, InvalidField) for one in findings):
            findings.append(InvalidField(position, error.field, error.problem))
        return ReadManifest(None, findings)
    if not content.metadata.namespace:
        content = replace(content, metadata=replace(content.metadata, namespace=namespace))
    return ReadManifest(Manifest(position, kind, content), findings)


class RefusalRule(LintRule, frozen=True, kw_only=True):
    """A rule for errors with which the API server rejects a value."""

    level: Level = Level.ERROR
    kinds: frozenset[str] = frozenset()
    """The kinds of objects that the rule covers; empty: all."""
    fields: str = ""
    """A pattern for the path of the field."""
    words: str = ""
    """A pattern for the API server's words."""
    named: str = ""
    """A pattern for the last part of the field, which the API server names only in its words; empty: it is complete."""

    def fits(self, kind: str, error: FieldError) -> bool:
        """Whether the rule covers an error of an object of that kind."""
        known = not self.kinds or kind in self.kinds
        return known and bool(re.search(self.fields, error.field) and re.search(self.words, error.problem))


REFUSED_VALUES: Final[tuple[RefusalRule, ...]] = (
    # A pod without containers, or without a spec.
    RefusalRule(
        name="no-containers",
        about="A pod has no container.",
        remedy="Write one container or more, e.g. containers: [{name: web, image: nginx}].",
        source=f"{PODS} (validateContainers)",
        fields=r"\bspec\.containers$",
        words="^Required value",
    ),
    # A value above 1,000,000,000, a reserved name, or an unknown preemption policy.
    RefusalRule(
        name="invalid-priority-class",
        about="A PriorityClass that the API server rejects.",
        remedy="Choose a value up to 1000000000 and a name that does not begin with system-.",
        source="pkg/apis/scheduling/validation/validation.go",
        term="PriorityClass",
        kinds=frozenset({"PriorityClass"}),
    ),
    # minAvailable and maxUnavailable together, a negative number, or more than 100%.
    RefusalRule(
        name="invalid-budget",
        about="A PodDisruptionBudget that the API server rejects.",
        remedy="Set one of minAvailable and maxUnavailable, to a number or to 0% to 100%.",
        source="pkg/apis/policy/validation/validation.go",
        term="PodDisruptionBudget",
        kinds=frozenset({"PodDisruptionBudget"}),
        fields=r"^spec\b",
    ),
    # A readiness probe does not end a container, so it has no grace period.
    RefusalRule(
        name="readiness-probe-grace",
        about="A readiness probe has its own termination grace period.",
        remedy="Remove the field, or set it on the liveness or startup probe.",
        source=f"{PODS} (validateReadinessProbe)",
        fields=r"\breadinessProbe\.terminationGracePeriodSeconds$",
    ),
    # A preStop sleep that cannot end in time.
    RefusalRule(
        name="prestop-over-grace",
        about="A preStop sleep is longer than the grace period.",
        remedy="Shorten the sleep or raise terminationGracePeriodSeconds.",
        source=f"{PODS} (validateSleepAction)",
        term="preStop",
        fields=r"\blifecycle\.preStop\.sleep\b",
        words="terminationGracePeriodSeconds",
    ),
    # Containers need more than the pod-level resources.
    RefusalRule(
        name="invalid-pod-resources",
        about="Pod-level resources and those of the containers contradict each other.",
        remedy="Raise the pod's amount or lower the containers'.",
        source=f"{PODS} (validatePodResourceConsistency)",
        words="aggregate container (requests|limits)|than or equal to pod limits",
    ),
    # A request above its limit, or different from it if overcommitting is not allowed.
    RefusalRule(
        name="request-over-limit",
        about="A request is above its limit, or differs where both must be the same.",
        remedy="Lower the request or raise the limit.",
        source=f"{PODS} (validateResourceRequirements)",
        term="requests",
        fields=r"\bresources\.(requests|limits)$",
        words="limit of|non overcommitable",
        named=r"equal to (\S+) limit of",
    ),
    # maxSkew below 1, minDomains with ScheduleAnyway, one key in labelSelector and in matchLabelKeys, and the like.
    RefusalRule(
        name="invalid-spread",
        about="A topology spread constraint that the API server rejects.",
        remedy="Correct the constraint.",
        source=f"{PODS} (validateTopologySpreadConstraints)",
        term="topologySpreadConstraints",
        fields=r"\bspec\.topologySpreadConstraints\[",
    ),
    # A term that cannot be read, or a weight outside 1 to 100.
    RefusalRule(
        name="invalid-node-affinity",
        about="A node affinity term that cannot be read.",
        remedy="Correct the term.",
        source=f"{PODS} (ValidateNodeSelectorRequirement)",
        term="nodeAffinity",
        fields=r"\bspec\.affinity\.nodeAffinity\.",
    ),
    # An invalid combination of key, operator, value, effect and tolerationSeconds.
    RefusalRule(
        name="invalid-toleration",
        about="Fields of a toleration contradict each other.",
        remedy="Correct the toleration.",
        source=f"{PODS} (ValidateTolerations)",
        term="toleration",
        fields=r"\bspec\.tolerations\[",
    ),
    # ReadWriteOncePod together with another mode.
    RefusalRule(
        name="invalid-access-modes",
        about="A claim has ReadWriteOncePod together with another access mode.",
        remedy="Keep one of the modes.",
        source=f"{PODS} (ValidatePersistentVolumeClaimSpec)",
        term="ReadWriteOncePod",
        fields=r"\baccessModes$",
        words="may not use ReadWriteOncePod",
    ),
    # A workload that does not select its own pods.
    RefusalRule(
        name="selector-differs",
        about="A workload's selector does not match the labels of its own pods.",
        remedy="Write a selector that matches the labels of the template.",
        source="pkg/apis/apps/validation/validation.go",
        fields=r"^spec\.(selector|template\.metadata\.labels)$",
        words="does not match template|[Rr]equired value|empty selector",
    ),
    # A negative amount or number of pods.
    RefusalRule(
        name="negative-number",
        about="A request, a limit or a number of pods is below 0.",
        remedy="Write a number that is not below 0.",
        source=f"{PODS} (ValidateNonnegativeField, ValidateNonnegativeQuantity)",
        words="must be greater than or equal to 0$",
    ),
    RefusalRule(
        name="refused-value",
        about="The API server rejects a value.",
        remedy="Correct the field.",
        source=PODS,
    ),
)
"""The first rule that fits an error is used."""


class RefusedValue(Finding, frozen=True):
    """A value that the API server rejects."""

    rule: RefusalRule
    problem: str
    """``Invalid value: "A": must be ...``: the API server's words."""
    of_pods: bool = False
    """Whether it accepts the workload, and rejects the pods that the workload creates."""

    @property
    def place(self) -> str:
        """The field with the resource that the API server names only in its words."""
        named = re.search(self.rule.named, self.problem) if self.rule.named else None
        return f"{self.field}.{named[1]}" if named else self.field

    def __str__(self) -> str:
        return f"{self.problem} (in each pod that it creates)." if self.of_pods else f"{self.problem}."


def refused_values(position: int, written: Mapping[str, Any], minor: int) -> list[Finding]:
    """The errors for which the API server rejects an object that fits its schema, in its order.

    For an accepted workload, the pod that its controller would create is validated. An object with a uid comes from a
    cluster and is not created: it has no errors here.
    """
    kind = str(written.get("kind"))
    if (written.get("metadata") or {}).get("uid"):
        return []
    path, of_pods = "", False
    errors = validate(_with_service_account(written) if kind == "Pod" else written, minor)
    made = None if errors else made_pod(written)
    if made is not None:
        path, of_pods = made.path, True
        errors = validate(_with_service_account(made.content), minor)
    findings: list[Finding] = []
    for error in (FieldError(path + one.field, one.problem) for one in errors):
        rule = next(rule for rule in REFUSED_VALUES if rule.fits(kind, error))
        findings.append(RefusedValue(position, error.field, rule, error.problem, of_pods))
    return findings


def _with_service_account(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod with the account that admission sets before validation (plugin ServiceAccount).

    It matters for a volume with its token: the API server requires an account then.
    """
    spec = pod.get("spec") or {}
    projects = any((volume or {}).get("projected") for volume in spec.get("volumes") or ())
    if spec.get("serviceAccountName") or spec.get("serviceAccount") or not projects:
        return pod
    return {**pod, "spec": {**spec, "serviceAccountName": "default"}}
