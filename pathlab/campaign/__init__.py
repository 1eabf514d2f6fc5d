"""Campaign files: the model, loading, the plan of trials."""
