{{/*
The Deployment of the API or of the workers, with its PodDisruptionBudget. The argument is the dict of the pods and
`scaled`: whether a scaler sets the number of pods.
*/}}
{{- define "halfspace.deployment" -}}
{{- $name := printf "%s-%s" (include "halfspace.fullname" .root) .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "halfspace.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if not .scaled }}
  replicas: {{ .own.replicas }}
  {{- end }}
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  selector:
    matchLabels:
      {{- include "halfspace.selectorLabels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  template: {{ include "halfspace.podTemplate" . | nindent 4 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels:
    {{- include "halfspace.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  maxUnavailable: {{ .own.podDisruptionBudget.maxUnavailable }}
  # A pod that is not ready may leave.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "halfspace.selectorLabels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end }}
