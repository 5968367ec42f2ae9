"""Keeps the Celery workers of the fleet and of runners alive when messages are malformed or Redis is away."""
