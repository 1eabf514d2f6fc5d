"""Series of what hosts count: parts of samples that belong together, and spans that were not read."""

from typing import Any

from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.series import build_series

START = {"type": "start", "monotonic_ns": 1000}


def make_sample(**parts: Any) -> dict[str, Any]:
    return {"time_ns": 2000, "span_ns": 500, "cores": [], "tcp": None, **parts}


def build(*samples: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the receiver's series by kind."""
    tables = build_series(TrialData(sender=[START], receiver=[START], receiver_counters=list(samples)))
    return {kind.removeprefix("receiver_"): table.to_pylist() for kind, table in tables.items()}


def test_reasons_of_drops_are_columns_of_their_interface() -> None:
    drops = [{"interface": "eth0", "rx_missed": 7, "rx_fifo": 0, "rx_nohandler": None}]
    nics = [{"interface": "eth0", "rx_dropped": 7}, {"interface": "lo", "rx_dropped": 0}]
    rows = build(make_sample(nics=nics, nic_drops=drops))["nics"]
    named = {row["interface"]: (row["rx_dropped"], row["rx_missed"], row["rx_nohandler"]) for row in rows}
    assert named == {"eth0": (7, 7, None), "lo": (0, None, None)}
    assert [row["time_ns"] for row in rows] == [1000, 1000]


def test_a_host_without_the_reasons_has_its_interfaces() -> None:
    (row,) = build(make_sample(nics=[{"interface": "eth0", "rx_dropped": 7}], nic_drops=None))["nics"]
    assert (row["rx_dropped"], row["rx_missed"]) == (7, None)


def test_counters_of_udp_have_rows_by_name() -> None:
    series = build(make_sample(udp={"UdpRcvbufErrors": 3, "Udp6InErrors": 1}), make_sample(udp=None))
    counted = [(row["name"], row["value"]) for row in series["udp"]]
    assert counted == [("UdpRcvbufErrors", 3), ("Udp6InErrors", 1), (None, None)]
    assert "udp" not in build(make_sample(udp=None), make_sample())
