"""The pages about the fleet that `berthmaster flower` shows beside Flower's own. They read Redis and nothing else."""
