"""Everything in the results file of the released format."""

import json
import shutil
from pathlib import Path

from pathlab.store.results import Results
from pathlab.store.schema import FORMAT_VERSION
from tests.golden.conftest import Say
from tests.unit.store.exporters.test_export import export

DATA = Path(__file__).parents[2] / "data"


def test_all_that_the_file_of_this_format_holds(say: Say, tmp_path: Path) -> None:
    """A copy, so that no reader leaves its traces beside the committed file."""
    shutil.copy(DATA / f"results-format-{FORMAT_VERSION}.db", tmp_path / "results.db")
    with Results.open(tmp_path) as results:
        lines = export(results, "jsonl", tmp_path / "lines").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:  # the first one is of this program
        said = json.loads(line)
        for columns in (said, said.pop("columns", {})):
            say({name: value for name, value in columns.items() if value is not None})
