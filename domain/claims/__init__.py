"""The rules of PodClaims: which pod a claim gets, keeps, moves to and gives back. No I/O."""
