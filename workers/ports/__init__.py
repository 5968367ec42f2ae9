"""Reconciles the ports of pods: observe, decide, act."""
