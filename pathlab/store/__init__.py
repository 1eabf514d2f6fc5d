"""Results on disk: schema, records, series."""
