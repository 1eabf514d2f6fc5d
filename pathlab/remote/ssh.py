"""An agent on a host reached over SSH: deployed if need be, spoken to over the channel that started it."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import paramiko

from pathlab.agents.protocol import MAX_NOISE_BYTES, FrameDecoder, FrameError, encode_frame
from pathlab.errors import HostError, Stage
from pathlab.remote.bootstrap import (
    NO_INTERPRETER_STATUS,
    Delivery,
    build_bootstrap,
    build_delivery,
)
from pathlab.remote.ssh_connection import SshConnection
from pathlab.remote.transport import Channel, LostError, Transport

WRITE_TIMEOUT_S = 10.0
END_TIMEOUT_S = 3.0
BOOTSTRAP_TIMEOUT_S = 30.0
DELIVERY_TIMEOUT_S = 240.0  # with a compilation on a slow host
STDERR_TAIL_BYTES = 16 * 1024
READ_BYTES = 64 * 1024


class SshChannel(Channel):
    """The stdin and stdout of one command on the host."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._channel.settimeout(WRITE_TIMEOUT_S)
        self._tail = bytearray()
        self._tail_lock = threading.Lock()
        self._closed = False

    def write(self, data: bytes) -> None:
        try:
            self._channel.sendall(data)
        except TimeoutError:
            raise TimeoutError(f"it accepted no input for {WRITE_TIMEOUT_S:g} s") from None
        except (OSError, paramiko.SSHException, EOFError) as error:
            self._check_connection()
            raise BrokenPipeError("the channel is closed") from error

    def read(self, max_bytes: int) -> bytes:
        while True:
            self._keep_stderr()
            try:
                data: bytes = self._channel.recv(max_bytes)
            except TimeoutError:
                continue
            except (OSError, paramiko.SSHException, EOFError) as error:
                self._check_connection()
                raise OSError(str(error) or type(error).__name__) from error
            if not data and not self._closed:
                self._check_connection()
            return data

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(OSError, paramiko.SSHException, EOFError):
            if self.is_connected():
                self._channel.shutdown_write()
                self._channel.status_event.wait(END_TIMEOUT_S)
        self._keep_stderr()
        with contextlib.suppress(OSError, paramiko.SSHException, EOFError):
            self._channel.close()

    def abandon(self) -> None:
        """Give the whole connection up as lost; the next use makes it anew."""
        self._closed = True
        self._channel.get_transport().close()

    def stderr_tail(self) -> str:
        self._keep_stderr()
        with self._tail_lock:
            return self._tail.decode("utf-8", "replace")

    def alive(self) -> bool:
        return not self._channel.exit_status_ready() and self.is_connected()

    def exit_status(self, timeout_s: float) -> int | None:
        """The command's exit status, None when it did not come in time or a signal ended it."""
        self._channel.status_event.wait(timeout_s)
        status: int = self._channel.exit_status
        return status if status >= 0 else None

    def is_connected(self) -> bool:
        """Whether the connection that carries this channel is up; there may be a newer one by now."""
        return bool(self._channel.get_transport().is_active())

    def _check_connection(self) -> None:
        if not self.is_connected() and not self._closed:
            raise LostError("the SSH connection was lost")

    def _keep_stderr(self) -> None:
        with contextlib.suppress(OSError, paramiko.SSHException, EOFError):
            while self._channel.recv_stderr_ready():
                data = self._channel.recv_stderr(READ_BYTES)
                if not data:
                    return
                with self._tail_lock:
                    self._tail += data
                    del self._tail[:-STDERR_TAIL_BYTES]


class SshTransport(Transport):
    """An agent on the host of ``connection``, which belongs to whoever made it."""

    heartbeat_s = 1.0

    def __init__(self, connection: SshConnection, *, delivery: Delivery) -> None:
        self.connection, self._delivery = connection, delivery
        self.identity: dict[str, Any] = {}

    def open(self) -> SshChannel:
        raw = self.connection.open_channel()
        channel = SshChannel(raw)
        try:
            self._deploy(raw, channel)
        except BaseException:
            channel.close()
            raise
        return channel

    def _deploy(self, raw: paramiko.Channel, channel: SshChannel) -> None:
        command, first_input = build_bootstrap(self._delivery.python)
        decoder = FrameDecoder(noise_bytes=MAX_NOISE_BYTES)
        try:
            raw.exec_command(command)
            self._write(raw, channel, decoder, first_input)
            hello = self._read_frame(raw, channel, decoder, "deployment", BOOTSTRAP_TIMEOUT_S)
            self.identity = hello
            parts = build_delivery(self._delivery, str(hello["machine"]), self._host)
            self._write(raw, channel, decoder, encode_frame(parts.request))
            answer = self._read_frame(raw, channel, decoder, "", BOOTSTRAP_TIMEOUT_S)
            while answer["type"] == "want":
                for name in answer["names"]:
                    self._write(raw, channel, decoder, parts.contents[name])
                answer = self._read_frame(raw, channel, decoder, "", DELIVERY_TIMEOUT_S)
            if answer["type"] != "ready":
                raise self._refusal(Stage.DEPLOY, f"a '{answer['type']}' message instead of 'ready'")
            self.identity = {**hello, **answer}
        except TimeoutError as error:
            raise self._refusal(
                Stage.DEPLOY, f"{error}{channel.last_output()}", "check whether the host is busy"
            ) from error
        except (OSError, paramiko.SSHException, EOFError) as error:
            stage = Stage.CONNECT if isinstance(error, LostError) else Stage.DEPLOY
            raise self._refusal(
                stage, f"{str(error) or type(error).__name__}{channel.last_output()}"
            ) from error
        except (FrameError, KeyError, TypeError) as error:
            said = channel.last_output(decoder.noise)
            raise self._refusal(Stage.DEPLOY, f"unexpected answer from the host: {error}{said}") from error

    @property
    def _host(self) -> str:
        return self.connection.settings.host

    def _write(self, raw: paramiko.Channel, channel: SshChannel, decoder: FrameDecoder, data: bytes) -> None:
        """Write all of it. HostError with its status and last output when the command has ended.

        A command that ends at once, as nologin does, may be gone before its input is written or after it.
        """
        try:
            channel.write(data)
        except BrokenPipeError:
            while True:  # what it said before is still to be read; its end raises
                self._read_frame(raw, channel, decoder, "", END_TIMEOUT_S)

    def _read_frame(
        self, raw: paramiko.Channel, channel: SshChannel, decoder: FrameDecoder, kind: str, timeout_s: float
    ) -> dict[str, Any]:
        """The next whole frame. TimeoutError, or HostError when the host refuses or ends before it."""
        deadline_s = time.monotonic() + timeout_s
        try:
            while (message := decoder.read()) is None:
                try:
                    raw.settimeout(max(deadline_s - time.monotonic(), 0.0))
                    data = raw.recv(READ_BYTES)
                except TimeoutError:
                    raise TimeoutError(f"no answer within {timeout_s:g} s") from None
                if not data:
                    raise self._early_end(channel, decoder)
                decoder.feed(data)
        finally:
            raw.settimeout(WRITE_TIMEOUT_S)
        if message.get("type") == "failure":
            raise self._refusal(Stage.parse(message["stage"]), str(message["text"]), str(message["hint"]))
        if kind and message.get("type") != kind:
            raise KeyError(f"a '{message.get('type')}' message instead of '{kind}'")
        return message

    def _early_end(self, channel: SshChannel, decoder: FrameDecoder) -> HostError:
        if not channel.is_connected():
            return self._refusal(Stage.CONNECT, "the SSH connection was lost", "check whether the host is up")
        status = channel.exit_status(BOOTSTRAP_TIMEOUT_S)
        if status == NO_INTERPRETER_STATUS:
            lines = channel.stderr_tail().strip().splitlines()
            return self._refusal(
                Stage.INTERPRETER,
                lines[-1] if lines else "no Python 3.8 or newer was found",
                "install python3 on the host, or name an interpreter with `python`",
            )
        said = channel.last_output(decoder.noise)
        ended = "was killed by a signal" if status is None else f"ended with status {status}"
        return self._refusal(
            Stage.DEPLOY,
            f"the login shell {ended} before the agent could start{said}",
            "check whether the account may run commands: ssh HOST true",
        )

    def _refusal(self, stage: Stage, text: str, hint: str | None = None) -> HostError:
        return HostError(text, host=self._host, stage=stage, hint=hint or "try `ssh` to the same host")
