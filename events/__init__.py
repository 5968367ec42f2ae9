"""The publisher, and the workqueue that it shares with the workers."""
