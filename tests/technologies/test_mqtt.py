"""The MQTT client's first packet, which a broker keeps to."""

import json
import socket
import subprocess

from tests.patience import PATIENCE_S
from tests.technologies.builds import build_adapter

LONGEST_S = 65535  # of MQTT; a broker closes a connection that is silent for one and a half times as long


def test_a_client_may_wait_long_for_the_other_end() -> None:
    """Nobody sends pings between ``ready`` and ``go``, when the other end may still be built."""
    program = build_adapter("mqtt")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        words = [str(program), "ask", json.dumps({"port": listener.getsockname()[1]})]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            connection, _peer = listener.accept()
            with connection:
                connection.settimeout(PATIENCE_S)
                packet = connection.recv(4096)
            process.communicate()
    head, _, rest = packet.partition(b"\x00\x04MQTT\x04")  # CONNECT of MQTT 3.1.1
    assert head[:1] == b"\x10"
    assert int.from_bytes(rest[1:3], "big") == LONGEST_S
