"""`pathlab serve` as a process: how it ends, and whom it lets in."""

import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.builders.results import make_quickstart, write_results
from tests.integration.serving_process import run_server
from tests.patience import PATIENCE_S
from tests.serving import ask


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_quickstart(), tmp_path_factory.mktemp("results") / "quickstart")


#: `pathlab` where results are read for ever, and ends the sooner.
STUCK = """
import sys, threading
from pathlab.serve import open_results, server
server.CLOSING_S = server.OVERDUE_S = 0.2
open_results.ExploredResults.open = lambda *_: threading.Event().wait()
from pathlab.cli.main import main
main(sys.argv[1:])
"""


def test_other_machines_are_let_in_only_with_a_warning_and_a_hang_up_ends_the_server(
    results: Path, tmp_path: Path
) -> None:
    host = socket.gethostname().lower()
    with run_server(str(results), "--bind", "0.0.0.0", cwd=tmp_path) as serving:
        assert urlsplit(serving.url).hostname == host
        assert f"Warning: http://{host}:{serving.port}/ is open to other" in serving.notes
        header = serving.key_file.read_text(encoding="ascii").strip()
        assert serving.request("/api/catalogue", header).status == 200
        evil = ask(serving.port, "/", headers={"Host": f"evil.example:{serving.port}"})
        assert evil.status == 421
        with socket.create_connection(("127.0.0.1", serving.port)):  # one that stays idle
            serving.process.send_signal(signal.SIGHUP)
            out, err = serving.process.communicate(timeout=PATIENCE_S)
        assert (serving.process.returncode, out, err) == (0, "", "")
        assert list(tmp_path.iterdir()) == []


def test_results_that_are_still_read_do_not_hold_up_the_end(results: Path, tmp_path: Path) -> None:
    with (
        run_server(str(results), cwd=tmp_path, program=("-c", STUCK)) as serving,
        socket.create_connection(("127.0.0.1", serving.port)) as waiting,
    ):
        header = serving.key_file.read_text(encoding="ascii").strip()
        waiting.sendall(
            f"GET /api/results HTTP/1.1\r\nHost: 127.0.0.1:{serving.port}\r\n{header}\r\n\r\n".encode()
        )
        serving.request("/api/catalogue", header)  # answered in a thread as well
        serving.process.send_signal(signal.SIGTERM)
        out, err = serving.process.communicate(timeout=PATIENCE_S)
        assert (serving.process.returncode, out, err) == (0, "", "")
        assert not serving.key_file.exists()


def test_the_server_goes_on_where_nobody_reads_what_it_prints(results: Path, tmp_path: Path) -> None:
    with run_server(str(results), cwd=tmp_path) as serving:
        serving.process.stdout.close()
        serving.process.stdout = None
        assert serving.request(serving.url.removeprefix(f"http://127.0.0.1:{serving.port}")).status == 303
        header = serving.key_file.read_text(encoding="ascii").strip()
        assert serving.request("/api/catalogue", header).status == 200
        serving.process.send_signal(signal.SIGTERM)
        assert serving.process.wait(PATIENCE_S) == 0
