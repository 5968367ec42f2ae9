"""The workers: reconcilers, Celery tasks, stores in Redis, clients of Kubernetes and AWS, and the command line."""
