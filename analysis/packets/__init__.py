"""What the packets of a connection show: arrays of headers in, frozen dataclasses out."""
