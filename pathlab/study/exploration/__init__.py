"""Results as a table of trials that is filtered, grouped and drawn: what the explorer shows."""
