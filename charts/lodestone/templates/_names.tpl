{{- define "lodestone.labels" -}}
app.kubernetes.io/name: lodestone
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "lodestone.selector" -}}
app.kubernetes.io/name: lodestone
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "lodestone.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "lodestone.config" -}}
server:
  port: 9443
  healthPort: 8080
registration:
  mode: {{ .Values.registration.mode }}
  {{- if eq .Values.registration.mode "url" }}
  url: {{ .Values.registration.url | default (printf "https://lodestone.%s.svc:443" .Release.Namespace) }}
  {{- end }}
  service:
    namespace: {{ .Release.Namespace }}
    name: lodestone
    port: 443
certificates:
  source: secret
  secret:
    namespace: {{ .Release.Namespace }}
    name: lodestone-certificates
leaderElection:
  enabled: true
  namespace: {{ .Release.Namespace }}
  name: lodestone
{{- if not .Values.kubeconfigSecret.name }}
# Where pods run there is nothing to distribute, and no reason to read Secrets.
dependencies:
  distribution: none
{{- end }}
{{- if .Values.systems }}
systems:
  directory: /etc/lodestone-systems
{{- end }}
volumes:
  movers:
    image: {{ include "lodestone.image" . | quote }}
log:
  format: json
{{- end }}
{{- /* The configuration file: what the chart sets, then `config`. A key without a value counts as absent. */ -}}
{{- define "lodestone.mergedConfig" -}}
{{- mustMergeOverwrite (include "lodestone.config" . | fromYaml) (include "lodestone.withoutNulls" .Values.config | fromYaml) | toYaml }}
{{- end }}
{{- define "lodestone.withoutNulls" -}}
{{- $kept := dict }}
{{- range $key, $value := . }}
{{- if kindIs "map" $value }}
{{- $_ := set $kept $key (include "lodestone.withoutNulls" $value | fromYaml) }}
{{- else if not (kindIs "invalid" $value) }}
{{- $_ := set $kept $key $value }}
{{- end }}
{{- end }}
{{- $kept | toYaml }}
{{- end }}
