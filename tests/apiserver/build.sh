#!/bin/sh
# Builds kube-apiserver, etcd, kube-controller-manager and kubectl from the pinned Go module beside
# this file, once, into the user's cache folder, and prints that folder. About 14 minutes on 2 cores
# with empty caches, nothing when they are there. KUBEBUILDER_ASSETS, where set, is used instead.
set -eu
cd "$(dirname "$0")"
if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    echo "$KUBEBUILDER_ASSETS"
    exit 0
fi
version=$(cat go.mod go.sum | sha256sum | cut -c1-16)
home="${XDG_CACHE_HOME:-$HOME/.cache}/berthmaster/apiserver-$version"
[ "${1:-}" = "--where" ] && { echo "$home"; exit 0; }
mkdir -p "$home"
# One builder at a time: a second caller waits for the first and then finds the work done.
exec 9>"$home/.lock"
flock 9
for command in kubectl etcd kube-apiserver kube-controller-manager; do
    [ -x "$home/$command" ] && continue
    command -v go >/dev/null || { echo "make apiserver needs Go 1.26 (or KUBEBUILDER_ASSETS)" >&2; exit 1; }
    echo "building $command (the first build takes minutes)..." >&2
    started=$(date +%s)
    go build -trimpath -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2 \
        -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37" \
        -o "$home/$command.part" "./$command"
    mv "$home/$command.part" "$home/$command"
    echo "built $command in $(($(date +%s) - started)) s" >&2
done
echo "$home"
