"""Messages and writes by their size, and the latency of messages."""
