"""One trial: what it requests, its choreography, its record."""
