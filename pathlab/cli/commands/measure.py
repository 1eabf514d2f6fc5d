"""Measure once between two hosts."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pathlab.cli.declaration import (
    ACCEPT_KEYS,
    ENDS,
    HOSTS_FILE,
    WAIT_IDLE,
    declare,
    flag,
    json_flag,
    option,
)
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.host_options import name_hosts, read_tables
from pathlab.cli.values import WRITABLE_PATH
from pathlab.errors import (
    CampaignError,
    HostError,
    PartialCampaign,
    PathlabError,
    Stage,
    TrialError,
    UsageError,
)
from pathlab.escaping import escape_line
from pathlab.host_names import LOCAL, parse_destination
from pathlab.units import parse_time_ns

with DeferredImports() as models:
    from pathlab.campaign.host_file import put_hosts
    from pathlab.campaign.load import build_campaign
    from pathlab.campaign.model import Campaign
    from pathlab.engines.spec import HandStarted

with DeferredImports() as libraries:
    import json
    import tempfile

    from rich.console import Console

    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.live import LiveView
    from pathlab.printed_table import PrintedParagraph
    from pathlab.remote.hosts import build_access
    from pathlab.report.trials.trial_answer import (
        TrialAnswer,
        describe_answer,
        describe_trial_limit,
        format_summary,
    )
    from pathlab.report.trials.trial_notes import list_remarks
    from pathlab.report.trials.trial_text import render_trial
    from pathlab.runner.campaign.folders import choose_folder
    from pathlab.runner.campaign.run import CampaignSource, run_campaign
    from pathlab.runner.history import append_measurement, check_history
    from pathlab.store.flags import Status
    from pathlab.store.records import TrialRecord
    from pathlab.store.results import Results
    from pathlab.study.flows.steadiness import classify_steadiness
    from pathlab.study.flows.trial_limit import classify_record


LABEL = "measure"
#: Steady window and warm-up.
TIME, WARMUP = "10s", "1s"
#: Rate of a UDP flow that is measured without one: it floods no access line. The word for no rate.
UDP_RATE, RATE_MAX = "10Mbit/s", "max"
#: Streams in each direction of the test of latency under load that Flent calls rrul.
RRUL_STREAMS = 4
#: What somebody starts at a host that SSH does not reach, and its port by default.
RECEIVE, PORT = "pathlab-engine receive --flows 0", 5210
#: Stages at which an agent could not be started over SSH.
SSH_STAGES = (Stage.CONNECT, Stage.AUTHENTICATION, Stage.INTERPRETER, Stage.DEPLOY)
LONGEST_TRANSFER = "24h"
#: What people call this machine, for which no SSH server has to run.
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
#: Factors that the campaign has only where their options are given.
GIVEN = (
    *("pacing", "transfer", "message", "message_rate", "reply", "transport"),
    *("datagram", "gso", "gro"),
)
#: Options of UDP flows alone.
OF_UDP = ("datagram", "gso", "gro")


def measure(
    ends: tuple[str, str],
    hosts_file: Path | None,
    out: Path | None,
    *,
    wait_idle_ns: int | None,
    accept_new_host_keys: bool,
    as_json: bool,
    summary: bool,
    history: Path | None,
    receiver: int | None,
    **settings: Any,
) -> None:
    """Measure once from the first HOST to the second (from this machine when one is named).

    A HOST is `local`, this machine, a host of hosts.toml, or [user@]host[:port] as for ssh.
    """
    settings = _read_rrul(settings)
    direction = _read_direction(settings)
    if as_json and summary:
        raise UsageError("--json and --summary exclude each other", hint="the JSON has the summary as well")
    settings = _read_datagrams(settings)
    if receiver is not None:
        _check_receiver(ends, settings)
    tables = read_tables(hosts_file)
    named = name_hosts(ends, tables)
    quiet = as_json or summary
    if not quiet:
        click.echo("preparing the measurement")  # the libraries take longer than people wait without a sign
    models.load()
    campaign = _build_campaign(named, tables, settings)
    by_hand = None if receiver is None else HandStarted(host=campaign.paths[0].destination, port=receiver)
    libraries.load()
    if history is not None:
        check_history(history)  # before minutes of traffic
    access = build_access(accept_new_host_keys=accept_new_host_keys)
    console = TerminalConsole(stderr=quiet)
    idle_ns = wait_idle_ns or 0
    source = CampaignSource(campaign=campaign, text="", access=access, wait_idle_ns=idle_ns, by_hand=by_hand)
    with tempfile.TemporaryDirectory(prefix="pathlab-") as scratch:
        folder = choose_folder(campaign, out=out or Path(scratch) / "measure", new=True)
        with LiveView(console, quiet=quiet, bar_only=True) as view:
            try:
                outcome = run_campaign(source, folder, view)
            except HostError as error:
                raise _offer_receiver(error, ends) from error
        shown = _Shown(direction=direction, as_json=as_json, summary=summary, history=history, out=out)
        record = _show(folder, shown, console)
    if record is None:
        raise PartialCampaign(f"{outcome.ended or 'ended'} before the trial began", hint="measure again")
    if outcome.interrupted:
        raise PartialCampaign(
            f"the trial was {outcome.ended}", hint="what it measured until then is above; measure again"
        )
    if record.status != Status.COMPLETE:
        hint = "pathlab doctor shows what this host can do"
        if receiver is not None:
            hint = (
                f"run `{RECEIVE} --port {receiver}` at {ends[1]}; it serves one measurement at a time, and "
            )
            hint += (
                "ends one in which nothing arrives for 30 s (--idle-timeout 0: never); its output names why"
            )
        raise TrialError(record.failure or "the trial failed", hint=hint)


def _check_receiver(ends: tuple[str, str], settings: dict[str, Any]) -> None:
    """Raise UsageError for what cannot be measured with an engine that was started by hand."""
    if ends[0] != LOCAL or ends[1] == LOCAL:
        raise UsageError(
            "--receiver is for one HOST, which this machine measures to",
            hint="pathlab measure HOST --receiver PORT",
        )
    zone = parse_destination(ends[1]).address.partition("%")[2]
    if zone and not zone.isdecimal() and zone not in (name for _, name in socket.if_nameindex()):
        raise UsageError(
            f"'{ends[1]}': this machine has no interface '{zone}'",
            hint="`ip link` lists them; write an address such as fe80::1%eth0",
        )
    options = {"udp": "--udp", "message": "--message", "transport": "--transport"}
    if not settings["reverse"]:  # the sender counts what its kernel took, which may be far ahead of the path
        options["transfer"] = "--bytes"
    excluded = [option for name, option in options.items() if settings[name]]
    if excluded:
        raise UsageError(
            f"--receiver excludes {excluded[0]}: the counts of both ends are needed",
            hint="leave --receiver out, and let SSH start both ends",
        )


def _offer_receiver(error: HostError, ends: tuple[str, str]) -> HostError:
    """The error; where SSH to the far host failed, with the way that needs none."""
    if ends[0] != LOCAL or error.stage not in SSH_STAGES:
        return error
    if ends[1].rpartition("@")[2] in LOOPBACK_NAMES:
        return HostError(
            error.reason,
            host=error.host,
            stage=error.stage,
            hint=f"this machine is called '{LOCAL}' and needs no SSH: pathlab measure {LOCAL}",
        )
    without = f"without SSH: run `{RECEIVE}` at {ends[1]}, then add --receiver {PORT} here"
    hint = f"{error.hint}; {without}" if error.hint else without
    return HostError(error.reason, host=error.host, stage=error.stage, hint=hint)


def _build_campaign(
    named: list[tuple[str, dict[str, Any] | None]],
    tables: dict[str, dict[str, Any]],
    settings: dict[str, Any],
) -> Campaign:
    (source, _), (destination, _) = named
    data: dict[str, Any] = {
        "format": 1,
        "name": "measure",
        "title": f"{source} to {destination}",
        "seed": 0,
        "retries": 0,
        "hosts": {name: table for name, table in named if table is not None},
        "paths": [{"source": source, "destination": destination}],
        "factors": {
            "streams": settings["streams"],
            "window": settings["window"],
            "congestion": settings["congestion"],
            "direction": _read_direction(settings),
            **{key: settings[key] for key in GIVEN if settings[key] not in (None, False)},
        },
        "trial": {
            **_read_times(settings),
            "interval": settings["interval"],
        },
        "probes": {
            "interval": settings["probe_interval"],
            "timeout": settings["probe_timeout"],
            "unloaded": settings["unloaded"],
        },
    }
    put_hosts(data, tables)  # those to be jumped through
    try:
        return build_campaign(data, label=LABEL)
    except CampaignError as error:
        raise UsageError(_in_words_of_options(error), hint="pathlab measure --help") from error


def _read_rrul(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with those of ``--rrul``: both directions at once, by default four streams each."""
    streams = settings["streams"]
    if not settings["rrul"]:
        return {**settings, "streams": streams or 1}
    excluded = [name for name in ("reverse", "udp", "message") if settings[name]]
    if excluded:
        raise UsageError(
            f"--rrul and --{excluded[0]} exclude each other",
            hint="--rrul is TCP in both directions at once",
        )
    return {**settings, "both": True, "streams": streams or RRUL_STREAMS}


def _read_direction(settings: dict[str, Any]) -> str:
    if settings["reverse"] and settings["both"]:
        raise UsageError("--reverse and --both exclude each other", hint="give one of them")
    return "both" if settings["both"] else "reverse" if settings["reverse"] else "forward"


def _read_datagrams(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with transport and rate of a UDP flow. UsageError for options that it does not have.

    Without a rate it gets a moderate one: a path is flooded on request only.
    """
    if settings["udp"] and (settings["message"] or settings["transport"] not in (None, "udp")):
        raise UsageError(
            "--udp excludes --message and --transport", hint="messages by UDP: --transport udp --message SIZE"
        )
    flow = settings["udp"] or (settings["transport"] == "udp" and not settings["message"])
    given = [name for name in OF_UDP if settings[name] not in (None, False)]
    rate = settings["pacing"]
    if not flow and (given or rate == RATE_MAX):
        option = f"--{given[0]}" if given else f"--rate {RATE_MAX}"
        raise UsageError(f"{option} is for UDP flows", hint="add --udp")
    if not flow:
        return settings
    pacing = None if rate == RATE_MAX else rate or UDP_RATE
    return {**settings, "transport": "udp", "pacing": pacing}


def _read_times(settings: dict[str, Any]) -> dict[str, str]:
    """Warm-up and duration as in a campaign file. UsageError for a time alongside an amount."""
    duration, warmup, transfer = (settings[name] for name in ("duration", "warmup", "transfer"))
    if transfer is None:
        text = duration or TIME
        text += "s" * text.replace(".", "", 1).isdigit()
        return {"warmup": warmup or _choose_warmup(text), "duration": text}
    if duration is not None:
        raise UsageError(
            "--bytes and --time exclude each other: a trial ends by one of them", hint="leave one of them out"
        )
    return {"warmup": warmup or "0s", "duration": LONGEST_TRANSFER}


def _choose_warmup(duration: str) -> str:
    """The default, or half of a short duration: who wants a quick look does not wait longer for its start."""
    try:
        half_ns = parse_time_ns(duration) // 2
    except UsageError:
        return WARMUP  # the check of the campaign names the duration
    return WARMUP if half_ns >= parse_time_ns(WARMUP) else f"{half_ns}ns"


def _in_words_of_options(error: CampaignError) -> str:
    """The mistakes, each under the option that its value was given by; one trial has no combinations."""
    lines = []
    for mistake in error.mistakes:
        key, _, text = mistake.removeprefix(f"{LABEL}:").partition(": ")
        lines.append(f"{_name_option(key)}: {text.partition('; expected where = ')[0]}")
    return "; ".join(lines)


def _name_option(key: str) -> str:
    """The option that sets a key of the campaign; the key itself where none does."""
    table, _, name = key.partition(".")
    options = {parameter.name: parameter.opts[0] for parameter in command.params}
    options["direction"] = "--reverse or --both"
    return options.get(f"probe_{name}" if table == "probes" else name, options.get(name, key))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """How the trial is printed, and where it is kept besides the results folder."""

    direction: str
    as_json: bool
    summary: bool
    history: Path | None
    out: Path | None


def _show(folder: Path, how: _Shown, console: Console) -> TrialRecord | None:
    """Append the trial to the history and print it with its limit; None without a trial.

    It is printed as well where it could not be appended; one that failed before anything was measured is
    not, unless a line or JSON is requested.
    """
    with Results.open(folder) as results:
        records = list(results.records_by_id().items())
        if not records:
            return None
        trial_id, record = records[-1]
        failure: PathlabError | None = None
        kept: int | None = None
        if how.history is not None:
            try:
                kept = append_measurement(how.history, results)[-1]
            except PathlabError as error:
                failure = error
        _print(results, trial_id, record, how, console, kept)
        if failure is not None:
            raise failure
        return record


def _print(
    results: Results, trial_id: int, record: TrialRecord, how: _Shown, console: Console, kept: int | None
) -> None:
    direction = how.direction
    result = classify_record(results, trial_id, record, reverse=direction == "reverse")
    if how.as_json or how.summary:
        answer = TrialAnswer(
            record=record,
            limit=describe_trial_limit(record, result),
            steadiness=classify_steadiness(results, trial_id, record),
            direction=direction,
        )
        if how.summary:
            click.echo(escape_line(format_summary(answer)))
            return
        document = describe_answer(answer, results.export_record(trial_id))
        if kept is not None:
            document["history"] = {"path": str(how.history), "trial_id": kept}
        click.echo(json.dumps(document, indent=2))
        return
    if record.status == Status.COMPLETE or record.received_total_bytes is not None:
        render_trial(record, results, trial_id, console, direction)
        console.print()
        for note in list_remarks(record, result, direction):
            console.print(PrintedParagraph(note))
    if kept is not None:
        console.print(PrintedParagraph(f"Kept as trial {kept} of {how.history}", "dim"))
    if how.out is not None:
        console.print(PrintedParagraph(f"Kept in {how.out}", "dim"))


command = declare(
    "measure",
    measure,
    ENDS,
    option(
        "--streams",
        "-P",
        type=click.IntRange(1, 4096),
        help=f"TCP connections, or UDP flows. [default: 1, with --rrul {RRUL_STREAMS}]",
    ),
    option("--window", "-w", default="auto", help="Socket buffer per stream, such as 256K."),
    option("--time", "-t", "duration", help=f"Steady window; a bare number is seconds. [default: {TIME}]"),
    option(
        "--bytes",
        "transfer",
        help="Carry this much in each direction instead, such as 1G; with --warmup its data count as well.",
    ),
    flag("--reverse", "-R", help="The second HOST sends."),
    flag("--both", help="Both send at once."),
    flag(
        "--rrul",
        help=f"Latency under load in both directions: {RRUL_STREAMS} streams each at once, as Flent's rrul.",
    ),
    option(
        "--receiver",
        "-p",
        type=click.IntRange(1, 65534),
        metavar="PORT",
        help="Without SSH: use `pathlab-engine receive --flows 0 --port PORT`, which runs at HOST already.",
    ),
    flag("--udp", help="Send UDP datagrams: measures loss, reordering and jitter."),
    option(
        "--rate",
        "pacing",
        help="Highest rate of each direction, all streams together, such as 40Mbit/s; with --udp the rate "
        f"offered, or `{RATE_MAX}`, as fast as possible. [default: TCP none, UDP {UDP_RATE}]",
    ),
    option("--datagram", help="UDP: payload of each datagram, such as 64. [default: the path's MTU]"),
    flag("--gso", help="UDP: the sender hands over several datagrams at once (UDP_SEGMENT)."),
    flag("--gro", help="UDP: the receiver takes several datagrams at once (UDP_GRO)."),
    option("--message", help="Send messages of this size, such as 64B, instead of a stream of bytes."),
    option(
        "--message-rate", type=click.IntRange(1), help="Messages per second. [default: as many as possible]"
    ),
    flag("--reply", help="The receiver returns each message: measures its round trip."),
    option("--transport", help="What carries the data: tcp, mptcp, udp, or on one host unix."),
    option(
        "--warmup",
        help=f"Traffic before the steady window. [default: {WARMUP} or half of --time, the shorter; "
        "with --bytes 0s]",
    ),
    option("--interval", default="100ms", help="Length of one record."),
    option("--congestion", default="default", help="Congestion control, such as cubic."),
    option("--probe-interval", default="20ms", help="Time between two RTT probes."),
    option(
        "--probe-timeout",
        default="1s",
        help="First time-out of a probe; it grows to three times the longest RTT, and a later answer counts.",
    ),
    option("--unloaded", default=20, help="RTT probes after the traffic."),
    json_flag("Print the answer and the whole record as JSON."),
    flag("--summary", help="Print one line to paste into a ticket."),
    option("--out", type=WRITABLE_PATH, help="Keep the results, with all series, in this folder."),
    option(
        "--history",
        type=WRITABLE_PATH,
        metavar="FILE.db",
        help="Append to this file, made if it is not there; it is read as any results.",
    ),
    WAIT_IDLE,
    HOSTS_FILE,
    ACCEPT_KEYS,
)
