"""Labs: what they are made of, their counters, how they fail, and subflows of MPTCP over their links."""

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.lab.lab import Lab
from pathlab.lab.links import EmulatedLink
from pathlab.lab.namespace_init import EMULATOR_BUFFER_BYTES
from pathlab.lab.topology import Link, Topology
from pathlab.lab.verdict import evaluate_lab, take_snapshot
from tests.lab.fixtures import SharedLabs
from tests.lab.labs import BY_BYTES, PAIR, Record, exchange, make_lab, ping_once
from tests.patience import PATIENCE_S
from tests.require import require_mptcp

pytestmark = [pytest.mark.netns, pytest.mark.engine]


def test_trials_in_a_lab_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = make_lab(PAIR)
    add_node = lab.namespaces.add_node

    def inherit_a_filter(name: str) -> str:
        path = add_node(name)
        for scope in ("all", "default"):
            lab.namespaces.set_sysctl(name, f"net.ipv4.conf.{scope}.rp_filter", "1")
        return path

    monkeypatch.setattr(lab.namespaces, "add_node", inherit_a_filter)
    with lab:
        for host in ("a", "b"):
            assert lab.namespaces.run(host, "cat", "/proc/sys/net/ipv4/tcp_no_metrics_save") == "1\n"
            assert lab.namespaces.run(host, "ip", "-6", "-brief", "address", "show", "dev", "wan0") == ""
            for scope in ("all", "wan0"):
                filtered = lab.namespaces.run(host, "cat", f"/proc/sys/net/ipv4/conf/{scope}/rp_filter")
                assert filtered == "0\n"


def test_a_dead_emulator_is_named() -> None:
    with make_lab(PAIR) as lab:
        link = lab._links[0]
        assert isinstance(link, EmulatedLink)
        process = link._process
        process.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
        with pytest.raises(HostError, match=r"^lab: link a-b: the emulator was killed by SIGKILL$"):
            lab.counters()


def test_a_link_that_cannot_be_leaves_no_lab_behind() -> None:
    lost = Topology(
        hosts=("a", "b"), links=(Link(between=("a", "b"), rate_bits_per_s=-1, delay_ns=0, queue_bytes=0),)
    )
    lab = make_lab(lost)
    with pytest.raises(HostError, match=r"link a-b: .*rate_bits_per_s"):
        lab.start()
    with pytest.raises(HostError, match="the lab is gone"):
        lab.namespaces.run("a", "true")


def test_a_forced_back_end_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = make_lab(PAIR)
    monkeypatch.setattr(lab, "_requested_backend", "tun")
    monkeypatch.setattr(lab.namespaces, "can_use_tun", lambda: False)
    with pytest.raises(HostError, match="/dev/net/tun may not be opened here"):
        lab.start()
    with pytest.raises(HostError, match="unknown back end 'fog'"):
        Lab(PAIR, engine=Path("engine"), backend="fog").start()
    lab = make_lab(PAIR, backend="netem")
    monkeypatch.setattr(lab.namespaces, "can_use_netem", lambda: False)
    with pytest.raises(HostError, match="this kernel has no netem"):
        lab.start()


@pytest.mark.parametrize(
    ("buffer_bytes", "tun", "chosen"),
    [(64 << 20, True, "packet"), (8 << 20, True, "tun"), (8 << 20, False, "packet")],
)
def test_packet_sockets_are_chosen_with_large_buffers_or_without_a_tun(
    monkeypatch: pytest.MonkeyPatch, *, buffer_bytes: int, tun: bool, chosen: str
) -> None:
    lab = make_lab(PAIR)
    monkeypatch.setattr(lab.namespaces, "can_use_netem", lambda: False)
    monkeypatch.setattr(lab.namespaces, "granted_buffer_bytes", lambda: buffer_bytes)
    monkeypatch.setattr(lab.namespaces, "can_use_tun", lambda: tun)
    lab.namespaces.start()
    try:
        assert lab._choose_backend() == chosen
    finally:
        lab.close()


def test_the_granted_buffer_is_what_the_kernel_says(shared_labs: SharedLabs) -> None:
    granted_bytes = shared_labs.lend(PAIR).namespaces.granted_buffer_bytes()
    allowed_bytes = 2 * int(Path("/proc/sys/net/core/rmem_max").read_text(encoding="ascii"))
    assert granted_bytes in {2 * EMULATOR_BUFFER_BYTES, min(allowed_bytes, 2 * EMULATOR_BUFFER_BYTES)}


def test_a_trial_beside_another_keeps_the_lateness_of_both(shared_labs: SharedLabs) -> None:
    lab = shared_labs.lend(PAIR)
    before = take_snapshot(lab)
    assert ping_once(lab, "30s")["received"] == 1
    take_snapshot(lab)  # another trial begins or ends
    verdict = evaluate_lab(before, take_snapshot(lab), 40_000_000)
    assert verdict.late_p99_ns is not None


def test_what_a_node_does_not_take_is_outside_the_model() -> None:
    with make_lab(PAIR, "packet") as lab:
        before = take_snapshot(lab)
        lab.namespaces.run("b", "ip", "link", "set", "wan0", "down")
        assert ping_once(lab)["received"] == 0
        verdict = evaluate_lab(before, take_snapshot(lab), 40_000_000)
        assert lab.device_drops() == 1
    assert any("lost outside the emulated links" in reason for reason in verdict.reasons)


def test_counters_may_be_read_by_several_at_once(shared_labs: SharedLabs) -> None:
    lab = shared_labs.lend(PAIR)
    with ThreadPoolExecutor(8) as pool:
        reported = list(pool.map(lambda _: lab.counters()[0]["type"], range(200)))
    assert reported == ["counters"] * 200


def list_subflows(records: list[Record]) -> dict[tuple[str, str], Record]:
    """The latest reading of each subflow by its addresses."""
    intervals = [record for record in records if record["type"] == "interval"]
    return {(one["local"], one["remote"]): one for record in intervals for one in record["subflows"]}


def test_mptcp_takes_both_of_two_links() -> None:
    require_mptcp()
    line = Link(between=("a", "b"), rate_bits_per_s=20_000_000, delay_ns=2_000_000, queue_bytes=60_000)
    with make_lab(Topology(hosts=("a", "b"), links=(line, replace(line)))) as lab:
        sent, received = exchange(lab, "--transport", "mptcp")
        together, _ = lab.topology.bottleneck("a", "b", multipath=True)
        counted = [link["forward"]["delivered_bytes"] for link in lab.counters()]
    assert together == 40_000_000
    assert sum(counted) > 1.1 * max(counted)  # more than one link carries
    ours, theirs = list_subflows(sent), list_subflows(received)
    assert len(ours) == 2
    assert theirs.keys() == {(remote, local) for local, remote in ours}
    assert len({one["id"] for one in ours.values()}) == 2
    # Each subflow is on a link of its own, and its bytes are those that the link delivered, with headers.
    carried = sorted(one["bytes_sent"] - one["bytes_retrans"] for one in ours.values())
    for payload, delivered in zip(carried, sorted(counted), strict=True):
        assert 0.9 * delivered < payload < delivered
    assert sum(one["bytes_received"] for one in theirs.values()) >= received[-1]["total_bytes"][0]


def test_tcp_has_no_subflows(shared_labs: SharedLabs) -> None:
    sent, received = exchange(shared_labs.lend(PAIR), extent=BY_BYTES)
    assert not any("subflows" in record for record in (*sent, *received))
