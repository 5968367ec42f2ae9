"""The Celery application of the workers: its settings, boot steps and consumer."""
