"""Tasks on their way to the Celery broker, sent without a Celery application."""
