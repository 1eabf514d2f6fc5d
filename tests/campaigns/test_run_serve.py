"""``pathlab run --serve``: the explorer beside a run, on a terminal and where nobody watches."""

import contextlib
import http.client
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import call
from tests.events import EventReader, ServerEvent
from tests.integration.running import running, write_campaign
from tests.patience import PATIENCE_S
from tests.require import require_engine
from tests.serving import Answer, ask

pytestmark = [pytest.mark.engine]
#: More than a test waits for: its run goes on until it is stopped.
ENDLESS_CYCLES = 400


@pytest.fixture(autouse=True)
def _needs() -> None:
    require_engine()


class Browser:
    """A session that the URL in a text opens."""

    def __init__(self, text: str) -> None:
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/\?token=[\w-]+)", text)
        assert found is not None, text
        self.port = int(found[1])
        opened = ask(self.port, found[2], headers={})
        assert opened.status == 303
        self.cookie = opened.headers["set-cookie"].partition(";")[0]

    def ask(self, path: str) -> Answer:
        return ask(self.port, path, headers={"Cookie": self.cookie})

    def stop_run(self) -> None:
        own = {
            "Origin": f"http://127.0.0.1:{self.port}",
            "X-PathLab": "1",
            "Content-Type": "application/json",
        }
        body, headers = b'{"action": "stop"}', {"Cookie": self.cookie, **own}
        assert ask(self.port, "/api/control", "POST", headers=headers, body=body).status == 200


def test_on_a_terminal_the_explorer_outlasts_the_run_until_ctrl_c(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, lab=False, cycles=1, duration="500ms")
    with running(["run", str(campaign), "--out", "out", "--serve"], tmp_path) as run:
        browser = Browser(run.read_until("programs: curl"))
        assert browser.ask("/").status == browser.ask("/api/results").status == 200
        run.read_until("Run finished. The page stays up until Ctrl-C.")
        (entry,) = browser.ask("/api/catalogue").json()["entries"]
        assert (entry["state"], entry["complete"]) == ("complete", 1)
        assert browser.ask("/api/results").status == 200
        (found,) = browser.ask("/api/answer").json()["results"]
        assert browser.ask(f"/{found['report']}").status == 200
        run.process.send_signal(signal.SIGINT)
        status, screen = run.read_to_end()
    assert status in (0, 7), screen  # 7: this machine is too busy for a usable trial
    assert "report.html" in screen
    with pytest.raises(ConnectionRefusedError):
        browser.ask("/")


def test_a_program_follows_the_run_with_its_readings_to_the_end(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, lab=False, cycles=ENDLESS_CYCLES, duration="500ms")
    command = [sys.executable, "-m", "pathlab", "run", str(campaign), "--out", "out", "--serve", "--quiet"]
    missing = {"rate", "rtt", "streams", "trial-started", "progress"}

    def is_last(event: ServerEvent) -> bool:
        missing.discard(event.name)
        return not missing

    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        browser = Browser(next(line for line in run.stderr if "token=" in line))
        connection = http.client.HTTPConnection("127.0.0.1", browser.port, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.request("GET", "/events?after=0.0", headers={"Cookie": browser.cookie})
            answer = connection.getresponse()
            EventReader(answer).read_until(is_last)
            browser.stop_run()
            rest = answer.read().decode()  # the server ends with the run
        _, err = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 4, err
    assert "event: campaign-ended\n" in rest
    assert "HTTP" not in rest


@pytest.mark.parametrize("options", [["--json-events"], []])
def test_elsewhere_the_explorer_ends_with_the_run(options: list[str], tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, lab=False, cycles=ENDLESS_CYCLES, duration="500ms")
    command = [sys.executable, "-m", "pathlab", "run", str(campaign), "--out", "out", "--serve", *options]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        stream = run.stderr if options else run.stdout  # where stdout is for other lines
        url = next(line for line in stream if "token=" in line)
        browser = Browser(url)
        assert browser.ask("/api/catalogue").json()["entries"][0]["state"] == "running"
        browser.stop_run()
        out, err = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 4, err
    assert "report.html" in out.splitlines()[-1]


def test_a_port_in_use_ends_the_run_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign, out = write_campaign(tmp_path, lab=False, cycles=1), tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        said = call(["run", str(campaign), "--out", str(out), "--serve-port", port], capsys)
    assert (said.status, f"port {port}" in said.err) == (2, True)
    assert not out.exists()
