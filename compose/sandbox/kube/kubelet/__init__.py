"""Simulate scheduler and kubelet of one node with any Kubernetes API: pods run as far as their status shows."""
