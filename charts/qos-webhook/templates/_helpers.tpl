{{/* Name of the objects in the release's namespace; also the Service's, which may hold no dot. */}}
{{- define "qos-webhook.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- $name = contains .Chart.Name $release | ternary $release (printf "%s-%s" $release .Chart.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$" $name) -}}
{{- fail (printf "fullnameOverride: %q is no name for a Service: set one of at most 63 of a-z, 0-9 and '-', with a letter first" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/*
Name of the objects that do not live in the release's namespace. Neither part can hold a dot, so two releases in two
namespaces never share one.
*/}}
{{- define "qos-webhook.clusterName" -}}
{{- printf "%s.%s" (include "qos-webhook.fullname" .) .Release.Namespace -}}
{{- end -}}

{{- define "qos-webhook.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "qos-webhook.labels" -}}
{{ include "qos-webhook.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: kubectl-qos
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
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

{{- define "qos-webhook.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* NAMESPACE/NAME of the ConfigMap with the KubeSchedulerConfiguration; empty: there is none. */}}
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

{{/* webhook.url without a slash at its end; empty: the API server calls the Service. */}}
{{- define "qos-webhook.url" -}}
{{- $url := .Values.webhook.url | trimSuffix "/" -}}
{{- if and $url (not (regexMatch "^https://[^/?#@\\s]+$" $url)) -}}
{{- fail (printf "webhook.url: %q cannot be called by the API server: write https://HOST or https://HOST:PORT, or leave it empty for the Service" $url) -}}
{{- end -}}
{{- $url -}}
{{- end -}}

{{/* What the entries of both webhook configurations have in common; takes the root context and the path to call. */}}
{{- define "qos-webhook.common" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
clientConfig:
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
sideEffects: None
matchPolicy: Equivalent
failurePolicy: {{ $root.Values.webhook.failurePolicy }}
timeoutSeconds: {{ $root.Values.webhook.timeoutSeconds }}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values: {{ prepend $root.Values.webhook.excludedNamespaces $root.Release.Namespace | uniq | toJson }}
    {{- with $root.Values.webhook.namespaceMatchExpressions }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* A mirror pod is its kubelet's report of what runs already. */}}
{{- define "qos-webhook.notAMirrorPod" -}}
- name: not-a-mirror-pod
  expression: >-
    !has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations)
{{- end -}}
