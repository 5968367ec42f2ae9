"""The publisher: follows the cluster's objects and marks their keys in the workqueue."""
