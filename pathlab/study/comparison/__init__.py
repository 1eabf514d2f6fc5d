"""Two or more results, aligned by combination: how each metric changed, and whether chance explains it."""
