"""Reconciles pod pools: their pods in Kubernetes and in the slot ledger, and the size of each pool."""
