"""Reconciles PodClaims: a claim binds a warm pod, keeps it, moves to another one and gives it back."""
