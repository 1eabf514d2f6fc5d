"""The packed table as packed.js reads it: the same values, and what is no table is refused."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from pathlab.report.explorer.packing import pack_column, pack_table, pack_trials
from tests.builders.packed import SampleTrials, read_table
from tests.builders.tables import MadeColumn
from tests.scripts.host import ScriptError, ScriptHost

COLUMNS = (
    MadeColumn(name="results", kind="category", role="identity"),
    MadeColumn(name="trial", role="identity"),
    MadeColumn(name="rate", role="measured"),
    MadeColumn(name="host", kind="category", role="factor"),
    MadeColumn(name="started_utc", kind="time", role="identity"),
    MadeColumn(name="flags", kind="flags", role="identity"),
)
READ = """(text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  window.table = window.pathlabExplorer.packed.readTable(bytes.buffer);
  return describe();
}"""
DESCRIBE = """() => {
const each = (pick) => Object.fromEntries(table.columns.map((one) => [one.name, pick(one)]));
 window.describe = () => ({
  count: table.count,
  values: each((one) => one.values && Array.from(one.values)),
  kinds: each((one) => one.values && one.values.constructor.name),
  levels: each((one) => one.levels || null),
  bits: [Array.from(table.flagBits.low), Array.from(table.flagBits.high)],
  flags: table.flags, reasons: table.reasons,
  codes: Array.from(table.reasonCodes), counted: Array.from(table.counted),
}); }"""


def make_trials(count: int = 5) -> SampleTrials:
    rng = np.random.default_rng(3)
    rates: list[float] = [*rng.lognormal(10, 3, count - 2), float("nan"), 0.0]
    hosts = [None if place % 4 == 3 else f"eth{place % 3 * 5}" for place in range(count)]
    return SampleTrials(
        columns=COLUMNS,
        values={
            "results": ["A"] * count,
            "trial": range(1, count + 1),
            "rate": rates,
            "host": hosts,
            "started_utc": [1764000000.25 + place for place in range(count)],
        },
        bits=[place % 2 << 40 | place for place in range(count)],
        excluded=[place % 3 - 1 if place % 3 < 2 else -1 for place in range(count)],
    )


@pytest.fixture
def reader(scripts: ScriptHost) -> ScriptHost:
    scripts.evaluate(DESCRIBE)
    return scripts


def read(scripts: ScriptHost, table: bytes) -> dict[str, Any]:
    found: dict[str, Any] = scripts.evaluate(READ, base64.b64encode(table).decode())
    return found


@pytest.mark.parametrize("count", [2, 5, 1000])
def test_it_reads_the_values_of_a_served_table(reader: ScriptHost, count: int) -> None:
    trials = make_trials(count)
    found = read(reader, pack_trials(trials))
    assert found["count"] == count
    for name in ("trial", "rate", "started_utc"):
        assert found["kinds"][name] == "Float64Array"
        np.testing.assert_array_equal(found["values"][name], trials.numbers(name))
    assert found["kinds"]["host"] == "Int32Array"
    assert found["values"]["host"] == trials.codes("host").tolist()
    assert found["levels"]["host"] == list(trials.levels("host"))
    assert (found["kinds"]["flags"], found["values"]["flags"]) == (None, None)
    low, high = (np.array(half, dtype=np.uint64) for half in found["bits"])
    assert (low | high << np.uint64(32)).tolist() == trials.flag_bits.tolist()
    assert found["codes"] == trials.reason_codes.tolist()
    assert found["counted"] == [int(code < 0) for code in trials.reason_codes]


def test_it_reads_a_rounded_table_as_it_is_described(reader: ScriptHost) -> None:
    trials = make_trials(1000)
    arrays = {one.name: pack_column(trials, one, exact=False) for one in COLUMNS if one.kind != "flags"}
    table = pack_table(trials, arrays, {}, whole_paths=False)
    found, described = read(reader, table), read_table(table)
    for name in ("trial", "started_utc"):
        np.testing.assert_array_equal(found["values"][name], described[name])
    rates = found["values"]["rate"]
    np.testing.assert_allclose(rates, trials.numbers("rate"), rtol=0.9e-4)
    assert all(len(f"{rate:.10g}".replace(".", "").strip("0")) <= 5 for rate in rates if rate > 0.001)
    assert found["values"]["host"] == trials.codes("host").tolist()


def test_a_table_without_trials_is_read(reader: ScriptHost) -> None:
    trials = SampleTrials(columns=COLUMNS[2:4], values={"rate": [], "host": []})
    found = read(reader, pack_trials(trials))
    assert (found["count"], found["values"]) == (0, {"rate": [], "host": []})


def test_what_is_no_table_is_refused(reader: ScriptHost) -> None:
    table = pack_trials(make_trials())
    for wrong in (b"", table[:2], table[:100], table[:-40]):
        with pytest.raises(ScriptError, match="the table of trials is cut short"):
            read(reader, wrong)
    with pytest.raises(ScriptError, match="the table of trials has format 2, this page reads 1"):
        read(reader, table.replace(b'"version":1', b'"version":2', 1))


def test_trials_of_a_running_campaign_are_added(reader: ScriptHost) -> None:
    trials = make_trials(4)
    before = read(reader, pack_trials(trials))
    rows = [
        {"results": "A", "trial": 5, "rate": 1.5, "host": "eth7", "flags": ["outlier", "new flag"]},
        {"results": "A", "trial": 6, "rate": None, "host": None, "reason": "failed", "started_utc": 1.0},
        {"results": "A", "trial": 7, "host": "eth10", "reason": "a new reason"},
    ]
    added = {"results": "A", "host": "eth0"}
    found = reader.evaluate("(rows) => { table.append(rows); return describe(); }", rows)
    assert found["count"] == 7
    assert found["levels"]["host"] == ["eth0", "eth5", "eth7", "eth10"]
    names = [None if code < 0 else before["levels"]["host"][code] for code in before["values"]["host"]]
    assert [None if code < 0 else found["levels"]["host"][code] for code in found["values"]["host"]] == [
        *names,
        *("eth7", None, "eth10"),
    ]
    gap = float("nan")
    np.testing.assert_array_equal(found["values"]["rate"], [*before["values"]["rate"], 1.5, gap, gap])
    np.testing.assert_array_equal(found["values"]["started_utc"][4:], [gap, 1.0, gap])
    assert found["flags"] == [*before["flags"], "new flag"]
    assert found["bits"][0][4:] == [0b110, 0, 0]
    assert (found["codes"][4:], found["counted"][4:]) == ([-1, 0, 1], [1, 0, 0])
    assert found["reasons"] == ["failed", "a new reason"]
    grown = reader.evaluate(
        "(row) => { for (let at = 0; at < 100; at += 1) { table.append([row]); } return describe(); }", added
    )
    assert grown["count"] == 107
    assert {len(values) for values in grown["values"].values() if values is not None} == {107}
    assert grown["values"]["host"][:7] == found["values"]["host"]
    assert set(grown["values"]["host"][7:]) == {0}


def test_numbers_of_added_trials_have_their_places(reader: ScriptHost) -> None:
    """One at a time: a number that was there, none, and numbers of their own, so that places move."""
    read(reader, pack_trials(make_trials(4)))
    index = """(rates) => {
      for (const rate of rates) { table.append([{ results: "A", rate }]); }
      const { values, levels, places } = pathlabExplorer.numberLevels.indexNumbers(table.column("rate"));
      return { values: [...values], levels, places: [...places], numbers: [...table.column("rate").values] };
    }"""
    known = reader.evaluate(index, [])["values"]
    assert known[0] == 0.0
    assert len(known) == 3
    for rate in (None, known[2], -1.0, None, 1e9, *known * 30):
        found = reader.evaluate(index, [rate])
        numbers = [number for number in found["numbers"] if number == number]
        assert found["values"] == found["levels"] == sorted(set(numbers))
        placed = [found["values"][place] if place >= 0 else None for place in found["places"]]
        assert placed == [number if number == number else None for number in found["numbers"]]
    assert len(found["places"]) == 4 + 5 + 90
