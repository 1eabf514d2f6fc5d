# pathlab-adapter
# {"contract": 1, "name": "stub", "title": "A program that misbehaves as its variant says",
#  "language": "python", "beneath": "tcp", "port": "own", "versions": [["python3", "--version"]],
#  "variants": {
#   "stub-given": {"port": "given"},
#   "stub-silent": {}, "stub-elsewhere": {}, "stub-other-port": {}, "stub-exits": {}, "stub-fails": {},
#   "stub-old": {}, "stub-clock": {}, "stub-garbage": {}, "stub-flood": {}, "stub-no-hello": {},
#   "stub-needs": {"needs": [{"module": "no_such_module", "debian": "python3-none", "pip": "none"},
#                            {"program": "no-such-program", "debian": "none-server"}]},
#   "stub-server": {"server": ["python3", "{source}", "serve", "{address}", "{port}", "{config}"],
#                   "prepare": [["python3", "{source}", "prepare", "{folder}"]],
#                   "config": ["address={address}", "port={port}"], "responder": true, "port": "given"},
#   "stub-alone": {"server": ["python3", "{source}", "serve", "{address}", "0", ""]},
#   "stub-wildcard": {"server": ["python3", "{source}", "serve", "0.0.0.0", "{port}", ""], "port": "given"},
#   "stub-dies": {"server": ["python3", "{source}", "die"]},
#   "stub-unprepared": {"server": ["python3", "{source}", "die"],
#                       "prepare": [["python3", "{source}", "die"]]},
#   "stub-full": {"server": ["python3", "{source}", "die"], "prepare": [["python3", "{source}", "fill"]]},
#   "stub-absent": {"server": ["no-such-server"]}}}
# end
"""A technology without packages and without our harness, for tests of the agent's side of technologies.

As a third-party server it leaves all that a server can leave: a daemon in a session of its own, System V
shared memory, a file in /dev/shm and one in its folder.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any


def write(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def wait_for_end() -> None:
    """Until stdin ends or says stop."""
    for line in sys.stdin:
        if line.strip() == "stop":
            return


def serve(address: str, port: str, config: str) -> None:
    if config:
        assert Path(config).read_text(encoding="utf-8") == f"address={address}\nport={port}\n"
        assert Path("prepared").read_text(encoding="utf-8") == "here"
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, int(port)))
    size_bytes = int(os.environ["STUB_SEGMENT_BYTES"])
    ctypes.CDLL(None).shmget(0, size_bytes, 0o1600)
    Path(f"/dev/shm/pathlab-stub-{size_bytes}").write_text("left", encoding="utf-8")
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            listener.close()
            sys.stdin.close()
            while True:
                signal.pause()
        os._exit(0)
    os.wait()
    listener.listen()  # last: who sees the socket finds all the rest as well
    while True:
        signal.pause()


def answer(settings: dict[str, Any], variant: str) -> None:
    if variant == "stub-silent":
        wait_for_end()
    if variant == "stub-exits":
        sys.exit("no such device")
    if variant == "stub-fails":
        write("error", stage="connect", text="no broker at all")
        sys.exit(3)
    if variant == "stub-garbage":
        sys.stdout.write("Welcome!\n")
        sys.stdout.flush()
    if variant == "stub-flood":
        while True:
            sys.stdout.write("x" * 65536)
    address = "127.0.0.2" if variant == "stub-elsewhere" else settings["address"]
    port = settings["port"]
    if variant != "stub-server":
        listener = socket.create_server((address, port))
        port = listener.getsockname()[1]
    stated = port + 1 if variant == "stub-other-port" else port
    end = time.process_time() + 0.05
    while time.process_time() < end:  # some CPU time to be measured
        pass
    write("listening", port=stated, versions="stub 1.0", settings={"role": settings["role"]})
    wait_for_end()
    signal.pause()  # it is ended from outside


def main() -> None:
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:])
    if sys.argv[1] == "die":
        sys.exit("die: ERROR: cannot be run as root\nhint: be somebody else")
    if sys.argv[1] == "fill":
        with Path("big").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(65536))
    if sys.argv[1] == "prepare":
        Path(sys.argv[2], "prepared").write_text("here", encoding="utf-8")
        return
    settings = json.loads(sys.argv[2])
    variant = settings["variant"]
    if variant != "stub-no-hello":
        write(
            "hello",
            contract=2 if variant == "stub-old" else 1,
            program="stub",
            language="python",
            monotonic_ns=time.time_ns() if variant == "stub-clock" else time.monotonic_ns(),
            pid=os.getpid(),
        )
    if sys.argv[1] == "answer":
        answer(settings, variant)
    write("ready", streams=1, settings=settings)
    wait_for_end()


if __name__ == "__main__":
    main()
