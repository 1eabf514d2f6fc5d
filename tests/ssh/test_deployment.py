"""Agent and engine on a host that has neither: where they go, what is in their way, and two at once."""

import contextlib
import hashlib
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pathlab.agents import deployment
from pathlab.agents.cache import hold_file, prune_folder
from pathlab.errors import HostError
from pathlab.remote import bootstrap
from pathlab.remote.session import Session
from tests.patience import PATIENCE_S
from tests.require import require, require_engine
from tests.ssh.lab import BASE, MARK, SshLab, mounted
from tests.ssh.reach import Reach

pytestmark = pytest.mark.netns


def open_as(reach: Reach, account: str, **delivery: object) -> Session:
    return reach.session(reach.connection(reach.settings(user=account)), **delivery)


def engine_of(lab: SshLab) -> str:
    """The file of an agent's engine, as the lab sees it."""
    (number,) = lab.processes("--engine")
    words = Path(f"/proc/{number}/cmdline").read_bytes().decode().split("\0")
    return words[words.index("--engine") + 1]


def refusal(reach: Reach, account: str, **delivery: object) -> HostError:
    with pytest.raises(HostError) as caught:
        open_as(reach, account, **delivery)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    return caught.value


def test_everything_lands_in_the_cache_once_is_reused_and_sent_again_where_damaged(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = reach.lab.home("many") / ".cache" / "pathlab"
    shutil.rmtree(cache, ignore_errors=True)
    open_as(reach, "many").close()
    first = {path.name: path.stat().st_ino for path in cache.iterdir()}
    assert sorted(name.partition("-")[0] for name in first) == ["agent", "pathlab"]
    assert cache.stat().st_mode & 0o777 == 0o700
    # Nothing is sent the second time: there is nothing that could be.
    whole = bootstrap.build_delivery

    def without_contents(*given: object) -> bootstrap.Parts:
        parts = whole(*given)  # type: ignore[arg-type]
        return bootstrap.Parts(request=parts.request, contents={})

    with monkeypatch.context() as patched:
        patched.setattr("pathlab.remote.ssh.build_delivery", without_contents)
        session = open_as(reach, "many", cores=(0,))
    assert {path.name: path.stat().st_ino for path in cache.iterdir()} == first
    (number,) = reach.lab.processes("--engine")
    assert os.sched_getaffinity(number) == {0}  # the processors that it is given
    with pytest.raises(HostError, match="'against'"):
        session.start_engine("echo", {"bind": "127.0.0.1"}, seconds=60, build="against")
    for path in cache.iterdir():  # in use, however old they are
        os.utime(path, (0, 0))
    assert prune_folder(str(cache), time.time()) == []
    session.close()
    for path in cache.iterdir():
        path.write_bytes(b"broken")
    open_as(reach, "many").close()
    assert all(path.stat().st_size > 10_000 for path in cache.iterdir())


def test_another_build_is_stored_beside_the_own_one_and_carries_data(reach: Reach, tmp_path: Path) -> None:
    own = Path(require_engine()).read_bytes()
    other = tmp_path / "other"
    other.write_bytes(own + b"\0")
    other.chmod(0o755)
    session = open_as(reach, "sh", against=other)
    digests = {}
    for build in ("this", "against"):
        job = session.start_engine("echo", {"bind": "127.0.0.1", "port": 0}, seconds=60, build=build)
        job.wait_for("listening", PATIENCE_S)
        digests[build] = job.engine_sha256
        stored = reach.lab.home("sh") / ".cache" / "pathlab" / f"pathlab-engine-{str(digests[build])[:32]}"
        assert len(reach.lab.processes(f"{stored.name} echo")) == 1
        job.kill()
    assert digests == {
        "this": hashlib.sha256(own).hexdigest(),
        "against": hashlib.sha256(own + b"\0").hexdigest(),
    }


@pytest.mark.parametrize(
    ("account", "place", "options"),
    [("noexec", "noexec/.cache", "noexec,mode=777"), ("readonly", "readonly", "ro")],
)
def test_a_place_where_nothing_can_be_stored_or_run_is_passed_over(
    reach: Reach, account: str, place: str, options: str
) -> None:
    (reach.lab.folder / "homes" / place).mkdir(exist_ok=True)
    with mounted(reach.lab, "-t", "tmpfs", "-o", options, "tmpfs", f"{BASE}/homes/{place}"):
        session = open_as(reach, account)
        assert engine_of(reach.lab).startswith(f"{BASE}/tmp/pathlab-{os.getuid()}/")
        session.close()


def test_full_disks_are_one_line_that_names_every_place(reach: Reach) -> None:
    (reach.lab.home("full") / ".cache").mkdir(exist_ok=True)
    places = [f"{BASE}/homes/full/.cache", f"{BASE}/tmp", "/tmp", "/var/tmp"]
    with contextlib.ExitStack() as stack:
        for place in places:
            stack.enter_context(mounted(reach.lab, "-t", "tmpfs", "-o", "size=32k,mode=1777", "tmpfs", place))
        error = refusal(reach, "full")
    assert error.stage == "deploy"
    for place in (places[0], "/var/tmp"):
        assert f"{place}/pathlab" in str(error)
    assert "No space left on device" in str(error)


def test_an_interpreter_is_looked_for_where_path_has_none(reach: Reach) -> None:
    """A host whose only python3 is /usr/libexec/platform-python, and one that has none at all."""
    lab = reach.lab
    script = lab.folder / "nothing"
    script.write_text("#!/bin/sh\nexit 127\n")
    script.chmod(0o755)
    true_python = os.path.realpath(shutil.which("python3", path="/usr/bin") or "")
    require(true_python.startswith("/usr/bin/python3."), "a system python3 in /usr/bin")
    shutil.copy(true_python, lab.folder / "platform-python")
    with contextlib.ExitStack() as stack:
        stack.enter_context(mounted(lab, "--bind", str(BASE / "nothing"), true_python))
        stack.enter_context(mounted(lab, "-t", "tmpfs", "tmpfs", "/usr/local/bin"))
        assert refusal(reach, "sh").stage == "interpreter"
        assert "/opt/none/python3" in str(refusal(reach, "sh", python="/opt/none/python3"))
        stack.enter_context(mounted(lab, "-t", "tmpfs", "tmpfs", "/usr/libexec"))
        lab.run(None, "cp", str(BASE / "platform-python"), "/usr/libexec/platform-python")
        session = open_as(reach, "sh")
        assert lab.processes("/usr/libexec/platform-python -I")
        session.close()


def test_two_controllers_at_once_do_not_clash(reach: Reach) -> None:
    cache = reach.lab.home("odd") / ".cache" / "pathlab"
    shutil.rmtree(cache, ignore_errors=True)
    with ThreadPoolExecutor(3) as pool:
        connections = [reach.connection(reach.settings(user="odd")) for _ in range(3)]
        sessions = list(pool.map(reach.session, connections))
    assert len({session.facts()["kernel"]["release"] for session in sessions}) == 1
    assert len(list(cache.iterdir())) == 2


def test_old_files_go_unless_they_are_in_use(tmp_path: Path) -> None:
    now_s = time.time()
    for name, age_days in (("agent-old.zip", 31), ("agent-held.zip", 31), ("agent-new.zip", 29), ("x", 99)):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (now_s - age_days * 86400, now_s - age_days * 86400))
    held = hold_file(str(tmp_path / "agent-held.zip"))
    os.utime(tmp_path / "agent-held.zip", (0, 0))
    try:
        assert prune_folder(str(tmp_path), now_s) == ["agent-old.zip"]
    finally:
        os.close(held)
    assert prune_folder(str(tmp_path), now_s) == ["agent-held.zip"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent-new.zip", "x"]


def test_without_an_engine_for_the_machine_and_a_compiler_it_is_one_line(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "find_engine_of_machine", lambda _machine: None)
    shutil.rmtree(reach.lab.home("sh") / ".cache", ignore_errors=True)
    compilers = [found for name in deployment.COMPILERS if (found := shutil.which(name))]
    script = reach.lab.folder / "no-compiler"
    script.write_text("no program\n")
    with contextlib.ExitStack() as stack:
        for compiler in {os.path.realpath(found) for found in compilers}:
            stack.enter_context(mounted(reach.lab, "--bind", str(BASE / "no-compiler"), compiler))
        error = refusal(reach, "sh")
    assert error.stage == "engine"


@pytest.mark.long
def test_without_an_engine_for_the_machine_it_is_built_there(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(shutil.which("cc"), "a C compiler")
    monkeypatch.setattr(bootstrap, "find_engine_of_machine", lambda _machine: None)
    session = open_as(reach, "sh")
    job = session.start_engine("calibrate", {"streams": "1", "duration-ns": 50_000_000}, seconds=60)
    job.wait_for("result", PATIENCE_S)


def test_processors_that_a_host_lacks_are_named(reach: Reach) -> None:
    assert "60000" in str(refusal(reach, "many", cores=(60000,)))
    assert "1023" in str(refusal(reach, "many", numa_node=1023))


def test_a_host_with_a_strange_environment_works(reach: Reach) -> None:
    """A locale that is not installed, and settings that lead a Python astray that heeds them."""
    lab = reach.lab
    strange = "LC_ALL=xx_XX.bogus LANG=none PYTHONHOME=/nowhere PYTHONPATH=/nowhere PYTHONIOENCODING=x"
    lab.start_server("a", f"SetEnv {MARK}={lab.mark} TMPDIR={BASE}/tmp {strange}", port=2231)
    public = " ".join((lab.folder / "a_key.pub").read_text().split()[:2])
    files = reach.files(known_hosts=f"[{lab.address('a')}]:2231 {public}\n")
    session = reach.session(reach.connection(reach.settings(port=2231, files=files)))
    assert session.facts()["kernel"]
