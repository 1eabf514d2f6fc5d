"""The harness of technologies in Python: loop, clock, histogram and records of CONTRACT.md.

An adapter ends with ``if __name__ == "__main__": harness.run(connect=…, answer=…, describe=…)``. Standard
library, Python 3.8. ``native/src/adapter`` is the same in C; both pass the vectors of tests/data.
"""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import os
import signal
import sys
import threading
import time
from typing import Any, Callable, List, NoReturn, Optional

from .asking import AskingEnd
from .program import NEVER_NS, REASONS, AdapterFunctions, CommandInput, RecordOutput, write_remark
from .settings import CONTRACT, DEFAULT_NAME, AdapterError, Settings

__all__ = ["AdapterError", "Settings", "run"]

PR_SET_PDEATHSIG = 1


def live_answering(
    adapter: AdapterFunctions, settings: Settings, output: RecordOutput, commands: CommandInput
) -> int:
    """The answering end, until ``stop``."""
    error: List[AdapterError] = []

    def ready(port: int) -> None:
        output.write("listening", port=port, **adapter.describe(None))

    def serve() -> None:
        try:
            served = adapter.answer(settings, ready)  # type: ignore[misc] # there is one
            if inspect.isawaitable(served):
                asyncio.run(_await_it(served))
            error.append(AdapterError("exit", "the server ended by itself"))
        except AdapterError as failure:
            error.append(failure)
        except Exception as failure:
            error.append(AdapterError("start", f"{type(failure).__name__}: {failure}"))
        commands.wake()

    threading.Thread(target=serve, daemon=True).start()
    while not error:
        command = commands.wait(NEVER_NS)
        if command in REASONS:
            reason = None if command == "stop" else REASONS[command]
            output.write("result", complete=reason is None, reason=reason)
            return 0 if reason is None else 5
    status = output.write_error(settings.name, error[0])
    output.write("result", complete=False, reason=error[0].text)
    return status


async def _await_it(awaited: Any) -> Any:
    return await awaited


def run(
    *,
    connect: Callable[..., Any],
    answer: Optional[Callable[..., Any]] = None,
    describe: Optional[Callable[..., Any]] = None,
) -> NoReturn:
    """Live as the program ``ask SETTINGS`` or ``answer SETTINGS`` of an adapter; ends the process."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("ask", "answer"):
        write_remark(f"usage: {sys.argv[0]} ask|answer SETTINGS, with settings as JSON")
        sys.exit(2)
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(5)
    output, name = RecordOutput(), DEFAULT_NAME
    settings: Optional[Settings] = None
    try:
        settings = Settings(sys.argv[2], sys.argv[1])
        name = settings.name
        if settings.role == "answer" and answer is None:
            raise AdapterError("contract", f"{name} has no answer()")
        failure = None
    except AdapterError as error:
        failure = error
    hello = {"contract": CONTRACT, "program": name, "language": "python"}
    output.write("hello", **hello, monotonic_ns=time.monotonic_ns(), pid=os.getpid())
    if failure is not None or settings is None:
        os._exit(output.write_error(name, failure or AdapterError("contract", "no settings")))
    adapter, commands = AdapterFunctions(connect, answer, describe), CommandInput()
    if settings.role == "answer":
        os._exit(live_answering(adapter, settings, output, commands))
    os._exit(AskingEnd(adapter, settings, output, commands).live())
