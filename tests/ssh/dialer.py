"""Run inside a node of a lab: makes TCP connections there and hands their sockets out.

Stdin is a socket of messages; each is ``address port``, each answer the connected socket, or the errno.
"""

import errno
import os
import socket


def main() -> None:
    """Serve until the other end is gone."""
    control = socket.socket(fileno=os.dup(0))
    while requested := control.recv(1024):
        address, port, timeout_s = requested.decode().split()
        try:
            with socket.create_connection((address, int(port)), timeout=float(timeout_s)) as opened:
                opened.settimeout(None)
                socket.send_fds(control, [b"0"], [opened.fileno()])
        except TimeoutError:
            control.send(str(errno.ETIMEDOUT).encode())
        except OSError as error:
            control.send(str(error.errno or errno.EIO).encode())


if __name__ == "__main__":
    main()
