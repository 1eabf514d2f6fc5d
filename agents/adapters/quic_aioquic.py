# pathlab-adapter
# {"contract": 1, "name": "quic-aioquic", "title": "QUIC (aioquic)", "language": "python", "beneath": "udp",
#  "baseline": "tcp-python",
#  "adds": ["TLS 1.3 encryption", "acknowledgements", "congestion control", "flow control",
#           "one answering thread for all streams"],
#  "lacks": ["authentication of the server"],
#  "needs": [{"module": "aioquic", "pip": "aioquic"}, {"module": "cryptography", "pip": "cryptography"}],
#  "port": "own", "protocol": "udp"}
# end
"""Each stream of a trial is a QUIC connection with one bidirectional stream, on which requests and replies
follow each other. The answering end's certificate is made at the start and is not verified. There is no
0-RTT.
"""

import asyncio
import datetime
import importlib.metadata
import platform
import ssl

import harness
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived
from aioquic.tls import CipherSuite
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

IDLE_S = 86400.0  # a trial may wait between two requests


class Requester(QuicConnectionProtocol):
    """The asking end of a connection."""

    def __init__(self, quic):
        super().__init__(quic)
        self.stream_id = None
        self.reply = bytearray()
        self.wanted_bytes = 0
        self.complete = None

    async def open(self):
        self.connect(self._transport.get_extra_info("peername"))
        await self.wait_connected()
        self.stream_id = self._quic.get_next_available_stream_id()

    async def ask(self, request):
        self.reply = bytearray()
        self.wanted_bytes = len(request)
        self.complete = self._loop.create_future()
        self._quic.send_stream_data(self.stream_id, bytes(request))
        self.transmit()
        await self.complete
        return self.reply

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.reply += event.data
            if len(self.reply) >= self.wanted_bytes and not self.complete.done():
                self.complete.set_result(None)
        elif isinstance(event, ConnectionTerminated):
            self.fail(ConnectionError(event.reason_phrase or f"closed with QUIC error {event.error_code:#x}"))

    def error_received(self, error):
        """Such as that nobody listens there."""
        self.fail(error)
        self._quic.close()

    def fail(self, error):
        for future in (self._connected_waiter, self.complete):
            if future is not None and not future.done():
                future.set_exception(error)


class Responder(QuicConnectionProtocol):
    """The answering end of a connection; what it queues is sent when the datagram's events are done."""

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self._quic.send_stream_data(event.stream_id, event.data)


def configure(**options):
    """With the cipher of the technology ``quic``."""
    cipher = [CipherSuite.AES_128_GCM_SHA256]
    return QuicConfiguration(alpn_protocols=["pathlab"], idle_timeout=IDLE_S, cipher_suites=cipher, **options)


async def connect(settings):
    configuration = configure(is_client=True, verify_mode=ssl.CERT_NONE)
    _, requester = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Requester(QuicConnection(configuration=configuration)),
        local_addr=(settings.local_address, 0) if settings.local_address else None,
        remote_addr=(settings.address, settings.port),
    )
    await requester.open()
    return requester


def make_certificate():
    """A certificate for a day, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "pathlab")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
    return builder.not_valid_after(now + datetime.timedelta(days=1)).sign(key, hashes.SHA256()), key


async def answer(settings, ready):
    certificate, key = make_certificate()
    configuration = configure(is_client=False, certificate=certificate, private_key=key)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicServer(configuration=configuration, create_protocol=Responder),
        local_addr=(settings.address, settings.port),
    )
    ready(transport.get_extra_info("sockname")[1])
    await asyncio.Event().wait()


def describe(connection):
    versions = f"aioquic {importlib.metadata.version('aioquic')}, Python {platform.python_version()}"
    if connection is None:
        return versions, {}
    configuration = connection._quic.configuration
    return versions, {
        "cipher": connection._quic.tls.key_schedule.cipher_suite.name,
        "congestion_control": configuration.congestion_control_algorithm,
        "datagram_bytes": configuration.max_datagram_size,
        "segmentation_offload": False,
    }


if __name__ == "__main__":
    harness.run(connect=connect, answer=answer, describe=describe)
