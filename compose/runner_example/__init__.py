"""What a service brings along to have its jobs run: an application of its own, made a runner."""
