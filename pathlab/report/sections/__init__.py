"""The report's chapters: one module for each experiment, from results to tables and figures."""
