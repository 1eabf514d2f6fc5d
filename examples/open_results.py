"""Trials as a data frame, and the median of each combination: open_results.py RESULTS"""

import sys

import pathlab

with pathlab.open(sys.argv[1]) as results:
    print(f"{results.campaign.title}: {len(results.plan())} planned trials")

    # Filters are columns of docs/COLUMNS.md; units are at the end of the names.
    trials = results.trials(status="complete")
    by_streams = trials.groupby("streams")["throughput_bits_per_s"]
    print((by_streams.median() / 1e6).round(1).rename("median Mbit/s").to_string())

    # The same per combination, over the trials that count, with confidence intervals; None: undecided.
    for answer in results.cells():
        rate = answer.result.throughput_bits_per_s
        print(
            f"{answer.streams} streams, window {answer.window_bytes}: {answer.selection.used} trials",
            end=", ",
        )
        print(f"median {rate.median}, 95 % CI {rate.interval.low} to {rate.interval.high} bit/s")

    # to_frame() makes a data frame of the answers to any analysis.
    print(", ".join(results.cells().to_frame().columns[:8]), "...")
