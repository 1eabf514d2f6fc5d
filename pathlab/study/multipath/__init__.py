"""Several links between two hosts: gains, shares of members, failing links."""
