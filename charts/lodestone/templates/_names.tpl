{{- /* The labels of the chart. Those of a file and of the values are added by `lodestone.metadata`. */ -}}
{{- define "lodestone.labels" -}}
app.kubernetes.io/name: lodestone
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "lodestone.selector" -}}
app.kubernetes.io/name: lodestone
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}
{{- /*
The metadata of an object: takes root and name, and optionally namespace, labels and annotations. The labels of the chart win. `component`
replaces the label of the name in pods that the Service must not select.
*/ -}}
{{- define "lodestone.metadata" -}}
{{- $root := .root -}}
{{- $labels := mustMerge (include "lodestone.labels" $root | fromYaml) (deepCopy (.labels | default dict)) (deepCopy ($root.Values.commonLabels | default dict)) -}}
{{- with .component }}{{- $_ := set $labels "app.kubernetes.io/name" . }}{{- end }}
{{- $annotations := mustMerge (deepCopy (.annotations | default dict)) (deepCopy ($root.Values.commonAnnotations | default dict)) -}}
name: {{ .name | quote }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
labels: {{- toYaml $labels | nindent 2 }}
{{- with $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- /*
The annotations of objects that the leader of Lodestone writes: Flux creates them and leaves them to it. The first is for Kustomizations, the
second for the drift detection of HelmReleases. Argo CD has no such annotation (docs/guides/gitops.md).
*/ -}}
{{- define "lodestone.createOnly" -}}
kustomize.toolkit.fluxcd.io/ssa: IfNotPresent
helm.toolkit.fluxcd.io/driftDetection: disabled
{{- end }}
{{- /* An object of a generated file with the labels and annotations of the release: takes root and file, and optionally annotations. */ -}}
{{- define "lodestone.fromFile" -}}
{{- $object := .root.Files.Get .file | fromYaml -}}
{{- $metadata := $object.metadata -}}
{{- $annotations := mustMerge (deepCopy (.annotations | default dict)) ($metadata.annotations | default dict) -}}
{{- $common := dict "root" .root "name" $metadata.name "labels" $metadata.labels "annotations" $annotations -}}
{{- $_ := set $object "metadata" (include "lodestone.metadata" $common | fromYaml) -}}
{{- toYaml $object }}
{{- end }}
{{- /*
An object of which the leader of Lodestone writes one field and some annotations: takes root, object and field. Helm 4 applies on the server side,
where other values than those of the leader would be a conflict, so it gets the present ones. `helm template` does not contact the cluster.
*/ -}}
{{- define "lodestone.asWritten" -}}
{{- $object := .object -}}
{{- $isServed := .root.Capabilities.APIVersions.Has (printf "%s/%s" $object.apiVersion $object.kind) }}
{{- $hasLeader := ne (include "lodestone.registrationMode" .root) "none" }}
{{- if and $hasLeader $isServed (semverCompare ">=4-0" .root.Capabilities.HelmVersion.Version) }}
{{- $found := lookup $object.apiVersion $object.kind "" $object.metadata.name | default dict }}
{{- with get $found .field }}
{{- $_ := set $object $.field . }}
{{- end }}
{{- range $name, $value := dig "metadata" "annotations" dict $found }}
{{- if and (hasPrefix "lodestone.dev/" $name) (hasKey $object.metadata.annotations $name) }}
{{- $_ := set $object.metadata.annotations $name $value }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $object }}
{{- end }}
{{- define "lodestone.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default "lodestone" }}
{{- end }}
{{- define "lodestone.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}
{{- with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}
{{- /* The Secret with the kubeconfig of the hub; empty in mode `member`. */ -}}
{{- define "lodestone.kubeconfigSecret" -}}
{{- if eq .Values.mode "hub" }}{{ .Values.kubeconfigSecret.name | default "lodestone-hub" }}{{ end }}
{{- end }}
{{- define "lodestone.registrationMode" -}}
{{ .Values.registration.mode | default (ternary "service" "url" (eq .Values.mode "member")) }}
{{- end }}
{{- /* The seconds of a duration such as 1h30m. */ -}}
{{- define "lodestone.seconds" -}}
{{- $seconds := 0 -}}
{{- range $unit, $factor := dict "h" 3600 "m" 60 "s" 1 -}}
{{- $seconds = add $seconds (mul (regexFind (printf "[0-9]+%s" $unit) $ | trimSuffix $unit | int64) $factor) -}}
{{- end -}}
{{- $seconds }}
{{- end }}
{{- /* A quantity of Kubernetes as a number. */ -}}
{{- define "lodestone.quantity" -}}
{{- $units := dict "" 1.0 "n" 0.000000001 "u" 0.000001 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18
  "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 -}}
{{- $number := regexFind "^[+]?[0-9.]+([eE][+-]?[0-9]+)?" (toString .) -}}
{{- mulf (float64 (trimPrefix "+" $number)) (get $units (trimPrefix $number (toString .))) }}
{{- end }}
{{- /* The DNS of every pod. */ -}}
{{- define "lodestone.dns" -}}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- /* What each pod needs: the API server, also that of the cluster of the pod where that is another one, and DNS. */ -}}
{{- define "lodestone.egress" -}}
{{- with .Values.networkPolicy -}}
- to: {{- toYaml (.apiServer.to | default .apiServer.from) | nindent 4 }}
  ports:
    {{- range .apiServer.ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
- to: {{- toYaml .dns.to | nindent 4 }}
  ports:
    {{- range .dns.ports | default (list 53) }}
    - { protocol: UDP, port: {{ . }} }
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end }}
{{- end }}
{{- /* The NetworkPolicy of the pods of a hook, if there is one: takes root, name and annotations. */ -}}
{{- define "lodestone.hookNetworkPolicy" -}}
{{- if .root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "lodestone.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels: { app.kubernetes.io/name: {{ .name }}, app.kubernetes.io/instance: {{ .root.Release.Name | quote }} }
  policyTypes: [Ingress, Egress]
  egress:
    {{- include "lodestone.egress" .root | nindent 4 }}
{{- end }}
{{- end }}
{{- /* The metadata of a pod, without a name: takes root, name and optionally component and annotations. */ -}}
{{- define "lodestone.podMetadata" -}}
{{- $values := .root.Values -}}
{{- $annotations := mustMerge (deepCopy (.annotations | default dict)) (deepCopy ($values.podAnnotations | default dict)) -}}
{{- $metadata := merge (dict "labels" $values.podLabels "annotations" $annotations) . -}}
{{- omit (include "lodestone.metadata" $metadata | fromYaml) "name" | toYaml }}
{{- end }}
{{- /*
The spec of a Pod that runs one command of Lodestone with the configuration of the server: takes root, serviceAccountName and args, and
optionally activeDeadlineSeconds, configMap and kubeconfigSecret.
*/ -}}
{{- define "lodestone.commandPod" -}}
{{- $root := .root -}}
serviceAccountName: {{ .serviceAccountName | quote }}
restartPolicy: Never
{{- with .activeDeadlineSeconds }}
activeDeadlineSeconds: {{ . }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "lodestone.dns" $root }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  seccompProfile: { type: RuntimeDefault }
containers:
  - name: lodestone
    image: {{ include "lodestone.image" $root | quote }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    args: {{- toYaml .args | nindent 6 }}
    {{- with $root.Values.extraEnv }}
    env: {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: { drop: [ALL] }
    resources:
      requests: { cpu: 100m, memory: 256Mi }
      limits: { memory: 512Mi }
    volumeMounts:
      - { name: config, mountPath: /etc/lodestone, readOnly: true }
      {{- if .kubeconfigSecret }}
      - { name: kubeconfig, mountPath: /etc/lodestone-kubeconfig, readOnly: true }
      {{- end }}
volumes:
  - name: config
    configMap: { name: {{ .configMap | default "lodestone" | quote }} }
  {{- with .kubeconfigSecret }}
  - name: kubeconfig
    secret: { secretName: {{ . | quote }} }
  {{- end }}
{{- end }}
{{- /* How a monitor scrapes a port: takes serviceMonitor or podMonitor of the values. */ -}}
{{- define "lodestone.endpoint" -}}
port: health
path: /metrics
interval: {{ .interval }}
scrapeTimeout: {{ .scrapeTimeout }}
honorLabels: {{ .honorLabels }}
{{- with .relabelings }}
relabelings: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "lodestone.config" -}}
{{- $mode := include "lodestone.registrationMode" . -}}
server:
  port: 9443
  healthPort: 8080
registration:
  mode: {{ $mode }}
  {{- if eq $mode "url" }}
  url: {{ .Values.registration.url | default (printf "https://lodestone.%s.svc:443" .Release.Namespace) | quote }}
  {{- end }}
  service:
    namespace: {{ .Release.Namespace | quote }}
    name: lodestone
    port: 443
certificates:
  {{- if .Values.certManager.enabled }}
  source: files
  directory: /etc/lodestone-certificates
  {{- else }}
  source: secret
  secret:
    namespace: {{ .Release.Namespace | quote }}
    name: lodestone-certificates
  {{- end }}
leaderElection:
  enabled: true
  namespace: {{ .Release.Namespace | quote }}
  name: lodestone
{{- if eq .Values.mode "member" }}
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
