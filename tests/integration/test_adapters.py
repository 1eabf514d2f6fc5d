"""Technologies through a true agent: both ends run, and what they lack is listed.

The technology is a stub in Python, so no package is needed; it misbehaves as its variant says.
"""

import os
import socket

from pathlab.remote.session import Session
from tests.integration.adapter_jobs import SETTINGS, find_process, start
from tests.patience import PATIENCE_S


def test_both_ends_run_and_the_servers_cpu_time_is_stated(host: Session) -> None:
    server = start(host, "stub")
    listening = server.wait_for("listening", PATIENCE_S)
    assert listening["versions"].startswith("python3 3.")
    assert listening["versions"].endswith(", stub 1.0")
    assert (listening["settings"], listening["sandbox"]) == ({"role": "answer"}, True)
    assert 0 < listening["server_start_ns"] < PATIENCE_S * 1e9
    asking = start(host, "stub", "ask", port=listening["port"])
    given = asking.wait_for("ready", PATIENCE_S)["settings"]
    own = {"contract": 1, "name": "stub", "variant": "", "role": "ask", "scope": "pathlab"}
    assert given == {**SETTINGS, "port": listening["port"], **own}
    server.command("go")
    asking.command("stop")
    assert asking.wait(PATIENCE_S).status == 0
    server.command("stop")
    end = server.wait(PATIENCE_S)
    assert (end.status, end.fault) == (0, None)
    first, last = (record for record in end.records if record["type"] == "server_cpu")
    assert last["at_ns"] > first["at_ns"]
    assert last["parts"]["server"] == last["user_ns"] + last["system_ns"] >= 50_000_000
    assert last["parts"]["responder"] is None
    result = end.records[-1]
    assert (result["type"], result["complete"], result["reason"]) == ("result", True, None)
    assert result["parts"]["server"] == last["parts"]["server"] - first["parts"]["server"]
    assert result["user_ns"] + result["system_ns"] == result["parts"]["server"]


def test_a_server_is_prepared_and_has_its_responder_beside_it(host: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = start(host, "stub-server", ports=f"{port}-{port + 50}")
        assert port < server.wait_for("listening", PATIENCE_S)["port"] <= port + 50
    server.command("go")
    server.command("stop")
    result = server.wait_for("result", PATIENCE_S)
    assert result["complete"]
    assert min(result["parts"].values()) >= 0
    assert server.wait(PATIENCE_S).status == 0


def test_a_server_that_chooses_its_port_is_found_by_its_socket(host: Session) -> None:
    server = start(host, "stub-alone")
    port = server.wait_for("listening", PATIENCE_S)["port"]
    with socket.create_connection(("127.0.0.1", port)):
        pass
    server.command("stop")  # before go
    result = server.wait_for("result", PATIENCE_S)
    assert (result["complete"], result["user_ns"], result["parts"]) == (False, None, None)
    assert result["reason"] == "ended by stop before the end"
    assert server.wait(PATIENCE_S).status == 0


def test_all_processes_of_a_server_have_its_cores_and_its_priority(host: Session) -> None:
    core = min(os.sched_getaffinity(0))
    server = start(host, "stub-server", cores=[core], priority=7)
    granted = server.wait_for("listening", PATIENCE_S)["priority"]
    assert granted in (7, None)  # None: for an ordinary user
    policy = os.SCHED_OTHER if granted is None else os.SCHED_FIFO
    for word in ("\0serve\0", "\0answer\0"):
        pid = find_process(server, word)
        assert (os.sched_getaffinity(pid), os.sched_getscheduler(pid)) == ({core}, policy)
    assert os.sched_getscheduler(server.pid) == os.SCHED_OTHER
    server.command("stop")
    assert server.wait(PATIENCE_S).status == 0


def test_what_technologies_lack_is_listed(host: Session) -> None:
    answers = host.check_adapters(["stub", "stub-needs", "no-such"])
    assert list(answers) == ["stub", "stub-needs", "no-such"]
    assert answers["stub"]["missing"] == []
    assert answers["stub"]["sandbox"] is True
    assert answers["stub"]["versions"].startswith("python3 3.")
    assert answers["stub-needs"] == {
        "missing": [
            {"what": "no_such_module", "debian": "python3-none", "pip": "none"},
            {"what": "no-such-program", "debian": "none-server", "pip": None},
        ],
        "sandbox": True,
        "versions": None,
    }
    assert [need["what"] for need in answers["no-such"]["missing"]] == ["the technology 'no-such'"]
