"""What keeps a Celery worker of ours, or of a runner, alive on odd messages and on Redis."""
