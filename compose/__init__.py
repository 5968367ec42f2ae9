"""Ways to run Berthmaster on one machine, and an example of a runner."""
