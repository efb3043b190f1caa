"""What the API server refuses, and who refused it."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

__all__ = ["ENTRIES"]

_LINT: Final = "kubectl qos lint -f FILE"

ENTRIES: Final = (
    Entry(
        name="admission webhook denied the request",
        also=("denied the request", "admission webhook", "failed calling webhook"),
        pattern=r".*admission webhook \".*\" denied the request.*|.*failed calling webhook \".*\".*",
        means="A webhook of this cluster refused the object, or did not answer; Kubernetes itself had no objection.",
        rule=(
            "The text behind the webhook's name is the webhook's own.",
            "failed calling webhook: it did not answer, and its failurePolicy is Fail.",
        ),
        do=("Ask the team that runs that webhook; its name leads to its configuration.",),
        commands=("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",),
        source=("pkg/apis/admissionregistration/types.go",),
        see=("FailedCreate", "ValidatingAdmissionPolicy"),
    ),
    Entry(
        name="ValidatingAdmissionPolicy",
        also=("ValidatingAdmissionPolicyBinding", "admission policy"),
        pattern=r".*ValidatingAdmissionPolicy '.*' (with binding '.*' )?denied request.*",
        means="A policy of this cluster refused the object: an expression in it was false.",
        do=("Read the policy that the text names: spec.validations has the expression.",),
        commands=("kubectl get validatingadmissionpolicies",),
        source=("pkg/apis/admissionregistration/types.go", "KEP-3488"),
        see=("FailedCreate", "admission webhook denied the request"),
    ),
    Entry(
        name="violates PodSecurity",
        also=("PodSecurity", "Pod Security Admission", "pod-security.kubernetes.io/enforce"),
        pattern=r".*(violates|would violate) PodSecurity \".*",
        means="The namespace enforces a Pod Security level, and the pod asks for more than that level allows.",
        rule=(
            "The label pod-security.kubernetes.io/enforce of the namespace sets the level.",
            "would violate is a warning: the object was accepted.",
        ),
        do=("Set the fields of securityContext that the text names, or have the namespace's label changed.",),
        commands=("kubectl get namespace NAME --show-labels",),
        source=("pkg/features/kube_features.go", "KEP-2579"),
        see=("FailedCreate",),
    ),
    Entry(
        name="LimitRange",
        also=("limit range", "default limits"),
        pattern=r".*(maximum|minimum) \S+ usage per (Container|Pod|PersistentVolumeClaim) is .*"
        r"|.*max limit to request ratio per \S+ is .*",
        means="A request or limit is outside what a LimitRange of the namespace allows.",
        rule=(
            "A LimitRange also fills in requests and limits that a container does not set; that can change its class.",
        ),
        do=("Set a request and a limit inside the range that the text names.",),
        commands=("kubectl describe limitrange -n NAMESPACE", _LINT),
        source=("plugin/pkg/admission/limitranger/admission.go",),
        see=("requests", "exceeded quota"),
    ),
    Entry(
        name="error looking up service account",
        also=("serviceaccount not found", "service account not found"),
        pattern=r".*error looking up service account .*",
        means="The pod names a ServiceAccount that does not exist in its namespace.",
        rule=("The account default is made a moment after its namespace; the controller tries again by itself.",),
        do=("Create the ServiceAccount, or correct spec.serviceAccountName.",),
        commands=("kubectl get serviceaccounts -n NAMESPACE",),
        source=("plugin/pkg/admission/serviceaccount/admission.go",),
        see=("FailedCreate",),
    ),
    Entry(
        name="namespace is being terminated",
        also=("NamespaceTerminating", "namespace terminating"),
        pattern=r".*because it is being terminated.*|.*namespace \S+ is being terminated.*",
        means="The namespace is being deleted: nothing new can be made in it.",
        rule=("It stays Terminating until every object in it is gone; finalizers can hold it for ever.",),
        do=("Read its conditions: they name what is left.",),
        commands=("kubectl get namespace NAME -o yaml",),
        source=("pkg/controller/namespace/deletion/namespaced_resources_deleter.go",),
        see=("Terminating",),
    ),
    Entry(
        name="pod updates may not change fields",
        also=("immutable", "field is immutable"),
        pattern=r".*pod updates may not .*|.*field is immutable.*",
        means="That field of a pod, or of another object, cannot be changed once it exists.",
        rule=(
            "A pod's spec can change only its image, tolerations (only more), activeDeadlineSeconds and grace.",
            "Requests and limits of cpu and memory change by the subresource resize.",
        ),
        do=("Change the workload's template: it makes new pods. Delete a bare pod and create it again.",),
        commands=(_LINT,),
        source=("pkg/apis/core/validation/validation.go",),
        see=("PodResizePending",),
    ),
    Entry(
        name="Invalid value",
        also=("Required value", "Unsupported value", "Duplicate value", "is invalid", "field error"),
        means="The API server refused the object: the text names the field, then its value, then the rule.",
        rule=("A list in brackets, or one line each, names all fields that are wrong.",),
        do=("Correct the field that the text names; kubectl explain describes it.",),
        commands=("kubectl explain pod.spec", _LINT),
        source=("pkg/apis/core/validation/validation.go",),
        see=("pod updates may not change fields",),
    ),
)
