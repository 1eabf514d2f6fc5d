"""The explorer: a page that filters, plots and compares stored trials in the browser."""
