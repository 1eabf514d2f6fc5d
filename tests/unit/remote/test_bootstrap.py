"""What is sent to a host: bytes that depend on nothing but the sources, for the machine that it is."""

import hashlib
import io
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.remote import bootstrap
from pathlab.remote.engine import build_source_zip
from tests.unit.remote.test_machines import write_header


def make_engine(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("an engine")
    path.chmod(0o755)
    return path


def test_sources_are_the_same_bytes_each_time_and_complete() -> None:
    data = build_source_zip("alpha")
    assert data == build_source_zip("alpha")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
    native = Path(__file__).resolve().parents[3] / "native"
    makefile = (native / "Makefile").read_text()
    (line,) = re.findall(r"^HARNESS_ONLY = (.+)$", makefile, re.MULTILINE)
    found = {str(path.relative_to(native)) for path in native.glob("src/**/*.[ch]")}
    assert names == sorted(found - set(line.split()))
    assert {"src/main.c", "src/base/json.c", "src/flow/send.c"} <= set(names)


def test_without_engine_and_sources_the_host_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError) as caught:
        build_source_zip("alpha", package=tmp_path / "pathlab")
    assert (caught.value.host, caught.value.stage) == ("alpha", "engine")


def test_the_request_names_what_it_brings(tmp_path: Path) -> None:
    engine = make_engine(tmp_path / "engine")
    parts = bootstrap.build_delivery(bootstrap.Delivery(engine=engine, cores=(1, 2)), "x86_64", "alpha")
    assert parts.request["cores"] == [1, 2]
    assert sorted(parts.contents) == ["agent", "engine"]
    for name, data in parts.contents.items():
        reported = parts.request["parts"][name]
        assert reported["bytes"] == len(data)
        assert reported["sha256"] == hashlib.sha256(data).hexdigest()
        assert reported["sha256"][:32] in reported["name"]


def test_another_build_goes_beside_the_own_one(tmp_path: Path) -> None:
    engine, against = make_engine(tmp_path / "engine"), make_engine(tmp_path / "against")
    against.write_text("another engine")
    delivery = bootstrap.Delivery(engine=engine, against=against)
    parts = bootstrap.build_delivery(delivery, "x86_64", "alpha")
    assert sorted(parts.contents) == ["against", "agent", "engine"]
    assert parts.contents["against"] == b"another engine"
    names = {name: part["name"] for name, part in parts.request["parts"].items()}
    assert names["against"].startswith("pathlab-engine-")
    assert names["against"] != names["engine"]


def test_a_build_for_another_machine_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    foreign = write_header(tmp_path / "foreign", 22, little_endian=False)  # s390x
    delivery = bootstrap.Delivery(engine=make_engine(tmp_path / "engine"), against=foreign)
    with pytest.raises(HostError, match="s390x") as caught:
        bootstrap.build_delivery(delivery, "x86_64", "alpha")
    assert (caught.value.host, caught.value.stage) == ("alpha", "engine")


def test_the_command_holds_nothing_that_shells_read_differently() -> None:
    command, first_input = bootstrap.build_bootstrap("it's; a \\ name\nof $two lines!")
    inner = command.removeprefix("exec /bin/sh -c '").removesuffix("'")
    assert len(command) - len(inner) == len("exec /bin/sh -c ''")
    assert not set(inner) & set("'\\!\n")
    assert len(command) < 256  # far below what any shell takes as one word
    assert first_input


@pytest.mark.parametrize("named", ["/no/such/python", "it's; a \\ name\nof $two lines!", "$(touch x)"])
def test_a_named_interpreter_is_a_word_and_no_text_of_shell(tmp_path: Path, named: str) -> None:
    command, first_input = bootstrap.build_bootstrap(named)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=first_input,
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.returncode == bootstrap.NO_INTERPRETER_STATUS
    assert named in os.fsdecode(done.stderr)
    assert list(tmp_path.iterdir()) == []
