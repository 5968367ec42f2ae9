"""Celery tasks: each checks its payload, gets the services of its process and calls what does the work."""
