"""A lab with OpenSSH servers: one node for the controller, one for each host, all on one switch.

Everything lies under one folder, bound to ``BASE`` inside the lab, whose own /etc/passwd lists accounts that
differ in home and login shell and have the user number of whoever runs the tests.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathlab.lab.namespaces import LabProcess, Namespaces
from tests.patience import PATIENCE_S
from tests.require import require

ROOT = Path(__file__).resolve().parents[2]
BASE = Path("/run/lab")  # a tmpfs of the lab's own lies over /run
CONTROLLER = "controller"
PORT = 2222
MARK = "PATHLAB_SSH_TEST"
PASSWORD = "right and long"
# Of that word, made with: openssl passwd -6 -salt pathlab
PASSWORD_HASH = (
    "$6$pathlab$FGJJGKvLZAExi6WACvTgaFB0Ispn5iEuGcNNCAUpscTHg4GO3HaV2Ekgu1tfAzNH2EHEiLCw7iIsia/cytrBm/"
)
SHELLS = {"bash": "/bin/bash", "sh": "/bin/sh", "csh": "/bin/csh", "fish": "/usr/bin/fish"}

CONFIG = """\
{more}
Port {port}
ListenAddress {address}
HostKey {base}/{host}_key
PidFile none
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
AuthorizedKeysFile {base}/authorized_keys
StrictModes no
UseDNS no
MaxStartups 100:30:200
MaxSessions 100
SetEnv {mark} TMPDIR={base}/tmp
Subsystem sftp /bin/false
"""


def require_sshd() -> str:
    """The OpenSSH server, or a loud skip."""
    found = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    require(found, "OpenSSH's server (Debian: apt-get install openssh-server)")
    assert found is not None
    return found


class Program:
    """A program in the controller's node: its stdout and stderr line by line; its stdin stays open."""

    def __init__(self, process: LabProcess, stdin: int, stdout: int) -> None:
        self.process = process
        self._stdin = open(stdin, "wb", buffering=0)  # noqa: SIM115
        self._stdout = open(stdout, "rb")  # noqa: SIM115

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self._stdin.close()
        self._stdout.close()

    def read_line(self) -> str:
        """Its next line, empty at its end."""
        return self._stdout.readline().decode(errors="replace").rstrip("\n")

    def read_rest(self) -> str:
        """Everything until its end."""
        return self._stdout.read().decode(errors="replace")


class SshLab:
    """Servers on hosts ``names``, and a way to connect to them from the controller's node."""

    def __init__(self, folder: Path, names: Sequence[str], accounts: Sequence[str] = tuple(SHELLS)) -> None:
        self.folder = folder
        self.names = tuple(names)
        self.mark = uuid.uuid4().hex
        self.namespaces = Namespaces()
        self._accounts = tuple(accounts)
        self._sshd = require_sshd()
        self._stack = contextlib.ExitStack()
        self._dial_lock = threading.Lock()

    def __enter__(self) -> SshLab:
        self._stack.callback(self.namespaces.close)
        try:
            self.namespaces.start()
            self._make_files()
            self._join(CONTROLLER)
            for name in self.names:
                self._join(name)
                self.start_server(name)
            self._start_dialer()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def address(self, name: str) -> str:
        """The node's address on the switch."""
        return f"198.18.1.{1 + (CONTROLLER, *self.names).index(name)}"

    def home(self, account: str) -> Path:
        """The account's home, as seen from outside."""
        return self.folder / "homes" / account

    @property
    def key(self) -> Path:
        """The private key that every account accepts."""
        return self.folder / "id_ed25519"

    def known_hosts(self) -> str:
        """Lines of known_hosts for all servers."""
        lines = []
        for name in self.names:
            public = (self.folder / f"{name}_key.pub").read_text().split()
            lines.append(f"[{self.address(name)}]:{PORT} {public[0]} {public[1]}\n")
        return "".join(lines)

    def write_user_folder(self, config: str = "", known_hosts: str | None = None) -> Path:
        """A folder like ~/.ssh, new each time."""
        folder = self.folder / f"user-{uuid.uuid4().hex[:8]}"
        folder.mkdir(mode=0o700)
        (folder / "config").write_text(config)
        (folder / "known_hosts").write_text(self.known_hosts() if known_hosts is None else known_hosts)
        return folder

    def run(self, node: str | None, *argv: str) -> str:
        """Run a command inside the lab."""
        return self.namespaces.run(node, *argv)

    def start_server(self, name: str, more: str = "", *, port: int = PORT) -> None:
        """Start an SSH server on a host and wait until it listens."""
        config = self.folder / f"{name}-{port}-{uuid.uuid4().hex[:6]}.conf"
        given = {"port": port, "address": self.address(name), "host": name, "more": more}
        config.write_text(CONFIG.format(**given, base=BASE, mark=f"{MARK}={self.mark}"))
        log = self.folder / f"{name}-{port}.log"
        command = [self._sshd, "-D", "-E", str(BASE / log.name), "-f", str(BASE / config.name)]
        before = log.read_text().count("Server listening") if log.exists() else 0
        with open(os.devnull, "r+b") as null:  # noqa: PTH123
            stdio = (null.fileno(), null.fileno(), null.fileno())
            process = self.namespaces.spawn(name, command, stdio)
        for _ in range(3000):
            if log.exists() and log.read_text().count("Server listening") > before:
                break
            assert process.wait(0.02) is None, log.read_text()
        else:
            raise AssertionError(f"sshd does not listen: {log.read_text()}")

    def dial(self, address: str, port: int, timeout_s: float) -> socket.socket:
        """A TCP connection from the controller's node."""
        with self._dial_lock:
            self._dialer.send(f"{address} {port} {timeout_s}".encode())
            answer, descriptors, _, _ = socket.recv_fds(self._dialer, 64, 1)
        if descriptors:
            return socket.socket(fileno=descriptors[0])
        number = int(answer)
        raise OSError(number, os.strerror(number))

    def processes(self, word: str) -> list[int]:
        """Numbers, as outside sees them, of what runs on the hosts with ``word`` in its command line."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                marked = f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes()
                if marked and word in words:
                    found.append(int(folder.name))
        return sorted(found)

    def spawn_program(self, *argv: str, more: Sequence[str] = ()) -> Program:
        """Start a program of the tests, or PathLab itself, in the controller's node."""
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        settings = [f"{MARK}={self.mark}", f"PYTHONPATH={ROOT}", *more]
        try:
            process = self.namespaces.spawn(
                CONTROLLER, ["env", *settings, sys.executable, *argv], (theirs_in, theirs_out, theirs_out)
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        return Program(process, ours_out, ours_in)

    def _make_files(self) -> None:
        (self.folder / "tmp").mkdir(mode=0o1777)  # nothing of it is left in this machine's /tmp
        for name in self.names:
            _make_key(self.folder / f"{name}_key")
        _make_key(self.key)
        shutil.copy(f"{self.key}.pub", self.folder / "authorized_keys")
        lines = [f"sshd:x:65534:65534::{BASE}:/usr/sbin/nologin"]
        for account in self._accounts:
            self.home(account).mkdir(parents=True)
            shell = SHELLS.get(account, "/bin/sh")
            lines.append(f"{account}:x:{os.getuid()}:{os.getgid()}::{BASE}/homes/{account}:{shell}")
        (self.folder / "passwd").write_text("\n".join(lines) + "\n")
        shadow = "".join(f"{account}:{PASSWORD_HASH}:19000:0:99999:7:::\n" for account in self._accounts)
        (self.folder / "shadow").write_text(shadow)
        self.run(None, "mount", "-t", "tmpfs", "tmpfs", "/run")
        self.run(None, "mkdir", "-p", "-m", "755", "/run/sshd", str(BASE))
        self.run(None, "mount", "--bind", str(self.folder), str(BASE))
        for name in ("passwd", "shadow"):
            self.run(None, "mount", "--bind", str(self.folder / name), f"/etc/{name}")
        self.run(None, *["ip", "link", "add", "switch", "type", "bridge"])
        self.run(None, *["ip", "link", "set", "switch", "up"])

    def _join(self, name: str) -> None:
        path = self.namespaces.add_node(name)
        number = (CONTROLLER, *self.names).index(name)
        self.run(None, *f"ip link add p{number} type veth peer name eth0 netns {path}".split())
        self.run(None, *f"ip link set p{number} master switch up".split())
        self.run(name, *f"ip address add {self.address(name)}/24 dev eth0".split())
        self.run(name, *["ip", "link", "set", "eth0", "up"])

    def cut_cable(self, name: str) -> None:
        """Packets to and from a node vanish from now on."""
        number = (CONTROLLER, *self.names).index(name)
        self.run(None, *f"ip link set p{number} nomaster".split())

    def mend_cable(self, name: str) -> None:
        """Undo it."""
        number = (CONTROLLER, *self.names).index(name)
        self.run(None, *f"ip link set p{number} master switch".split())

    def _start_dialer(self) -> None:
        self._dialer, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stack.callback(self._dialer.close)
        program = Path(__file__).with_name("dialer.py")
        with theirs, open(os.devnull, "wb") as null:  # noqa: PTH123
            self.namespaces.spawn(
                CONTROLLER,
                [sys.executable, "-I", str(program)],
                (theirs.fileno(), null.fileno(), null.fileno()),
            )


def _make_key(path: Path) -> None:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)]
    subprocess.run(words, check=True)


@contextlib.contextmanager
def mounted(lab: SshLab, *command: str) -> Iterator[None]:
    """Something mounted inside the lab for a while; the last word is where."""
    lab.run(None, "mount", *command)
    try:
        yield
    finally:
        lab.run(None, "umount", "-l", command[-1])
