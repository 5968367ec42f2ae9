"""Plays scheduler and kubelet of one node against any Kubernetes API: pods run as far as their status shows."""
