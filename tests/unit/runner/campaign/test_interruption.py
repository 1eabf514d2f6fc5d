"""A signal ends a run where it waits, and never while results are stored."""

import os
import signal
from collections.abc import Iterator

import pytest

from pathlab.runner.campaign.interruption import NUMBERS, Interrupted, Interruption


@pytest.fixture(autouse=True)
def _hang_up_counts() -> Iterator[None]:
    """As in a terminal, also where these tests themselves were started with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in NUMBERS]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_interrupts_and_the_handlers_come_back(number: signal.Signals) -> None:
    before = handlers()
    interruption = Interruption()
    with pytest.raises(Interrupted), interruption.watch():
        os.kill(os.getpid(), number)
        signal.pause()
    assert handlers() == before


def test_a_run_under_nohup_outlives_its_terminal() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Interruption().watch():
        os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_a_shield_puts_the_signal_off_to_its_end() -> None:
    interruption = Interruption()
    done: list[str] = []
    with pytest.raises(Interrupted), interruption.watch(), interruption.shield():
        os.kill(os.getpid(), signal.SIGTERM)
        done.append("stored")
    assert done == ["stored"]


def test_later_signals_are_ignored_while_the_run_ends() -> None:
    interruption = Interruption()
    wound_up = False
    with interruption.watch():
        with pytest.raises(Interrupted):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        wound_up = True
    assert wound_up


def test_an_error_inside_a_shield_is_not_hidden() -> None:
    interruption = Interruption()
    with pytest.raises(OSError, match="disk"), interruption.watch(), interruption.shield():
        raise OSError("disk")
