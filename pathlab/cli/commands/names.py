"""Names and defaults that the help prints, whose owners take long to import.

``tests/contract/test_start_up.py`` compares each with its owner.
"""

from __future__ import annotations

import ast
import pkgutil
from pathlib import Path

from pathlab.study.measures import MEASURES

#: ``pathlab.study.comparison.rows.ComparisonRules``
MARGIN_RATIO = 0.05
#: ``pathlab.study.comparison.rows.ChangeVerdict``
WORSE, UNDECIDED = "worse", "undecided"
#: One module per format in ``pathlab.store.exporters``, which takes long to import.
EXPORT_FORMATS = sorted(
    module.name for module in pkgutil.iter_modules([str(Path(__file__).parents[2] / "store" / "exporters")])
)
#: ``pathlab.report.formats.forms.FORMS``
REPORT_FORMS = ("html", "pdf", "md", "json")
#: Of ``pathlab.report.plots.figure_file.FORMATS``, and the numbers of a figure.
FIGURE_FORMS = ("svg", "pdf", "png", "csv")
#: Of ``pathlab.report.formats.forms.RESULTS_FORMS``: forms made of whole results.
RESULTS_FORMS = ("explorer",)
#: ``pathlab.cli.view.WRITERS``
VIEW_ENDINGS = (".csv", ".json", ".pdf", ".png", ".svg")
#: ``pathlab.discover.probes.METHODS``
PROBE_METHODS = ("udp", "icmp", "tcp")
#: ``pathlab.campaign.host_file.DEFAULT_NAME``
HOST_FILE_NAME = "hosts.toml"
#: ``pathlab.campaign.host_model.LOCAL``
LOCAL = "local"
#: ``pathlab.store.location.RESULTS_ROOT``
RESULTS_ROOT = Path("results")
#: ``pathlab.serve.server.LOOPBACK``
BIND_ADDRESS = "127.0.0.1"
#: Steady window and warm-up of a measurement.
TIME, WARMUP = "10s", "1s"
#: Rate of a UDP flow that is measured without one: it floods no access line. The word for no rate.
UDP_RATE, RATE_MAX = "10Mbit/s", "max"
#: Streams in each direction of the test of latency under load that Flent calls rrul.
RRUL_STREAMS = 4
#: Given for a name where all names are to be listed.
LIST = "list"
#: Of ``pathlab.report.report_builder.COMPARISON_FORMS``
COMPARISON_ENDINGS = (".html", ".md", ".pdf")
#: Of ``pathlab.study.exploration.view_text.KEYS`` those that take columns, and what filters by a column.
VIEW_KEYS, WHERE = ("x", "y", "colour", "facet"), "where."
#: Columns of ``pathlab.study.exploration`` that no trial stores, and no plan has as a factor.
EXPLORED_COLUMNS = (
    *("results", "trial", "path", "window_bytes", "congestion", "medium", "kernel"),
    *(measure.key for measure in MEASURES if measure.is_derived),
)


def list_campaign_names() -> list[str]:
    """The names of ``pathlab.campaign.campaign_text.list_shipped``."""
    return sorted(file.stem for file in (Path(__file__).parents[2] / "campaigns").glob("*.toml"))


def _read_source(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def list_analyses() -> list[str]:
    """The names of ``pathlab.study.base.registry.ANALYSES``, read from the entries' source text."""
    root = Path(__file__).parents[3]
    every = _read_source(root / "pathlab" / "study" / "analyses.py")
    imports = [node for node in every.body if isinstance(node, ast.ImportFrom)]
    modules = {alias.name: str(node.module) for node in imports for alias in node.names}
    (analyses,) = (node for node in every.body if isinstance(node, ast.ClassDef) and node.name == "Analyses")
    inherited = (modules[ast.unparse(base)] for base in analyses.bases)
    files = (root.joinpath(*module.split(".")).with_suffix(".py") for module in inherited)
    methods = (
        node
        for source in (every, *map(_read_source, files))
        for node in ast.walk(source)
        if isinstance(node, ast.FunctionDef)
    )
    result = []
    for method in methods:
        for entry in method.decorator_list:
            if isinstance(entry, ast.Call) and ast.unparse(entry.func) == "analysis":
                given = {
                    keyword.arg: ast.literal_eval(keyword.value)
                    for keyword in entry.keywords
                    if keyword.arg == "name"
                }
                result.append(str(given.get("name", method.name)))
    return result
