"""Every analysis of stored results: all_analyses.py RESULTS"""

import sys

import pathlab
from pathlab.study.base.registry import ANALYSES

with pathlab.open(sys.argv[1]) as results:
    for name, analysis in ANALYSES.items():
        answers = analysis(results)  # results.cells() and so on by name
        print(f"{name}: {len(answers)} answers, {answers.to_frame().shape[1]} columns")
        for answer in answers[:1]:
            print(f"  {answer}")

    # An answer has its combination, the trials it rests on, and a result; None is undecided, with a reason.
    for answer in results.surface():
        capacity = answer.result.capacity
        print(f"{answer.selection.used} of {answer.selection.trials} trials used")
        if capacity.value is None:
            print(f"capacity undecided: {capacity.interval.undecided}")
        else:
            print(f"capacity {capacity.value / 1e6:.1f} Mbit/s")
