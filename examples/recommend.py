"""The streams and the window to use, and what they cost: recommend.py RESULTS"""

import sys

import pathlab

with pathlab.open(sys.argv[1]) as results:
    for answer in results.recommend():
        result = answer.result
        chosen = result.recommended
        if chosen is None:
            print(f"no recommendation: {result.reason}")
            continue
        print(f"{result.name}: use {chosen.streams} streams, window {chosen.window_bytes} bytes")
        if chosen.throughput_bits_per_s.median is not None:
            print(f"  throughput {chosen.throughput_bits_per_s.median / 1e6:.1f} Mbit/s")
        if chosen.drtt_ns.median is not None:
            print(f"  added delay {chosen.drtt_ns.median / 1e6:.1f} ms")
        print(f"  limited by: {chosen.limit}, confidence: {result.confidence}")
        if result.rival is not None and result.preferred_for is not None:
            print(f"  preferred to {result.rival.streams} streams: {result.preferred_for}")
        if result.more_cycles is not None:
            print(f"  {result.more_cycles} more cycles would probably decide")
