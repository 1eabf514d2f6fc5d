"""The run of a campaign: cycles, rows, budgets, resumption."""
