"""How many cycles a question needs, and when a campaign may stop."""
