"""One trial over time: read_series.py RESULTS"""

import sys

import pathlab

with pathlab.open(sys.argv[1]) as results:
    trial_id = int(results.trials(status="complete")["trial_id"].iloc[0])
    print(f"trial {trial_id} has {', '.join(results.series_kinds(trial_id))}")

    # A row per stream and interval; all streams of an interval together are its rate.
    intervals = results.series(trial_id, "receiver_intervals")
    steady = intervals[intervals["phase"] == "steady"].groupby("index")
    length_ns = steady["end_ns"].max() - steady["start_ns"].min()
    rates = steady["bytes"].sum() * 8e9 / length_ns
    print(f"{len(rates)} intervals, {rates.min() / 1e6:.1f} to {rates.max() / 1e6:.1f} Mbit/s")

    # A row per probe; without a reply it has no RTT.
    rtts = results.series(trial_id, "loaded_probes")["rtt_ns"]
    print(f"{len(rtts)} probes, {rtts.isna().sum()} lost, median RTT {rtts.median() / 1e6:.1f} ms")
