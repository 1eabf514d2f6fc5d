"""What all harnesses do with technologies that misbehave: in C, Python, Java, and behind a pipe.

A stub without a network misbehaves after six good replies, the first of which the harness compares.
"""

import json
import signal
import subprocess
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.technologies.programs import (
    ANSWERING,
    DONE,
    ENDED,
    LANGUAGES,
    MS,
    PEER,
    ROOT,
    SETUP,
    STALL_NS,
    USAGE,
    await_end,
    find_command,
    read_until,
    run_program,
    running,
    tell,
)

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_number_of_requests_is_sent_and_timed(language: str) -> None:
    end = run_program(language, "ask", "go", requests=50, streams=3, bytes=1400, warmup_ns=0)
    kinds = ["hello", "ready", "start", *["round_trips"] * 3, "result"]
    assert (end.status, end.kinds) == (DONE, kinds), end.stderr
    hello, ready, result = (end.find(kind) for kind in ("hello", "ready", "result"))
    spoken = {"asyncio": "python"}.get(language, language)
    assert (hello["contract"], hello["program"], hello["language"]) == (1, "stub", spoken)
    messages = ready["messages"]
    assert (messages["bytes"], messages["replies"], messages["priority"]) == (1400, True, None)
    assert messages["clock_ns"] > 0
    assert messages["record_ns"] > 0
    untimed = {"warm_requests": 20_000} if language == "java" else {}
    described = {"versions": "stub 1.2", "settings": {"no_delay": True, **untimed}}
    wanted = described if language != "pipe" else dict.fromkeys(described)
    assert {key: ready["adapter"][key] for key in described} == wanted
    assert (ready["adapter"]["hop_ns"] is not None) == (language == "pipe")
    assert result["messages"]["sent"] == result["messages"]["received"] == [17, 17, 16]
    assert result["messages"]["round_trip_ns"]["count"] == 50
    steady = result["phases"]["steady"]
    assert (steady["messages"], steady["start_ns"]) == ([17, 17, 16], 0)
    assert steady["user_ns"] >= 0
    assert steady["system_ns"] >= 0
    assert (result["complete"], result["reason"]) == (True, None)


#: Of a variant: stage and text; of the harnesses within the program, and of the pipe where it differs.
FAULTS = {
    "short": ("reply", "request 5: a reply of 63 bytes, expected 64", "a reply of length 63, expected 64"),
    "long": ("reply", "request 5: a reply of 65 bytes, expected 64", "a reply of length 65, expected 64"),
    "stale": ("reply", "a reply with number 4, expected 5", None),
    "fail": ("reply", "the stub has failed", "ended with status 7 instead of a reply"),
    "hang": ("stall", "no reply for ", None),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("variant", FAULTS)
def test_a_fault_in_a_trial_is_named_and_what_was_measured_is_written(language: str, variant: str) -> None:
    stage, text, by_pipe = FAULTS[variant]
    if language == "pipe":
        stage, text = "exit" if variant == "fail" else stage, by_pipe or text
    stall_ns = STALL_NS if variant == "hang" else 60_000 * MS
    end = run_program(language, "ask", "go", variant=variant, requests=10**9, stall_ns=stall_ns)
    error, result = end.find("error"), end.find("result")
    assert (end.status, error["stage"], end.kinds[-1]) == (PEER, stage, "result")
    assert text in error["text"]
    assert error["text"] in end.stderr
    assert (result["complete"], result["reason"]) == (False, error["text"])
    messages = result["messages"]
    assert (messages["sent"], messages["received"], messages["missing"]) == ([6], [5], [1])
    if variant != "hang":  # its interval is not complete
        assert messages["round_trip_ns"]["count"] == 5


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("variant", "status", "stage", "text"),
    [
        ("corrupt", PEER, "reply", "byte 5 of the first reply is 0x"),
        ("brief", PEER, "reply", "the first request: a reply of 63 bytes"),
        ("refuse", SETUP, "connect", "refused as port 0"),
    ],
)
def test_a_fault_before_the_trial_is_named(
    language: str, variant: str, status: int, stage: str, text: str
) -> None:
    if language == "pipe" and variant == "refuse":
        status, stage, text = PEER, "exit", "ended with status 1 instead of a reply"
    if language == "pipe" and variant == "brief":
        text = "a reply of length 63"
    end = run_program(language, "ask", variant=variant)
    error = end.find("error")
    assert (end.status, end.kinds, error["stage"]) == (status, ["hello", "error"], stage)
    assert text in error["text"]


def test_a_fault_of_an_untimed_request_is_named() -> None:
    end = run_program("java", "ask", variant="warm-short")
    error = end.find("error")
    assert (end.status, end.kinds, error["stage"]) == (PEER, ["hello", "error"], "reply")
    assert error["text"] == "an untimed request: a reply of 63 bytes, expected 64"


def test_a_null_request_that_is_not_answered_by_one_is_named() -> None:
    end = run_program("pipe", "ask", variant="deaf")
    error = end.find("error")
    assert (end.status, error["stage"]) == (USAGE, "contract")
    assert "the null request (length 0) got a reply of length 1" in error["text"]


@pytest.mark.parametrize("language", ["c", "python", "java"])
def test_what_a_library_prints_is_no_record(language: str) -> None:
    end = run_program(language, "ask", "go", variant="chatty", requests=2)
    assert end.status == DONE
    assert end.find("result")["complete"] is True
    assert "this is no record" in end.stderr


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("how", ["stop", "end of stdin", "signal"])
def test_a_trial_that_is_ended_early_keeps_what_it_has(language: str, how: str) -> None:
    reasons = {"stop": "stopped by the controller", "end of stdin": "the controller is gone"}
    with running(language, "ask", requests=10**9, interval_ns=10 * MS) as process:
        tell(process, "go")
        read_until(process, "round_trips")
        if how == "stop":
            tell(process, "stop")
        elif how == "end of stdin":
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM)
        result = read_until(process, "result")
        assert process.wait(PATIENCE_S) == ENDED
    assert (result["complete"], result["reason"]) == (False, reasons.get(how, "ended by a signal"))
    assert result["messages"]["received"][0] == result["messages"]["round_trip_ns"]["count"] > 0


#: Each reads settings by code of its own; the others by that of Python and of C.
READING = ("c", "python", "java")


@pytest.mark.parametrize("language", READING)
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"contract": 2}, "this program has contract 1, its settings have 2"),
        ({"byte": 64}, "settings: unknown key 'byte'"),
        ({"bytes": 3}, "settings: bytes must be a whole number, 4 to 65536"),
        ({"priority": 99}, "settings: priority must be null or a whole number, 1 to 98"),
        ({"role": "other"}, "settings: role is 'other', the command line has 'ask'"),
        ({"requests": 1, "streams": 2}, "settings: 1 requests for 2 streams"),
        ({"bytes": float("nan")}, "settings: bytes must be a whole number, 4 to 65536"),
        ({"streams": float("inf")}, "settings: streams must be a whole number, 1 to 1024"),
        ({"cores": 5}, "settings: cores must be a list of cores, 0 to 1023"),
        ({"cores": [-1]}, "settings: cores must be a list of cores, 0 to 1023"),
        ({"cores": [0, 1024]}, "settings: cores must be a list of cores, 0 to 1023"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_settings_are_refused_by_their_key(language: str, settings: dict[str, Any], text: str) -> None:
    end = run_program(language, "ask", **settings)
    error = end.find("error")
    assert (end.status, error["stage"], error["text"]) == (USAGE, "contract", text)
    assert end.kinds == ["hello", "error"]


@pytest.mark.parametrize("language", READING)
@pytest.mark.parametrize(
    "text",
    ['{"name": "\\uZZZZ"}', '{"name": "\\u12"}', '{"cores": ' + "[" * 50_000 + "]" * 50_000 + "}"],
    ids=["escape", "short-escape", "nesting"],
)
def test_settings_that_are_no_json_are_refused(language: str, text: str) -> None:
    command = [text if word == "{}" else word for word in find_command(language, "ask", {})]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, input="")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, [record["type"] for record in records]) == (USAGE, ["hello", "error"])
    assert records[1]["stage"] == "contract"
    assert records[1]["text"].startswith("settings: ")


@pytest.mark.parametrize("language", ANSWERING)
def test_the_answering_end_listens_until_stop(language: str) -> None:
    with running(language, "answer", port=7000) as process:
        listening = read_until(process, "listening")
        tell(process, "stop")
        end = await_end(process)
    assert listening == {"type": "listening", "port": 7000, "versions": "stub 1.2", "settings": None}
    assert (end.status, end.records) == (DONE, [{"type": "result", "complete": True, "reason": None}])


@pytest.mark.parametrize("language", ANSWERING)
@pytest.mark.parametrize(
    ("variant", "status", "stage", "text"),
    [("taken", SETUP, "port", "port 0 is taken"), ("leave", PEER, "exit", "the server ended by itself")],
)
def test_an_answering_end_that_cannot_serve_says_why(
    language: str, variant: str, status: int, stage: str, text: str
) -> None:
    end = run_program(language, "answer", variant=variant)
    error = end.find("error")
    assert (end.status, error["stage"], error["text"]) == (status, stage, text)
    assert end.records[-1] == {"type": "result", "complete": False, "reason": text}
