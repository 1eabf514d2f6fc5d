"""The published tables are in the package, whole and named."""

import pytest

from pathlab.errors import UsageError
from pathlab.reference.series import list_tables, load_table

# Rows, first and last figure of each file as it was handed over: these find a lost row or a changed figure in
# the package, not a slip made when the reports were transcribed.
CORNERS = {
    "ibm-streams-2.0-facade-intranode": (
        13,
        "tcp_batched_facade_gbps",
        0.16,
        "infiniband_normal_gbps",
        17.12,
    ),
    "ibm-streams-2.0-fan-out-intranode": (6, "tcp_22B_gbps", 0.14, "tcp_batched_1004B_gbps", 3.83),
    "ibm-streams-2.0-fused-threaded": (13, "fused_gbps", 0.66, "infiniband_batched_gbps", 18.67),
    "ibm-streams-2.0-internode": (13, "tcp_batched_gbps", 0.21, "infiniband_batched_gbps", 20.42),
    "ibm-streams-2.0-intranode": (13, "tcp_batched_gbps", 0.16, "infiniband_batched_gbps", 17.39),
    "ibm-streams-3.0-internode": (13, "tcp_batched_gbps", 0.14, "infiniband_batched_gbps", 22.53),
    "ibm-streams-3.0-intranode": (13, "tcp_batched_gbps", 0.11, "infiniband_batched_gbps", 18.34),
}


def test_all_tables_are_listed() -> None:
    assert list_tables() == tuple(sorted(CORNERS))


@pytest.mark.parametrize("name", sorted(CORNERS))
def test_table_is_whole(name: str) -> None:
    rows, first, low, last, high = CORNERS[name]
    table = load_table(name)
    assert table.columns[first][0] == low
    assert table.columns[last][-1] == high
    assert {len(column) for column in table.columns.values()} == {rows}
    assert all(value > 0 for column in table.columns.values() for value in column)


def test_figures_are_known_to_their_last_digit() -> None:
    table = load_table("ibm-streams-2.0-internode")
    assert table.level == "message_bytes"
    assert table.rates == ("tcp_batched_gbps", "tcp_gbps", "infiniband_batched_gbps")
    assert table.steps == {"message_bytes": 1.0, **dict.fromkeys(table.rates, 0.01)}


def test_an_unknown_table_is_refused_with_the_names() -> None:
    with pytest.raises(UsageError, match="'ibm' is not known") as caught:
        load_table("ibm")
    assert "ibm-streams-3.0-internode" in caught.value.hint
