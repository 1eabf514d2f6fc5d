"""Namespaces: made without names, and gone with whoever made them."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.lab.namespaces import Namespaces, name_obstacle
from tests.patience import PATIENCE_S
from tests.require import require_namespaces

pytestmark = pytest.mark.netns


@pytest.fixture
def namespaces() -> Namespaces:
    require_namespaces()
    return Namespaces()


def read_line(descriptor: int) -> bytes:
    ready, _, _ = select.select([descriptor], [], [], PATIENCE_S)
    assert ready, "nothing came in time"
    return os.read(descriptor, 4096)


def test_nodes_have_networks_of_their_own(namespaces: Namespaces) -> None:
    with namespaces:
        namespaces.add_node("a")
        namespaces.add_node("b")
        namespaces.run("a", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        assert "v0" in namespaces.run("a", "ip", "-brief", "link")
        assert "v0" not in namespaces.run("b", "ip", "-brief", "link")
        assert "v0" not in namespaces.run(None, "ip", "-brief", "link")
        namespaces.set_sysctl("a", "net.ipv4.tcp_no_metrics_save", "1")
        assert namespaces.run("a", "cat", "/proc/sys/net/ipv4/tcp_no_metrics_save") == "1\n"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"user/max_user_namespaces": "0"}, "sysctl -w user.max_user_namespaces=15000;"),
        (
            {"kernel/unprivileged_userns_clone": "0", "kernel/apparmor_restrict_unprivileged_userns": "1"},
            "kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0;",
        ),
        ({"user/max_user_namespaces": "96365"}, "no sysctl forbids it"),
    ],
)
def test_the_sysctl_that_forbids_namespaces_is_named(
    values: dict[str, str], named: str, tmp_path: Path
) -> None:
    for key, value in values.items():
        (tmp_path / key).parent.mkdir(exist_ok=True)
        (tmp_path / key).write_text(f"{value}\n")
    assert named in name_obstacle(tmp_path)


def test_what_a_node_refuses_is_one_clear_line(namespaces: Namespaces) -> None:
    with namespaces:
        namespaces.add_node("a")
        with pytest.raises(HostError, match=r"'ip link set nothing up' failed: .*nothing"):
            namespaces.run("a", "ip", "link", "set", "nothing", "up")
        with pytest.raises(HostError, match="node name 'a' is empty or taken"):
            namespaces.add_node("a")
        with pytest.raises(HostError, match="FileNotFoundError"):
            namespaces.run("a", "no-such-program")
        assert namespaces.run("a", "echo", "still here") == "still here\n"


def test_a_process_of_the_lab_is_seen_and_ended(namespaces: Namespaces) -> None:
    with namespaces:
        namespaces.add_node("a")
        ours, theirs = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        try:
            process = namespaces.spawn("a", ["sh", "-c", "echo up; exec sleep 1000"], (null, theirs, null))
            assert read_line(ours) == b"up\n"
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == -signal.SIGTERM
            quick = namespaces.spawn(None, ["sh", "-c", "exit 7"], (null, null, null))
            assert quick.wait(PATIENCE_S) == 7
        finally:
            for descriptor in (ours, theirs, null):
                os.close(descriptor)


def test_after_close_everything_is_gone(namespaces: Namespaces) -> None:
    read_end, write_end = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    try:
        with namespaces:
            namespaces.add_node("a")
            process = namespaces.spawn("a", ["sleep", "1000"], (null, write_end, null))
            os.close(write_end)
        assert read_line(read_end) == b""  # the last holder of the pipe's other end is dead
        assert process.poll() == -signal.SIGKILL
        with pytest.raises(HostError, match="the lab is gone"):
            namespaces.add_node("b")
    finally:
        os.close(read_end)
        os.close(null)


CONTROLLER = """
import os, sys
from pathlab.lab.namespaces import Namespaces, name_obstacle
pipe = int(sys.argv[1])
lab = Namespaces()
lab.start()
lab.add_node("a")
null = os.open(os.devnull, os.O_RDWR)
lab.spawn("a", ["sh", "-c", "echo up; exec sleep 1000"], (null, pipe, null))
os.close(pipe)
sys.stdin.read()
"""


@pytest.mark.parametrize("victim", ["controller", "unshare"])
def test_kill_9_leaves_no_process(victim: str) -> None:
    require_namespaces()
    read_end, write_end = os.pipe()
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(write_end)],
        stdin=subprocess.PIPE,
        pass_fds=(write_end,),
        cwd=Path(__file__).parents[2],
    )
    os.close(write_end)
    try:
        assert read_line(read_end) == b"up\n"
        target = controller.pid
        if victim == "unshare":
            children = Path(f"/proc/{controller.pid}/task/{controller.pid}/children").read_text()
            target = int(children.split()[0])
        os.kill(target, signal.SIGKILL)
        assert read_line(read_end) == b""
    finally:
        os.close(read_end)
        controller.kill()
        controller.communicate()


def test_two_labs_at_once_do_not_clash(namespaces: Namespaces) -> None:
    with namespaces, Namespaces() as other:
        for lab in (namespaces, other):
            lab.add_node("a")
            lab.run("a", "ip", "link", "add", "wan0", "type", "veth", "peer", "name", "x")
        namespaces.close()
        assert "wan0" in other.run("a", "ip", "-brief", "link")
