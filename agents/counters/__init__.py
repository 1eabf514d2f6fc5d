"""What a host counts (cores, interfaces, softnet, TCP, qdiscs), sampled at absolute deadlines as differences.

One module per source: a pure parser of the kernel's words, a reader, and a comparison of two readings.
"""
