"""How it was measured, and what readers are warned of."""
