"""Claims that services ask for by tasks: what they ask, what workers answer, and the stream of answers."""
