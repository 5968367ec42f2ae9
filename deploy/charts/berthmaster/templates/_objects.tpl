{{- /*
Templates that print objects. `root` is the top-level context. Where an object gets labels, `labels` are those of its
kustomization.

A trap: `merge` and `mergeOverwrite` change their first argument, and `set` its map. So a merge begins with an empty
`dict`, and only what `fromYaml` or `deepCopy` has just made is set: otherwise the labels of one object, and the rights
that Kubernetes derives from them, are on the objects after it.
*/ -}}

{{- /* Fails for values that the schema cannot compare with each other. */ -}}
{{- define "berthmaster.check" -}}
{{- $publisher := .Values.publisher.serviceAccount }}{{- $worker := .Values.worker.serviceAccount }}
{{- $account := include "berthmaster.account" (dict "root" . "name" "worker") }}
{{- if and $publisher.create $worker.create (eq $account (include "berthmaster.account" (dict "root" . "name" "publisher"))) }}
{{- fail (printf "publisher.serviceAccount and worker.serviceAccount both create %s: give each a name of its own" $account) }}
{{- end }}
{{- if hasKey (.Values.settings | default dict) "BERTHMASTER_CLUSTER" }}
{{- fail "settings.BERTHMASTER_CLUSTER would not count: give the cluster's name as the value cluster" }}
{{- end }}
{{- range $name := list "publisher" "worker" "beat" "flower" }}
{{- range (index $.Values $name).extraEnv }}
{{- if eq .name "BERTHMASTER_CLUSTER" }}
{{- fail (printf "%s.extraEnv: BERTHMASTER_CLUSTER would give this process another fleet: give the cluster's name as the value cluster" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Prints the objects of a file of deploy/ with the values put in. */ -}}
{{- define "berthmaster.file" -}}
{{- $text := required (printf "the chart lacks deploy/%s" .path) (.root.Files.Get (printf "files/%s" .path)) }}
{{- range regexSplit "(?m)^---$" $text -1 }}
{{- $object := fromYaml . }}
{{- include "berthmaster.object" (dict "root" $.root "labels" $.labels "object" $object) }}
{{- end }}
{{- end }}

{{- /* Prints the object, or nothing where the values leave it out. */ -}}
{{- define "berthmaster.object" -}}
{{- if not .object.kind }}{{ fail (printf "no Kubernetes object: %s" (toJson .object)) }}{{ end }}
{{- if include "berthmaster.isWanted" . }}
{{- include "berthmaster.edit" . }}
---
{{ toYaml .object }}
{{- end }}
{{- end }}

{{- /* Prints the ConfigMap that every process reads: the literals of the base, then the values' settings. */ -}}
{{- define "berthmaster.settings" -}}
{{- $object := dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" (dict "name" "berthmaster") }}
{{- $_ := set $object "data" (include "berthmaster.data" .root | fromYaml) }}
{{- include "berthmaster.object" (dict "root" .root "labels" .labels "object" $object) }}
{{- end }}

{{- /* Prints the data of the ConfigMap as YAML. */ -}}
{{- define "berthmaster.data" -}}
{{- $data := dict }}
{{- $base := .Files.Get "files/base/kustomization.yaml" | fromYaml }}
{{- range (first $base.configMapGenerator).literals }}
{{- $_ := set $data (splitn "=" 2 .)._0 (splitn "=" 2 .)._1 }}
{{- end }}
{{- toYaml (merge (dict "BERTHMASTER_CLUSTER" .Values.cluster) (.Values.settings | default dict) $data) }}
{{- end }}

{{- /* Prints the right to create pods in one namespace, from the binding for all of them. */ -}}
{{- define "berthmaster.podPools" -}}
{{- $object := .root.Files.Get "files/components/pod-pools-everywhere/binding.yaml" | fromYaml }}
{{- $_ := set $object "kind" "RoleBinding" }}
{{- include "berthmaster.object" (dict "root" .root "labels" (dict) "object" $object "namespace" .namespace) }}
{{- end }}

{{- /* Prints the alerts as an object of the Prometheus operator. */ -}}
{{- define "berthmaster.rules" -}}
{{- $object := dict "apiVersion" "monitoring.coreos.com/v1" "kind" "PrometheusRule" }}
{{- $_ := set $object "metadata" (dict "name" "berthmaster") }}
{{- $_ := set $object "spec" (.Files.Get "files/alerts/berthmaster.yaml" | fromYaml) }}
{{- include "berthmaster.object" (dict "root" . "labels" (dict) "object" $object) }}
{{- end }}
