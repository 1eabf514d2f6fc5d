"""An id that is ahead of the results, as one of other results can be, hides nothing that comes later."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pathlab.store.results import Results
from tests.builders.results import make_quickstart, write_results
from tests.events import following, list_stored
from tests.serving import serving


def test_a_reader_with_an_id_ahead_gets_what_is_stored_from_now_on(tmp_path: Path) -> None:
    folder = write_results(make_quickstart(cycles=1), tmp_path / "results")
    with Results.open(folder) as results:
        stored = len(results.records())
    heads = {"Last-Event-ID": "999999.999999"}
    with serving(folder) as served, following(served, "/events", heads) as stream:
        events = stream.read_until(lambda event: event.name == "run")
        with Results.open(folder, write=True) as results:
            record = results.records(trial_id=1)[0]
            results.add_trial(dataclasses.replace(record, attempt=2), {})
        events += stream.read_until(lambda event: event.name == "trial-ended")
    assert list_stored(events) == [("trial-ended", stored + 1)]
