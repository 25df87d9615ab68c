{{- define "postern.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "postern.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Of one server: takes a dict of root and name. */}}
{{- define "postern.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{- define "postern.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "postern.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "postern.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Not empty where servers share their state in a database. */}}
{{- define "postern.sharesState" -}}
{{- if (.Values.config.state).database }}yes{{ end -}}
{{- end -}}

{{/* The deployment of one server: takes a dict of root, name, values, flags, and the paths live and ready; of a worker,
which serves nothing, without these paths. */}}
{{- define "postern.deployment" -}}
{{- if and .values.existingClaim (gt (int .values.replicas) 1) }}
{{- fail (printf "Cannot give %s.existingClaim to %v pods: set %s.replicas to 1, or leave the claim out and name a database in config.state, which all pods share" .name .values.replicas .name) }}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "postern.fullname" .root }}-{{ .name }}
  labels:
    {{- include "postern.selector" . | nindent 4 }}
    {{- include "postern.labels" .root | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  {{- if .values.existingClaim }}
  # two pods do not write to one volume
  strategy: { type: Recreate }
  {{- else }}
  # a new pod is ready before an old one stops
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  {{- end }}
  selector:
    matchLabels:
      {{- include "postern.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "postern.selector" . | nindent 8 }}
      {{- with .values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "postern.serviceAccountName" .root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: { type: RuntimeDefault }
      containers:
        - name: postern
          image: {{ include "postern.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            - "-config"
            - "/etc/postern/config.yaml"
            {{- range concat .flags .values.args }}
            - {{ . | quote }}
            {{- end }}
          {{- $hasMetrics := and .live .root.Values.metrics.enabled }}
          {{- if or $hasMetrics .values.env }}
          env:
            {{- if $hasMetrics }}
            - { name: POSTERN_METRICS_ADDRESS, value: ":{{ .root.Values.metrics.port }}" }
            {{- end }}
            {{- with .values.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
          {{- if .live }}
          ports:
            - { name: http, containerPort: {{ .values.port }} }
            {{- if $hasMetrics }}
            - { name: metrics, containerPort: {{ .root.Values.metrics.port }} }
            {{- end }}
          startupProbe:
            httpGet: { path: {{ .live }}, port: http }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: {{ .live }}, port: http }
            periodSeconds: 10
            timeoutSeconds: 5
          readinessProbe:
            httpGet: { path: {{ .ready }}, port: http }
            periodSeconds: 5
            timeoutSeconds: 6
          {{- if semverCompare ">=1.30-0" .root.Capabilities.KubeVersion.Version }}
          # it still answers while the Service takes it out
          lifecycle:
            preStop: { sleep: { seconds: 5 } }
          {{- end }}
          {{- end }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - { name: config, mountPath: /etc/postern, readOnly: true }
            - { name: state, mountPath: /var/lib/postern }
            - { name: tmp, mountPath: /tmp }
            {{- range .root.Values.secrets }}
            - { name: secret-{{ .name }}, mountPath: /run/secrets/{{ .name }}, readOnly: true }
            {{- end }}
      volumes:
        # whole folders: files that are mounted one by one are never renewed
        - name: config
          configMap: { name: {{ include "postern.fullname" .root }} }
        - name: state
          {{- if .values.existingClaim }}
          persistentVolumeClaim: { claimName: {{ .values.existingClaim | quote }} }
          {{- else }}
          emptyDir: { sizeLimit: 1Gi }
          {{- end }}
        - name: tmp
          emptyDir: { sizeLimit: 1Gi }
        {{- range .root.Values.secrets }}
        - name: secret-{{ .name }}
          secret:
            secretName: {{ .secretName | quote }}
            defaultMode: 0440
            {{- if .optional }}
            optional: true
            {{- end }}
        {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}

{{/* Service, disruption budget and network policy of one server: the same dict, with sticky and from. */}}
{{- define "postern.around" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "postern.fullname" .root }}-{{ .name }}
  labels:
    {{- include "postern.selector" . | nindent 4 }}
    {{- include "postern.labels" .root | nindent 4 }}
spec:
  type: {{ .root.Values.service.type }}
  selector:
    {{- include "postern.selector" . | nindent 4 }}
  {{- if .sticky }}
  # a session is in the memory of one pod
  sessionAffinity: ClientIP
  {{- end }}
  ports:
    - { name: http, port: {{ .values.port }}, targetPort: http }
{{- if and .root.Values.podDisruptionBudget.enabled (gt (int .values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "postern.fullname" .root }}-{{ .name }}
  labels:
    {{- include "postern.selector" . | nindent 4 }}
    {{- include "postern.labels" .root | nindent 4 }}
spec:
  maxUnavailable: {{ .root.Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "postern.selector" . | nindent 6 }}
{{- end }}
{{- if .root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "postern.fullname" .root }}-{{ .name }}
  labels:
    {{- include "postern.selector" . | nindent 4 }}
    {{- include "postern.labels" .root | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "postern.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports: [{ port: http }]
      {{- with .from }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- if .root.Values.metrics.enabled }}
    - ports: [{ port: metrics }]
      from:
        {{- toYaml (default (list (dict "podSelector" dict)) .root.Values.networkPolicy.metrics.from) | nindent 8 }}
    {{- end }}
  {{- include "postern.egress" .root }}
{{- end }}
{{- end -}}

{{/* Where pods may connect, as a part of a network policy. */}}
{{- define "postern.egress" }}
  egress:
    - ports:
        - { port: 53, protocol: UDP }
        - { port: 53, protocol: TCP }
        {{- range .Values.networkPolicy.egressPorts }}
        - { port: {{ . }}, protocol: TCP }
        {{- end }}
{{- end -}}
