"""The words follow the numbers: change a number and the sentence changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.report.findings import Finding, Weight, findings
from pathlab.report.summary import summarise
from tests.unit.synthetic_results import SyntheticResults, make_failed, make_quickstart

KIB = 1024


def say(results: SyntheticResults) -> dict[str, list[Finding]]:
    kinds: dict[str, list[Finding]] = {}
    for finding in findings(summarise(results)):
        kinds.setdefault(finding.kind, []).append(finding)
    return kinds


def boost(results: SyntheticResults, streams: int, window_bytes: int, rate_bits_per_s: float) -> None:
    results.records = [
        replace(record, throughput_bits_per_s=rate_bits_per_s)
        if (record.streams, record.window_asked_bytes) == (streams, window_bytes)
        else record
        for record in results.records
    ]


def test_highest_names_its_cell_and_its_cost() -> None:
    results = make_quickstart()
    boost(results, 8, 256 * KIB, 39.5e6)
    (found,) = say(results)["highest"]
    assert found.weight is Weight.ANSWER
    assert "39.5 Mbit/s" in found.text
    assert "8 streams with a 256 KiB window each (cubic)" in found.text
    assert "raised the average RTT by 49.9 ms, from 40.3 ms to 90.2 ms" in found.text
    assert "2 of 40 probes lost" in found.text


def test_sufficient_is_the_smallest_product_that_reaches_nine_tenths() -> None:
    results = make_quickstart()
    boost(results, 8, 256 * KIB, 39.5e6)
    boost(results, 4, 64 * KIB, 39.0e6)
    (found,) = say(results)["sufficient"]
    assert (
        "4 streams with a 64 KiB window each (256 KiB in all): 39 Mbit/s, 98.7 % of the highest" in found.text
    )
    assert "by 13.7 ms against 49.9 ms" in found.text
    assert "0 of 40 probes lost" in found.text
    boost(results, 8, 256 * KIB, 60e6)
    (found,) = say(results)["sufficient"]
    assert "No smaller streams × window" in found.text


def test_limits_are_listed_by_window() -> None:
    kinds = say(make_quickstart())
    assert "1 and 2 × 64 KiB" in kinds["window-limited"][0].text
    assert "4 and 8 × 64 KiB; 1, 2, 4 and 8 × 256 KiB" in kinds["path-full"][0].text
    assert "13.7 ms to 49.9 ms" in kinds["path-full"][0].text
    assert "host-limited" not in kinds


def test_two_cycles_decide_nothing() -> None:
    texts = [found.text for found in say(make_quickstart())["equal-product"]]
    assert len(texts) == 2
    assert all("undecided with n=2 cycles; an interval needs 6" in text for text in texts)
    assert "4 × 64 KiB" in texts[0]
    assert "1 × 256 KiB" in texts[0]
    (small,) = say(make_quickstart())["small-sample"]
    assert "2 trials" in small.text


def test_six_cycles_may_decide() -> None:
    results = make_quickstart(cycles=6)
    boost(results, 4, 64 * KIB, 45e6)
    kinds = say(results)
    assert "more streams win" in kinds["equal-product"][0].text
    assert "n=6 cycles" in kinds["equal-product"][0].text
    assert "small-sample" not in kinds


def test_lab_truth_is_compared() -> None:
    results = make_quickstart(cycles=1, levels=[(8, 256 * KIB)])
    boost(results, 8, 256 * KIB, 40e6 * 1448 / 1500 * 0.98)
    kinds = say(results)
    assert "leaves 38.6 Mbit/s" in kinds["lab-rate"][0].text
    assert "−2.0 %" in kinds["lab-rate"][0].text
    assert "set to 40 ms" in kinds["lab-rtt"][0].text
    assert "at most 300 µs away" in kinds["lab-rtt"][0].text
    assert "lab-rate" not in say(make_quickstart(environment={}))


def test_fallback_is_the_first_word() -> None:
    reason = "no emulated WAN here: user namespaces are closed."
    said = findings(summarise(make_quickstart(environment={"lab": None, "fallback": reason})))
    assert said[0].kind == "fallback"
    assert said[0].weight is Weight.WARNING
    assert "user namespaces are closed. The numbers describe this machine alone" in said[0].text


def test_failures_and_gaps_are_warned_of() -> None:
    results = make_quickstart()
    results.records[3] = make_failed(results.records[3], stage="engine")
    results.records.pop()
    kinds = say(results)
    assert "1 of 15 trials did not complete (stage: engine)" in kinds["failures"][0].text
    assert "2 of 16 planned trials have no result" in kinds["partial"][0].text


def test_short_windows_name_the_setting_to_raise() -> None:
    results = make_quickstart(cycles=1)
    results.records = [
        replace(record, window_granted_receiver_bytes=212_992)
        if record.window_asked_bytes == 256 * KIB
        else record
        for record in results.records
    ]
    (found,) = say(results)["window-not-granted"]
    assert "1, 2, 4 and 8 × 256 KiB" in found.text
    assert "208 KiB" in found.text
    assert "net.core.rmem_max" in found.text
    assert "window-not-granted" not in say(make_quickstart())


def test_a_busy_core_is_not_blamed_on_the_path() -> None:
    results = make_quickstart(cycles=1, levels=[(8, 256 * KIB)])
    results.records = [replace(results.records[0], flags=("busy-core", "host-limited"))]
    kinds = say(results)
    assert kinds["host-limited"][0].weight is Weight.WARNING
    assert "path-full" not in kinds


def test_a_lab_beyond_its_limits_is_not_blamed_on_the_path() -> None:
    results = make_quickstart(cycles=1, levels=[(8, 256 * KIB)])
    results.records = [replace(results.records[0], flags=("lab", "lab-limited"))]
    kinds = say(results)
    assert kinds["lab-limited"][0].weight is Weight.WARNING
    assert "8 × 256 KiB" in kinds["lab-limited"][0].text
    assert "path-full" not in kinds


@pytest.mark.parametrize("kept", [0, 2])
def test_nothing_complete_gives_no_answer(kept: int) -> None:
    results = make_quickstart(cycles=1)
    results.records = [make_failed(record) for record in results.records[:kept]]
    said = findings(summarise(results))
    assert "empty" in {found.kind for found in said}
    assert all(found.weight is not Weight.ANSWER for found in said)


def test_missing_rtts_are_left_unsaid() -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB), (2, 64 * KIB)])
    results.records = [
        replace(record, unloaded_rtt_mean_ns=None, unloaded_rtt_median_ns=None) for record in results.records
    ]
    text = " ".join(found.text for found in findings(summarise(results)))
    assert "RTT" not in text
