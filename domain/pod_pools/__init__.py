"""Pod pools: their spec, and the pure decisions about their pods and their size."""
