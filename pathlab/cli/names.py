"""Names and defaults that the help prints, whose owners take long to import.

``tests/contract/test_start_up.py`` compares each with its owner.
"""

from __future__ import annotations

from pathlab.study.measures import MEASURES

#: ``pathlab.report.formats.forms.FORMS``
REPORT_FORMS = ("html", "pdf", "md", "json")
#: Of ``pathlab.report.plots.figure_file.FORMATS``, and the numbers of a figure.
FIGURE_FORMS = ("svg", "pdf", "png", "csv")
#: Of ``pathlab.report.formats.forms.RESULTS_FORMS``: forms made of whole results.
RESULTS_FORM_NAMES = ("explorer",)
#: ``pathlab.discover.probes.METHODS``
PROBE_METHODS = ("udp", "icmp", "tcp")
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
