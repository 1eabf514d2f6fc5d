"""Conversations with agents on hosts, over any transport."""
