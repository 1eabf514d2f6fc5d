"""Getting in: what works, and one line with host and stage for everything that does not."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.remote.ssh import SshChannel
from pathlab.remote.ssh_auth import Secrets
from pathlab.remote.ssh_config import read_settings
from pathlab.remote.ssh_connection import SshConnection, SshConnections, SshOptions
from tests.patience import PATIENCE_S
from tests.require import require
from tests.ssh.lab import BASE, PASSWORD, PORT, SHELLS
from tests.ssh.reach import Reach

pytestmark = pytest.mark.netns


def refused(reach: Reach, stage: str, connection: SshConnection | None = None) -> HostError:
    """The error of opening a session; its stage and its form are checked here."""
    with pytest.raises(HostError) as caught:
        reach.session(connection)
    assert (caught.value.stage, caught.value.host) == (stage, "a")
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    return caught.value


def test_a_session_over_ssh_measures(reach: Reach) -> None:
    session = reach.session()
    assert session.facts()["kernel"]["release"] == os.uname().release
    job = session.start_engine("calibrate", {"streams": "1", "duration-ns": 50_000_000}, seconds=60)
    job.wait_for("result", PATIENCE_S)
    assert {record["streams"] for record in job.records if record["type"] == "loopback"} == {1}


@pytest.mark.parametrize("shell", ["bash", "csh", "fish"])
def test_any_login_shell_will_do(reach: Reach, shell: str) -> None:
    require(Path(SHELLS[shell]).exists(), f"the shell {SHELLS[shell]} (Debian: apt-get install tcsh fish)")
    assert reach.session(reach.connection(reach.settings(user=shell))).facts()["kernel"]


def test_noise_of_a_login_is_passed_over(reach: Reach) -> None:
    (reach.lab.home("bash") / ".bashrc").write_text("echo Welcome to this host; echo PLF; echo noise >&2\n")
    try:
        assert reach.session(reach.connection(reach.settings(user="bash"))).facts()["kernel"]
    finally:
        (reach.lab.home("bash") / ".bashrc").unlink()


def test_an_unknown_name_is_named(reach: Reach) -> None:
    connection = SshConnection(reach.settings(address="no-such-host.invalid"), SshOptions())
    assert "no-such-host.invalid" in str(refused(reach, "connect", connection))


def test_a_server_that_speaks_no_ssh_is_named(reach: Reach) -> None:
    lab = reach.lab
    program = (
        "import socket; s = socket.create_server(('0.0.0.0', 2299)); print('up', flush=True)\n"
        "c, _ = s.accept(); c.sendall(b'220 mail\\r\\n' * 200); c.close()"
    )
    read, write = os.pipe()
    with open(os.devnull, "rb") as null:  # noqa: PTH123
        lab.namespaces.spawn("a", ["python3", "-c", program], (null.fileno(), write, write))
    os.close(write)
    with open(read, "rb") as ready:  # noqa: PTH123
        assert ready.readline() == b"up\n"
    refused(reach, "connect", reach.connection(reach.settings(port=2299)))


def test_a_host_key_is_accepted_only_on_request_and_a_changed_one_never(reach: Reach) -> None:
    files = reach.files(known_hosts="# nothing yet")
    refused(reach, "host key", reach.connection(reach.settings(files=files)))
    reach.session(reach.connection(reach.settings(files=files), accept=True)).close()
    known = files.user_folder / "known_hosts"
    first, line = known.read_text().splitlines()
    assert first == "# nothing yet"
    assert line.startswith(f"[{reach.lab.address('a')}]:{PORT} ssh-ed25519 ")
    reach.session(reach.connection(reach.settings(files=files)))  # known from now on
    known.write_text(line.replace(line.split()[2], reach.lab.known_hosts().split()[-1]))
    error = refused(reach, "host key", reach.connection(reach.settings(files=files), accept=True))
    assert f"{known}:1" in str(error)


def _public_host_key(reach: Reach) -> str:
    return " ".join((reach.lab.folder / "a_key.pub").read_text().split()[:2])


def test_a_refused_key_is_named(reach: Reach, tmp_path: Path) -> None:
    key = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    error = refused(reach, "authentication", reach.connection(reach.settings(key=str(key))))
    assert str(key) in str(error)


def test_a_missing_key_is_named(reach: Reach, tmp_path: Path) -> None:
    connection = reach.connection(reach.settings(key=str(tmp_path / "gone")))
    assert str(tmp_path / "gone") in str(refused(reach, "authentication", connection))


def test_a_password_that_is_wrong_or_not_set_is_never_shown(
    reach: Reach, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reach.lab.start_server("a", "PasswordAuthentication yes\nPubkeyAuthentication no", port=2230)
    files = reach.files(known_hosts=f"[{reach.lab.address('a')}]:2230 {_public_host_key(reach)}\n")
    settings = reach.settings(port=2230, password_env="LAB_PASSWORD", files=files)
    monkeypatch.delenv("LAB_PASSWORD", raising=False)
    assert "LAB_PASSWORD" in str(refused(reach, "authentication", reach.connection(settings)))
    monkeypatch.setenv("LAB_PASSWORD", "guessed badly")
    error = refused(reach, "authentication", reach.connection(settings))
    assert "guessed" not in f"{error} {error.hint}"
    monkeypatch.setenv("LAB_PASSWORD", PASSWORD)
    reach.session(reach.connection(settings)).close()
    requested: list[str] = []

    def ask(question: str) -> str:
        requested.append(question)
        return PASSWORD

    connection = reach.connection(replace(settings, password_env=None), ask=ask)
    reach.session(connection).close()
    connection.abandon()
    reach.session(connection)  # made anew, and nobody is asked again
    assert requested == [f"Password of {settings.login}: "]


def test_keys_of_an_ssh_agent_are_used(reach: Reach, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = reach.lab.folder / "agent.socket"  # tmp_path may be too long for a socket
    words = ["ssh-agent", "-D", "-a", str(place)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as agent:
        try:
            assert agent.stdout.readline()  # it listens
            monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
            settings = replace(reach.settings(key=None), identity_files=())
            refused(reach, "authentication", reach.connection(settings))
            subprocess.run(["ssh-add", "-q", str(reach.lab.key)], check=True)
            reach.session(reach.connection(settings)).close()
        finally:
            agent.kill()
            place.unlink()


def test_a_passphrase_is_asked_once_a_run(reach: Reach, tmp_path: Path) -> None:
    key = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "very secret", "-f", str(key)], check=True)
    with (reach.lab.folder / "authorized_keys").open("a") as file:
        file.write((tmp_path / "locked.pub").read_text())
    requested: list[str] = []

    def ask(question: str) -> str:
        requested.append(question)
        return "wrong" if len(requested) == 1 else "very secret"

    connections = SshConnections(SshOptions(secrets=Secrets(ask), dial=reach.lab.dial))
    try:
        for name in ("a", "b"):
            reach.session(connections.get(reach.settings(name, key=str(key)))).close()
    finally:
        connections.close()
    assert len(requested) == 2  # a wrong one, then the right one, which serves both hosts
    assert str(key) in requested[0]
    error = refused(reach, "authentication", reach.connection(reach.settings(key=str(key))))
    assert "very secret" not in str(error)


def test_a_jump_and_the_users_configuration_are_followed(reach: Reach, tmp_path: Path) -> None:
    """Include, HostName, User, Port, IdentityFile and ProxyJump, to a host beyond another."""
    lab = reach.lab
    included = tmp_path / "more.conf"
    included.write_text(f"Host gate*\n  HostName {lab.address('a')}\n  User bash\n")
    config = (
        f"Include {included}\n"
        f"Host far\n  HostName {lab.address('b')}\n  ProxyJump gate\n  User fish\n"
        f"Host gate far\n  Port {PORT}\n  IdentityFile {lab.key}\n"
    )
    files = reach.files(config)
    settings = read_settings("far", None, files)
    assert [(step.host, step.login) for step in settings.jumps] == [
        ("gate", f"bash@{lab.address('a')}:{PORT}")
    ]
    assert settings.login == f"fish@{lab.address('b')}:{PORT}"
    session = reach.session(reach.connection(settings))
    assert session.facts()["kernel"]
    # The far server was reached from the jump host, not from here.
    assert f"from {lab.address('a')} port" in (lab.folder / f"b-{PORT}.log").read_text()


def test_hosts_behind_one_jump_share_its_connection(reach: Reach) -> None:
    lab = reach.lab
    log = lab.folder / f"a-{PORT}.log"
    before = log.read_text().count("Accepted publickey for csh ")
    gate = reach.host("a", user="csh")
    tables = {
        f"far{number}": reach.host("b", user=user, jump="gate") for number, user in enumerate(("sh", "bash"))
    }
    hosts = reach.hosts({"gate": gate, **tables})
    for name in tables:
        reach.session(hosts.connection(name))
        assert hosts.connection(name).peer_address is None
        assert hosts.addresses(name) == (lab.address("b"),)
    assert log.read_text().count("Accepted publickey for csh ") == before + 1


def test_what_a_jump_cannot_reach_is_named(reach: Reach) -> None:
    settings = reach.settings("a", jump="x", port=1)
    near = reach.settings("b", user="sh")
    connection = reach.connection(replace(settings, jumps=(replace(near, host="gate"),)))
    error = refused(reach, "connect", connection)
    assert "port 1 through gate" in str(error)


def test_a_lost_connection_is_tried_again_and_no_other(reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathlab.remote.ssh_connection.BACK_OFF_S", (0.001, 0.001, 0.001))
    refusals: list[int] = []
    left = [0]

    def dial(address: str, port: int, timeout_s: float) -> socket.socket:
        if left[0]:
            left[0] -= 1
            refusals.append(port)
            raise ConnectionRefusedError(111, "Connection refused")
        return reach.lab.dial(address, port, timeout_s)

    connection = SshConnection(reach.settings(), SshOptions(dial=dial))
    try:
        left[0] = 9
        with pytest.raises(HostError):  # never reached yet: a mistake rather than a loss
            connection.open_channel()
        assert len(refusals) == 1
        left[0] = 0
        connection.open_channel().close()
        connection.abandon()
        left[0] = 3
        connection.open_channel().close()
        connection.abandon()
        left[0] = 9
        with pytest.raises(HostError, match="Connection refused"):
            connection.open_channel()
        assert left[0] == 9 - 4
    finally:
        connection.close()


@contextlib.contextmanager
def shell_of_odd(reach: Reach, shell: str) -> Iterator[None]:
    """Give the account `odd` another login shell."""
    passwd = reach.lab.folder / "passwd"
    lines = passwd.read_text()
    changed = lines.replace(f"{BASE}/homes/odd:/bin/sh", f"{BASE}/homes/odd:{shell}")
    assert changed != lines
    passwd.write_text(changed)
    try:
        yield
    finally:
        passwd.write_text(lines)


@pytest.mark.parametrize(
    ("shell", "ends_first", "output"), [("/bin/false", False, False), ("/usr/sbin/nologin", True, True)]
)
def test_a_locked_out_shell_is_one_line(
    reach: Reach, monkeypatch: pytest.MonkeyPatch, shell: str, ends_first: bool, output: bool
) -> None:
    """Whether it has ended before it is written to, or ends after it."""
    require(Path(shell).exists(), f"the program {shell} (Debian: apt-get install login)")
    write = SshChannel.write

    def write_in_order(channel: SshChannel, data: bytes) -> None:
        raw = channel._channel
        if ends_first:
            assert raw.status_event.wait(PATIENCE_S)
            while not raw.closed:
                raw.transport.completion_event.wait(0.01)
        write(channel, data)

    monkeypatch.setattr(SshChannel, "write", write_in_order)
    with shell_of_odd(reach, shell):
        error = refused(reach, "deploy", reach.connection(reach.settings(user="odd")))
    assert "ended with status 1" in str(error)
    assert ("This account is currently" in str(error)) == output
