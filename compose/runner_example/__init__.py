"""An example of a service's runner: an application of its own that runs the service's jobs."""
