"""Builds the services that tasks use, from the settings."""
