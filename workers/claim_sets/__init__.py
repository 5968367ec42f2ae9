"""Sets of claims: as many as wanted, of the present template."""
