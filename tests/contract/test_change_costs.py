"""What a measure and a command take: each is added to a copy of the sources for real, and is used."""

import json
from pathlib import Path

from tests.builders.results import write_results
from tests.builders.sweeps import make_sweep
from tests.release.tree_copy import ROOT, TreeCopy

COMPUTATION = '''    @property
    def nap_ns(self) -> Floats:
        """Half of the RTT without load."""
        return self.get("unloaded_rtt_median_ns") / 2

'''
MEASURE = """    Measure(
        key="nap_ns",
        label="Nap",
        title="nap of the path",
        heading="nap",
        meaning="half of the RTT without load",
        of_trial=lambda sample: sample.nap_ns,
        name="nap",
        uses=("main", "figures", "cells", "costs"),
    ),
"""
#: A metric of `compare` that is a column of the store.
METRIC = """    Measure(key="received_total_bytes", label="Bytes received", name="bytes"),
"""
USE = f"""
import json, runpy
import pathlab
from pathlab.cli.main import pathlab as command
from pathlab.report.explorer.packing import pack_trials
from pathlab.report.formats.markdown import render_markdown
from pathlab.report.report_builder import build_document
from pathlab.study.exploration.explored_results import ExploredResults

with pathlab.open("results") as results:
    report = render_markdown(build_document(results), "figures")
table = pack_trials(ExploredResults.open(["results"]))
header = json.loads(table[4 : 4 + int.from_bytes(table[:4], "little")])
(column,) = [one for one in header["columns"] if one["name"] == "nap_ns"]
page = runpy.run_path({str(ROOT / "tools" / "analyses_table.py")!r})["make_page"]()
print(json.dumps({{
    "report": "| nap |" in report,
    "explorer": [column["label"], column["unit"], column["role"]],
    "docs": "| Nap | `nap_ns` | ns | `nap`, better when lower | half of the RTT without load |" in page,
}}))
command(["analyze", "results", "--only", "cells", "--json"], standalone_mode=False)
print("----")
command(["analyze", "results", "--only", "cells"], standalone_mode=False)
print("----")
command(["compare", "results", "results", "--metric", "nap", "--metric", "bytes"], standalone_mode=False)
"""


COMMAND = '''"""Greet someone."""

import click

from pathlab.cli.declaration import argument, declare
from pathlab.cli.deferred import DeferredImports

with DeferredImports() as libraries:
    import numpy as np


def greet(name: str) -> None:
    """Greet NAME."""
    libraries.load()
    click.echo(" ".join(np.array(["hello", name])))


command = declare("greet", greet, argument("name"))
'''
CALL = """
import sys
from pathlab.cli.main import pathlab
pathlab(["--help"], standalone_mode=False)
print("----", "numpy" in sys.modules)
pathlab(["greet", "world"], standalone_mode=False)
"""


def test_a_command_takes_one_file_and_imports_when_it_runs(tmp_path: Path) -> None:
    tree = TreeCopy(tmp_path)
    tree.write("pathlab/cli/commands/greet.py", COMMAND)
    shown, _, greeting = tree.run(CALL).partition("---- ")
    assert "Greet someone." in shown
    assert greeting.split() == ["False", "hello", "world"]
    assert tree.changed_files() == ["pathlab/cli/commands/greet.py"]


def test_a_measure_takes_two_files_and_a_metric_one(tmp_path: Path) -> None:
    tree = TreeCopy(tmp_path)
    write_results(make_sweep(6, levels=[(1, 65536), (2, 65536)]), tree.folder / "results")
    first = '    Measure(\n        key="throughput_bits_per_s"'
    tree.insert("pathlab/study/measures.py", METRIC, before=first)
    assert tree.changed_files() == ["pathlab/study/measures.py"]
    tree.insert("pathlab/study/base/selection.py", COMPUTATION, before="    def measure_loss(")
    tree.insert("pathlab/study/measures.py", MEASURE, before=first)
    document, cells, compared = tree.run(USE).split("----\n")
    shown, _, answers = document.partition("\n")
    expected = {"report": True, "explorer": ["Nap", "ms", "measured"], "docs": True}
    assert json.loads(shown) == expected
    assert "median" in json.loads(answers)["analyses"]["cells"][0]["result"]["nap_ns"]
    assert "nap" in cells.split()
    assert "Nap of the path" in compared
    assert "Bytes received" in compared
    assert tree.changed_files() == ["pathlab/study/base/selection.py", "pathlab/study/measures.py"]
