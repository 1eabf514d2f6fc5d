"""Messages and their latency: sentences, tables, chapters and figures."""
