"""What an agent refuses of requests and of manifests: each mistake by its name."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from pathlab.agents.adapters.manifest import ManifestError, read_manifest_file
from pathlab.agents.counters.qdiscs import parse_datagram
from pathlab.agents.discovery.batch import read_batch, read_options
from pathlab.agents.engines import build_command, check_token
from pathlab.agents.limits import clamp_limits
from pathlab.agents.peers import Peer
from tests.golden.conftest import Say
from tests.unit.agents.adapters.test_manifest import TABLE, write_source
from tests.unit.agents.test_batch import BATCH, OPTIONS, TARGET
from tests.unit.agents.test_engines import NO_LIMIT, TOKEN
from tests.unit.agents.test_peers import LISTEN
from tests.unit.agents.test_qdiscs import BROKEN

#: Values that a key may not have.
Values = Mapping[str, Iterable[Any]]


def refuse(read: Callable[..., object], *given: Any, kind: type[Exception] = ValueError) -> Exception:
    with pytest.raises(kind) as caught:
        read(*given)
    return caught.value


def change(values: Values) -> Iterator[dict[str, Any]]:
    for name, wrong in values.items():
        yield from ({name: value} for value in wrong)


MANIFESTS: Values = {
    "speed": [1],
    "contract": [2, True],
    "name": ["native", "technologies", "shared-memory", "../x", "Redis", "x" * 32, 7],
    "title": [""],
    "language": ["rust", [], "python"],
    "beneath": ["sctp"],
    "baseline": [1],
    "adds": ["broker", [1]],
    "needs": [
        *([{"library": "x"}], [{"program": "x", "header": "y"}], [{"program": "x", "rpm": "y"}], ["x"])
    ],
    "build": [[], [[]], [["sh", "-c", "id"]], [["cc", "{port}"]]],
    "server": [["x", "{prot}"], "redis-server", ["x\0"]],
    "files": [{"../a.idl": "x"}, {"..": "x"}, ["a"]],
    "responder": [1],
    "port": ["any"],
    "client": [["perl"]],
    "limits": [[{"what": "x"}]],
    "variants": [*([], {"a": 1}, {"a": {"language": "c"}}, {"../a": {}}, {"a": {"port": 1}})],
}
#: What single keys do not show.
TOGETHER = (
    {"server": None, "responder": True},
    {"server": None, "prepare": [["initdb"]]},
    {"language": "pipe", "build": []},
)


def test_manifests(say: Say) -> None:
    for changes in (*change(MANIFESTS), *TOGETHER):
        say(refuse(read_manifest_file, "redis.c", write_source(changes), kind=ManifestError))
    for key in TABLE:
        if key not in ("build", "server"):
            say(refuse(read_manifest_file, "redis.c", write_source(drop=key), kind=ManifestError))


FILES = (
    "int x;\n",
    "// pathlab-adapter\n// {}\n",
    "// pathlab-adapter\n// end\n",
    "// pathlab-adapter\n// {\n// x\n// end\n",
    "// pathlab-adapter\n// []\n// end\n",
    '// pathlab-adapter\n// {"name": "a", "name": "b"}\n// end\n',
    "// pathlab-adapter\n// " + "[" * 100_000 + "\n// end\n",
    "x" * 300_000,
)


def test_files_without_a_manifest(say: Say) -> None:
    for text in FILES:
        fault = str(refuse(read_manifest_file, "a.c", text, kind=ManifestError))
        say(re.sub(r"(not JSON): (Expecting|maximum).*", r"\1", fault))  # the rest is Python's


PROBES: Values = {
    "method": ["gre"],
    "family": [5],
    "flows": [0, 17, True],
    "port": [0],
    "source_port": [80],
    "speed": [1],
    "address": [7, "224.0.0.1", "a" * 300, "fe80::1", "fe80::1%nosuch0"],
}


def test_options_of_the_prober(say: Say) -> None:
    for changes in (*change(PROBES), {"address": "::1", "family": 4}):
        text = str(refuse(read_options, {**OPTIONS, **changes}))
        say(re.sub(r"(cannot resolve '[^']*'): .*", r"\1", text))  # the rest is libc's
    for name in OPTIONS:
        say(refuse(read_options, {key: value for key, value in OPTIONS.items() if key != name}))


BATCHES: Values = {
    "ttls": [[], [0], [True]],
    "sizes_bytes": [[39], ["600"]],
    "flows": [[2], [1, 1]],
    "repeats": [0, 1000],
    "batch": [None],
    "pace": [1],
}


def test_batches_of_the_prober(say: Say) -> None:
    say(refuse(read_batch, {**BATCH, **changes}, TARGET, 2) for changes in change(BATCHES))
    say(refuse(read_batch, {**BATCH, "sizes_bytes": [44, 60]}, TARGET._replace(method="tcp"), 2))


ENGINE_OPTIONS: Values = {
    **{name: [1] for name in ("", "-x", "Port", "a b", "a=b", "port\n", "../x")},
    "port": [True, None, 1.5, [], {}],
    "bind": ["a\0b", "x" * 5000, "\ud800", "--volume-limit-bytes"],
    "token": [TOKEN, "stdin"],
    **{name: ["9T"] for name in ("volume-limit", "rate", "time-limit")},
    "message-bytes": [64],  # with a cap on the rate, which messages do not keep
    "rate-bits-per-s": ["1e9", "-1", "9T", "²"],
}


def test_options_of_engines(say: Say) -> None:
    limits = {**NO_LIMIT, "rate_bits_per_s": 7000}
    say(refuse(build_command, "/e", "send", options, limits) for options in change(ENGINE_OPTIONS))


def test_subcommands_of_engines(say: Say) -> None:
    for name in ("", "-x", "Port", "a b", "a=b", "port\n", "../x"):
        say(refuse(build_command, "/e", name, {}, NO_LIMIT))


def test_tokens(say: Say) -> None:
    """None is quoted."""
    say(
        {
            str(refuse(check_token, text))
            for text in ("", "stdin", TOKEN[:-1], TOKEN + "0", TOKEN + "\n", "g" * 32)
        }
    )


LIMITS: Values = {"hours": [1], "seconds": ["9", True], "bytes": [1.5], "rate_bits_per_s": [1.5, "9"]}


def test_limits(say: Say) -> None:
    say(refuse(clamp_limits, requested) for requested in change(LIMITS))


PEERS: Values = {
    "program": ["../iperf3", "/bin/sh", "-c", "", None],
    "arguments": ["-s", ["a\0b"], ["\ud800"], ["x" * 20_000], ["x"] * 65, [7], None],
    "shell": [True],
    "listen": [
        *(LISTEN | {"ports": ports} for ports in ("70000", "1-70000", "x", 5201)),
        *(LISTEN | {"address": "example.org"}, LISTEN | {"argument": None}, LISTEN | {"more": "x"}),
    ],
}


def test_other_programs(say: Say) -> None:
    for changes in change(PEERS):
        options: dict[str, Any] = {"program": "iperf3", "arguments": ["-s"], **changes}
        say(refuse(Peer, {name: value for name, value in options.items() if value is not None}))


def test_broken_datagrams_of_the_kernel(say: Say) -> None:
    say(refuse(functools.partial(parse_datagram, qdiscs={}), data) for data in BROKEN)
