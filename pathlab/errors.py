"""The exception tree. Each class is one documented exit status; each message is one clear line.

A message names the thing at fault; ``hint`` names the fix. Secrets never appear in either.
"""

from __future__ import annotations

#: Exit status where what was asked for with an option was found, or was not: no error.
FOUND_STATUS = 6


class PathlabError(Exception):
    """Root of everything PathLab raises on purpose. Exit status 1."""

    exit_status = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UsageError(PathlabError):
    """A wrong argument on the command line or a wrong value given to the Python API. Exit status 2."""

    exit_status = 2


class CampaignError(PathlabError):
    """A campaign file that cannot be used. Exit status 2.

    ``mistakes`` holds every mistake found, each as one line ``file:key: what is wrong``.
    """

    exit_status = 2

    def __init__(self, message: str, *, mistakes: tuple[str, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.mistakes = mistakes


class HostError(PathlabError):
    """A host that cannot do what a trial needs. Exit status 3. Names the host and the stage.

    Stages: connect, host key, authentication, interpreter, deploy, agent, engine, network, lab.
    """

    exit_status = 3

    def __init__(self, message: str, *, host: str, stage: str, hint: str | None = None) -> None:
        where = stage if stage == host else f"host '{host}', {stage}"
        super().__init__(f"{where}: {message}", hint=hint)
        self.host = host
        self.stage = stage
        self.reason = message


class TrialError(PathlabError):
    """The one requested trial failed; the message is its recorded reason. Exit status 3."""

    exit_status = 3


class ProtocolError(PathlabError):
    """Two parts of PathLab that do not understand each other; names both versions. Exit status 3."""

    exit_status = 3


class StoreError(PathlabError):
    """A results file that cannot be read or written (missing, too old, too new, disk full). Exit status 5."""

    exit_status = 5


class NotMeasurable(PathlabError):  # noqa: N818 -- a named outcome, not a fault
    """No trial is usable: all were flagged or failed, as on a machine that is too busy. Exit status 7."""

    exit_status = 7


class PartialCampaign(PathlabError):  # noqa: N818 -- a named outcome, not a fault
    """A campaign that ended before its plan did; says what is missing and how to resume. Exit status 4."""

    exit_status = 4
