"""The command line: `berthmaster`."""
