"""Checks of the repository, and writers of its generated files."""
