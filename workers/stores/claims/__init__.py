"""The indexes of claims in Redis. They can be lost: the truth about claims is in Kubernetes."""
