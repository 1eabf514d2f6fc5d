"""One trial: what it asks for, its choreography, its record."""
