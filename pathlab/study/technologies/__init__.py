"""Round trips by technology, their overhead, and what a background load adds."""
