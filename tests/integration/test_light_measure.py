"""``pathlab measure`` loads what a single trial needs, and nothing of what analyses and reports need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.require import require_engine

HEAVY = {"jinja2", "matplotlib", "pandas", "scapy", "scipy", "statsmodels", "weasyprint"}
#: The command, then one line of JSON with the top-level names of all modules that it loaded.
SCRIPT = """
import json, sys
from pathlab.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    print(json.dumps([ended.code, loaded]), file=sys.stderr)
"""


@pytest.mark.parametrize("options", [("--json",), ()], ids=["json", "text"])
def test_a_single_trial_loads_no_library_of_analyses(options: tuple[str, ...]) -> None:
    require_engine()
    command = ["measure", "local", "--time", "300ms", "--warmup", "100ms", "--unloaded", "20", *options]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *command], capture_output=True, text=True, check=False, timeout=120
    )
    status, loaded = json.loads(done.stderr.splitlines()[-1])
    assert status == 0, done.stderr
    assert {"numpy", "pyarrow", "rich"} <= set(loaded)
    assert HEAVY & set(loaded) == set()
    if options:
        assert json.loads(done.stdout)["trial"]["status"] == "complete"
    else:
        assert "by the receiver's count" in done.stdout
