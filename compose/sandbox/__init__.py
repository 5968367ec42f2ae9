"""The sandbox: the whole system in processes on one machine."""
