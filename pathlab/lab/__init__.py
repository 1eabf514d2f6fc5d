"""The built-in lab: network namespaces joined by emulated links."""
