"""Every analysis of stored results: all_analyses.py RESULTS"""

import sys

import pathlab

with pathlab.open(sys.argv[1]) as results:
    analyses = (
        results.cells,
        results.streams_vs_windows,
        results.saturation,
        results.optimum,
        results.surface,
        results.limits,
        results.warm_up,
        results.rfc6349,
        results.fairness,
        results.cpu_cost,
        results.duration,
        results.breakpoint,
        results.distributions,
        results.serial,
        results.drift,
        results.outliers,
        results.planning,
        results.precision,
        results.message_cost,
    )
    for analysis in analyses:
        answers = analysis()
        print(f"{analysis.__name__}: {len(answers)} answers, {answers.to_frame().shape[1]} columns")
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
