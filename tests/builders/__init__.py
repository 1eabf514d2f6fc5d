"""What tests measure, store, read and draw, made without a measurement: one module for each kind of thing."""
