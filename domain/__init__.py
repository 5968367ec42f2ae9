"""Decisions and values. Nothing here does I/O, or reads a clock or entropy."""
