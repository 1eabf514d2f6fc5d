"""What an ordinary user cannot do is refused in one clear line with its fix, and the rest works."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.running import ROOT, write_campaign
from tests.require import require, require_engine, require_namespaces

pytestmark = pytest.mark.engine

ORDINARY_UID = 65534
PATHLAB = (sys.executable, "-m", "pathlab")
TUN = Path("/dev/net/tun")


class OrdinaryUser:
    """Runs programs without any privilege, with a home of their own; as root it becomes another user."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.prefix: list[str] = []
        if os.geteuid() == 0:
            home.chmod(0o755)
            os.chown(home, ORDINARY_UID, ORDINARY_UID)
            ids = [f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups"]
            self.prefix = ["setpriv", *ids, "--inh-caps=-all", "--bounding-set=-all"]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PATHLAB_"))
        }
        return subprocess.run(
            [*self.prefix, *command],
            cwd=self.home,
            env={**kept, "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def user() -> Iterator[OrdinaryUser]:
    require(shutil.which("setpriv"), "setpriv (util-linux)")
    require_engine()
    folder = Path(tempfile.mkdtemp(prefix="pathlab-user-", dir="/var/tmp"))  # pytest's are closed to others
    try:
        ordinary = OrdinaryUser(folder)
        readable = ordinary.run("test", "-x", sys.executable).returncode == 0
        require(readable, f"a Python that other users may run, unlike {sys.executable}")
        yield ordinary
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_refusal(done: subprocess.CompletedProcess[str], text: str, fix: str) -> None:
    assert done.returncode == 3, done.stdout + done.stderr
    line, *rest = done.stderr.splitlines()
    assert text in line
    assert [one for one in rest if fix in one and one.startswith("  fix: ")], done.stderr


@pytest.mark.netns
def test_a_lab_has_the_privilege_of_a_user_namespace(user: OrdinaryUser) -> None:
    require_namespaces()
    up = user.run(*PATHLAB, "lab", "up", "lan")
    assert up.returncode == 0, up.stderr
    assert "privilege user-namespace" in user.run(*PATHLAB, "lab", "show").stdout
    assert user.run(*PATHLAB, "lab", "exec", "a", "--", "id", "-u").stdout.strip() != "0"
    assert user.run(*PATHLAB, "lab", "down").returncode == 0


@pytest.mark.netns
def test_a_closed_tun_device_is_named(user: OrdinaryUser) -> None:
    require_namespaces()
    done = user.run(*PATHLAB, "lab", "up", "lan", "--backend", "tun")
    if user.run("test", "-r", str(TUN), "-a", "-w", str(TUN)).returncode == 0:
        assert done.returncode == 0, done.stderr
        user.run(*PATHLAB, "lab", "down")
    else:
        check_refusal(done, "/dev/net/tun may not be opened here", "use the back end 'packet' or 'auto'")


@pytest.mark.netns
def test_forbidden_namespaces_are_named_and_the_quickstart_falls_back(user: OrdinaryUser) -> None:
    """As where an administrator has set user.max_user_namespaces to 0."""
    require_namespaces()
    forbid = (
        "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all -- "
    )
    enter = ("unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c")
    lab = user.run(*enter, f"{forbid} {' '.join(PATHLAB)} lab up lan")
    check_refusal(
        lab, "no network namespaces here", "sysctl -w user.max_user_namespaces=15000; or run as root"
    )
    campaign = write_campaign(user.home, cycles=1, duration="200ms")
    campaign.write_text(campaign.read_text().replace("[lab]\n", '[lab]\nfallback = "loopback"\n'))
    run = user.run(*enter, f"{forbid} {' '.join(PATHLAB)} run {campaign} --out out")
    assert run.returncode in (0, 7), run.stdout + run.stderr  # 7: this machine is too busy
    assert "no emulated WAN here" in " ".join((run.stdout + run.stderr).split())


def test_each_congestion_control_is_set_or_refused_by_name(user: OrdinaryUser) -> None:
    controls = Path("/proc/sys/net/ipv4")
    available = (controls / "tcp_available_congestion_control").read_text().split()
    allowed = (controls / "tcp_allowed_congestion_control").read_text().split()
    short = ("--time", "200ms", "--warmup", "0s", "--unloaded", "1")
    for name in available:
        done = user.run(*PATHLAB, "measure", "local", "--congestion", name, *short)
        if name in allowed:
            assert done.returncode == 0, done.stderr
        else:
            check_refusal(done, f"--congestion {name} is not allowed here", "pathlab doctor")
            said = " ".join(user.run(*PATHLAB, "doctor").stdout.split())
            fix = re.search(
                r'fix: as root: sysctl -w net\.ipv4\.tcp_allowed_congestion_control="([^"]*)"', said
            )
            assert fix is not None, said
            assert set(available) <= set(fix[1].split())  # other programs may load one meanwhile


def test_probes_that_need_raw_sockets_are_refused(user: OrdinaryUser) -> None:
    path = user.run(*PATHLAB, "path", "127.0.0.1", "--method", "tcp", "--no-capacity")
    check_refusal(path, "CAP_NET_RAW", "")
    ping = user.run(
        require_engine(), "ping", "--address", "127.0.0.1", "--count", "1", "--method", "icmp-raw"
    )
    assert ping.returncode == 3
    assert "icmp-raw probes are not possible here: Operation not permitted" in ping.stderr


def test_the_doctor_says_what_is_limited_and_that_this_user_can_measure(user: OrdinaryUser) -> None:
    done = user.run(*PATHLAB, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "This machine can measure."
    assert "user-namespace privilege" in done.stdout
