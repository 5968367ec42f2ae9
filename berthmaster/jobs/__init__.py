"""Jobs of pod pools: what clients ask for, the slot ledger that places them, and their messages."""
