"""The rules of PodClaims: which pod a claim takes, keeps, moves to and gives back. No I/O."""
