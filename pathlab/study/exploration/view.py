"""A view of results: what is on the axes, how trials are summarised, and which of them are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pathlab.study.exploration.columns import HOSTS
from pathlab.study.exploration.explored_results import RESULTS, ExploredResults
from pathlab.study.measures import list_measures

#: Figures of each point, besides percentiles (``p1`` to ``p99``), and what is drawn instead of points.
STATISTICS = ("median", "mean", "min", "max", "iqr", "cdf", "ccdf", "histogram", "course")
RANGES = ("interval", "iqr", "extremes", "none")
SCALES = ("linear", "log2", "log10")
COUNTS = ("usable", "all")
CHANGES = ("ratio", "difference")
SWITCH = ("on", "off")
#: Factor and identity that defaults prefer.
STREAMS, PATH = "streams", "path"
MESSAGE_SIZE, ROUND_TRIP = "message_bytes", "round_trip_median_ns"
#: Colours that readers can distinguish: a factor with more levels is no colour where another one varies.
COLOURS_MOST = 12
#: Facets of a figure that still can be read.
FACETS_MOST = 12
#: Curves of more measures than these are not read.
MEASURES_MOST = 4
#: What y is, the first that some trial has a value of.
MAIN_MEASURES = tuple(measure.key for measure in list_measures("opening"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFilter:
    """The trials with one of these levels, or with any other; None: the missing level.

    Of flags: the trials that bear one of them, or none; None: those without any.
    """

    levels: tuple[str | float | None, ...]
    excluded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFilter:
    """The trials with a number from ``low`` to ``high``, both included; None: no limit. Times in seconds."""

    low: float | None = None
    high: float | None = None


Filter = LevelFilter | RangeFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a figure of results shows. Columns are named as ``ExploredResults.columns``; None: not given.

    ``baseline`` is the level of ``colour`` that others are compared with, ``against`` how. ``overlay`` names
    a published table. ``where`` has a filter for each column that trials are chosen by, ``text`` words that
    they hold in any text. ``trial`` (``A:12``) is open next to the figure with the ``series``
    (``KIND.COLUMN``). Limits of axes are in the units of their columns.
    """

    x: str | None = None
    y: tuple[str, ...] = ()
    colour: str | None = None
    facet: str | None = None
    statistic: str = "median"
    range: str = "interval"
    scale_x: str | None = None
    scale_y: str | None = None
    min_x: float | None = None
    max_x: float | None = None
    min_y: float | None = None
    max_y: float | None = None
    dots: bool = True
    count: str = "usable"
    baseline: str | None = None
    against: str = "ratio"
    overlay: str | None = None
    where: Mapping[str, Filter] = field(default_factory=dict)
    text: str = ""
    trial: str | None = None
    series: str | None = None


def default_view(results: ExploredResults) -> View:
    """The view that is shown where none is given: the main measure over the factor that varies most.

    x: streams where they vary, else the factor of numbers with most levels. Colours: the results where there
    are several, else the next factor with most levels. Facets: the paths where there are several, else the
    factor after that, so that as few conditions as possible are pooled.
    """
    return complete_view(View(), results, frozenset())


def complete_view(view: View, results: ExploredResults, given: frozenset[str]) -> View:
    """The view with the default of what is not among the names ``given``: x, y, colour, facet.

    The facet has a default only where none of the four is given.
    """
    x = view.x if "x" in given else _choose_x(results)
    y = view.y if "y" in given else (_choose_y(results),)
    others = _list_others(results, x)
    colour = view.colour if "colour" in given else next(iter(others), None)
    facet = view.facet
    if not given & {"x", "y", "colour", "facet"}:
        apart = sorted((name for name in others if name != colour), key=lambda name: name != PATH)
        facet = next((name for name in apart if results.column(name).level_count <= FACETS_MOST), None)
    return replace(view, x=x, y=y, colour=colour, facet=facet)


def _choose_x(results: ExploredResults) -> str:
    """Streams where they vary, else the factor with most levels, those of numbers first."""
    varied = [column for column in results.columns if column.role == "factor" and column.level_count > 1]
    ranked = sorted(varied, key=lambda item: (item.name != STREAMS, item.kind != "number", -item.level_count))
    return ranked[0].name if ranked else STREAMS


def _list_others(results: ExploredResults, x: str | None) -> list[str]:
    """What sets trials of one x apart, the best colour first: results, the factors that vary, paths.

    Of factors the one with most levels comes first, those with too many levels to distinguish last.
    """
    varied = [
        column
        for column in results.columns
        if column.role == "factor"
        and column.level_count > 1
        and column.name != x
        and column.name not in HOSTS
    ]
    varied.sort(key=lambda item: (item.level_count > COLOURS_MOST, -item.level_count))
    first = [RESULTS] if len(results.sources) > 1 and x != RESULTS else []
    paths = [PATH] if results.column(PATH).level_count > 1 and x != PATH else []
    return [*first, *(item.name for item in varied), *paths]


def _choose_y(results: ExploredResults) -> str:
    """Throughput, of messages alone their round trip, else the first that there is."""
    measures = [column.name for column in results.columns if column.role == "measured"]
    main = MAIN_MEASURES
    if len(results.sources) == 1 and MESSAGE_SIZE in results:
        main = (ROUND_TRIP, *MAIN_MEASURES)
    return next((name for name in (*main, *measures) if name in measures), "trial")
