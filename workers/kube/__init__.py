"""Reading and writing the Kubernetes objects that workers use."""
