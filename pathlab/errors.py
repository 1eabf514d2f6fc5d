"""The exception tree. Each class is one documented exit status; each message is one clear line.

A message names the thing at fault; ``hint`` names the fix. Secrets never appear in either.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar, Self

from pathlab.described_text import DescribedText


class ExitStatus(IntEnum):
    """Every exit status of the command ``pathlab``; ``meaning`` is its line in help and documentation."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Self:
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    DONE = 0, "done"
    FAULT = 1, "a fault of PathLab itself"
    USAGE = 2, "wrong usage or campaign file"
    HOST = 3, "a host cannot do what is needed"
    PARTIAL = 4, "the campaign is incomplete (run it again to continue)"
    STORE = 5, "results cannot be read or written"
    FOUND = 6, "compare found what --fail-on names, or nothing meets the targets of recommend"
    NOT_MEASURABLE = (
        7,
        "not measurable here: run, compare, compare-builds or recommend has no usable trial, as on a machine "
        "that is too busy",
    )
    INTERRUPTED = 130, "interrupted outside a trial"
    # 128 and the number of SIGPIPE, as shells have it
    OUTPUT_CLOSED = 141, "the program that read the output ended early"


class Stage(DescribedText):
    """Where a trial failed: the texts of ``HostError.stage`` and of the column ``failed_stage``."""

    CONNECT = "connect", "connection to a host"
    HOST_KEY = "host key", "identity of an SSH server"
    AUTHENTICATION = "authentication", "login at an SSH server"
    INTERPRETER = "interpreter", "Python on a host"
    DEPLOY = "deploy", "files put on a host"
    AGENT = "agent", "program on a host that starts engines and reads counters"
    LOCK = "lock", "lock that keeps a host to one run"
    ENGINE = "engine", "program that sends and receives"
    ADAPTER = "adapter", "program or server of a technology"
    BACKGROUND = "background", "background load"
    NETWORK = "network", "traffic or name resolution between the hosts"
    LAB = "lab", "emulated network"
    SAFETY_LIMIT = "safety-limit", "safety limit of the campaign"
    CONTROLLER = "controller", "the machine that conducts the run"

    @classmethod
    def parse(cls, text: object) -> Stage:
        """The stage of a text; ``AGENT`` for any other text, as an agent of another version may send."""
        return next((stage for stage in cls if stage == text), cls.AGENT)


class PathlabError(Exception):
    """Root of everything PathLab raises on purpose. Exit status 1."""

    exit_status: ClassVar[ExitStatus] = ExitStatus.FAULT

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UsageError(PathlabError):
    """A wrong argument on the command line or a wrong value given to the Python API. Exit status 2."""

    exit_status = ExitStatus.USAGE


class CampaignError(PathlabError):
    """A campaign file that cannot be used. Exit status 2.

    ``mistakes`` holds every mistake found, each as one line ``file:key: what is wrong``.
    """

    exit_status = ExitStatus.USAGE

    def __init__(self, message: str, *, mistakes: tuple[str, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.mistakes = mistakes


class HostError(PathlabError):
    """A host that cannot do what a trial needs. Exit status 3. Names the host and the stage."""

    exit_status = ExitStatus.HOST

    def __init__(self, message: str, *, host: str, stage: Stage, hint: str | None = None) -> None:
        where = stage if stage == host else f"host '{host}', {stage}"
        super().__init__(f"{where}: {message}", hint=hint)
        self.host = host
        self.stage = stage
        self.reason = message


class TrialError(PathlabError):
    """The one requested trial failed; the message is its recorded reason. Exit status 3."""

    exit_status = ExitStatus.HOST


class ProtocolError(PathlabError):
    """Two parts of PathLab that do not understand each other; names both versions. Exit status 3."""

    exit_status = ExitStatus.HOST


class StoreError(PathlabError):
    """A results file that cannot be read or written (missing, too old, too new, disk full). Exit status 5."""

    exit_status = ExitStatus.STORE


class NotMeasurable(PathlabError):  # noqa: N818 -- a named outcome, not a fault
    """No trial is usable: all were flagged or failed, as on a machine that is too busy. Exit status 7."""

    exit_status = ExitStatus.NOT_MEASURABLE


class PartialCampaign(PathlabError):  # noqa: N818 -- a named outcome, not a fault
    """A campaign that ended before its plan did; says what is missing and how to resume. Exit status 4."""

    exit_status = ExitStatus.PARTIAL


class ResultsGone(StoreError):  # noqa: N818 -- a named outcome, not a fault
    """Results that were followed were removed or replaced. Exit status 5."""


class SafetyAbort(PathlabError):  # noqa: N818 -- a trial's end that the campaign defines
    """A trial that exceeded a safety limit of the campaign and was ended early. Exit status 3."""

    exit_status = ExitStatus.HOST
