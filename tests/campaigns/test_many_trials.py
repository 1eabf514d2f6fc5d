"""100,000 trials: what the report, the analyses and the list of trials may take of the machine's memory."""

import dataclasses
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from tests.builders.results import make_quickstart

CYCLES, LIMIT_BYTES = 12_500, 10**9
STRETCH = """
INSERT INTO plan SELECT row + {cells} * step, cycle + step, path_source, path_destination, settings
FROM plan, (WITH RECURSIVE s(step) AS (SELECT 1 UNION ALL SELECT step + 1 FROM s WHERE step < {steps})
SELECT step FROM s) WHERE row < {cells};
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cycle of eight combinations, stored 12,500 times without series."""
    synthetic = make_quickstart(cycles=1, levels=[(n, w) for n in (1, 2, 4, 8) for w in (65536, 262144)])
    found = tmp_path / "many"
    with Results.create(found, synthetic.campaign, synthetic.plan()) as results:
        for record in synthetic.records:
            results.add_trial(record, {})
    names = [field.name for field in dataclasses.fields(TrialRecord)]
    changed = {
        "plan_row": "t.plan_row + 8 * (p.row / 8)",
        "cycle": "p.cycle",
        "throughput_bits_per_s": "t.throughput_bits_per_s * (1 + 0.01 * (abs(random()) % 100) / 100)",
    }
    values = ", ".join(changed.get(name, f"t.{name}") for name in names)
    with sqlite3.connect(found / "results.db") as connection:
        connection.executescript(STRETCH.format(cells=8, steps=CYCLES - 1))
        connection.execute(
            f"INSERT INTO trial ({', '.join(names)}) SELECT {values} FROM plan p "
            "JOIN trial t ON t.trial_id <= 8 AND t.plan_row = p.row % 8 WHERE p.row >= 8 ORDER BY p.row"
        )
    connection.close()
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "words", ["report --quiet", "analyze --json", "results show", "results show --limit=0"]
)
def test_a_hundred_thousand_trials_take_less_than_a_gigabyte(folder: Path, words: str) -> None:
    command = [sys.executable, "-m", "pathlab", *words.split(), str(folder)]
    with (folder.parent / "printed").open("wb") as printed:
        process = subprocess.Popen(command, stdout=printed)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert Path(printed.name).stat().st_size
    assert usage.ru_maxrss * 1024 < LIMIT_BYTES
