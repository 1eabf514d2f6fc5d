"""What a change takes: each test adds one thing to a copy of the sources, uses it and counts the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.tree_copy import ROOT, TreeCopy


@pytest.fixture
def tree(tmp_path: Path) -> TreeCopy:
    return TreeCopy(tmp_path)


def test_a_copy_runs_its_own_sources_and_names_each_changed_file_once(tree: TreeCopy) -> None:
    unit = (ROOT / "pathlab" / "units.py").read_text(encoding="utf-8")
    tree.insert("pathlab/units.py", "FURLONG_CM = 20_117\n", before="SECOND_NS = ")
    tree.write("analysis/furlongs.py", "from pathlab.units import FURLONG_CM as LENGTH_CM\n")
    printed = tree.run("from pathlab.analysis import furlongs; print(furlongs.LENGTH_CM)")
    assert printed == "20117\n"
    assert tree.changed_files() == ["analysis/furlongs.py", "pathlab/units.py"]
    assert (ROOT / "pathlab" / "units.py").read_text(encoding="utf-8") == unit
