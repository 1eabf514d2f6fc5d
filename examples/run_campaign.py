"""Run a campaign, follow its events, open its results: run_campaign.py CAMPAIGN FOLDER"""

import json
import subprocess
import sys

import pathlab

# Events are JSON lines (docs/EVENTS.md). Exit status 4: trials are missing; the same command continues.
command = [sys.executable, "-m", "pathlab", "run", sys.argv[1], "--out", sys.argv[2], "--json-events"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
    assert run.stdout is not None
    for line in run.stdout:
        event = json.loads(line)
        if event["event"] == "trial-ended":
            record = event["record"]
            rate = record["throughput_bits_per_s"]
            print(f"{record['streams']} streams: {record['status']}", rate and f"{rate / 1e6:.0f} Mbit/s")
print(f"exit status {run.returncode}")

with pathlab.open(sys.argv[2]) as results:
    print(results.trials()[["trial_id", "streams", "status"]].to_string(index=False))
