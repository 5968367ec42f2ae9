"""Reconciles PodClaimSets: a set has as many claims as it asks for, of its present template."""
