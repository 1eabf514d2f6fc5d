"""One end of a technology on this host, as a program that the agent starts: options in, records out.

The asking end becomes the adapter's program, so that no process is in between. The answering end starts
server and responder in a sandbox, finds their port, and states their CPU time. PROTOCOL.md has the records.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
from typing import Any, Dict, Mapping

from pathlab.agents.adapters.answering import AnsweringEnd
from pathlab.agents.adapters.build import find_manifest, list_adapter_folders, open_cache, prepare_program
from pathlab.agents.adapters.manifest import CONTRACT, Manifest, read_manifests
from pathlab.agents.adapters.needs import (
    TechnologyError,
    fill_placeholders,
    find_missing,
    read_server_versions,
)
from pathlab.agents.adapters.sandbox import probe_namespaces
from pathlab.agents.listeners import check_numeric_address, parse_ports
from pathlab.agents.peers import die_with_parent
from pathlab.agents.protocol import parse_object

EXIT_DONE, EXIT_USAGE, EXIT_SETUP = 0, 2, 3
DEFAULT_SCOPE = "pathlab"
_SCOPE = re.compile(r"[a-z][a-z0-9]{0,31}")


def run_adapter(text: str) -> int:
    """Do what the options say; return the exit status, unless this process becomes the program."""
    parent = os.getppid()
    die_with_parent()
    if os.getppid() != parent:
        return EXIT_SETUP  # the agent was killed meanwhile
    try:
        options = parse_object(text.encode("utf-8"))
        if "check" in options:
            write_record({"type": "technologies", "technologies": _check(options["check"])})
            return EXIT_DONE
        manifest = find_manifest(str(options["name"]))
        role, ports = options["role"], parse_ports(options["ports"])
        if role not in ("ask", "answer"):
            raise ValueError(f"'{role[:20]}' is not a role (ask or answer)")
        settings = _complete_settings(options["settings"], manifest, role)
        program = prepare_program(manifest, options.get("engine"))
        if role == "answer":
            seconds = float(options["seconds"])
            return AnsweringEnd(manifest, program, settings, ports, seconds, write_record).run()
        words = [*program.words, role, json.dumps(settings)]
        values = {
            **{name: str(settings.get(name, "")) for name in ("address", "port", "scope")},
            "source": program.source,
        }
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores them, and a program would go on so
        os.execv(words[0], words + _client_words(manifest, values))
    except TechnologyError as error:
        return write_failure(error.stage, error.text, EXIT_SETUP)
    except OSError as error:
        return write_failure("start", str(error), EXIT_SETUP)
    except (KeyError, TypeError, ValueError) as error:
        return write_failure("contract", f"the agent's options are refused: {error}", EXIT_USAGE)


def _complete_settings(given: Mapping[str, Any], manifest: Manifest, role: str) -> Dict[str, Any]:
    """The program's settings, with what this side knows. ValueError: no address."""
    check_numeric_address(given.get("address"))  # configurations of servers hold it, and the scope
    scope = given.get("scope", DEFAULT_SCOPE)
    if not isinstance(scope, str) or _SCOPE.fullmatch(scope) is None:
        raise ValueError("the scope is no small letters and digits, the first one a letter")
    own = {"contract": CONTRACT, "name": manifest.name, "variant": manifest.variant or "", "role": role}
    return {**given, **own, "scope": scope}


def _client_words(manifest: Manifest, values: Mapping[str, str]) -> "list[str]":
    """The program to ask through a pipe, which follows the engine's settings; none for other languages."""
    return [fill_placeholders(word, values) for word in manifest.client]


def _check(names: Any) -> Dict[str, Any]:
    """Of each technology what is missing here, its versions, and whether its server gets a sandbox."""
    sandbox = probe_namespaces(open_cache()) is None
    faults: "list[str]" = []
    manifests = read_manifests(list_adapter_folders(), faults)
    answers = {}
    for name in names:
        manifest = manifests.get(name)
        if manifest is None:
            missing = [{"what": f"the technology '{name[:40]}'", "debian": None, "pip": None}]
        else:
            missing = find_missing(manifest)
        versions = read_server_versions(manifest) if manifest is not None and not missing else None
        answers[name] = {"missing": missing, "sandbox": sandbox, "versions": versions}
    return answers


def write_failure(stage: str, text: str, status: int) -> int:
    write_record({"type": "error", "stage": stage, "text": text})
    return status


def write_record(record: Mapping[str, Any]) -> None:
    """One JSON line on stdout; nothing where the reader has gone."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(record, separators=(",", ":")) + "\n")
        sys.stdout.flush()
