"""The reconciler of port pools."""
