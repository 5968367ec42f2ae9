"""What every object of Kubernetes has, and the keys of the labels and annotations that are ours."""
