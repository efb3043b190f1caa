{{/* Name of the objects in the release's namespace; also the Service's, which may not contain a dot. */}}
{{- define "qos-webhook.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- $name = contains .Chart.Name $release | ternary $release (printf "%s-%s" $release .Chart.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$" $name) -}}
{{- fail (printf "fullnameOverride: %q is not a valid name for a Service: set one of at most 63 of a-z, 0-9 and '-', with a letter first" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/*
Name of the objects outside the release's namespace. Neither part can contain a dot, so two releases in two namespaces
never share one.
*/}}
{{- define "qos-webhook.clusterName" -}}
{{- printf "%s.%s" (include "qos-webhook.fullname" .) .Release.Namespace -}}
{{- end -}}

{{- define "qos-webhook.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "qos-webhook.labels" -}}
{{- $own := include "qos-webhook.ownLabels" . | fromYaml -}}
{{- merge $own .Values.commonLabels | toYaml -}}
{{- end -}}

{{- define "qos-webhook.ownLabels" -}}
{{ include "qos-webhook.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: kubectl-qos
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Labels and annotations of every object. */}}
{{- define "qos-webhook.description" -}}
labels:
  {{- include "qos-webhook.labels" . | nindent 2 }}
{{- with .Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "qos-webhook.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "qos-webhook.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.name: name the ServiceAccount to use, or set serviceAccount.create to true" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "qos-webhook.subjects" -}}
- kind: ServiceAccount
  name: {{ include "qos-webhook.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* The image with its tag or digest. A runtime would resolve a name without a registry on Docker Hub, where anyone may own it. */}}
{{- define "qos-webhook.image" -}}
{{- with .Values.image -}}
{{- if not (regexMatch "^(localhost|[^/]*[.:][^/]*)/[^/]" .repository) -}}
{{- fail (printf "image.repository: %q does not begin with a registry: no image is published; build one (make image), push it, and name it: --set image.repository=registry.example.com/qos-webhook" .repository) -}}
{{- end -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The reason why the release should be in another namespace; empty: there is none. */}}
{{- define "qos-webhook.systemNamespace" -}}
{{- if and (has .Release.Namespace (list "kube-system" "kube-public" "kube-node-lease")) (not .Values.allowSystemNamespace) -}}
{{ .Release.Namespace }} is a namespace of Kubernetes itself, where bootstrap tokens and the control plane's own objects are
{{- end -}}
{{- end -}}

{{- define "qos-webhook.checkNamespace" -}}
{{- with include "qos-webhook.systemNamespace" . -}}
{{- if not $.Release.IsUpgrade -}}
{{- fail (printf "allowSystemNamespace: %s: install into a namespace of its own, such as qos-system, or set it to true" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The ports must not be in use. */}}
{{- define "qos-webhook.checkPorts" -}}
{{- if and .Values.hostNetwork (eq (int .Values.containerPort) 10250) -}}
{{- fail "containerPort: 10250 is the kubelet's port in a node's network: with hostNetwork set another one, such as 8443, and let the control plane reach it on the nodes" -}}
{{- end -}}
{{- if and .Values.metrics.enabled (eq (int .Values.containerPort) (int .Values.metrics.port)) -}}
{{- fail (printf "metrics.port: %d is also containerPort: set another one" (int .Values.metrics.port)) -}}
{{- end -}}
{{- end -}}

{{/* NAMESPACE/NAME of the ConfigMap with the KubeSchedulerConfiguration; empty: none. */}}
{{- define "qos-webhook.schedulerConfigMap" -}}
{{- with .Values.clusterDefaultConstraints -}}
{{- if and .schedulerConfiguration .existingConfigMap.name -}}
{{- fail "clusterDefaultConstraints: schedulerConfiguration and existingConfigMap.name are both set: leave one of them empty" -}}
{{- else if and .existingConfigMap.namespace (not .existingConfigMap.name) -}}
{{- fail "clusterDefaultConstraints.existingConfigMap.name: name the ConfigMap, or leave existingConfigMap.namespace empty" -}}
{{- else if .schedulerConfiguration -}}
{{- printf "%s/%s-scheduler" $.Release.Namespace (include "qos-webhook.fullname" $) -}}
{{- else if .existingConfigMap.name -}}
{{- printf "%s/%s" (.existingConfigMap.namespace | default $.Release.Namespace) .existingConfigMap.name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether any pod may get default constraints, as the program decides it; empty: none can. */}}
{{- define "qos-webhook.usesConstraints" -}}
{{- $values := .Values.clusterDefaultConstraints -}}
{{- $used := or (include "qos-webhook.schedulerConfigMap" .) $values.writeSystemDefaults $values.annotations -}}
{{- range $values.namespaces -}}
{{- $used = or $used . -}}
{{- end -}}
{{- if $used }}yes{{ end -}}
{{- end -}}

{{/* Whether the program lists pods to count those without their defaults; empty: it does not. */}}
{{- define "qos-webhook.audits" -}}
{{- if not (regexMatch "^0+[smhd]$" .Values.auditInterval) }}yes{{ end -}}
{{- end -}}

{{/* webhook.url without a trailing slash; empty: the API server calls the Service. */}}
{{- define "qos-webhook.url" -}}
{{- $url := .Values.webhook.url | trimSuffix "/" -}}
{{- if and $url (not (regexMatch "^https://([0-9A-Za-z]([-0-9A-Za-z]*[0-9A-Za-z])?(\\.[0-9A-Za-z]([-0-9A-Za-z]*[0-9A-Za-z])?)*|\\[[0-9A-Fa-f:.]+\\])(:[0-9]+)?$" $url)) -}}
{{- fail (printf "webhook.url: %q cannot be called by the API server: write https://HOST or https://HOST:PORT, or leave it empty for the Service" $url) -}}
{{- end -}}
{{- $url -}}
{{- end -}}

{{/*
The common part of the entries of both webhook configurations; takes the root context, the path to call and, if it is not
that of the values, the failurePolicy, and then the sideEffects, if there are any.
*/}}
{{- define "qos-webhook.common" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- $failurePolicy := $root.Values.webhook.failurePolicy -}}
{{- if gt (len .) 2 -}}
{{- $failurePolicy = index . 2 -}}
{{- end -}}
{{- $sideEffects := "None" -}}
{{- if gt (len .) 3 -}}
{{- $sideEffects = index . 3 -}}
{{- end -}}
clientConfig:
  {{- with include "qos-webhook.caBundle" $root }}
  caBundle: {{ . }}
  {{- end }}
  {{- with include "qos-webhook.url" $root }}
  url: {{ printf "%s%s" . $path }}
  {{- else }}
  service:
    name: {{ include "qos-webhook.fullname" $root }}
    namespace: {{ $root.Release.Namespace }}
    path: {{ $path }}
    port: 443
  {{- end }}
admissionReviewVersions: [v1]
sideEffects: {{ $sideEffects }}
matchPolicy: Equivalent
failurePolicy: {{ $failurePolicy }}
timeoutSeconds: {{ $root.Values.webhook.timeoutSeconds }}
namespaceSelector:
  {{- include "qos-webhook.namespaceSelector" $root | nindent 2 }}
{{- end -}}

{{/* Selects the namespaces with pods, workloads, deletions and evictions that are reviewed. */}}
{{- define "qos-webhook.namespaceSelector" -}}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: {{ prepend .Values.webhook.excludedNamespaces .Release.Namespace | uniq | toJson }}
  {{- with .Values.webhook.namespaceMatchExpressions }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Usernames of controllers that delete Nodes as part of their work, a JSON list. */}}
{{- define "qos-webhook.nodeControllers" -}}
{{- $users := list -}}
{{- range .Values.forceDeletion.exemptNodeControllers -}}
{{- $users = concat $users . -}}
{{- end -}}
{{- $users | uniq | toJson -}}
{{- end -}}

{{/*
Excludes the clients that delete without grace as part of their work: the program would ignore them, too, but need not be
called. The last delete of a stopped pod comes from its kubelet.
*/}}
{{- define "qos-webhook.notPartOfTheWork" -}}
{{- $names := list "pod-garbage-collector" "generic-garbage-collector" "namespace-controller" "node-controller" -}}
{{- $users := list "system:kube-controller-manager" -}}
{{- range $names -}}
{{- $users = append $users (printf "system:serviceaccount:kube-system:%s" .) -}}
{{- end -}}
- name: not-by-a-kubelet
  expression: >-
    !has(request.userInfo.groups) || !('system:nodes' in request.userInfo.groups)
- name: not-by-a-garbage-collector
  expression: >-
    !has(request.userInfo.username) || !(request.userInfo.username in {{ concat $users .Values.forceDeletion.exemptUsers | toJson }})
{{- end -}}

{{/* The same for deletions of Nodes. */}}
{{- define "qos-webhook.notPartOfTheWorkOnNodes" -}}
{{ include "qos-webhook.notPartOfTheWork" . }}
- name: not-by-a-node-controller
  expression: >-
    !has(request.userInfo.username) || !(request.userInfo.username in {{ include "qos-webhook.nodeControllers" . }})
{{- end -}}

{{/* The sideEffects of webhooks that may refuse a force deletion: an Event, except in a dry run. */}}
{{- define "qos-webhook.forcedEffects" -}}
{{- if not .Values.forceDeletion.events -}}
None
{{- else if not (and .Values.clientAuthentication.configMap .Values.clientAuthentication.names) -}}
{{- fail "forceDeletion.events: without client certificates any pod could cause Events about any object: set clientAuthentication.configMap and clientAuthentication.names, or leave it false" -}}
{{- else -}}
NoneOnDryRun
{{- end -}}
{{- end -}}

{{/* A time such as `90d` in seconds. */}}
{{- define "qos-webhook.seconds" -}}
{{- $units := dict "s" 1 "m" 60 "h" 3600 "d" 86400 -}}
{{- mul (regexFind "^[0-9]+" . | int64) (get $units (regexFind "[smhd]$" .)) -}}
{{- end -}}

{{/* The same within limits, as in the program; takes the name of a value, the value, its minimum and its maximum. */}}
{{- define "qos-webhook.secondsWithin" -}}
{{- $seconds := include "qos-webhook.seconds" (index . 1) | int64 -}}
{{- if or (lt $seconds (include "qos-webhook.seconds" (index . 2) | int64)) (gt $seconds (include "qos-webhook.seconds" (index . 3) | int64)) -}}
{{- fail (printf "%s: %s is outside its limits: at least %s, at most %s" (index . 0) (index . 1) (index . 2) (index . 3)) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{/*
The program's configuration file. It reviews all Nodes: pods of an excluded namespace cause at most a warning, unless the
values name the namespace.
*/}}
{{- define "qos-webhook.config" -}}
{{- include "qos-webhook.checkDefaultClasses" .Values.priorityClasses -}}
{{- if and .Values.tls.cipherSuites (eq .Values.tls.minVersion "VersionTLS13") -}}
{{- fail "tls.cipherSuites: chooses among the suites of TLS 1.2, which tls.minVersion VersionTLS13 disables: leave one of them out" -}}
{{- end -}}
apiVersion: kubectl-qos.io/v1
kind: QosWebhookConfiguration
address: 0.0.0.0:{{ .Values.containerPort }}
{{- if .Values.metrics.enabled }}
metricsAddress: 0.0.0.0:{{ .Values.metrics.port }}
{{- end }}
drainSeconds: {{ .Values.drainSeconds }}
logFormat: {{ .Values.logFormat }}
logLevel: {{ .Values.logLevel }}
tls:
  {{- toYaml .Values.tls | nindent 2 }}
certificate:
  {{- if eq .Values.certificate.mode "self" }}
  kept:
    secret:
      namespace: {{ .Release.Namespace }}
      name: {{ include "qos-webhook.certificateSecret" . }}
    names:
      {{- include "qos-webhook.certificateNames" . | nindent 6 }}
    configuration: {{ include "qos-webhook.clusterName" . }}
    lifetimeSeconds: {{ include "qos-webhook.secondsWithin" (list "certificate.lifetime" .Values.certificate.lifetime "12s" "3650d") }}
  {{- else }}
  files:
    certificate: /etc/qos-webhook/tls/tls.crt
    key: /etc/qos-webhook/tls/tls.key
  {{- end }}
audit:
  intervalSeconds: {{ if include "qos-webhook.audits" . }}{{ include "qos-webhook.secondsWithin" (list "auditInterval" .Values.auditInterval "10s" "24h") }}{{ else }}0{{ end }}
  {{- if and (ne .Values.certificate.mode "self") (include "qos-webhook.lease" .) }}
  configuration: {{ include "qos-webhook.clusterName" . }}
  lease:
    namespace: {{ .Release.Namespace }}
    name: {{ include "qos-webhook.lease" . }}
  {{- end }}
{{- with .Values.clientAuthentication }}
{{- if .configMap }}
clients:
  caFile: /etc/qos-webhook/clients/ca.crt
  names:
    {{- toYaml .names | nindent 4 }}
{{- else if .names }}
{{- fail "clientAuthentication.configMap: names belong to certificates: name the ConfigMap with the authorities that sign them, or leave clientAuthentication.names empty" }}
{{- end }}
{{- end }}
forceDeletion:
  mode: {{ .Values.forceDeletion.mode }}
  {{- $modes := dict }}
  {{- if ne .Values.forceDeletion.mode "warn" }}
  {{- range prepend .Values.webhook.excludedNamespaces .Release.Namespace }}
  {{- $_ := set $modes . "warn" }}
  {{- end }}
  {{- end }}
  namespaces:
    {{- mergeOverwrite $modes .Values.forceDeletion.namespaces | toYaml | nindent 4 }}
  exemptUsers:
    {{- toYaml .Values.forceDeletion.exemptUsers | nindent 4 }}
  exemptNodeControllers:
    {{- include "qos-webhook.nodeControllers" . | fromJsonArray | toYaml | nindent 4 }}
  events: {{ .Values.forceDeletion.events }}
clusterDefaultConstraints:
  {{- with include "qos-webhook.schedulerConfigMap" . }}
  configMap:
    namespace: {{ splitList "/" . | first }}
    name: {{ splitList "/" . | last }}
  {{- end }}
  {{- omit .Values.clusterDefaultConstraints "schedulerConfiguration" "existingConfigMap" | toYaml | nindent 2 }}
priorityClasses:
  {{- toYaml .Values.priorityClasses | nindent 2 }}
lint:
  {{- toYaml .Values.lint | nindent 2 }}
warnings: {{ .Values.warnings }}
{{- end -}}

{{/* A kubelet creates a mirror pod to report a static pod that already runs. */}}
{{- define "qos-webhook.notAMirrorPod" -}}
- name: not-a-mirror-pod
  expression: >-
    !has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations)
{{- end -}}

{{/* The same for rules that refuse a class: any client can set the annotation, but only a kubelet creates mirror pods. */}}
{{- define "qos-webhook.notAKubeletsMirrorPod" -}}
- name: not-a-mirror-pod
  expression: >-
    !has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations) ||
    !has(request.userInfo.groups) || !('system:nodes' in request.userInfo.groups)
{{- end -}}

{{/* Matches deletions of pods that are force deletions. */}}
{{- define "qos-webhook.forcedDeletion" -}}
# Each step relies on the one before: options may be missing, or null. For a collection no period is filled in.
- name: without-grace
  expression: >-
    has(request.options) && request.options != null && (has(request.options.gracePeriodSeconds) ?
    request.options.gracePeriodSeconds == 0 : !has(oldObject.metadata.deletionTimestamp) &&
    has(oldObject.spec.terminationGracePeriodSeconds) && oldObject.spec.terminationGracePeriodSeconds == 0)
{{ include "qos-webhook.notPartOfTheWork" . }}
# A plain delete of a pod without processes has no grace either.
- name: may-run
  expression: >-
    has(oldObject.spec.nodeName) && oldObject.spec.nodeName != '' &&
    !(has(oldObject.status) && has(oldObject.status.phase) && oldObject.status.phase in ['Succeeded', 'Failed'])
# kubectl sends two requests: the second review is about a pod that the first one allowed.
- name: not-forced-before
  expression: >-
    !has(oldObject.metadata.deletionGracePeriodSeconds) || oldObject.metadata.deletionGracePeriodSeconds != 0
{{- end -}}

{{/* Matches evictions that are force deletions. The delete that follows is not reviewed; the request does not contain the pod. */}}
{{- define "qos-webhook.forcedEviction" -}}
- name: without-grace
  expression: >-
    has(object.deleteOptions) && object.deleteOptions != null && has(object.deleteOptions.gracePeriodSeconds) &&
    object.deleteOptions.gracePeriodSeconds == 0
{{ include "qos-webhook.notPartOfTheWork" . }}
{{- end -}}

{{/* Workloads, which create pods. */}}
{{- define "qos-webhook.workloadRules" -}}
- apiGroups: [""]
  apiVersions: [v1]
  resources: [replicationcontrollers]
  operations: [CREATE, UPDATE]
  scope: Namespaced
- apiGroups: [apps]
  apiVersions: [v1]
  resources: [deployments, statefulsets, daemonsets, replicasets]
  operations: [CREATE, UPDATE]
  scope: Namespaced
- apiGroups: [batch]
  apiVersions: [v1]
  resources: [jobs, cronjobs]
  operations: [CREATE, UPDATE]
  scope: Namespaced
{{- end -}}

{{/* The client that wrote the owner was warned; without this, each scaling of a Deployment's ReplicaSets would be reviewed. */}}
{{- define "qos-webhook.notOwned" -}}
- name: not-owned-by-a-controller
  expression: >-
    !has(object.metadata.ownerReferences) ||
    !object.metadata.ownerReferences.exists(owner, has(owner.controller) && owner.controller)
{{- end -}}

{{/* Labels and annotations of the webhook configurations: an annotation makes cert-manager's cainjector write each caBundle. */}}
{{- define "qos-webhook.configurationDescription" -}}
{{- $description := include "qos-webhook.description" . | fromYaml -}}
{{- if eq .Values.certificate.mode "cert-manager" -}}
{{- $from := printf "%s/%s" .Release.Namespace (include "qos-webhook.certificateSecret" .) -}}
{{- $_ := set $description "annotations" (merge (dict "cert-manager.io/inject-ca-from" $from) ($description.annotations | default dict)) -}}
{{- end -}}
{{- toYaml $description -}}
{{- end -}}

{{/* The authorities in the API server's encoding; empty: the program or cert-manager writes them later. */}}
{{- define "qos-webhook.caBundle" -}}
{{- $given := .Values.certificate.existing -}}
{{- if ne .Values.certificate.mode "existing" -}}
{{- if or $given.secretName $given.caBundle -}}
{{- fail (printf "certificate.existing: is for certificate.mode existing, which is %s: leave it empty, or change the mode" .Values.certificate.mode) -}}
{{- end -}}
{{- if and .Values.certificate.certManager.issuerRef (ne .Values.certificate.mode "cert-manager") -}}
{{- fail (printf "certificate.certManager: is for certificate.mode cert-manager, which is %s: leave it empty, or change the mode" .Values.certificate.mode) -}}
{{- end -}}
{{- else if not (or $given.caBundle .Values.webhook.url) -}}
{{- fail "certificate.existing.caBundle: give the authorities that signed the certificate, PEM: for a Service the API server trusts no others" -}}
{{- else -}}
{{- $given.caBundle | b64enc -}}
{{- end -}}
{{- end -}}

{{/* Name of the Secret with the certificate. cert-manager's Secret has another type than the program's, so another name. */}}
{{- define "qos-webhook.certificateSecret" -}}
{{- $mode := .Values.certificate.mode -}}
{{- if eq $mode "existing" -}}
{{- required "certificate.existing.secretName: name the Secret of type kubernetes.io/tls, or set certificate.mode to self" .Values.certificate.existing.secretName -}}
{{- else -}}
{{- printf "%s-%s" (include "qos-webhook.fullname" .) (ternary "tls" "cert" (eq $mode "self")) -}}
{{- end -}}
{{- end -}}

{{/*
The Lease; its holder does the work that one replica does for all: it writes the certificate, and counts pods that were
stored without the webhook. Empty: no Lease.
*/}}
{{- define "qos-webhook.lease" -}}
{{- if eq .Values.certificate.mode "self" -}}
{{- include "qos-webhook.certificateSecret" . -}}
{{- else if include "qos-webhook.audits" . -}}
{{- printf "%s-audit" (include "qos-webhook.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* The names that the API server uses to call the webhook, a list. */}}
{{- define "qos-webhook.certificateNames" -}}
- {{ include "qos-webhook.fullname" . }}.{{ .Release.Namespace }}.svc
{{- with include "qos-webhook.url" . }}
- {{ (urlParse .).hostname | quote }}
{{- end }}
{{- end -}}

{{/* certificate.lifetime in Go's format: without days. */}}
{{- define "qos-webhook.certificateDuration" -}}
{{- $seconds := include "qos-webhook.secondsWithin" (list "certificate.lifetime" .Values.certificate.lifetime "1h" "3650d") -}}
{{- printf "%dh" (div $seconds 3600) -}}
{{- end -}}

{{/*
Whether `helm test` can also call the webhook without the API server: the authorities of an existing certificate may be
unknown, and only the API server has a client certificate.
*/}}
{{- define "qos-webhook.canBeAsked" -}}
{{- if and (ne .Values.certificate.mode "existing") (not .Values.clientAuthentication.configMap) }}true{{ end -}}
{{- end -}}

{{- define "qos-webhook.testName" -}}
{{- printf "%s-test" (include "qos-webhook.fullname" . | trunc 58 | trimSuffix "-") -}}
{{- end -}}

{{/* Labels and annotations of the objects that `helm test` creates and removes; takes the root context and a weight: the lowest comes first. */}}
{{- define "qos-webhook.testDescription" -}}
{{- $root := index . 0 -}}
{{- $hook := dict "helm.sh/hook" "test" "helm.sh/hook-weight" (index . 1) "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded,hook-failed" "helm.sh/hook-output-log-policy" "hook-succeeded,hook-failed" -}}
labels:
  {{- merge (dict "app.kubernetes.io/name" (printf "%s-test" $root.Chart.Name)) (include "qos-webhook.labels" $root | fromYaml) | toYaml | nindent 2 }}
annotations:
  {{- merge $hook $root.Values.commonAnnotations | toYaml | nindent 2 }}
{{- end -}}

{{/* The annotation, on a separate line, that links an alert to its heading in docs/runbook.md; takes the root context and the alert's name. */}}
{{- define "qos-webhook.runbook" -}}
{{- $alert := index . 1 | lower -}}
{{- with (index . 0).Values.metrics.prometheusRule.runbookUrl -}}
{{- printf "runbook_url: %q" (printf "%s#%s" . $alert) | nindent 12 -}}
{{- end -}}
{{- end -}}

{{/* For NOTES.txt: the mode of force deletions by namespace, and how a namespace chooses a stricter one. */}}
{{- define "qos-webhook.modesOfForceDeletions" -}}
{{- $default := .Values.forceDeletion.mode -}}
{{- $named := dict -}}
{{- range $namespace, $mode := .Values.forceDeletion.namespaces -}}
{{- $_ := set $named $mode (append (get $named $mode | default list) $namespace) -}}
{{- end -}}
{{- if $named -}}
The mode of force deletions, by namespace:
{{ range $mode := list "warn" "confirm" "deny" }}
{{- $namespaces := get $named $mode | default list -}}
{{- if eq $mode $default -}}
{{- $namespaces = append $namespaces "all others" -}}
{{- end -}}
{{- if $namespaces }}
  {{ printf "%-7s" $mode }}  {{ join ", " $namespaces }}
{{- end }}
{{- end }}
{{- if .Values.forceDeletion.nodes }}

{{ if eq .Values.mode "webhook" -}}
For a Node the strictest mode of the namespaces of its pods counts.
{{- else -}}
For a Node that was not drained the strictest mode counts: {{ include "qos-webhook.strictestMode" . }}.
{{- end }}
{{- end }}
{{- else -}}
The mode of force deletions is {{ $default }} in all namespaces.
{{- end }}
{{- if ne $default "deny" }}

A label gives a namespace a stricter mode for its own pods:

  kubectl label namespace NAME kubectl-qos.io/force-delete={{ eq $default "warn" | ternary "confirm" "deny" }}
{{- end }}
{{- end -}}
