"""One port pool's state in Redis: the ledger, and what the audit and the status need."""
