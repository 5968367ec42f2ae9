{{- /*
Templates that change an object in place and print nothing: it was read from a file for this purpose alone.

"berthmaster.edit" takes `root`, `labels`, `object`, and `namespace` for one that is not the release's. Publisher, worker, beat, flower and redis have a group of values
each, which is for the objects of that name.
*/ -}}

{{- /* Prints something if the values want the object. */ -}}
{{- define "berthmaster.isWanted" -}}
{{- $values := get .root.Values .object.metadata.name | default dict }}
{{- $wanted := ne $values.enabled false }}
{{- if eq .object.kind "NetworkPolicy" }}{{ $wanted = and $wanted .root.Values.networkPolicy.enabled }}{{ end }}
{{- if eq .object.kind "PodDisruptionBudget" }}{{ $wanted = $values.podDisruptionBudget.enabled }}{{ end }}
{{- if eq .object.kind "ServiceAccount" }}{{ $wanted = $values.serviceAccount.create }}{{ end }}
{{- if $wanted }}wanted{{ end }}
{{- end }}

{{- define "berthmaster.edit" -}}
{{- $root := .root }}{{- $object := .object }}{{- $kind := .object.kind }}
{{- $values := get $root.Values $object.metadata.name | default dict }}
{{- $helm := dict "app.kubernetes.io/managed-by" $root.Release.Service "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) }}
{{- $_ := set $object.metadata "labels" (merge (dict) ($object.metadata.labels | default dict) .labels $helm) }}
{{- $ofCluster := or (hasPrefix "Cluster" $kind) (hasPrefix "ValidatingAdmissionPolicy" $kind) }}
{{- if not $ofCluster }}{{ $_ := set $object.metadata "namespace" (.namespace | default $root.Release.Namespace) }}{{ end }}
{{- range $object.subjects }}
{{- $_ := set . "name" (include "berthmaster.account" (dict "root" $root "name" .name)) }}
{{- $_ := set . "namespace" $root.Release.Namespace }}
{{- end }}
{{- if has $kind (list "Deployment" "StatefulSet") }}
{{- include "berthmaster.editMaker" (dict "root" $root "labels" .labels "object" $object "values" $values) }}
{{- else if eq $kind "ServiceAccount" }}
{{- include "berthmaster.editAccount" (dict "root" $root "object" $object "values" $values) }}
{{- else if eq $kind "ValidatingAdmissionPolicy" }}
{{- include "berthmaster.editPolicy" (dict "root" $root "object" $object) }}
{{- else if eq $kind "PodDisruptionBudget" }}
{{- include "berthmaster.put" (dict "to" $object.spec "from" $values.podDisruptionBudget "keys" (list "maxUnavailable")) }}
{{- else if eq $kind "ScaledObject" }}
{{- include "berthmaster.editScaling" (dict "object" $object "values" $root.Values.keda) }}
{{- else if eq $kind "PodMonitor" }}
{{- $_ := set $object.metadata "labels" (merge (dict) ($root.Values.podMonitor.labels | default dict) $object.metadata.labels) }}
{{- else if eq $kind "PrometheusRule" }}
{{- $_ := set $object.metadata "labels" (merge (dict) ($root.Values.prometheusRule.labels | default dict) $object.metadata.labels) }}
{{- end }}
{{- end }}

{{- /* Copies the values that are given, and leaves the others as they are. */ -}}
{{- define "berthmaster.put" -}}
{{- range $key := .keys }}
{{- $value := index $.from $key }}
{{- if not (kindIs "invalid" $value) }}{{ $_ := set $.to $key (deepCopy $value) }}{{ end }}
{{- end }}
{{- end }}

{{- /* Prints the name of the account that the manifests call `name`. */ -}}
{{- define "berthmaster.account" -}}
{{- (get .root.Values .name).serviceAccount.name | default .name }}
{{- end }}

{{- define "berthmaster.editAccount" -}}
{{- $name := .object.metadata.name }}
{{- $_ := set .object.metadata "name" (include "berthmaster.account" (dict "root" .root "name" $name)) }}
{{- include "berthmaster.put" (dict "to" .object.metadata "from" .values.serviceAccount "keys" (list "annotations")) }}
{{- end }}

{{- /* The policy names our accounts in full, and would limit nothing under other names. */ -}}
{{- define "berthmaster.editPolicy" -}}
{{- $root := .root }}
{{- range .object.spec.matchConditions }}
{{- $condition := . }}
{{- range list "worker" "publisher" }}
{{- $account := printf "system:serviceaccount:%s:%s" $root.Release.Namespace (include "berthmaster.account" (dict "root" $root "name" .)) }}
{{- $written := printf "'system:serviceaccount:berthmaster:%s'" . }}
{{- if not (contains $written $condition.expression) }}{{ fail (printf "no admission policy for %s" $account) }}{{ end }}
{{- $_ := set $condition "expression" (replace $written (squote $account) $condition.expression) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "berthmaster.editScaling" -}}
{{- include "berthmaster.put" (dict "to" .object.spec "from" .values "keys" (list "minReplicaCount" "maxReplicaCount")) }}
{{- if gt (int .object.spec.minReplicaCount) (int .object.spec.maxReplicaCount) }}
{{- fail (printf "keda.minReplicaCount %v is greater than keda.maxReplicaCount %v" .object.spec.minReplicaCount .object.spec.maxReplicaCount) }}
{{- end }}
{{- include "berthmaster.put" (dict "to" (first .object.spec.triggers).metadata "from" .values "keys" (list "serverAddress")) }}
{{- end }}

{{- /* A Deployment or StatefulSet: its number, disk, pod and container. */ -}}
{{- define "berthmaster.editMaker" -}}
{{- $spec := .object.spec }}
{{- include "berthmaster.put" (dict "to" $spec "from" .values "keys" (list "replicas")) }}
{{- if and .root.Values.keda.enabled (eq .object.metadata.name "worker") }}{{ $_ := unset $spec "replicas" }}{{ end }}
{{- range $spec.volumeClaimTemplates }}
{{- include "berthmaster.put" (dict "to" .spec "from" $.values "keys" (list "storageClassName")) }}
{{- include "berthmaster.put" (dict "to" .spec.resources.requests "from" $.values "keys" (list "storage")) }}
{{- end }}
{{- $metadata := $spec.template.metadata }}
{{- $sum := dict "checksum/settings" (include "berthmaster.data" .root | sha256sum) }}
{{- if not (first $spec.template.spec.containers).envFrom }}{{ $sum = dict }}{{ end }}
{{- $_ := set $metadata "labels" (merge (dict) $metadata.labels .labels (.values.podLabels | default dict)) }}
{{- with merge (dict) (.values.podAnnotations | default dict) ($metadata.annotations | default dict) $sum }}
{{- $_ := set $metadata "annotations" . }}
{{- end }}
{{- include "berthmaster.editPod" (dict "root" .root "pod" $spec.template.spec "values" .values "labels" $spec.selector.matchLabels) }}
{{- include "berthmaster.editContainer" (dict "root" .root "container" (first $spec.template.spec.containers) "values" .values) }}
{{- end }}

{{- /* `labels`: those that select the pods. */ -}}
{{- define "berthmaster.editPod" -}}
{{- $keys := list "affinity" "nodeSelector" "priorityClassName" "terminationGracePeriodSeconds" "tolerations" "topologySpreadConstraints" }}
{{- include "berthmaster.put" (dict "to" .pod "from" .values "keys" $keys) }}
{{- include "berthmaster.put" (dict "to" .pod "from" .root.Values "keys" (list "imagePullSecrets")) }}
{{- range .pod.topologySpreadConstraints }}
{{- if not .labelSelector }}{{ $_ := set . "labelSelector" (dict "matchLabels" (deepCopy $.labels)) }}{{ end }}
{{- end }}
{{- with .pod.serviceAccountName }}
{{- $_ := set $.pod "serviceAccountName" (include "berthmaster.account" (dict "root" $.root "name" .)) }}
{{- end }}
{{- include "berthmaster.append" (dict "to" .pod "key" "volumes" "items" .values.extraVolumes) }}
{{- end }}

{{- /* Prints the image: by its digest if that is given, else by its tag. */ -}}
{{- define "berthmaster.image" -}}
{{- $image := .Values.image }}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}{{ else }}{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "berthmaster.editContainer" -}}
{{- if eq .container.image "berthmaster" }}
{{- $_ := set .container "image" (include "berthmaster.image" .root) }}
{{- include "berthmaster.put" (dict "to" .container "from" (dict "imagePullPolicy" .root.Values.image.pullPolicy) "keys" (list "imagePullPolicy")) }}
{{- end }}
{{- include "berthmaster.put" (dict "to" .container "from" .values "keys" (list "image" "resources")) }}
{{- range .container.envFrom }}
{{- if .secretRef }}{{ include "berthmaster.put" (dict "to" .secretRef "from" (dict "name" $.root.Values.secretName) "keys" (list "name")) }}{{ end }}
{{- end }}
{{- range .container.env }}
{{- with (.valueFrom | default dict).secretKeyRef }}
{{- include "berthmaster.put" (dict "to" . "from" (dict "name" $.values.secretName) "keys" (list "name")) }}
{{- end }}
{{- end }}
{{- include "berthmaster.append" (dict "to" .container "key" "env" "items" .values.extraEnv) }}
{{- include "berthmaster.append" (dict "to" .container "key" "volumeMounts" "items" .values.extraVolumeMounts) }}
{{- end }}

{{- define "berthmaster.append" -}}
{{- if .items }}
{{- $_ := set .to .key (concat (get .to .key | default list) (deepCopy .items)) }}
{{- end }}
{{- end }}
