"""What is printed on a terminal of some width, as text."""

import io
from collections.abc import Callable

from rich.console import Console

from pathlab.report.formats.terminal import render_summary
from pathlab.report.runs.notices import list_notices
from pathlab.report.topics import summarise_topics
from pathlab.report.trials.trial_text import render_trial
from pathlab.study.analyses import Analyses, Study
from pathlab.study.base.trials import StudySource
from tests.builders.results import SyntheticResults


def print_text(render: Callable[[Console], object], width: int = 100) -> str:
    """What ``render`` prints."""
    screen = io.StringIO()
    render(Console(file=screen, width=width, color_system=None))
    return screen.getvalue()


def print_summary(results: StudySource | Analyses, width: int = 100) -> str:
    """What ``pathlab report`` prints of results, or of their analyses."""
    study = results if isinstance(results, Analyses) else Study(results)
    return print_text(
        lambda console: render_summary(summarise_topics(study), list_notices(study), console), width
    )


def print_trial(results: SyntheticResults, *, series: bool = True) -> str:
    """What ``pathlab measure`` prints of a trial, with its series or without."""
    source = results if series else None
    return print_text(lambda console: render_trial(results.records[0], source, 1, console))
