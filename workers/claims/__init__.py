"""Reconciles PodClaims: a claim binds a warm pod, keeps it, moves to another and gives it back."""
