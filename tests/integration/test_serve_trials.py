"""Single trials over HTTP: details, series, verdicts and published tables, and requests that are wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.report.explorer.course_document import read_course
from pathlab.report.explorer.published_document import list_published
from pathlab.report.explorer.trial_document import read_details
from pathlab.report.explorer.verdict_document import read_verdicts
from pathlab.store.results import Results
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import parse_view
from tests.builders.explored import make_explored
from tests.builders.results import write_results
from tests.serving import ServedExplorer, serving

RATE = "/api/course/A:3?series=receiver_intervals.rate"
COMPARED = "x=streams&y=throughput_bits_per_s&colour=window_bytes&baseline=65536"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_explored(cycles=2), tmp_path_factory.mktemp("trials") / "results")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[ServedExplorer]:
    with serving(folder) as server:
        yield server


@pytest.fixture(scope="module")
def results(folder: Path) -> ExploredResults:
    return ExploredResults.open([folder])


def test_the_answers_are_the_documents_of_the_report(
    served: ServedExplorer, results: ExploredResults
) -> None:
    row = results.find_row("A:3")
    assert served.request("/api/trial/A:3").json() == read_details(results, row)
    assert served.request("/api/trial/A%3A3").json() == read_details(results, row)
    assert served.request(RATE).json() == read_course(results, row, "receiver_intervals.rate")
    part = served.request(f"{RATE}&start=1&end=1.5&pixels=50").json()
    wanted = read_course(results, row, "receiver_intervals.rate", start_s=1, end_s=1.5, pixels=50)
    assert part == wanted
    assert part["x"][0] <= 1 < 1.5 <= part["x"][-1] + 0.1
    text = COMPARED.replace("=", "%3D").replace("&", "%26")
    verdicts = served.request(f"/api/verdicts?view={text}").json()
    assert verdicts == read_verdicts(results, parse_view(COMPARED, results))
    assert verdicts["undecided"]
    assert served.request("/api/published").json() == list_published()


@pytest.mark.parametrize(
    ("path", "status", "culprit"),
    [
        ("/api/trial/A:999", 404, "trial 999"),
        ("/api/trial/A:<script>", 404, "no trial"),
        ("/api/course/A:3", 400, "'series'"),
        ("/api/course/A:3?series=receiver_intervals.index", 400, "'index'"),
        ("/api/course/A:3?series=no.rate", 400, "'no'"),
        ("/api/course/A:3?series=sender_nics.rx_bytes", 409, "'sender_nics.rx_bytes'"),
        ("/api/course/A:6?series=receiver_intervals.rate", 409, "trial 6"),
        (f"{RATE}&start=2&end=1", 400, "'end'"),
        (f"{RATE}&start=nan", 400, "'start'"),
        (f"{RATE}&pixels=1e9", 400, "50 to 8000"),
        (f"{RATE}&pixels=60.5", 400, "'pixels'"),
        ("/api/verdicts?view=x%3Dnothing", 400, "'nothing'"),
    ],
)
def test_a_wrong_request_names_its_culprit(
    served: ServedExplorer, path: str, status: int, culprit: str
) -> None:
    answer = served.request(path)
    assert answer.status == status
    assert culprit in answer.json()["error"]


def test_nobody_reads_a_trial_without_access(served: ServedExplorer) -> None:
    for path in ("/api/trial/A:3", RATE, f"/api/verdicts?view={COMPARED}", "/api/published"):
        assert served.request(path, headers={}).status == 401


def test_a_trial_that_was_stored_since_can_be_opened(tmp_path: Path) -> None:
    made = make_explored(cycles=1)
    last = made.records.pop()
    folder = write_results(made, tmp_path / "running")
    number = len(made.records) + 1
    with serving(folder) as server:
        assert server.request(f"/api/trial/A:{number}").status == 404
        with Results.open(folder, write=True) as results:
            assert results.add_trial(last, {}) == number
        assert server.request(f"/api/trial/A:{number}").json()["trial"] == number
