"""Pod pools: their pods, opened and closed in step with Kubernetes, and how many there are."""
