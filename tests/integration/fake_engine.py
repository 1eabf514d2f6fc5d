"""An engine that misbehaves on request: the subcommand says how. Tests make it executable."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any


def say(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def obey(options: dict[str, str]) -> int:
    """Echo commands, end in order after ``stop``, end early when the controller goes."""
    say("arguments", options=options)
    for line in sys.stdin:
        say("heard", line=line.strip())
        if line.strip() == "stop":
            say("result", complete=True)
            return 0
    return 5


def flood(options: dict[str, str]) -> int:
    filler = "x" * int(options.get("filler", "100"))
    for number in range(int(options["count"])):
        sys.stdout.write(json.dumps({"type": "interval", "index": number, "filler": filler}) + "\n")
    say("result", complete=True)
    return 0


def print_garbage(options: dict[str, str]) -> int:
    say("start")
    sys.stdout.write(options["text"] + "\n")
    sys.stdout.flush()
    signal.pause()
    return 0


def print_endlessly(_options: dict[str, str]) -> int:
    while True:
        os.write(1, b"x" * 65536)


def die(options: dict[str, str]) -> int:
    say("start")
    sys.stderr.write("about to die\n")
    sys.stderr.flush()
    os.kill(os.getpid(), int(options["signal"]))
    signal.pause()
    return 0


def ignore_everything(_options: dict[str, str]) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say("start")
    signal.pause()
    return 0


def wait(_options: dict[str, str]) -> int:
    say("start")
    signal.pause()
    return 0


def greet(options: dict[str, str]) -> int:
    """Say hello like an engine that takes commands of another version, or of one that did not say."""
    control = {"control": int(options["speaks"])} if "speaks" in options else {}
    say("hello", program="pathlab-engine", version="0.0.9", **control)
    return wait(options)


def fail(options: dict[str, str]) -> int:
    say("error", stage=options["stage"], errno=98, errno_name="EADDRINUSE", text="port 5001 is taken")
    sys.stderr.write("port 5001 is taken\n")
    return 3


def shout(_options: dict[str, str]) -> int:
    for number in range(20_000):
        sys.stderr.write(f"complaint {number}\n")
    return 3


def leave_child(_options: dict[str, str]) -> int:
    """End at once, but leave a child in the group that holds stdout and stderr open."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pause()
        os._exit(0)
    say("left", child=child)
    return 0


BEHAVIOURS = {
    "obey": obey,
    "flood": flood,
    "garbage": print_garbage,
    "endless": print_endlessly,
    "die": die,
    "ignore": ignore_everything,
    "wait": wait,
    "greet": greet,
    "fail": fail,
    "shout": shout,
    "leave-child": leave_child,
}


def main() -> int:
    words = sys.argv[2:]
    options = {name[2:]: value for name, value in zip(words[::2], words[1::2], strict=True)}
    return BEHAVIOURS[sys.argv[1]](options)


if __name__ == "__main__":
    sys.exit(main())
