{{/*
Whether the cluster serves kinds of policies; empty: no. If the served APIs are known, which include pods then, as with
`helm install` and Argo CD, these decide; otherwise only the version. Takes the root context, the version and the kinds.
*/}}
{{- define "qos-webhook.serves" -}}
{{- $root := index . 0 -}}
{{- $served := semverCompare (printf ">=%s-0" (index . 1)) $root.Capabilities.KubeVersion.Version -}}
{{- if $root.Capabilities.APIVersions.Has "v1/Pod" -}}
{{- range index . 2 -}}
{{- $served = and $served ($root.Capabilities.APIVersions.Has (printf "admissionregistration.k8s.io/v1/%s" .)) -}}
{{- end -}}
{{- end -}}
{{- if $served }}yes{{ end -}}
{{- end -}}

{{- define "qos-webhook.servesValidatingPolicies" -}}
{{- include "qos-webhook.serves" (list . "1.30.0" (list "ValidatingAdmissionPolicy" "ValidatingAdmissionPolicyBinding")) -}}
{{- end -}}

{{- define "qos-webhook.servesMutatingPolicies" -}}
{{- include "qos-webhook.serves" (list . "1.36.0" (list "MutatingAdmissionPolicy" "MutatingAdmissionPolicyBinding")) -}}
{{- end -}}

{{/*
Fails if policies cannot work: if the cluster does not serve them, or if they do not support a value.
*/}}
{{- define "qos-webhook.checkPolicies" -}}
{{- if not (include "qos-webhook.servesValidatingPolicies" .) -}}
{{- fail (printf "mode: %s: the API server does not serve ValidatingAdmissionPolicy and its binding of admissionregistration.k8s.io/v1: set mode to webhook, or enable them there (--runtime-config)" .Values.mode) -}}
{{- end -}}
{{- if and (eq .Values.mode "policy") (not (include "qos-webhook.servesMutatingPolicies" .)) -}}
{{- $why := printf "this needs a MutatingAdmissionPolicy, which the API server does not serve (Kubernetes does from 1.36, this is %s): omit it, or set mode to both or webhook" .Capabilities.KubeVersion.Version -}}
{{- if .Values.priorityClasses.defaults -}}
{{- fail (printf "priorityClasses.defaults: %s" $why) -}}
{{- end -}}
{{- with include "qos-webhook.givesConstraints" . -}}
{{- fail (printf "clusterDefaultConstraints.%s: %s" . $why) -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.mode "policy" -}}
{{- if .Values.lint.topologyKeys -}}
{{- fail "lint.topologyKeys: true: a policy cannot see Nodes: set it to false, or mode to both" -}}
{{- end -}}
{{- if .Values.clusterDefaultConstraints.annotations -}}
{{- fail "clusterDefaultConstraints.annotations: true: a policy cannot read annotations: set it to false, or mode to both" -}}
{{- end -}}
{{- with .Values.clusterDefaultConstraints.existingConfigMap.name -}}
{{- fail (printf "clusterDefaultConstraints.existingConfigMap.name: %s: a policy cannot read it: give schedulerConfiguration in its place, or set mode to both" .) -}}
{{- end -}}
{{- end -}}
{{- include "qos-webhook.checkDefaultClasses" .Values.priorityClasses -}}
{{- end -}}

{{/* Checks, as the program does at its start, that a namespace allows its default class. */}}
{{- define "qos-webhook.checkDefaultClasses" -}}
{{- $allowed := .allowed -}}
{{- range $key, $class := .defaults -}}
{{- $most := $key -}}
{{- if not (hasKey $allowed $key) -}}
{{- $most = "" -}}
{{- range $other, $_ := $allowed -}}
{{- if and (hasSuffix "*" $other) (hasPrefix (trimSuffix "*" $other) $key) (gt (len $other) (len $most)) -}}
{{- $most = $other -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $most -}}
{{- $names := get $allowed $most -}}
{{- if not (or (has $class $names) (has "*" $names)) -}}
{{- fail (printf "priorityClasses.defaults.%s: %s is not among the allowed classes: %s" $key $class (join ", " $names | default "none")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Takes the root context and the policy's short name. */}}
{{- define "qos-webhook.policyName" -}}
{{- printf "%s.%s" (include "qos-webhook.clusterName" (index . 0)) (index . 1) -}}
{{- end -}}

{{- define "qos-webhook.policyMetadata" -}}
name: {{ include "qos-webhook.policyName" . }}
{{ include "qos-webhook.description" (index . 0) }}
{{- end -}}

{{/* A ValidatingAdmissionPolicyBinding; takes the root context, the policy's short name and the action for a violation. */}}
{{- define "qos-webhook.binding" -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  {{- include "qos-webhook.policyMetadata" . | nindent 2 }}
spec:
  policyName: {{ include "qos-webhook.policyName" . }}
  validationActions: [{{ index . 2 }}]
{{- end -}}

{{/* The requests that a policy matches; takes the root context and the rules. */}}
{{- define "qos-webhook.matchConstraints" -}}
matchConstraints:
  matchPolicy: Equivalent
  namespaceSelector:
    {{- include "qos-webhook.namespaceSelector" (index . 0) | nindent 4 }}
  resourceRules:
    {{- index . 1 | nindent 4 }}
{{- end -}}

{{- define "qos-webhook.createdPods" -}}
- apiGroups: [""]
  apiVersions: [v1]
  resources: [pods]
  operations: [CREATE]
  scope: Namespaced
{{- end -}}

{{/*
A CEL expression that depends on request.namespace; takes CEL expressions by namespace, or by prefix and `*`, and the one
for all others. The most specific counts. Namespaces with the same expression are combined, because CEL limits nesting.
*/}}
{{- define "qos-webhook.byNamespace" -}}
{{- $names := dict -}}
{{- $beginnings := list -}}
{{- range $key, $expression := index . 0 -}}
{{- if hasSuffix "*" $key -}}
{{- $beginnings = append $beginnings (printf "%03d%s" (len $key) $key) -}}
{{- else -}}
{{- $_ := set $names $expression (append (get $names $expression | default list) $key) -}}
{{- end -}}
{{- end -}}
(
{{- range $expression, $namespaces := $names -}}
request.namespace in {{ toJson $namespaces }} ? {{ $expression }} : {{ end -}}
{{- range $beginnings | sortAlpha | reverse -}}
{{- $key := substr 3 -1 . -}}
request.namespace.startsWith({{ trimSuffix "*" $key | toJson }}) ? {{ get (index $ 0) $key }} : {{ end -}}
{{ index . 1 }})
{{- end -}}

{{/* The allowed classes of the request's namespace, a list. */}}
{{- define "qos-webhook.allowedClasses" -}}
{{- $lists := dict -}}
{{- range $key, $names := .Values.priorityClasses.allowed -}}
{{- $_ := set $lists $key (toJson $names) -}}
{{- end -}}
{{- include "qos-webhook.byNamespace" (list $lists "['*']") -}}
{{- end -}}

{{/* CEL: the default class of the request's namespace in the values; empty: none. */}}
{{- define "qos-webhook.configuredClass" -}}
{{- $configured := dict -}}
{{- range $key, $class := .Values.priorityClasses.defaults -}}
{{- $_ := set $configured $key (toJson $class) -}}
{{- end -}}
{{- include "qos-webhook.byNamespace" (list $configured "''") -}}
{{- end -}}

{{/*
Variables for the default class of the request's namespace: `wanted`; empty: none. A label with a class that is not
allowed does not count.
*/}}
{{- define "qos-webhook.defaultClassVariables" -}}
- name: label
  expression: namespaceObject.metadata.?labels[?'kubectl-qos.io/default-priority-class'].orValue('')
- name: allowed
  expression: {{ include "qos-webhook.allowedClasses" . | quote }}
- name: labelCounts
  expression: variables.label != '' && (variables.label in variables.allowed || '*' in variables.allowed)
- name: configured
  expression: {{ include "qos-webhook.configuredClass" . | quote }}
- name: wanted
  expression: "variables.labelCounts ? variables.label : variables.configured"
{{- end -}}

{{/* The classes of a list that fit into a label, without duplicates. */}}
{{- define "qos-webhook.inLabels" -}}
{{- $found := list -}}
{{- range . -}}
{{- if and (ne . "*") (le (len .) 63) -}}
{{- $found = append $found . -}}
{{- end -}}
{{- end -}}
{{- $found | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/*
A policy with a PriorityClass as its parameter: for the wanted class, it writes class, priority and preemptionPolicy
together, because the API server's Priority plugin checks them again. Takes the root context, the policy's short name, the
wanted class, and, as far as this is known without the Namespace, the class that can be wanted: the other classes then
cost little.
*/}}
{{- define "qos-webhook.defaultClassPolicy" -}}
{{- $root := index . 0 -}}
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  {{- include "qos-webhook.policyMetadata" . | nindent 2 }}
spec:
  # If the default cannot be determined, the pod is not refused.
  failurePolicy: Ignore
  reinvocationPolicy: Never
  paramKind:
    apiVersion: scheduling.k8s.io/v1
    kind: PriorityClass
  {{- include "qos-webhook.matchConstraints" (list $root (include "qos-webhook.createdPods" $root)) | nindent 2 }}
  matchConditions:
    {{- include "qos-webhook.notAMirrorPod" $root | nindent 4 }}
    # The global default was filled in before: the author did not choose it.
    - name: class-is-not-the-authors
      expression: >-
        object.spec.?priorityClassName.orValue('') == '' ||
        !
        {{- include "qos-webhook.authorWrote" "priorityClassName" | nindent 8 }}
    {{- with index . 3 }}
    - name: can-be-wanted
      expression: {{ printf "params.metadata.name == %s" . | quote }}
    {{- end }}
  variables:
    {{- include "qos-webhook.defaultClassVariables" $root | nindent 4 }}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: >-
          params.metadata.name != ({{ index . 2 }}) ? [] : [
          JSONPatch{op: 'add', path: '/spec/priorityClassName', value: params.metadata.name},
          JSONPatch{op: 'add', path: '/spec/priority', value: params.value},
          JSONPatch{op: 'add', path: '/spec/preemptionPolicy', value: params.?preemptionPolicy.orValue('PreemptLowerPriority')}]
{{- end -}}

{{/*
Whether the author of a new pod wrote a field of its spec: the API server records in managedFields which fields a request
contains before any plugin changes it. Without managedFields: yes.
*/}}
{{- define "qos-webhook.authorWrote" -}}
(object.metadata.?managedFields.orValue([]).size() == 0 ||
dyn(object.metadata.managedFields).exists(entry, entry.?fieldsV1[?'f:spec'][?'f:{{ . }}'].hasValue()))
{{- end -}}

{{/*
The problem with `variables.class`. Texts from the object can be shown unchanged: the API server validates an object before
it evaluates a validating policy.
*/}}
{{- define "qos-webhook.disallowedClass" -}}
'PriorityClass ' + variables.class + ' is not allowed in namespace ' + request.namespace +
' (allowed: ' + (size(variables.allowed) == 0 ? 'none' : variables.allowed.join(', ')) + ')'
{{- end -}}

{{/* A workload's template, and the path of its spec in the workload. */}}
{{- define "qos-webhook.templateVariables" -}}
- name: path
  expression: "request.kind.kind == 'CronJob' ? 'spec.jobTemplate.spec.template.spec' : 'spec.template.spec'"
- name: template
  expression: >-
    (request.kind.kind == 'CronJob' ? dyn(object).spec.jobTemplate.spec : dyn(object).spec).?template.orValue({})
{{- end -}}

{{/* Whether a template's class is allowed, and whether an update keeps it. */}}
{{- define "qos-webhook.templateClassVariables" -}}
- name: class
  expression: variables.template.?spec.?priorityClassName.orValue('')
- name: allowed
  expression: {{ include "qos-webhook.allowedClasses" . | quote }}
- name: classIsAllowed
  expression: variables.class == '' || variables.class in variables.allowed || '*' in variables.allowed
- name: classWasThereBefore
  expression: >-
    request.operation == 'UPDATE' && variables.class ==
    (request.kind.kind == 'CronJob' ? dyn(oldObject).spec.jobTemplate.spec : dyn(oldObject).spec).?template.?spec.?priorityClassName.orValue('')
{{- end -}}

{{- define "qos-webhook.templateClassMessage" -}}
variables.path + '.priorityClassName: ' + {{ include "qos-webhook.disallowedClass" . }}
{{- if eq .Values.priorityClasses.disallowed "deny" }} + ', its pods will be refused'{{ end }}
{{- end -}}

{{/*
CEL: whether a text can be the name of an object. The API server does not validate spec.nodeName in pods/binding, nor
owner references. A command contains only plain names: they have nothing that a shell interprets, and are not flags.
*/}}
{{- define "qos-webhook.isPlain" -}}
{{ . }}.matches('^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$')
{{- end -}}

{{/* CEL: a command, or a note that it is omitted; takes the expressions of the names in the command, and last the command. */}}
{{- define "qos-webhook.command" -}}
([{{ initial . | join ", " }}].all(name, {{ include "qos-webhook.isPlain" "name" }}) ? {{ last . }} : 'no command: a name in it is not plain')
{{- end -}}

{{/*
The mode of force deletions in the request's namespace: warn, confirm or deny. The Namespace's label counts if it is
stricter than the values; a label with another value is ignored.
*/}}
{{- define "qos-webhook.forceDeletionMode" -}}
{{- $modes := dict -}}
{{- range $namespace, $mode := .Values.forceDeletion.namespaces -}}
{{- $_ := set $modes $namespace (printf "'%s'" $mode) -}}
{{- end -}}
- name: label
  expression: namespaceObject.metadata.?labels[?'kubectl-qos.io/force-delete'].orValue('warn')
- name: configured
  expression: {{ include "qos-webhook.byNamespace" (list $modes (printf "'%s'" .Values.forceDeletion.mode)) | quote }}
- name: mode
  expression: >-
    'deny' in [variables.configured, variables.label] ? 'deny' :
    'confirm' in [variables.configured, variables.label] ? 'confirm' : 'warn'
{{- end -}}

{{/*
`refused`: whether the deletion is refused. A pod with terminationGracePeriodSeconds 0 is always deleted without grace, also
by its controllers; deleting a mirror pod stops nothing. `standing`: the pod's node and what its owner does next, with plain
names only: a tenant's sentence would look like ours.
*/}}
{{- define "qos-webhook.forcedDeletionVariables" -}}
{{ include "qos-webhook.forceDeletionMode" . }}
- name: mirror
  expression: oldObject.metadata.?annotations[?'kubernetes.io/config.mirror'].hasValue()
- name: confirmed
  expression: oldObject.metadata.?annotations[?'kubectl-qos.io/confirm-force-delete'].orValue('') == oldObject.metadata.uid
- name: refused
  expression: >-
    oldObject.spec.?terminationGracePeriodSeconds.orValue(30) != 0 && !variables.mirror &&
    (variables.mode == 'deny' || variables.mode == 'confirm' && !variables.confirmed)
- name: owners
  expression: oldObject.metadata.?ownerReferences.orValue([]).filter(owner, owner.?controller.orValue(false))
- name: risk
  expression: >-
    variables.mirror ? 'it mirrors a static pod, and deleting it stops nothing' :
    size(variables.owners) == 0 ? 'its processes may run on, and no controller replaces it' :
    ({{ include "qos-webhook.isPlain" "variables.owners[0].kind.lowerAscii()" }} &&
    {{ include "qos-webhook.isPlain" "variables.owners[0].name" }} ?
    variables.owners[0].kind + ' ' + variables.owners[0].name : 'Its owner') + {
    'apps/v1 StatefulSet': ' promises at most one, but a second may start while it still runs',
    'apps/v1 ReplicaSet': ' may start a replacement while it still runs',
    'v1 ReplicationController': ' may start a replacement while it still runs',
    'apps/v1 DaemonSet': ' may start the next copy while it still runs',
    'batch/v1 Job': ' may start the work again while it still runs'
    }[?variables.owners[0].apiVersion + ' ' + variables.owners[0].kind].orValue(' decides whether a second starts while it still runs')
- name: place
  expression: oldObject.metadata.name + ' -n ' + oldObject.metadata.namespace
- name: node
  expression: "{{ include "qos-webhook.isPlain" "oldObject.spec.nodeName" }} ? oldObject.spec.nodeName : 'its node'"
- name: standing
  expression: >-
    oldObject.metadata.name + ' on ' + variables.node + (!has(oldObject.metadata.deletionTimestamp) ? ': ' :
    ' is already stopping, until ' + string(oldObject.metadata.deletionTimestamp) + ' if its node answers: forcing does not stop it sooner; ') +
    variables.risk
{{- end -}}

{{/* A note about a Namespace's label that is not a mode; takes the condition for no note, as the beginning of an expression. */}}
{{- define "qos-webhook.labelIsAMode" -}}
- expression: {{ . }}variables.label in ['warn', 'confirm', 'deny']
  messageExpression: >-
    'Namespace ' + request.namespace + ': label kubectl-qos.io/force-delete=' + variables.label +
    ' is none of warn, confirm, deny: the configured mode counts, ' + variables.configured
  message: "the Namespace's label kubectl-qos.io/force-delete is none of warn, confirm, deny: the configured mode counts"
{{- end -}}

{{/* The strictest mode of the values: warn, confirm or deny. */}}
{{- define "qos-webhook.strictestMode" -}}
{{- $modes := append (values .Values.forceDeletion.namespaces) .Values.forceDeletion.mode -}}
{{- if has "deny" $modes }}deny{{ else if has "confirm" $modes }}confirm{{ else }}warn{{ end -}}
{{- end -}}

{{/*
Matches deletions of Nodes that are checked. A drain cordons the Node first; the pods of a Node that is out of service are
deleted anyway; a Node with finalizers stays until they are removed.
*/}}
{{- define "qos-webhook.undrainedNode" -}}
{{ include "qos-webhook.notPartOfTheWorkOnNodes" . }}
- name: without-finalizers
  expression: size(oldObject.metadata.?finalizers.orValue([])) == 0
- name: not-cordoned
  expression: >-
    !oldObject.spec.?unschedulable.orValue(false) &&
    !oldObject.spec.?taints.orValue([]).exists(taint, taint.key == 'node.kubernetes.io/out-of-service')
{{- end -}}

{{- define "qos-webhook.nodeIsConfirmed" -}}
oldObject.metadata.?annotations[?'kubectl-qos.io/confirm-force-delete'].orValue('') == oldObject.metadata.uid
{{- end -}}

{{- define "qos-webhook.undrainedNodeMessage" -}}
oldObject.metadata.name + ' is not cordoned, so it was not drained: without the Node, pod garbage collection force deletes' +
' the pods that still run there'
{{- end -}}

{{/*
The cluster's default constraints by schedulerName, as YAML: those of type List, and of type System if the values enable
them. As strict as the API server is with a pod, which would otherwise be refused because of its defaults.
*/}}
{{- define "qos-webhook.clusterConstraints" -}}
{{- $path := "clusterDefaultConstraints.schedulerConfiguration.profiles" -}}
{{- $profiles := .Values.clusterDefaultConstraints.schedulerConfiguration.profiles | default (list dict) -}}
{{- $system := list -}}
{{- if .Values.clusterDefaultConstraints.writeSystemDefaults -}}
{{- $system = list (dict "maxSkew" 3 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway") (dict "maxSkew" 5 "topologyKey" "topology.kubernetes.io/zone" "whenUnsatisfiable" "ScheduleAnyway") -}}
{{- end -}}
{{- $found := dict -}}
{{- range $index, $profile := $profiles -}}
{{- $name := get $profile "schedulerName" -}}
{{- if and (not $name) (eq (len $profiles) 1) -}}
{{- $name = "default-scheduler" -}}
{{- end -}}
{{- if or (not $name) (hasKey $found $name) -}}
{{- fail (printf "%s[%d].schedulerName: %q: each of several profiles needs a unique one" $path $index $name) -}}
{{- end -}}
{{- $constraints := $system -}}
{{- range $profile.pluginConfig -}}
{{- if eq .name "PodTopologySpread" -}}
{{- $args := .args | default dict -}}
{{- $type := $args.defaultingType | default "System" -}}
{{- if eq $type "List" -}}
{{- $constraints = $args.defaultConstraints | default list -}}
{{- include "qos-webhook.checkConstraints" (list (printf "%s[%d] (%s): defaultConstraints" $path $index $name) $constraints) -}}
{{- else if or (ne $type "System") $args.defaultConstraints -}}
{{- fail (printf "%s[%d] (%s): defaultingType: %s: write List, or System without defaultConstraints" $path $index $name $type) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $found $name $constraints -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}

{{/* Takes a path and default constraints. */}}
{{- define "qos-webhook.checkConstraints" -}}
{{- $seen := dict -}}
{{- range $index, $constraint := index . 1 -}}
{{- $path := printf "%s[%d]" (index $ 0) $index -}}
{{- if lt (int $constraint.maxSkew) 1 -}}
{{- fail (printf "%s.maxSkew: %v: write a number from 1" $path $constraint.maxSkew) -}}
{{- else if not (regexMatch "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$" (toString $constraint.topologyKey)) -}}
{{- fail (printf "%s.topologyKey: %v: write the name of a label of nodes" $path $constraint.topologyKey) -}}
{{- else if not (has $constraint.whenUnsatisfiable (list "DoNotSchedule" "ScheduleAnyway")) -}}
{{- fail (printf "%s.whenUnsatisfiable: %v: write DoNotSchedule or ScheduleAnyway" $path $constraint.whenUnsatisfiable) -}}
{{- else if hasKey $constraint "labelSelector" -}}
{{- fail (printf "%s.labelSelector: remove it: a default constraint uses each pod's own" $path) -}}
{{- else if and (hasKey $constraint "minDomains") (or (lt (int $constraint.minDomains) 1) (ne $constraint.whenUnsatisfiable "DoNotSchedule")) -}}
{{- fail (printf "%s.minDomains: %v: write a number from 1, with DoNotSchedule only" $path $constraint.minDomains) -}}
{{- end -}}
{{- range $name := list "nodeAffinityPolicy" "nodeTaintsPolicy" -}}
{{- if and (hasKey $constraint $name) (not (has (get $constraint $name) (list "Honor" "Ignore"))) -}}
{{- fail (printf "%s.%s: %v: write Honor or Ignore" $path $name (get $constraint $name)) -}}
{{- end -}}
{{- end -}}
{{- $kind := printf "%s, %s" $constraint.topologyKey $constraint.whenUnsatisfiable -}}
{{- if hasKey $seen $kind -}}
{{- fail (printf "%s: %s is a duplicate: remove one" $path $kind) -}}
{{- end -}}
{{- $_ := set $seen $kind true -}}
{{- end -}}
{{- end -}}

{{/* A value that gives pods default constraints, one of several; empty: none does. */}}
{{- define "qos-webhook.givesConstraints" -}}
{{- $value := "" -}}
{{- range values (include "qos-webhook.clusterConstraints" . | fromYaml) -}}
{{- if . -}}
{{- $value = ternary "writeSystemDefaults" "schedulerConfiguration" $.Values.clusterDefaultConstraints.writeSystemDefaults -}}
{{- end -}}
{{- end -}}
{{- range $namespace, $constraints := .Values.clusterDefaultConstraints.namespaces -}}
{{- if $constraints -}}
{{- $value = printf "namespaces.%s" $namespace -}}
{{- end -}}
{{- end -}}
{{- $value -}}
{{- end -}}

{{/* Matches pods that get default constraints, as far as this is known without Services: their controller keeps a number. */}}
{{- define "qos-webhook.podsWithoutConstraints" -}}
matchConstraints:
  matchPolicy: Equivalent
  namespaceSelector:
    {{- include "qos-webhook.namespaceSelector" . | nindent 4 }}
      - key: kubectl-qos.io/topology-spread
        operator: NotIn
        values: [disabled]
  resourceRules:
    {{- include "qos-webhook.createdPods" . | nindent 4 }}
matchConditions:
  {{- include "qos-webhook.notAMirrorPod" . | nindent 2 }}
  - name: without-constraints
    expression: size(object.spec.?topologySpreadConstraints.orValue([])) == 0
  - name: to-be-scheduled
    expression: object.spec.?nodeName.orValue('') == ''
  - name: of-a-controller-that-keeps-a-number
    expression: >-
      object.metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false) &&
      owner.apiVersion + ' ' + owner.kind in ['apps/v1 ReplicaSet', 'apps/v1 StatefulSet', 'v1 ReplicationController'])
{{- end -}}

{{/* CEL: the default constraints of a pod, with `variables.selected` as their labels. */}}
{{- define "qos-webhook.constraintsOfThePod" -}}
{{- $profiles := include "qos-webhook.clusterConstraints" . | fromYaml -}}
{{- $namespaces := dict -}}
{{- range $namespace, $constraints := .Values.clusterDefaultConstraints.namespaces -}}
{{- include "qos-webhook.checkConstraints" (list (printf "clusterDefaultConstraints.namespaces.%s" $namespace) $constraints) -}}
{{- $_ := set $namespaces $namespace (include "qos-webhook.constraintLiterals" $constraints) -}}
{{- end -}}
{{- $cluster := "" -}}
{{- range $name, $constraints := $profiles -}}
{{- $cluster = printf "%sobject.spec.schedulerName == %s ? %s : " $cluster (toJson $name) (include "qos-webhook.constraintLiterals" $constraints) -}}
{{- end -}}
!(object.spec.schedulerName in {{ keys $profiles | sortAlpha | toJson }}) ? [] : {{ include "qos-webhook.byNamespace" (list $namespaces (printf "%s[]" $cluster)) }}
{{- end -}}

{{/*
CEL: a list of default constraints, as plain maps for a JSONPatch. An ApplyConfiguration may not set a labelSelector, which is
atomic, and a list of typed literals (Object.spec…) makes the API server 1.36.3 panic and drop the request.
*/}}
{{- define "qos-webhook.constraintLiterals" -}}
{{- $literals := list -}}
{{- range . -}}
{{- $fields := list "'labelSelector': dyn({'matchLabels': variables.selected})" -}}
{{- $constraint := . -}}
{{- range $name := list "maxSkew" "minDomains" "topologyKey" "whenUnsatisfiable" "nodeAffinityPolicy" "nodeTaintsPolicy" -}}
{{- if hasKey $constraint $name -}}
{{- $fields = append $fields (printf "'%s': dyn(%s)" $name (get $constraint $name | toJson)) -}}
{{- end -}}
{{- end -}}
{{- $literals = append $literals (printf "dyn({%s})" (join ", " $fields)) -}}
{{- end -}}
[{{ join ", " $literals }}]
{{- end -}}

{{/* Labels that controllers add to those of a template. */}}
{{- define "qos-webhook.addedLabels" -}}
{{- list "pod-template-hash" "pod-template-generation" "controller-revision-hash" "statefulset.kubernetes.io/pod-name" "apps.kubernetes.io/pod-index" "batch.kubernetes.io/controller-uid" "batch.kubernetes.io/job-name" "batch.kubernetes.io/job-completion-index" "controller-uid" "job-name" | toJson -}}
{{- end -}}

{{/* The added labels that a default constraint omits: a ReplicaSet also selects by pod-template-hash. */}}
{{- define "qos-webhook.labelsLeftOut" -}}
{{- $added := include "qos-webhook.addedLabels" . | fromJsonArray -}}
{{- if not .Values.clusterDefaultConstraints.leaveOutTemplateHash -}}
{{- $added = without $added "pod-template-hash" -}}
{{- end -}}
{{- toJson $added -}}
{{- end -}}

{{/*
The lint of constraints: `problems` of `variables.template` at `variables.path`, for the first 128: CEL can count only from
Kubernetes 1.34. A term fails if it does not match the template's own labels; labels that controllers add do not count.
*/}}
{{- define "qos-webhook.lintVariables" -}}
{{- $added := include "qos-webhook.addedLabels" . -}}
- name: labels
  expression: variables.template.?metadata.?labels.orValue({})
- name: constraints
  expression: variables.template.?spec.?topologySpreadConstraints.orValue([])
- name: failing
  expression: >-
    variables.constraints.map(constraint,
    constraint.?labelSelector.?matchLabels.orValue({}).filter(key, !(key in {{ $added }}) &&
    (!(key in variables.labels) || variables.labels[key] != constraint.labelSelector.matchLabels[key])).map(key,
    key + '=' + constraint.labelSelector.matchLabels[key]) +
    constraint.?labelSelector.?matchExpressions.orValue([]).filter(term, !(term.key in {{ $added }}) && !(
    term.operator == 'In' ? term.key in variables.labels && variables.labels[term.key] in term.?values.orValue([]) :
    term.operator == 'NotIn' ? !(term.key in variables.labels && variables.labels[term.key] in term.?values.orValue([])) :
    term.operator == 'Exists' ? term.key in variables.labels :
    term.operator != 'DoesNotExist' || !(term.key in variables.labels))).map(term,
    term.operator == 'Exists' ? term.key : term.operator == 'DoesNotExist' ? '!' + term.key :
    term.key + (term.operator == 'In' ? ' in (' : ' notin (') + term.?values.orValue([]).join(',') + ')'))
- name: problems
  expression: >-
    {{ until 128 | toJson }}.filter(index, index < size(variables.constraints)).map(index,
    !has(variables.constraints[index].labelSelector) ?
    '[' + string(index) + ']: without labelSelector it counts no pods, so it spreads nothing' :
    size(variables.failing[index]) > 0 ? '[' + string(index) + '].labelSelector: ' + variables.failing[index][0] +
    " does not match the pod's own labels: it is not counted, and copies of it may all go to one place" :
    size(variables.constraints[index].labelSelector.?matchLabels.orValue({})) == 0 &&
    size(variables.constraints[index].labelSelector.?matchExpressions.orValue([])) == 0 &&
    size(variables.constraints[index].?matchLabelKeys.orValue([])) == 0 ?
    '[' + string(index) + '].labelSelector: an empty one counts no pods, so it spreads nothing' : '')
    .filter(problem, problem != '').map(problem, variables.path + '.topologySpreadConstraints' + problem).join('; ')
{{- end -}}

{{/* Takes the condition that skips the check, as the beginning of an expression. */}}
{{- define "qos-webhook.lintValidation" -}}
- expression: {{ . }}variables.problems == ''
  messageExpression: variables.problems
  message: a topology spread constraint does not match its own pod
{{- end -}}

{{- define "qos-webhook.noGraceMessage" -}}
variables.path + '.terminationGracePeriodSeconds: 0, so every deletion is a force deletion: the object is removed at once,' +
' and its processes may run on next to a replacement; 1 or more waits for them'
{{- end -}}
