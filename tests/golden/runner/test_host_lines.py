"""What is found on hosts, in a line each: their facts, what keeps them busy, technologies that they lack."""

from collections.abc import Iterable
from typing import Any

from pathlab.errors import HostError
from pathlab.runner.hosts.facts_check import HostCheck, check_facts
from pathlab.runner.hosts.host_activity import HostActivity, check_activity, describe_busy
from pathlab.runner.hosts.technology_check import check_host_technologies, find_left_out
from tests.golden.conftest import Say
from tests.unit.runner.hosts.test_facts_check import MIB, facts
from tests.unit.runner.hosts.test_technology_check import (
    FAR_LACKS_ALL,
    NEAR,
    CheckedHost,
    birds,
    choose,
    find_sessions,
    make_rows,
    open_session,
)

__all__ = ["birds"]


def describe(checks: Iterable[HostCheck]) -> list[str]:
    """What is wrong, and what to do."""
    return [f"{check.item}, {check.state}: {check.found}; fix: {check.fix}" for check in checks]


def test_a_host_at_which_all_is_well(say: Say) -> None:
    say(describe(check_facts(facts(), nic=None)))


def change(fact: str, **values: Any) -> dict[str, Any]:
    return facts(**{fact: facts()[fact] | values})


SMALL = {"min_bytes": 1, "default_bytes": 2, "max_bytes": 3}
LIMITED = (
    change("buffers", wmem_max_bytes=212992, tcp_wmem=SMALL),
    change("buffers", rmem_max_bytes=16 * MIB, tcp_rmem={**SMALL, "max_bytes": 16 * MIB}),
    change("buffers", rmem_max_bytes=16 * MIB - 1),
    change("buffers", rmem_max_bytes=None),
    change(
        "tcp", congestion_default="bbr", congestion_available=["bbr", "cubic"], congestion_settable=["bbr"]
    ),
    change("tcp", tcp_window_scaling=0),
    change("clock", current="hpet"),
    change("clock", current="acpi_pm", available=["acpi_pm"]),
    change("frequency", governors=["powersave"]),
    change("frequency", scaling=False),
    {"unread": {}},
    *(
        facts(**{fact: None, "unread": {fact: ["EACCES here"]}})
        for fact in ("buffers", "tcp", "clock", "frequency")
    ),
)


def test_what_is_less_than_it_could_be(say: Say) -> None:
    usual = check_facts(facts(), nic=None)
    for given in LIMITED:
        say(describe(check for check in check_facts(given, nic=None) if check not in usual))


def test_the_interface_that_is_named(say: Say) -> None:
    for nic in ("eth1", "eth7"):
        say(describe(check for check in check_facts(facts(), nic=nic) if "NIC" in check.item))


BUSY = HostActivity(
    cores=2, busy_ratio=0.72, steal_ratio=0.04, waiting_ratio=0.4, busiest="python3", busiest_cores=0.98
)
IDLE = HostActivity(cores=1, busy_ratio=0.02, steal_ratio=0.0, waiting_ratio=0.01)
UNKNOWN = HostActivity(cores=2, busy_ratio=None, steal_ratio=None, waiting_ratio=None)


def test_a_busy_host(say: Say) -> None:
    say(describe(check_activity(one) for one in (BUSY, IDLE, UNKNOWN, None)))
    say(describe_busy({"this machine": BUSY}, lab=True))
    say(describe_busy({"a": BUSY, "b": BUSY}, lab=False))


def test_technologies_that_hosts_lack(say: Say, birds: None) -> None:
    hosts = (CheckedHost("local"), FAR_LACKS_ALL, CheckedHost("local", sandbox=False))
    say(describe(check_host_technologies(open_session(host)) for host in hosts))
    sessions = find_sessions(NEAR, FAR_LACKS_ALL)
    for engines in (("native", "crow", "parrot", "crow"), ("native", "crow")):
        say(find_left_out(choose(), make_rows(*engines), sessions).describe())
    try:
        find_left_out(choose("fail"), make_rows("crow", "parrot"), sessions)
    except HostError as error:
        say(error)
