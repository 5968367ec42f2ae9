"""What claims keep in Redis: indexes that can be lost. The truth about claims is in Kubernetes."""
