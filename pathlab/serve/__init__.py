"""The explorer's server: results in a browser, read from the store and sent to whoever has access."""
