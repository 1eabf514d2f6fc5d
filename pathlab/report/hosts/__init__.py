"""Hosts and labs as text and as a picture."""
