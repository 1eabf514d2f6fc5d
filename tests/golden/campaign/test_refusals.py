"""Combinations, constraints, overrides and hosts that are refused: the fault, and what is expected."""

from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.constraints import parse_constraint
from pathlab.campaign.factors import FACTORS_BY_KEY
from pathlab.campaign.host_file import read_host_file
from pathlab.engines.datagram_limits import DATAGRAM_LIMITS
from pathlab.engines.message_limits import MESSAGE_LIMITS
from pathlab.errors import CampaignError, UsageError
from tests.builders.campaigns import list_mistakes
from tests.golden.conftest import Say
from tests.unit.campaign.test_bond_checks import ONE, REAL, TWO, in_lab
from tests.unit.campaign.test_message_factors import RATED
from tests.unit.campaign.test_toml_text import CAMPAIGN, mistakes_of

MESSAGE: dict[str, Any] = {"message": 64}
FLOW: dict[str, Any] = {"transport": "udp"}
#: One combination for each limit of the native engine.
BEYOND_LIMITS: tuple[dict[str, Any], ...] = (
    {"reply": True},
    {"message_rate": 1000},
    {"batch": "1KiB"},
    {"cork": True},
    {"encoding": "protobuf"},
    {"placement": "process"},
    {"wait": "poll"},
    {"priority": 5},
    {"transport": "pipe"},
    {**MESSAGE, "direction": "reverse"},
    {**MESSAGE, "direction": "both"},
    {**MESSAGE, "streams": 257},
    {**MESSAGE, "write": "1KiB"},
    {**MESSAGE, "pacing": "1Mbit/s"},
    {**MESSAGE, "zero_copy": True},
    {**RATED, "transfer": "1MB"},
    {**MESSAGE, "streams": 2, "transfer": 127},
    {**MESSAGE, "batch": "8KiB", "batch_max_delay": "1ms"},
    {**MESSAGE, "message_rate": 1000, "batch_min_delay": "1ms"},
    {**RATED, "batch_min_delay": "2ms", "batch_max_delay": "1ms"},
    {**MESSAGE, "placement": "threaded", "reply": True},
    {**MESSAGE, "placement": "threaded", "transport": "udp"},
    {**MESSAGE, "placement": "threaded", "dscp": "EF"},
    {**MESSAGE, "placement": "threaded", "window": "1MiB"},
    {**MESSAGE, "placement": "fused", "cpus_sender": "0", "cpus_receiver": "1"},
    {**MESSAGE, "placement": "fused", "batch": "1KiB"},
    {**MESSAGE, "placement": "fused", "message_rate": 10},
    {**MESSAGE, "placement": "fused", "no_delay": True},
    {**MESSAGE, "reply": True, "wait": "poll", "batch": "33KiB"},
    {**FLOW, "message": 65_001},
    {**FLOW, **MESSAGE, "batch": 65_001},
    {**FLOW, **MESSAGE, "cork": True},
    {**MESSAGE, "transport": "pipe", "window": "1MiB"},
    {**MESSAGE, "transport": "unix-datagram", "window": "1MiB"},
    {"transport": "unix", "congestion": "reno"},
    {"transport": "unix", "mss": 536},
    {"transport": "unix", "no_delay": True},
    {"transport": "unix", "dscp": 1},
    {"datagram": 1000},
    {**FLOW, **MESSAGE, "datagram": 1000},
    {"gso": True},
    {"gro": True, "transport": "mptcp"},
    {"pacing": "1Mbit/s", "pacing_by": "txtime"},
    {**FLOW, "pacing_by": "user"},
    {"ecn": "ECT0"},
    {**FLOW, "write": "1KiB"},
    {**FLOW, "zero_copy": True},
    {**FLOW, "transfer": "1MB"},
    {**FLOW, "congestion": "reno"},
)


def test_what_the_native_engine_excludes_is_refused_with_the_way_out(say: Say) -> None:
    """Each constraint that is offered lets the defaults through, and every limit is met."""
    defaults = {key: factor.default for key, factor in FACTORS_BY_KEY.items()} | {"streams": 1}
    found: list[str] = []
    for factors in BEYOND_LIMITS:
        (mistake,) = list_mistakes(factors={"streams": 1, **factors})
        found.append(mistake)
        assert parse_constraint(mistake.partition("expected where = ")[2].strip('"')).holds(defaults)
    say(found)
    for limit in (*MESSAGE_LIMITS, *DATAGRAM_LIMITS):
        assert any(limit.what in mistake and limit.constraint in mistake for mistake in found), limit.what


UNLIKE = {
    "hosts": ["a", "b"],
    "links": [{"between": ["a", "b"], "rate": "50Mbit/s"}, {"between": ["a", "b"], "rate": "20Mbit/s"}],
}


@pytest.mark.parametrize(
    "tables",
    [
        in_lab(ONE, bond="round-robin"),
        in_lab(ONE, bond="link-2"),
        in_lab(TWO, bond="link-3"),
        in_lab(TWO, bond="mptcp"),
        in_lab(UNLIKE, bond="emulated"),
        in_lab({**TWO, "backend": "netem"}, bond="emulated"),
        in_lab(TWO, bond="existing"),
        in_lab(TWO, mptcp_subflows=2),
        in_lab(TWO, mptcp_scheduler="x"),
        {**REAL, "factors": {"streams": 1, "bond": "round-robin"}},
        {**REAL, "factors": {"streams": 1, "bond": "link-1"}},
        {**REAL, "factors": {"streams": 1, "tcp_reordering": 9}},
        in_lab({**TWO, "ipv6": True}, bond="link-1", family="ipv6"),
        in_lab({**TWO, "backend": "tun"}, bond="802.3ad"),
        in_lab(TWO, bond="roundrobin"),
        in_lab(TWO, tcp_reordering=2),
        {**in_lab(TWO, bond="ecmp-l4"), "concurrency": 2},
    ],
)
def test_bonds_that_cannot_be_are_named_with_what_is_expected(say: Say, tables: dict[str, Any]) -> None:
    (mistake,) = list_mistakes(**tables)
    say(mistake)


@pytest.mark.parametrize(
    "text",
    [
        "streams * window",
        "streams",
        "",
        "streams ==",
        "stream == 1",
        "window <= 2MB/s",
        "window <= 2M",
        "window <= 64KB",
        "streams in (1, 2)",
        "streams == 2 ** 3",
        "__import__('os').system('true') == 0",
        "streams.__class__ == 1",
        "(lambda: 1)() == 1",
        "[x for x in (1,)] == 1",
        "streams == f'{streams}'",
        "(streams := 5) == 5",
        "streams == " + "(" * 400,
        "streams == " + "1 + " * 200 + "1",
    ],
    ids=lambda text: text[:40],
)
def test_constraints_that_are_none_are_refused(say: Say, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_constraint(text)
    say(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    "override", ["duration=2s", "tria.duration=2s", "trial.duratoin=2s", "trial.duration=2", "x"]
)
def test_a_bad_override_has_a_hint_of_its_own(say: Say, override: str) -> None:
    sound = CAMPAIGN.replace('duration = "1s"\n', "").replace("[1, 0]", "[1]").replace('"1"', '"1s"')
    say(mistakes_of(sound, override))
    say(mistakes_of(CAMPAIGN, override).hint)  # where the file is wrong, too


@pytest.mark.parametrize(
    "line",
    [
        'port_rang = "1"',
        'password = "x"',
        "port = 0",
        'port_range = "5300-5201"',
        'measure_addresses = ["name"]',
        'measure_addresses = ["fe80::1"]',
        'address = "-oProxyCommand=x"',
        "cpus = [1, 1]",
    ],
)
def test_mistakes_in_a_file_of_hosts_are_named_by_file_and_key(say: Say, tmp_path: Path, line: str) -> None:
    path = tmp_path / "hosts.toml"
    address = "" if line.startswith("address") else 'address = "a"\n'
    path.write_text(f"[hosts.alpha]\n{address}{line}\n")
    with pytest.raises(CampaignError) as caught:
        read_host_file(path)
    say(caught.value.mistakes)
