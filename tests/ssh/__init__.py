"""Hosts over SSH: real OpenSSH servers inside a lab of namespaces."""
