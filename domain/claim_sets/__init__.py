"""The rules of PodClaimSets: which claims a set creates and removes. No I/O."""
