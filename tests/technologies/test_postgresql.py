"""The PostgreSQL client against a server that does not let it in: now, or never."""

import json
import struct
import subprocess

import pytest

from tests.technologies.builds import build_adapter
from tests.technologies.hostile_server import ListeningServer

STARTING = ("57P03", "the database system is starting up")
REFUSED = ("28000", "no entry for this host")


def format_error(code: str, text: str) -> bytes:
    """ErrorResponse of PostgreSQL's protocol 3.0."""
    fields = b"".join(
        kind + value.encode() + b"\0" for kind, value in ((b"S", "FATAL"), (b"C", code), (b"M", text))
    )
    return b"E" + struct.pack(">I", len(fields) + 5) + fields + b"\0"


class RejectingServer(ListeningServer):
    """Answers each connection's first packet with the next of ``errors``, then closes it."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        self._errors = errors
        super().__init__()

    def _serve(self) -> None:
        for error in self._errors:
            with self._accept() as connection:
                connection.recv(65536)
                connection.sendall(format_error(*error))


@pytest.mark.parametrize("role", ["ask", "answer"])
def test_a_server_that_starts_up_is_waited_for(role: str) -> None:
    """A socket that listens does not tell that it lets anybody in; a refusal ends the wait."""
    program = build_adapter("postgresql")
    with RejectingServer([STARTING, STARTING, REFUSED, REFUSED]) as server:
        words = [str(program), role, json.dumps({"port": server.port})]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            records = [json.loads(line) for line in process.stdout]
    (error,) = (record for record in records if record["type"] == "error")
    assert error["stage"] == "connect"
    assert "no entry for this host" in error["text"]
