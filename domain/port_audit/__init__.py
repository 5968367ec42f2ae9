"""The audit of ports: differences between ledger, cloud and pods, and the rebuild of a ledger."""
