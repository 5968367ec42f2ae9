"""A small Kubernetes API for one machine, a real one where it is built, and a kubelet that simulates pods on either."""
