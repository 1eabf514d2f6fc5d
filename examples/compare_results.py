"""What changed between two results: compare_results.py BEFORE AFTER"""

import sys

import pathlab
from pathlab.study.comparison.rows import ComparisonRules, compare_results

with pathlab.open(sys.argv[1]) as before, pathlab.open(sys.argv[2]) as after:
    rules = ComparisonRules(metrics=("throughput", "drtt"), margin_ratio=0.05)
    compared = compare_results([("before", before), ("after", after)], rules)

for row in compared.rows:
    change = "" if row.change.ratio is None else f", ratio {row.change.ratio:.3f}"
    cell = f"{row.cell.streams} streams, window {row.cell.window_bytes}"
    print(f"{cell}, {row.metric.name}: {row.verdict}{change} {row.reason or ''}")
