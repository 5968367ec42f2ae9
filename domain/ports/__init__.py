"""The ports of pods: requests, entries, and the decisions about them. No I/O."""
