"""What commands print at 80 columns, on results and on what ships; their help is kept in docs/cli."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.runner.hosts import window_limits
from tests.builders.messages import TCP, make_message_results
from tests.builders.results import make_quickstart, write_results
from tests.builders.technologies import make_technology_results
from tests.builders.trials import make_failed
from tests.command_line import Said, call
from tests.golden.conftest import Say
from tests.unit.cli.test_inspect import make_connection

#: A stop rule, a period and hours.
CONDUCT = (
    """--set="until='5% of the median'" --set=cycles_max=30 --set=every=12h --set=budget.hours=22:00-06:00"""
)
#: ``tcp``, ``messages``, ``sizes`` and ``technologies`` are folders of results.
COMMANDS = (
    "--help",
    "analyze tcp --only cells --reference ibm-streams-3.0-internode",
    "analyze tcp --only list",
    "campaigns list",
    "campaigns show quickstart",
    "export tcp --format csv --out exported",
    "lab list",
    "lab show bufferbloat",
    "lab show three-hops",
    "plan quickstart --rows 5",
    "plan quickstart '--set=title=One [red]title'",
    "plan quickstart --set=design=lhs --set=points=20",
    "plan wan --rows 5",
    "plan streams-sweep",
    "plan streams-sweep --rows 2",
    "plan streams-sweep --rows 0",
    "plan lan --paths=local:local",
    "plan lan --paths=local:local --set paths.0.capacity=1Gbit/s",
    f"plan lan --paths=local:local {CONDUCT}",
    """plan quickstart --rows 0 --set='factors.window=["8MiB"]'""",
    "recommend tcp",
    "recommend sizes --rate 5k --p99 5us",
    "recommend messages",
    "recommend messages --rate 5k --size 64B --p99 50us",
    "recommend messages --rate 1M --size 64 --p99 50us",
    "recommend messages --rate 50k --size 64B --p99 100us",
    "recommend messages --rate 150k --size 64B --p99 1us",
    "reference list",
    "reference show ibm-streams-2.0-fan-out-intranode",
    "report tcp --figure list",
    "results check tcp",
    "results list .",
    "results show messages --limit 3",
    "results show tcp",
    "results show tcp --json",
)
#: What a user gets wrong: each time a line names it, and another one says what to do.
MISTAKES = (
    "measur",
    "run",
    "run nowhere",
    "run wrong.toml",
    "plan quickstrat",
    "plan quickstart --profile quik",
    "plan quickstart --paths a:c",
    "plan quickstart --set trial.duration=10ms",
    "hosts check --hosts gone.toml",
    "measure a b c",
    "measure local --streams 0",
    "measure local --streams many",
    "measure local --time soon",
    "measure local --window [red]",
    "measure local --bytes 1G --time 5",
    "measure local --reverse --both",
    "measure local --rrul -R",
    "measure local --rrul --udp",
    "measure local --json --summary",
    "measure local --probe-timeout 0s",
    "measure local --receiver 5210",
    "measure fe80::2%nosuch0 --receiver 5210",
    "measure local --history /usr",
    "measure local --bytes 0",
    "measure local --rate 1",
    "measure local -w 3",
    "measure local --message 2",
    "measure local --reply",
    "measure local --message 64 -R",
    "measure local --transport pipe",
    "measure local --gso",
    "measure local --rate max",
    "measure local --udp --message 64",
    "measure local --udp --datagram 31",
    "measure local --udp --bytes 1G",
    "measure local --udp --congestion reno",
    "measure 127.0.0.1 --receiver 5210 --udp",
    "measure 127.0.0.1 --receiver 5210 --message 64",
    "measure 127.0.0.1 --receiver 5210 --bytes 1M",
    "completion",
    "completion tcsh",
    "analyze nothing",
    "analyze tcp --only nothing --only never",
    "analyze tcp --column x",
    "analyze tcp --reference nothing",
    "analyze tcp --reference ibm-streams-3.0-internode --column udp",
    "compare tcp",
    "compare tcp nothing",
    "compare tcp tcp --metric nothing",
    "export tcp --format nothing",
    "import wrong.toml",
    "import a.pcap",
    "inspect none.pcap",
    "inspect text.pcap",
    "inspect .",
    "inspect a.pcap --flow 2",
    "inspect a.pcap --from 2s --to 1s",
    "inspect a.pcap --from x",
    "inspect a.pcap --trial 1",
    "inspect a.pcap --format html --out a.json",
    "lab show nothing",
    "lab down --name [red]../x",
    "lab up lan --name ../x",
    "path a b c",
    "path 127.0.0.1 --timeout 0",
    "path 127.0.0.1 --budget -1s",
    "recommend tcp --rate 5k --p99 5us",
    "recommend technologies --rate 5k --p99 5us",
    "recommend messages --rate 5k",
    "recommend messages --rate 5k --p99 5",
    "recommend messages --rate 5x --p99 5us",
    "recommend messages --rate 0 --p99 5us",
    "recommend messages --p99 5us",
    "recommend messages --size 6KB",
    "recommend messages --size 100",
    "recommend messages --rate fast --size 64B --p99 1ms",
    "recommend messages --rate 1k --size 65B --p99 1ms",
    "reference show nothing",
    "report nothing",
    "report tcp --style x.mplstyle",
    "report tcp --figure trial-1 --format html",
    "report tcp --figure trial-1 --format pdf --format svg",
    "report tcp --figure trial-1 --format pdf --out x.svg",
    "report tcp --figure list --format pdf",
    "report tcp --format png",
    "report tcp --figure throughput-stream-1 --out a.svg",
    "report tcp --figure trial-99 --out a.svg",
    "report tcp --figure trial-1 --out a.gif",
    "report tcp --figure trial-1 --out a.csv --style x.mplstyle",
    "report tcp --figure trial-1 --out a.svg --style x.mplstyle",
    "report tcp --figure list --out a.svg",
    "report tcp --figure nothing --out x.svg",
    "report tcp --format md --out x.pdf",
    "report tcp --format docx",
    "results check nothing",
    "results show tcp --limit few",
    "view tcp --x nothing",
    "view tcp x=streams y=throughput",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    results = make_quickstart(cycles=2)
    results.records[3] = make_failed(results.records[3], reason="the receiver refused the connection")
    write_results(results, folder / "tcp")
    write_results(make_message_results(sizes=(64,), cycles=6), folder / "messages")
    write_results(make_message_results((TCP,), rates=(5000,), cycles=1), folder / "sizes")
    technologies = make_technology_results(sizes=(64,), histograms=False, cycles=2)
    write_results(technologies, folder / "technologies")
    make_connection(folder / "a.pcap")
    (folder / "text.pcap").write_text("hello")
    (folder / "wrong.toml").write_text(
        'format = 1\nname = "wrong"\ntitle = "t"\nseed = 1\ncycels = 2\n'
        '[[paths]]\nsource = "here"\ndestination = "local"\n[factors]\nstreams = [0]\n'
    )
    return folder


@pytest.fixture
def run(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[[str], Said]:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(root)
    for name in ("rmem_max", "wmem_max"):  # of any machine
        (tmp_path / name).write_text("4194304\n")
    monkeypatch.setattr(window_limits, "SYSCTLS", tmp_path)
    return lambda command: call(shlex.split(command), capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_pathlab(say: Say, command: str, run: Callable[[str], Said]) -> None:
    printed = run(command)
    assert printed.err == ""
    if printed.status:
        say(f"exit status {printed.status}")
    say(hide_sizes(printed.out) if command.startswith("results") else printed.out)


@pytest.mark.parametrize("command", MISTAKES)
def test_mistake_in_pathlab(say: Say, command: str, run: Callable[[str], Said]) -> None:
    printed = run(command)
    assert printed.status in (2, 5)
    say(f"exit status {printed.status}")
    say(printed.err)


def hide_sizes(printed: str) -> str:
    """Without the sizes of files, which depend on the library of the database."""
    return re.sub(
        r'\b[\d.]+ [kM]i?B(?=$|\s+2 trials)|(?<="size_bytes": )\d+', "SIZE", printed, flags=re.MULTILINE
    )
