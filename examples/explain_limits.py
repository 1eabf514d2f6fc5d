"""What limits each combination, with the evidence: explain_limits.py RESULTS"""

import sys

import pathlab

with pathlab.open(sys.argv[1]) as results:
    for answer in results.limits(trials_per_cell=3):
        result = answer.result
        reason = result.limit or f"undecided ({result.undecided})"
        print(f"{answer.streams} streams, window {answer.window_bytes}: {reason}")
        for trial in result.trials[:1]:
            for evidence in trial.verdict.flow.evidence:
                if evidence.met:
                    print(f"  {evidence.name}: {evidence.value:.3g}, threshold {evidence.threshold:.3g}")
