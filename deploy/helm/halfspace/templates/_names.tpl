{{/* Names and labels. */}}

{{- define "halfspace.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* At most 48 characters, so that a suffix such as -migrate fits. */}}
{{- define "halfspace.fullname" -}}
{{- $name := include "halfspace.name" . -}}
{{- $default := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ .Values.fullnameOverride | default $default | trunc 48 | trimSuffix "-" }}
{{- end }}

{{- define "halfspace.selectorLabels" -}}
app.kubernetes.io/name: {{ include "halfspace.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "halfspace.labels" -}}
{{ include "halfspace.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "halfspace.serviceAccountName" -}}
{{- $default := .Values.serviceAccount.create | ternary (include "halfspace.fullname" .) "default" -}}
{{ .Values.serviceAccount.name | default $default }}
{{- end }}

{{- define "halfspace.image" -}}
{{- $missing := "image.repository: name the registry and the repository of your image" -}}
{{- $repository := required $missing .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}
