"""Results in the formats of others: whole files or nothing."""
