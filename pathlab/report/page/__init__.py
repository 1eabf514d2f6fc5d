"""The report as a whole, and its forms: HTML, PDF, Markdown and JSON."""
