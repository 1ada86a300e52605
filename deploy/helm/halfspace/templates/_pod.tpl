{{/*
The pods. The argument of each template is a dict with `root`, `component` (embedded, api, worker or migrate) and `own`,
the values of the component.
*/}}

{{- define "halfspace.podTemplate" -}}
{{- $values := .root.Values -}}
{{- $own := .own -}}
metadata:
  labels:
    {{- include "halfspace.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  serviceAccountName: {{ include "halfspace.podServiceAccount" . }}
  automountServiceAccountToken: false
  # Kubernetes would set variables that begin with HALFSPACE_, and the program refuses unknown ones.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    seccompProfile: {type: RuntimeDefault}
    {{- include "halfspace.users" $values | nindent 4 }}
  containers:
    - name: halfspace
      image: {{ include "halfspace.image" .root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ eq .component "migrate" | ternary (list "migrate") (list "serve") | toJson }}
      env: {{ include "halfspace.environment" . | nindent 8 }}
      {{- if ne .component "migrate" }}
      ports:
        - {name: http, containerPort: 8080}
        - {name: ops, containerPort: 9090}
      {{- include "halfspace.probes" $values | nindent 6 }}
      {{- end }}
      resources: {{ toYaml $own.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        {{- if include "halfspace.backupClaim" . }}
        - {name: backups, mountPath: /backups}
        {{- end }}
        {{- if include "halfspace.secrets" . }}
        - {name: secrets, mountPath: /etc/halfspace/secrets, readOnly: true}
        {{- end }}
        {{- if and (eq $values.mode "cluster") $values.database.caConfigMap }}
        - {name: database-ca, mountPath: /etc/halfspace/database, readOnly: true}
        {{- end }}
  volumes: {{ include "halfspace.volumes" . | nindent 4 }}
  {{- with $own.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- if or (eq .component "api") (eq .component "worker") }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "halfspace.selectorLabels" $.root | nindent 10 }}
          app.kubernetes.io/component: {{ $.component }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* The migrate Job runs before the chart has made its account. */}}
{{- define "halfspace.podServiceAccount" -}}
{{- if and (eq .component "migrate") .root.Values.serviceAccount.create -}}
default
{{- else -}}
{{ include "halfspace.serviceAccountName" .root }}
{{- end -}}
{{- end }}

{{- define "halfspace.users" -}}
{{- $context := .podSecurityContext -}}
{{- range $key := list "runAsUser" "runAsGroup" "fsGroup" }}
{{- if hasKey $context $key }}
{{ $key }}: {{ index $context $key | int64 }}
{{- end }}
{{- end }}
{{- if hasKey $context "fsGroup" }}
# The owner of a large volume is changed only once.
fsGroupChangePolicy: OnRootMismatch
{{- end }}
{{- end }}

{{- define "halfspace.environment" -}}
{{- $values := .root.Values -}}
{{- $settings := dict "HALFSPACE_LOG_FORMAT" "json" -}}
{{- if eq $values.mode "cluster" }}{{ $_ := set $settings "HALFSPACE_WAIT_FOR_STORES" 60 }}{{ end -}}
{{- $settings = mergeOverwrite $settings (deepCopy $values.settings) (deepCopy (.own.settings | default dict)) -}}
{{- if ne .component "migrate" -}}
{{- $role := eq .component "embedded" | ternary "all" .component -}}
{{- $_ := set $settings "HALFSPACE_ROLE" $role -}}
{{- $_ := set $settings "HALFSPACE_LISTEN" (printf "%s:8080" $values.listenAddress) -}}
{{- $_ := set $settings "HALFSPACE_OPS_LISTEN" (printf "%s:9090" $values.listenAddress) -}}
{{- with .own.jobsAtOnce }}{{ $_ := set $settings "HALFSPACE_WORKERS" . }}{{ end -}}
{{- with .own.data }}{{ $_ := set $settings "HALFSPACE_BLOB_CACHE_BYTES_MAX" .cacheBytes }}{{ end -}}
{{- with $values.trustedProxies }}{{ $_ := set $settings "HALFSPACE_TRUSTED_PROXIES" (join "," .) }}{{ end -}}
{{- with $values.traces.endpoint }}{{ $_ := set $settings "OTEL_EXPORTER_OTLP_ENDPOINT" . }}{{ end -}}
{{- with $values.callbacks.allow }}{{ $_ := set $settings "HALFSPACE_CALLBACK_ALLOW" (join "," .) }}{{ end -}}
{{- end -}}
{{- $_ := set $settings "HALFSPACE_DATA_DIR" "/data" -}}
{{- if and (eq $values.mode "cluster") (ne .component "migrate") -}}
{{- $_ := set $settings "HALFSPACE_BLOB_URL" $values.blobs.url -}}
{{- $_ := set $settings "AWS_REGION" $values.blobs.region -}}
{{- with $values.blobs.endpointUrl }}{{ $_ := set $settings "AWS_ENDPOINT_URL" . }}{{ end -}}
{{- with $values.blobs.sources }}{{ $_ := set $settings "HALFSPACE_SOURCES" (join "," .) }}{{ end -}}
{{- end -}}
{{- range $secret := include "halfspace.secrets" . | fromYamlArray -}}
{{- range $item := $secret.secret.items -}}
{{- $_ := set $settings (printf "%s_FILE" $item.path) (printf "/etc/halfspace/secrets/%s" $item.path) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $settings }}
- name: {{ $name }}
  {{- /* A large number is a float in Helm, and would print as 8.589934592e+09. */}}
  value: {{ kindIs "float64" $value | ternary (toJson $value) (toString $value) | quote }}
{{- end }}
{{- end }}

{{/* The Secrets of a pod. A file has the name of the setting, whose variable ends in _FILE. */}}
{{- define "halfspace.secrets" -}}
{{- $values := .root.Values -}}
{{- if eq $values.mode "cluster" }}
- secret:
    name: {{ $values.database.existingSecret }}
    items:
      - {key: {{ $values.database.urlKey }}, path: HALFSPACE_DATABASE_URL}
      {{- with $values.database.passwordKey }}
      - {key: {{ . }}, path: PGPASSWORD}
      {{- end }}
{{- end }}
{{- if ne .component "migrate" }}
{{- if eq $values.mode "cluster" }}
- secret:
    name: {{ $values.blobs.existingSecret }}
    items:
      - {key: {{ $values.blobs.accessKeyIdKey }}, path: AWS_ACCESS_KEY_ID}
      - {key: {{ $values.blobs.secretAccessKeyKey }}, path: AWS_SECRET_ACCESS_KEY}
{{- end }}
{{- with $values.callbacks.existingSecret }}
- secret:
    name: {{ . }}
    items:
      - {key: {{ $values.callbacks.key }}, path: HALFSPACE_CALLBACK_SECRET}
{{- end }}
{{- end }}
{{- end }}

{{- define "halfspace.probes" -}}
{{/* The thread of the port ops answers probes under any load. */}}
startupProbe:
  httpGet: {path: /readyz, port: ops}
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: {{ div (add .startupSeconds 1) 2 }}
readinessProbe:
  httpGet: {path: /readyz, port: ops}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{/* A database that does not answer is no reason for a restart, so liveness does not ask the database. */}}
livenessProbe:
  httpGet: {path: /livez, port: ops}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
lifecycle:
  preStop:
    sleep: {seconds: {{ .preStopSeconds }}}
{{- end }}

{{- define "halfspace.backupClaim" -}}
{{- if eq .component "embedded" }}{{ .own.persistence.backupClaim }}{{ end -}}
{{- end }}

{{- define "halfspace.volumes" -}}
{{- $values := .root.Values -}}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- if eq .component "embedded" }}
{{- with $values.embedded.persistence.existingClaim }}
- name: data
  persistentVolumeClaim: {claimName: {{ . }}}
{{- end }}
{{- else }}
- name: data
  emptyDir: {sizeLimit: {{ (.own.data | default (dict "sizeLimit" "64Mi")).sizeLimit }}}
{{- end }}
{{- with include "halfspace.backupClaim" . }}
- name: backups
  persistentVolumeClaim: {claimName: {{ . }}}
{{- end }}
{{- with include "halfspace.secrets" . }}
- name: secrets
  projected:
    # 0440 for the group of the pod; without a group, 0444.
    defaultMode: {{ hasKey $values.podSecurityContext "fsGroup" | ternary 288 292 }}
    sources: {{ . | nindent 6 }}
{{- end }}
{{- if and (eq $values.mode "cluster") $values.database.caConfigMap }}
- name: database-ca
  configMap: {name: {{ $values.database.caConfigMap }}}
{{- end }}
{{- end }}
