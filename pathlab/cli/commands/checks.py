"""What can be refused before the module of a command, which takes long to import, is loaded.

A check takes a command's parameters by name. It raises what the command itself would raise later.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pathlab.cli.commands.names import (
    COMPARISON_ENDINGS,
    HOST_FILE_NAME,
    LIST,
    LOCAL,
    REPORT_FORMS,
    RESULTS_FORMS,
    RESULTS_ROOT,
    VIEW_ENDINGS,
    list_analyses,
)
from pathlab.errors import StoreError, UsageError
from pathlab.files import open_for_reading
from pathlab.host_names import find_name_fault, parse_destination
from pathlab.store.location import locate_database

Given = Mapping[str, Any]
Check = Callable[[Given], None]


def check_stored(given: Given) -> None:
    """Results, and those of ``unchanged``, are there."""
    results = given["results"]
    for path in (*(results if isinstance(results, tuple) else (results,)), given.get("unchanged")):
        if path is not None:
            locate_database(path)


def check_pilot(given: Given) -> None:
    """The results of a pilot, where given, are there."""
    if given["pilot"] is not None:
        locate_database(given["pilot"])


def check_served(given: Given) -> None:
    """Each place holds results, or is a folder in which they are looked for."""
    for place in given["places"] or (RESULTS_ROOT,):
        if not place.is_dir():
            locate_database(place)
        elif not os.access(place, os.R_OK | os.X_OK):
            raise StoreError(
                f"folder '{place}' cannot be read: permission denied", hint="Check folder, owner and mode."
            )


def check_ends(given: Given) -> None:
    """The hosts file is TOML, and each end is one of its hosts or what ssh would take."""
    known = _list_hosts(given["hosts_file"])
    for end in given["ends"]:
        if end not in known:
            parse_destination(end)


def check_target(given: Given) -> None:
    """As ``check_ends``; the second end of a path may be any address unless an agent has to run there."""
    source, target = given["ends"]
    check_ends({**given, "ends": (source, target) if given["both"] else (source,)})
    fault = find_name_fault(target)
    if fault is not None and target not in _list_hosts(given["hosts_file"]):
        raise UsageError(f"'{target}' is not a host: {fault}", hint="give a name or an address")


def check_validated_ends(given: Given) -> None:
    """As ``check_ends``, unless the hosts are those of a lab."""
    if given["lab"] is None:
        check_ends({**given, "ends": (given["source"], given["destination"])})


def check_hosts(given: Given) -> None:
    """As ``check_ends`` for any number of hosts, or the campaign that names them."""
    check_ends({**given, "ends": given["hosts"]})
    if given.get("campaign"):
        check_campaign(given)


def _list_hosts(hosts_file: Path | None) -> set[str]:
    known = {LOCAL}
    if hosts_file is None and not Path(HOST_FILE_NAME).is_file():
        return known
    from pathlab.campaign.toml_text import parse_toml, read_toml_text

    path = hosts_file or Path(HOST_FILE_NAME)
    tables = parse_toml("hosts file", path, read_toml_text("hosts file", str(path), "Give a TOML file."))
    hosts = tables.get("hosts")
    return known | set(hosts if isinstance(hosts, dict) else ())


def check_campaign(given: Given) -> None:
    """The campaign is a file or one that ships, and it and the hosts file are TOML."""
    from pathlab.campaign.campaign_text import read_campaign
    from pathlab.campaign.toml_text import parse_toml

    text = read_campaign(given["campaign"])
    parse_toml("campaign", text.label, text.text)
    hosts_file = given.get("hosts_file") or given.get("hosts")
    if isinstance(hosts_file, Path):
        _list_hosts(hosts_file)


def check_analyses(given: Given) -> None:
    """Analyses, published table and results are there; ``list`` needs no results."""
    names, reference = given["names"], given["reference"]
    if LIST in names:
        return
    if names:
        from pathlab.study.base.analysis_choice import choose_known_names

        choose_known_names(names, list_analyses())
    if reference is not None:
        from pathlab.reference.series import load_table

        load_table(reference)
    check_stored(given)


def check_targets(given: Given) -> None:
    """Rate, size and latency can be read, rate and latency come together, and the results are there."""
    from pathlab.units import parse_bytes, parse_frequency_per_s, parse_time_ns

    parsers: dict[str, Callable[[str], int]] = {
        "rate": parse_frequency_per_s,
        "size": parse_bytes,
        "p99": parse_time_ns,
    }
    for name, parse in parsers.items():
        with _naming_option(name):
            if given[name] is not None and not parse(given[name]):
                raise UsageError("0 is not a target", hint="name a value above 0")
    if (given["rate"] is None) != (given["p99"] is None):
        lacking = "--p99" if given["p99"] is None else "--rate"
        raise UsageError(f"{lacking} is missing", hint="give both --rate and --p99, or neither of them")
    check_stored(given)


def check_reference(given: Given) -> None:
    """The published table is there."""
    from pathlab.reference.series import load_table

    load_table(given["name"])


def check_times(*names: str) -> Check:
    """A check that these options, where they are given, are times; a bare number is seconds."""

    def check(given: Given) -> None:
        from pathlab.units import parse_time_ns

        for name in names:
            with _naming_option({"duration": "time"}.get(name, name)):
                if given[name] is not None:
                    parse_time_ns(given[name], bare_unit="s")

    return check


def check_wait(given: Given) -> None:
    """The longest wait for idle hosts is a time."""
    from pathlab.units import parse_wait_ns

    with _naming_option("wait-idle"):
        if given["wait_idle"] is not None:
            parse_wait_ns(given["wait_idle"])


@contextlib.contextmanager
def _naming_option(name: str) -> Iterator[None]:
    """Put the option before the message of a UsageError."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"--{name}: {error}", hint=error.hint) from error


def check_files(given: Given) -> None:
    """Files to import can be opened; with ``keep_going`` those that cannot are left out later."""
    for path in () if given["keep_going"] else given["files"]:
        try:
            open_for_reading(path).close()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            hint = "check the path and its permissions; --keep-going imports the other files"
            raise StoreError(f"'{path}' cannot be read: {reason}", hint=hint) from error


def check_comparison(given: Given) -> None:
    """The page of a comparison has a known ending and can be written."""
    page = given["report"]
    if page is None:
        return
    from pathlab.report.plots.figure_file import check_comparison_file

    check_comparison_file(page, COMPARISON_ENDINGS)
    check_writable("--report", page)


def check_age(given: Given) -> None:
    """The age of series to delete is a time."""
    if given["age"] is not None:
        from pathlab.units import parse_age_ns

        parse_age_ns(given["age"])


def check_figure(given: Given) -> None:
    """The figure's file has a known ending and a folder."""
    if given["figure"] is not None:
        from pathlab.report.plots.figure_file import check_figure_file

        check_figure_file(given["figure"], "--figure")


def check_report(given: Given) -> None:
    """The report's place takes files: ``out``, else next to the results, of a figure the working folder."""
    results = given["results"]
    places = [locate_database(path).parent for path in results]
    if len(results) > 1 and (given["figure"] is not None or set(given["formats"]) - set(RESULTS_FORMS)):
        raise UsageError(
            f"a report is of one results folder, and {len(results)} are given",
            hint="several together: --format explorer, pathlab compare, or pathlab results merge",
        )
    if len(results) > 1 and not given["formats"]:
        raise UsageError(
            f"{len(results)} results folders are given",
            hint="--format explorer shows several on the same axes",
        )
    place = Path() if given["figure"] is not None else places[0]
    if given["figure"] != LIST:
        check_writable("--out", given["out"] or place)


def check_no_look(given: Given, file: str | None) -> None:
    """Raise UsageError for options of a figure where there is none; ``file``: what is written instead."""
    for name, key in (("--size", "size"), ("--title", "title"), ("--label", "labels"), ("--style", "style")):
        if given[key] not in (None, ()):
            raise UsageError(
                f"{name} is for a figure" + (f", and '{file}' is none" if file else ""),
                hint="write one: .svg, .pdf or .png",
            )


def split_view(given: tuple[str, ...]) -> tuple[list[Path], str]:
    """The results and the text of the view: the last argument, unless it is the only one or a file.

    Of an address of the explorer it is the part behind the ``#``. Its parts may be arguments of their own.
    """
    *paths, last = given
    if not paths or ("=" not in last and Path(last).exists()):
        return [Path(item) for item in given], ""
    parts = [last.rpartition("#")[2]]
    while len(paths) > 1 and "=" in paths[-1] and not Path(paths[-1]).exists():
        parts.insert(0, paths.pop())
    return [Path(path) for path in paths], "&".join(parts)


def check_view(given: Given) -> None:
    """The results are there; the file has a known ending and can be written."""
    for path in split_view(given["given"])[0]:
        locate_database(path)
    output = given["output"]
    if output is None or output.suffix.lower() in (".csv", ".json"):
        check_no_look(given, f"--output {output}" if output else None)
    if output is None:
        return
    if output.suffix.lower() not in VIEW_ENDINGS:
        known = " or ".join((", ".join(VIEW_ENDINGS[:-1]), VIEW_ENDINGS[-1]))
        raise UsageError(
            f"--output: '{output}' does not end in {known}", hint="name a file such as view.csv or view.svg"
        )
    check_writable("--output", output)


def _check_ending(formats: tuple[str, ...], out: Path | None) -> None:
    """A single form has the ending of its own."""
    ending = "" if out is None or out.is_dir() else out.suffix.lower()
    if len(set(formats)) == 1 and ending in {f".{form}" for form in REPORT_FORMS} - {f".{formats[0]}"}:
        raise UsageError(
            f"'{out}' ends as {ending[1:]} but --format says {formats[0]}",
            hint=f"give a name that ends in .{formats[0]}, or leave --format out",
        )


def check_inspection(given: Given) -> None:
    """The span is two times in their order, the place takes files, and the results are there."""
    from pathlab.units import parse_time_ns

    ends = []
    for name, option_name in (("first", "from"), ("last", "to")):
        with _naming_option(option_name):
            if given[name] is not None:
                ends.append(parse_time_ns(given[name], bare_unit="s"))
    if len(ends) == 2 and ends[0] >= ends[1]:
        raise UsageError(
            f"--from {given['first']} is not before --to {given['last']}", hint="name a later end"
        )
    if given["formats"] or given["out"] is not None:
        _check_ending(given["formats"], given["out"])
        check_writable("--out", given["out"] or Path())
    check_figure(given)
    source = given["source"]
    if given["trial"] is not None:
        locate_database(source)
    elif source.is_dir():
        raise UsageError(
            f"'{source}' is a folder", hint="name a capture file, or --trial N of a results folder"
        )
    else:
        try:
            if source.is_file():
                source.open("rb").close()
            else:
                source.stat()  # opening a pipe would wait for its writer
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StoreError(
                f"capture '{source}' cannot be read: {reason}", hint="name a pcap or pcapng file"
            ) from error


def check_place(option: str) -> Check:
    """A check that the file or folder of an option, where it is given, can be made or written into."""
    name = option.removeprefix("--")

    def check(given: Given) -> None:
        if given[name] is not None:
            check_writable(option, given[name])

    return check


def check_writable(option: str, place: Path) -> None:
    """Raise StoreError unless a file or folder can be made at ``place``, or in it if it is a folder.

    The nearest folder that exists is tried; nothing is left in it.
    """
    try:
        folder = place.absolute()
        while not folder.exists():
            folder = folder.parent
        folder = folder.parent if folder == place.absolute() and not folder.is_dir() else folder
        trial = folder / f".pathlab-{os.getpid()}.new"
        trial.mkdir()
        trial.rmdir()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise StoreError(
            f"{option}: '{place}' cannot be written: {reason}", hint="name a place that may be written"
        ) from error
