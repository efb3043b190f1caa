"""Refusals of the API server and kubectl, and their origin."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_LINT: Final = "kubectl qos lint -f FILE"

ENTRIES: Final = (
    Entry(
        name="admission webhook denied the request",
        also=("denied the request", "admission webhook", "failed calling webhook"),
        pattern=r".*admission webhook \".*\" (denied the request|does not support dry run).*"
        r"|.*failed (calling webhook \"|to call webhook: ).*|error calling webhook",
        means="A webhook of this cluster refused the object, or did not answer: it was not Kubernetes itself.",
        rule=(
            "The text after the webhook's name is the webhook's own.",
            "failed calling webhook: it did not answer, and its failurePolicy is Fail.",
        ),
        do=("Contact the team that runs that webhook; its name identifies its configuration.",),
        commands=("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",),
        source=("pkg/apis/admissionregistration/types.go",),
        see=("FailedCreate", "ValidatingAdmissionPolicy"),
    ),
    Entry(
        name="ValidatingAdmissionPolicy",
        also=("ValidatingAdmissionPolicyBinding", "admission policy"),
        pattern=r".*ValidatingAdmissionPolicy '.*' (with binding '.*' )?denied request.*"
        r"|Validation failed for ValidatingAdmissionPolicy '.*' with binding '.*",
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
        means="The namespace enforces a Pod Security level, and the pod requires more than that level allows.",
        rule=(
            "The label pod-security.kubernetes.io/enforce of the namespace sets the level.",
            "would violate is a warning: the object was accepted.",
        ),
        do=("Set the fields that the text names; another label of the namespace would relax it for all its pods.",),
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
        rule=("A LimitRange also sets requests and limits that a container lacks; that can change its class.",),
        do=("Set a request and a limit inside the range that the text names.",),
        commands=("kubectl describe limitrange -n NAMESPACE", _LINT),
        source=("plugin/pkg/admission/limitranger/admission.go",),
        see=("requests", "exceeded quota"),
    ),
    Entry(
        name="error looking up service account",
        also=("serviceaccount not found", "service account not found"),
        pattern=r".*error looking up service account \S+/\S+: .*",
        means="The pod names a ServiceAccount that does not exist in its namespace.",
        rule=("The account default is created a moment after its namespace; the controller retries automatically.",),
        do=("Create the ServiceAccount, or correct spec.serviceAccountName.",),
        commands=("kubectl get serviceaccounts -n NAMESPACE",),
        source=("plugin/pkg/admission/serviceaccount/admission.go",),
        see=("FailedCreate",),
    ),
    Entry(
        name="namespace is being terminated",
        also=("NamespaceTerminating", "namespace terminating", "NamespaceHeld"),
        pattern=r"(unable to create new content in )?namespace \S+ (because it )?is being terminated"
        r"|Some (resources are|content in the namespace has finalizers) remaining: .*"
        r"|(Failed to delete all resource types|Discovery failed for some groups), \d+ (remaining|failing): .*",
        means="The namespace is being deleted: no new object can be created in it.",
        rule=("It stays Terminating until every object in it is removed; finalizers can block it for ever.",),
        do=("Read its conditions: they name the remaining objects.",),
        commands=("kubectl get namespace NAME -o yaml",),
        source=("pkg/controller/namespace/deletion/namespaced_resources_deleter.go",),
        see=("Terminating",),
    ),
    Entry(
        name="pod updates may not change fields",
        also=("immutable", "field is immutable"),
        pattern=r"pod updates may not .*|field is immutable( when `immutable` is set)?|may not be changed directly"
        r"|may not be updated"
        r"|existing ephemeral containers .* may not be (removed|changed).*|updates to \w+ spec for fields other than .*"
        r"|spec is immutable after creation.*|spec\.persistentvolumesource is immutable.*",
        means="That field of a pod, or of another object, cannot be changed once it exists.",
        rule=(
            "A pod's spec can change only images, activeDeadlineSeconds, tolerations (more), a negative grace (to 1).",
            "Requests and limits of cpu and memory are changed by the subresource resize.",
        ),
        do=("Change the workload's template: it creates new pods. Recreate a bare pod: its emptyDir is lost.",),
        commands=(_LINT,),
        source=("pkg/apis/core/validation/validation.go",),
        see=("PodResizePending", "Pod QoS is immutable"),
    ),
    Entry(
        name="Pod QoS is immutable",
        also=("Pod QOS Class may not change as a result of resizing",),
        pattern=r".*\bqosClass: Invalid value: .*field is immutable.*|.*: Pod QoS is immutable",
        means="The change would give the pod another QoS class, and the class never changes after creation.",
        rule=("A resize may change amounts, as long as requests and limits still lead to the same class.",),
        do=("Keep requests equal to limits in a Guaranteed pod, or create the pod again through its template.",),
        commands=("kubectl qos explain pod/NAME",),
        source=("pkg/apis/core/validation/validation.go", "pkg/apis/core/v1/helper/qos/qos.go"),
        see=("QoS class", "resize is refused"),
    ),
    Entry(
        name="resize is refused",
        pattern=r"only cpu and memory resources .*are mutable.*|(static|windows) pods cannot be resized"
        r"|Pod running on node without support for resize|.*(resources?|requests|limits) cannot be removed"
        r"|(non-sidecar init )?containers .*(on resize|cannot be resized)|initContainers may not be .* on resize"
        r"|resources for non-sidecar init containers are immutable|memory limits cannot be decreased unless .*",
        means="The API server refuses this resize in place: not each field, container or node can be resized.",
        rule=("Only cpu and memory, not on static or Windows pods; init containers since 1.36, before only sidecars.",),
        do=("Change the workload's template instead: it creates new pods.",),
        source=("pkg/apis/core/validation/validation.go", "KEP-1287"),
        see=("PodResizePending", "Pod QoS is immutable"),
    ),
    Entry(
        name="request and limit do not fit",
        also=("request over limit", "Limit must be set for non overcommitable resources"),
        pattern=r"must be (less than or )?equal to \S+ limit of \S+|HugePages require cpu or memory",
        means="A container's request is above its limit, or differs from it although both must be equal.",
        rule=("Huge pages and devices need a limit equal to the request; huge pages also need cpu or memory.",),
        do=("Lower the request or raise the limit that the text names.",),
        commands=(_LINT,),
        source=("pkg/apis/core/validation/validation.go",),
    ),
    Entry(
        name="selector does not match template labels",
        pattern=r"`selector` does not match template `labels`|.*all pods\. A non-empty selector is required\.",
        means="The workload's selector must select the pods of its own template, and only these.",
        do=("Give spec.template.metadata.labels each label of spec.selector.matchLabels.",),
        commands=(_LINT,),
        source=("pkg/apis/apps/validation/validation.go",),
    ),
    Entry(
        name="quantities must match the regular expression",
        also=("unable to parse quantity's suffix",),
        pattern=r"quantities must match the regular expression .*",
        means="An amount is invalid: write 500m or 0.5 of cpu, 256Mi or 1Gi of memory, without a space or a B.",
        source=("pkg/apis/core/validation/validation.go",),
        see=("requests",),
    ),
    Entry(
        name="strict decoding error",
        also=("unknown field",),
        pattern=r"strict decoding error: .*|unknown field \".*\"( in \S+)?",
        means="The object has a field that this API server does not know: misspelt or in the wrong place.",
        do=("Correct the field's name or its indentation; kubectl explain lists the fields of a kind.",),
        commands=("kubectl explain pod.spec", _LINT),
        source=("pkg/apis/core/types.go",),
    ),
    Entry(
        name="the server doesn't have a resource type",
        also=("the server could not find the requested resource", "no matches for kind"),
        pattern=r"the server doesn't have a resource type \".*|no matches for kind \".*\" in (version|group).*"
        r"|the server could not find the requested resource( \(.*\))?",
        means="This API server does not serve that kind in that version: misspelt, removed, or its CRD is missing.",
        do=("Look up the kind and its version; install the CRD, or write the version that is served.",),
        commands=("kubectl api-resources",),
        source=("pkg/apis/core/types.go",),
    ),
    Entry(
        name="the object has been modified",
        also=("Operation cannot be fulfilled", "Conflict", "precondition failed"),
        pattern=r"Operation cannot be fulfilled on \S+ \".*\": .*"
        r"|couldn't update PodDisruptionBudget \".*\" due to conflicts"
        r"|the (UID|ResourceVersion) in the precondition \(.*\) does not match .*"
        r"|the object has been modified; please apply your changes to the latest version and try again",
        means="Another client changed or replaced the object between read and write: nothing was changed.",
        rule=("A UID that does not match: the object of that name is a new one, and the intended one was removed.",),
        do=("Read it again and repeat the change; controllers do so automatically.",),
        source=("pkg/registry/core/pod/storage/eviction.go",),
    ),
    Entry(
        name="cannot verb resource (RBAC)",
        also=("RBAC", "Forbidden"),
        pattern=r"User \".*\" cannot \w+ resource \".*",
        means="No Role or ClusterRole that is bound to this user allows that verb on that resource in that namespace.",
        rule=("Forbidden also precedes refusals by a quota, LimitRange, policy or webhook: the text names it.",),
        do=("Ask an administrator to bind a role that allows it; the text names user, verb, resource and namespace.",),
        commands=("kubectl auth can-i --list -n NAMESPACE",),
        source=("plugin/pkg/auth/authorizer/rbac/rbac.go",),
    ),
    Entry(
        name="the server is currently unable to handle the request",
        pattern=r"the server (is currently unable to handle the request"
        r"|was unable to return a response in the time allotted"
        r"|has received too many requests and has asked us to try again later).*"
        r"|The connection to the server \S+ was refused - did you specify the right host or port\?",
        means="The API server, or the program behind an aggregated API, is down or overloaded: no decision was made.",
        do=("Try again; if it persists, check the API servers, or the pods of an unavailable APIService.",),
        commands=("kubectl get apiservices",),
        source=("pkg/registry/core/pod/storage/eviction.go",),
    ),
    Entry(
        name="NotFound",
        pattern=r"(pods|nodes|namespaces|secrets|configmaps|serviceaccounts|persistentvolumes|persistentvolumeclaims"
        r"|services|events|[a-z]+s\.(apps|batch|policy|scheduling\.k8s\.io)) \".*\" not found",
        means="No object of that kind and name exists in that namespace: it was deleted, or never created.",
        do=("Check name and namespace; a pod of a controller has a new name after each deletion.",),
        commands=("kubectl get pods -A", "kubectl qos died pod/NAME"),
        source=("pkg/registry/core/pod/storage/storage.go",),
    ),
    Entry(
        name="mirror pod",
        also=("static pod", "kubernetes.io/config.mirror", "staticPodPath", "KubeletOwned", "StaticManifest"),
        pattern=r"a mirror pod may not .*|static pods do not support .*",
        means="A static pod comes from a file of its node, and the API server shows a mirror of it.",
        rule=(
            "Only its kubelet starts it, so it may not use ServiceAccounts, Secrets or ResourceClaims.",
            "It is a critical pod: its kubelet never evicts it.",
        ),
        do=("Change the file on the node: a delete or change of the mirror has no effect there.",),
        source=("plugin/pkg/admission/serviceaccount/admission.go", "pkg/kubelet/types/pod_update.go"),
        see=("critical pod",),
    ),
    Entry(
        name="RuntimeClass",
        also=("runtimeClassName",),
        pattern=r"pod rejected: (RuntimeClass \".*\" not found|Pod's Overhead doesn't match .*"
        r"|Pod Overhead set without .*)"
        r"|conflict: runtimeClass\.scheduling\.nodeSelector.*",
        means="Names the runtime of a pod; if it does not exist, or contradicts the pod, the pod is refused.",
        rule=("Its overhead is added to the pod's requests, its nodeSelector and tolerations to the pod's own.",),
        do=("Create the class or correct runtimeClassName; leave spec.overhead to the class.",),
        commands=("kubectl get runtimeclass",),
        source=("plugin/pkg/admission/runtimeclass/admission.go",),
    ),
    Entry(
        name="drain stops",
        also=("cannot delete Pods that declare no controller", "cannot delete DaemonSet-managed Pods"),
        pattern=r"(cannot delete |ignoring |deleting )?(DaemonSet-managed Pods|Pods with local storage"
        r"|Pods that declare no controller)( \(use --[\w-]+ to (ignore|override)\))?(: .*)?"
        r"|--ignore-daemonsets|--delete-emptydir-data|There are pending (nodes to be drained"
        r"|pods in node \".*\" when an error occurred): ?.*",
        means="kubectl drain evicts no pod until a flag covers each pod of the node; the node stays cordoned.",
        rule=(
            "declare no controller: nothing recreates such a pod; --force deletes it.",
            "local storage: the data of its emptyDir volumes is lost; --delete-emptydir-data accepts that.",
            "DaemonSet-managed: its controller would recreate it at once; --ignore-daemonsets leaves it there.",
        ),
        do=("Check each pod that the text names before you add the flag.",),
        commands=("kubectl qos place --drain NODE",),
        source=("pkg/controller/daemon/daemon_controller.go",),
        see=("eviction API", "PodDisruptionBudget"),
    ),
    Entry(
        name="a container name must be specified",
        also=("Defaulted container",),
        pattern=r"a container name must be specified for pod \S+.*|container \S+ is not valid for pod \S+.*"
        r"|Defaulted container \".*\" out of: .*|Default container name \".*\" not found in pod .*",
        means="The pod has several containers, and the command needs one: name it with -c.",
        commands=("kubectl logs NAME -c CONTAINER",),
        source=("pkg/registry/core/pod/strategy.go",),
    ),
    Entry(
        name="pod does not have a host assigned",
        pattern=r"pod \S+ does not have a host assigned",
        means="logs, exec and port-forward need the pod's kubelet, and the pod has no node yet.",
        commands=("kubectl qos explain pod/NAME",),
        source=("pkg/registry/core/pod/strategy.go",),
        see=("FailedScheduling",),
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
