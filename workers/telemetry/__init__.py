"""Metrics, logs, heartbeat and task summaries of the workers."""
