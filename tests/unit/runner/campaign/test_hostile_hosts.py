"""A host whose engines and agent state what they should not: its trials fail, and nothing else does.

What the store took of it, every reader reads.
"""

import contextlib
import random
import resource
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pathlab.campaign.load import build_campaign
from pathlab.campaign.model import Campaign
from pathlab.engines.spec import TrialPath
from pathlab.runner.campaign.cycle import CycleRunner, RunParts
from pathlab.runner.campaign.interruption import Interruption
from pathlab.runner.campaign.row import RowRunner
from pathlab.runner.campaign.run import plan_records
from pathlab.runner.events import Event, TrialStarted
from pathlab.runner.trial import stored_trial
from pathlab.store.check import check_results
from pathlab.store.records import CampaignRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults
from tests.builders.replayed import ReplayingHost, make_conversation, make_environment, spoil
from tests.builders.spoiling import list_taken_records, set_value
from tests.command_line import call
from tests.length import LENGTH, choose_runs

TRAFFIC: dict[str, dict[str, Any]] = {
    "tcp": {},
    "udp": {"transport": ["udp"]},
    "messages": {"message": ["100B"], "reply": [True]},
    "technology": {
        "message": ["100B"],
        "reply": [True],
        "engine": ["tcp-python"],
        "placement": ["process"],
        "no_delay": [True],
    },
}
READERS = (
    "results check bad",
    "results list .",
    "results show bad",
    "results show bad --json",
    "report bad --quiet --format md --out out/report.md",
    "report bad --quiet --format html --out out/report.html",
    "report bad --quiet --format json --out out/report.json",
    "analyze bad --json",
    "compare bad bad --json",
    "export bad --format csv --out out/csv",
    "export bad --format parquet --out out/parquet",
    "export bad --format jsonl --out out/lines",
    "export bad --format openmetrics --out out/metrics",
    "export bad --format iperf3 --out out/iperf3",
    "export bad --format flent --out out/flent",
    "export bad --format hdr --out out/hdr",
    "view bad --output out/view.csv",
    "results merge bad --out out/merged",
)
#: Trials of each traffic: 1,000 together at full length.
TRIALS = 250 if LENGTH == "full" else choose_runs(40, short=20)
PATH = TrialPath(
    source="local", destination="local", source_address="10.0.0.1", destination_address="10.0.0.2"
)


def make_campaign(traffic: str, trials: int) -> Campaign:
    """One combination in so many cycles, so that no failure keeps the next trial from being run."""
    return build_campaign(
        {
            **{"format": 1, "name": "hostile", "title": "Hostile", "seed": 3, "order": "given"},
            **{"cycles": trials, "retries": 0, "paths": [{"source": "local", "destination": "local"}]},
            "factors": {"streams": [2], **TRAFFIC[traffic]},
            "trial": {"warmup": "100ms", "duration": "1s", "interval": "100ms", "drain": "1s"},
            "probes": {"interval": "10ms", "unloaded": 3},
            "cool_down": {"pause": "0s", "until_idle": False},
        },
        label="hostile",
    )


def run_trials(
    folder: Path, traffic: str, changes: Sequence[Callable[[ReplayingHost], None]]
) -> list[TrialRecord]:
    """Run a trial after each change of the host; the records as stored, in that order."""
    campaign = make_campaign(traffic, len(changes))
    with contextlib.closing(ReplayingHost(make_conversation(traffic))) as host:
        return run_rows(folder, campaign, traffic, host, changes)


def run_rows(
    folder: Path,
    campaign: Campaign,
    traffic: str,
    host: ReplayingHost,
    changes: Sequence[Callable[[ReplayingHost], None]],
) -> list[TrialRecord]:
    """The trials of a campaign with one host; the records as stored."""
    environment = make_environment(host)
    environment.trial_path = lambda _row: PATH

    def emit(event: Event) -> None:
        if isinstance(event, TrialStarted):
            host.raw, host.conversation = {}, make_conversation(traffic)
            changes[event.row](host)

    stored = CampaignRecord(
        name=campaign.name,
        title=campaign.title,
        digest=campaign.digest,
        text="",
        model=campaign.to_stored(),
        seed=1,
        created_utc="2026-01-05T12:00:00+00:00",
        program_version="0.1.0",
        environment={"fallback": None, "lab": None},
    )
    with Results.create(folder, stored, plan_records(campaign)) as results:
        parts = RunParts(campaign, results, emit)
        backgrounds: Any = SimpleNamespace(plan=lambda _path, _level: None)
        routes: Any = SimpleNamespace(read=lambda *_given: None)
        runner = CycleRunner(parts, RowRunner(campaign, environment, routes, backgrounds, emit))
        for row in parts.rows.values():
            runner.run([row], Interruption())
        return results.records()


def read_everything(capsys: pytest.CaptureFixture[str], commands: Sequence[str] = READERS) -> None:
    """Every reader reads the folder ``bad``, of which the check says that it is sound."""
    assert check_results(Path("bad")).faults == ()
    Path("out").mkdir(exist_ok=True)
    for command in commands:
        said = call(command.split(), capsys)
        assert said.status in (0, 2), f"{command}\n{said.err}"
        assert "Traceback" not in said.err, command
    with StudiedResults.open("bad") as results:
        for number in results.trials()["trial_id"]:
            for kind in results.series_kinds(number):
                results.series(number, kind)


def change(program: str, record_type: str, *path: str | int, to: Any) -> Callable[[ReplayingHost], None]:
    """Put a value in the first such record of a program."""

    def apply(host: ReplayingHost) -> None:
        records = host.conversation[program]
        found = next(one for one in records if one.get("type", record_type) == record_type)
        set_value(found, path, to)

    return apply


def drop(program: str, record_type: str, *path: str | int) -> Callable[[ReplayingHost], None]:
    """Take a key out of the first such record of a program."""

    def apply(host: ReplayingHost) -> None:
        found: Any = next(one for one in host.conversation[program] if one["type"] == record_type)
        for key in path[:-1]:
            found = found[key]
        del found[path[-1]]

    return apply


def raw(program: str, record: bytes) -> Callable[[ReplayingHost], None]:
    """These bytes in the place of a program's records."""

    def apply(host: ReplayingHost) -> None:
        host.raw[program] = record

    return apply


def nest(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


TCP_FORMS: dict[str, tuple[Callable[[ReplayingHost], None], str]] = {
    "sound": (lambda _host: None, ""),
    "nulls among bytes": (
        change("receive", "interval", "bytes", to=[None, None]),
        "engine: receive: sent a record that cannot be used: 'interval.bytes.0' is null, not a whole number",
    ),
    "a null in the result": (
        change("send", "result", "total_bytes", 1, to=None),
        "'result.total_bytes.1' is null",
    ),
    "no key": (drop("receive", "result", "phases"), "'result' has no key 'phases'"),
    "no key further in": (
        drop("send", "interval", "workers", 0, "user_ns"),
        "'interval.workers.0' has no key",
    ),
    "no type": (drop("receive", "start", "type"), "a record has no type"),
    "a text": (change("receive", "interval", "start_ns", to="0"), "'interval.start_ns' is a text"),
    "a list": (change("send", "ready", "streams", to=[2]), "'ready.streams' is a list, not a whole number"),
    "below zero": (change("receive", "interval", "bytes", 0, to=-1), "'interval.bytes.0' is -1, not from 0"),
    "64 bits": (change("receive", "interval", "bytes", 0, to=2**63), "number of more than 64 bits"),
    "a float": (change("receive", "interval", "end_ns", to=0.5), "is 0.5, not a whole number"),
    "a truth value": (change("receive", "interval", "index", to=True), "is true, not a whole number"),
    "a number for a truth value": (change("receive", "result", "complete", to=1), "is 1, not true or false"),
    "too few streams": (change("receive", "interval", "bytes", to=[1]), "has 1 values for 2 streams"),
    "other streams": (change("send", "ready", "streams", to=4), "has 4 streams, not 2"),
    "a million entries": (
        change("receive", "interval", "bytes", to=[7] * 10**6),
        "has more than 1000000 values",
    ),
    "half a million": (change("receive", "ready", "cores", to=[7] * 500_000), "the most is 8192"),
    "many objects": (
        change("receive", "hello", "x", to=[{}] * 300_000),
        "more than 250000 objects and lists",
    ),
    "deep": (change("send", "ready", "x", to=nest(500)), "nested more than 16 levels deep"),
    "a long text": (change("send", "ready", "congestion", to="x" * 10**5), "has a text of 100000 characters"),
    "half a pair": (change("send", "ready", "congestion", to="\ud800"), "has a text that is not Unicode"),
    "no base64": (change("send", "interval", "tcp_info_raw", "base64", to="*"), "is not base64"),
    "structs of other streams": (
        change("send", "interval", "tcp_info_raw", "base64", to="AAAA"),
        "has 3 bytes, not 8 of each of 2 streams",
    ),
    "a name of another column": (
        change("send", "interval", "tcp_info", "phase", to=[1, 1]),
        "another value's",
    ),
    "other counters": (drop("send", "interval", "tcp_info", "rtt_us"), "has other keys than"),
    "back in time": (change("receive", "interval", "end_ns", to=0), ""),
    "sums beyond 64 bits": (
        change("receive", "result", "total_bytes", to=[2**63 - 1] * 2),
        "what the hosts stated contradicts itself: column 'received_total_bytes'",
    ),
    "a probe": (
        change("ping", "probe", "rtt_ns", to=[1]),
        "ping: sent a record that cannot be used: 'probe.rtt_ns'",
    ),
    "a probe twice": (change("ping", "probe", "sequence", to=7), ""),
    "samples": (change("counters", "counters", "cores", 0, "idle_ratio", to="x"), "agent: sent a sample"),
    "a sample without time": (
        lambda host: host.conversation["counters"][4].pop("time_ns"),
        "sent a sample that cannot be used: has no key 'time_ns'",
    ),
    "not a number": (raw("receive", b'{"type":"interval","bytes":[NaN,1]}'), "NaN is not JSON"),
    "endless": (raw("receive", b'{"type":"hello","x":1e400}'), "number of more than 64 bits"),
    "a number of 5000 digits": (raw("receive", b'{"type":"hello","x":' + b"9" * 5000 + b"}"), "JSON object"),
    "ten thousand levels": (
        raw("send", b'{"type":"hello","x":' + b"[" * 9999 + b"]" * 9999 + b"}"),
        "nested too",
    ),
    "no UTF-8": (raw("send", b'{"type":"hello","x":"\xff"}'), "a frame whose body is no JSON object"),
    "cut off": (raw("send", b'{"type":"hello"'), "a frame whose body is no JSON object"),
    "no record": (raw("ping", b"7"), "field 'record' must be of kind object"),
    "a key twice": (raw("ping", b'{"type":"start","type":[]}'), "a record has no type"),
    "two in one": (
        raw("receive", b'{"type":"hello"},{"type":"hello"}'),
        "a frame whose body is no JSON object",
    ),
}


def test_each_form_fails_its_trial_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    records = run_trials(tmp_path / "bad", "tcp", [apply for apply, _ in TCP_FORMS.values()])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 400 * 1024
    found = {}
    for (name, (_, expected)), record in zip(TCP_FORMS.items(), records, strict=True):
        ended = (record.status, record.failure or "")
        is_right = expected in ended[1] and ended[0] == ("failed" if expected else "complete")
        found[name] = expected if is_right else ended
    assert found == {name: expected for name, (_, expected) in TCP_FORMS.items()}
    read_everything(capsys)


@pytest.mark.parametrize("error", [AttributeError, TypeError])
def test_a_mistake_of_ours_is_no_failed_trial(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_given: object) -> None:
        raise error("ours")

    monkeypatch.setattr(stored_trial, "build_record", build)
    with pytest.raises(error, match="ours"):
        run_trials(tmp_path / "bad", "tcp", [lambda _host: None])


def list_swept(traffic: str) -> list[Callable[[ReplayingHost], None]]:
    """Each key of a record left out, each value replaced, where the schema takes it; all at full length."""
    forms = [
        (program, number, taken)
        for program, records in make_conversation(traffic).items()
        for number, taken in list_taken_records(program, records)
    ]

    def put(program: str, number: int, taken: Any) -> Callable[[ReplayingHost], None]:
        return lambda host: host.conversation[program].__setitem__(number, taken)

    chosen = forms if LENGTH == "full" else random.Random(traffic).sample(forms, TRIALS // 2)
    return [put(*form) for form in chosen]


@pytest.mark.parametrize("traffic", TRAFFIC)
def test_random_records_cost_their_trial_alone(
    traffic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def spoil_by(seed: int) -> Callable[[ReplayingHost], None]:
        def apply(host: ReplayingHost) -> None:
            host.conversation = spoil(host.conversation, random.Random(f"{traffic} {seed}"))

        return apply

    changes = [*map(spoil_by, range(TRIALS)), *list_swept(traffic)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, on figures that no path has
        records = run_trials(tmp_path / "bad", traffic, changes)
        ended = {status: sum(one.status == status for one in records) for status in ("complete", "failed")}
        assert min(ended.values()) > TRIALS // 10, ended
        assert all(one.failed_stage and one.failure for one in records if one.status == "failed")
        place = 0 if LENGTH == "full" else list(TRAFFIC).index(traffic)
        read_everything(capsys, READERS[place :: 1 if LENGTH == "full" else len(TRAFFIC)])
