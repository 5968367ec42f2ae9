"""Client and runner of Berthmaster, and what they share with its workers: the lowest layer of the repository."""
