"""What changed between files of iperf3: compare_iperf3.py BEFORE.json AFTER.json"""

import subprocess
import sys
import tempfile
from pathlib import Path

import pathlab
from pathlab.study.comparison.rows import ComparisonRules, compare_results


def import_file(file: str, folder: Path) -> None:
    """Import one file; equal names of the hosts make files from different machines comparable."""
    command = [sys.executable, "-m", "pathlab", "import", file, "--into", str(folder)]
    subprocess.run([*command, "--source", "a", "--destination", "b"], check=True)


with tempfile.TemporaryDirectory() as folder:
    folders = Path(folder, "before"), Path(folder, "after")
    for file, target in zip(sys.argv[1:], folders, strict=True):
        import_file(file, target)
    with pathlab.open(folders[0]) as before, pathlab.open(folders[1]) as after:
        compared = compare_results(
            [("before", before), ("after", after)], ComparisonRules(metrics=("throughput",))
        )

for row in compared.rows:
    assert row.before_median is not None
    assert row.after_median is not None
    print(
        f"{row.before_median / 1e6:.1f} -> {row.after_median / 1e6:.1f} Mbit/s: {row.verdict} ({row.reason})"
    )
