"""The answer and the report of results over HTTP: what the terminal says, and nothing during a run."""

from html import unescape
from pathlib import Path

import pytest

from pathlab.cli.summary import print_summary
from pathlab.report.report_builder import gather_inputs
from pathlab.report.topics import list_answers
from pathlab.study.analyses import StudiedResults
from tests.builders.printed import print_text
from tests.builders.results import make_quickstart, write_results
from tests.serving import serving
from tests.writers import hold_results

LEVELS = [(1, 65536), (4, 65536)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_quickstart(cycles=6, levels=LEVELS).copy(series={})
    return write_results(made, tmp_path_factory.mktemp("ended") / "results")


def test_an_ended_run_has_the_answer_of_the_terminal_and_its_report(folder: Path) -> None:
    with StudiedResults.open(folder) as stored:
        inputs = gather_inputs(stored)
        answers = list_answers(inputs.study)
        printed = print_text(lambda console: print_summary(inputs, console), 1000)
    with serving(folder) as served:
        document = served.request("/api/answer").json()
        (found,) = document["results"]
        assert document["running"] is False
        assert found["answers"] == [{"lead": one.lead, "remarks": [*one.remarks]} for one in answers]
        assert found["explorer"] == f"?open={served.library.list_given()[0].results_id}"
        page = served.request(f"/{found['report']}")
    for answer in answers:
        for text in (answer.lead, *answer.remarks):
            assert text in printed
        assert answer.lead in unescape(page.body.decode()).replace("\xa0", " ")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = page.headers["content-security-policy"]
    assert "connect-src" not in policy
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline';")
    assert page.headers["x-content-type-options"] == "nosniff"


def test_nothing_is_analysed_during_a_run_and_a_report_is_of_one_file(folder: Path, tmp_path: Path) -> None:
    other = write_results(make_quickstart(cycles=1, levels=LEVELS).copy(series={}), tmp_path / "other")
    with serving(folder, other) as served:
        assert served.request("/report").status == 400
        assert len(served.request("/api/answer").json()["results"]) == 2
    with hold_results(other) as holder, serving(other) as served:
        assert served.request("/api/answer").json() == {"running": True, "results": []}
        assert served.request("/report").status == 409
        holder.kill()


def test_results_without_a_trial_say_so(tmp_path: Path) -> None:
    made = make_quickstart(cycles=1, levels=LEVELS).copy(series={})
    made.change_trials(status="failed", failure="refused", failed_stage="connect")
    with serving(write_results(made, tmp_path / "failed")) as served:
        (found,) = served.request("/api/answer").json()["results"]
        assert [one["lead"] for one in found["answers"]] == [
            "Nothing can be recommended: no trial completed."
        ]
        assert served.request("/report").status == 200
