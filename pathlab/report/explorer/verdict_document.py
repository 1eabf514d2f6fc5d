"""The verdicts of a view as the explorer shows them: the sentences, tables and notes of `pathlab compare`."""

from __future__ import annotations

from typing import Any

from pathlab.errors import NotMeasurable, UsageError
from pathlab.report.comparison.comparison_changes import (
    capitalise_title,
    describe_no_verdict,
    list_comparison_warnings,
    list_summaries,
)
from pathlab.report.comparison.comparison_names import name_cells
from pathlab.report.comparison.comparison_table import find_trials, group_rows, list_change_columns
from pathlab.report.comparison.comparison_text import list_notes
from pathlab.study.comparison.rows import ResultsComparison
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.verdicts import compare_view
from pathlab.study.exploration.view import View


def read_verdicts(results: ExploredResults, view: View) -> dict[str, Any]:
    """The verdicts of a view, ready for JSON; ``refused``: why there are none, None otherwise."""
    try:
        compared = compare_view(results, view)
    except (NotMeasurable, UsageError) as error:
        return {"refused": f"{error.message}; {error.hint}" if error.hint else error.message}
    document = write_verdicts(compared.found)
    if compared.unnamed:
        document["notes"].insert(0, f"Not compared: {', '.join(compared.unnamed)}.")
    return document


def write_verdicts(comparison: ResultsComparison) -> dict[str, Any]:
    """A comparison as text. ``undecided``: no row has enough trials, which is said once."""
    refusal = describe_no_verdict(comparison)
    labels = comparison.labels[1:]
    return {
        "refused": None,
        "baseline": comparison.labels[0],
        "undecided": refusal is not None,
        "sentences": [refusal]
        if refusal is not None
        else [
            sentence if len(labels) == 1 else f"{label}: {sentence}"
            for label in labels
            for sentence in list_summaries(comparison, label)
        ],
        "tables": [table for label in labels for table in _list_tables(comparison, label)],
        "notes": [*list_comparison_warnings(comparison), *list_notes(comparison)],
    }


def _list_tables(comparison: ResultsComparison, label: str) -> list[dict[str, Any]]:
    names = name_cells(comparison.rows)
    tables = []
    for rows in group_rows(comparison, label):
        columns = list_change_columns(rows, comparison, names)
        title = [capitalise_title(rows[0].metric), *names.shared, find_trials(rows)]
        tables.append(
            {
                "title": ", ".join(filter(None, title)),
                "after": label,
                "columns": [column.name_unit().heading for column in columns],
                "rows": [list(row) for row in zip(*(column.texts for column in columns), strict=True)],
                "verdicts": [str(row.verdict) for row in rows],
            }
        )
    return tables
