"""TLS: what is accepted, recorded and refused."""

import asyncio
import os
import re
import socket
import ssl
import sys

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from tests.support.certificates import NOW, certificate, encoded
from tests.support.net_http import LOOPS, Names, client, open_files, run, serving
from tests.support.waiting import eventually
from webcrawl.net.connection_open import certificate_flaws
from webcrawl.net.errors import (
    CertificateRefused,
    ConnectFailed,
    ConnectionLost,
    ConnectTimeout,
    EmptyAnswer,
    TlsFailed,
    TlsTimeout,
)
from webcrawl.net.tls import tls_context

NAMES = Names(good=["127.0.0.1"], other=["127.0.0.1"], a_b=["127.0.0.1"])

loops = pytest.mark.parametrize("loop", LOOPS)


def server_context(folder, *names, **options):
    made, key = certificate(*names, **options)
    pem = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


async def page(reader, writer):
    while True:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def fetch(context, loop, host="good.test", times=1, handler=page, **options):
    async def go():
        async with serving(handler, tls=context) as port, client(NAMES, **options) as http:
            made = [await http.fetch(f"https://{host}:{port}/", keep=5) for _ in range(times)]
            return made, http.counters

    return run(go(), loop)


@loops
class TestHandshakes:
    def test_a_page_over_tls(self, loop, tmp_path):
        """The exchange records TLS version, cipher suite, certificate and the duration of the
        handshake.
        """
        (got,), _ = fetch(server_context(tmp_path, "good.test"), loop)

        assert got.body == b"ok"
        assert got.tls.startswith("TLSv1.3 TLS_")
        assert re.fullmatch("sha256:[0-9a-f]{64}", got.certificate)
        assert got.timings.tls > 0
        assert got.flaws == ()

    def test_a_kept_connection_shakes_hands_once(self, loop, tmp_path):
        """A kept TLS connection needs no second handshake."""
        made, counters = fetch(server_context(tmp_path, "good.test"), loop, times=3)

        assert counters.opened == 1
        assert [got.timings.tls > 0 for got in made] == [True, False, False]
        assert {got.tls for got in made} == {made[0].tls}

    def test_the_name_is_told_before_the_certificate(self, loop, tmp_path):
        """SNI carries the host's name, ALPN offers only HTTP/1.1."""
        context = server_context(tmp_path, "good.test")
        context.set_alpn_protocols(["h2", "http/1.1"])
        told = []
        context.sni_callback = lambda channel, name, _: told.append(name)

        async def handler(reader, writer):
            told.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
            await page(reader, writer)

        fetch(context, loop, handler=handler)
        fetch(context, loop, host="127.0.0.1", handler=handler)

        assert told == ["good.test", "http/1.1", None, "http/1.1"]

    @pytest.mark.parametrize("host", ["a_b.test", "good.test."])
    def test_names_that_are_no_host_names(self, loop, host, tmp_path):
        """A name with an underscore or a trailing dot is accepted."""
        (got,), _ = fetch(server_context(tmp_path, "x.test"), loop, host=host)

        assert got.body == b"ok"

    @pytest.mark.parametrize("label", ["x" * 64, "a..b"])
    def test_names_that_tls_cannot_carry(self, loop, label, tmp_path):
        """A name that TLS cannot carry is a failed handshake, not a crash."""
        names = Names(**{label.split(".")[0]: ["127.0.0.1"]})

        async def go():
            async with (
                serving(page, tls=server_context(tmp_path, "x.test")) as port,
                client(names) as http,
            ):
                await http.fetch(f"https://{label}.test:{port}/")

        with pytest.raises(TlsFailed):
            run(go(), loop)

    def test_a_body_that_ends_with_the_connection(self, loop, tmp_path):
        """A body without length is complete when the server closes, with or without close_notify."""

        async def handler(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.close()
            await writer.wait_closed()

        (got,), _ = fetch(server_context(tmp_path, "good.test"), loop, handler=handler)

        assert (got.body, got.truncated) == (b"until the end", "")


@loops
class TestFailures:
    def test_a_server_that_speaks_no_tls(self, loop):
        """Plain text on a TLS port is a failed handshake."""

        async def go():
            async with (
                serving(lambda _, writer: _say(writer, b"HTTP/1.1 400 Bad\r\n\r\n")) as port,
                client() as http,
            ):
                await http.fetch(f"https://127.0.0.1:{port}/")

        with pytest.raises(TlsFailed) as error:
            run(go(), loop)
        assert error.value.name == "tls"

    @pytest.mark.parametrize(
        ("first", "outcome"), [(b"", EmptyAnswer), (b"HTTP/1.1 200 OK\r\nX: y", ConnectionLost)]
    )
    def test_rubbish_after_the_handshake(self, loop, tmp_path, first, outcome):
        """Plain text within TLS ends the connection: an error with a name, and with what TLS says
        of it.
        """

        async def rubbish(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(first)
            await asyncio.sleep(0.05)  # separate from what follows
            # bypassing TLS, whose transport is closed
            descriptor = os.dup(writer.get_extra_info("socket").fileno())
            with socket.socket(fileno=descriptor) as clear:
                clear.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno TLS")
            await asyncio.sleep(60)

        with pytest.raises(outcome) as error:
            fetch(server_context(tmp_path, "good.test"), loop, handler=rubbish)
        assert type(error.value) is outcome
        assert isinstance(error.value.__cause__, ssl.SSLError)

    def test_a_handshake_that_stalls(self, loop):
        """A server that accepts the connection and stays silent costs the connect timeout."""

        async def go():
            async with (
                serving(lambda *_: asyncio.sleep(60)) as port,
                client(connect_timeout=0.1) as http,
            ):
                await http.fetch(f"https://127.0.0.1:{port}/")

        before = open_files()
        with pytest.raises(TlsTimeout):
            run(go(), loop)
        assert open_files() == before

    def test_a_handshake_that_stalls_until_the_deadline(self, loop):
        """A server that accepts the connection was reached, however short the whole time is."""

        async def go():
            async with (
                serving(lambda *_: asyncio.sleep(60)) as port,
                client(timeout=0.5, connect_timeout=60) as http,
            ):
                await http.fetch(f"https://127.0.0.1:{port}/")

        with pytest.raises(TlsTimeout):
            run(go(), loop)

    def test_a_connection_that_ends_in_the_handshake(self, loop):
        """A server that hangs up in the handshake is a failed connection."""

        async def hang_up(reader, writer):
            await reader.read(10)

        async def go():
            async with serving(hang_up) as port, client() as http:
                await http.fetch(f"https://127.0.0.1:{port}/")

        with pytest.raises(ConnectFailed):
            run(go(), loop)

    def test_sockets_of_failed_handshakes_are_closed(self, loop, tmp_path):
        """Failed, stalled and cancelled handshakes leave no file descriptor."""

        async def go():
            counts: list[int] = []  # the loop itself opens some in the first round
            for _ in range(3):
                async with (
                    serving(lambda *_: asyncio.sleep(60)) as silent,
                    client(connect_timeout=0.05) as http,
                ):
                    for _ in range(3):
                        # a busy machine takes long to connect
                        with pytest.raises((TlsTimeout, ConnectTimeout)):
                            await http.fetch(f"https://127.0.0.1:{silent}/")
                    task = asyncio.create_task(http.fetch(f"https://127.0.0.1:{silent}/"))
                    await asyncio.sleep(0.02)
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                async with (
                    serving(page, tls=server_context(tmp_path, "x")) as port,
                    client(tls=strict()) as http,
                ):
                    with pytest.raises(CertificateRefused):
                        await http.fetch(f"https://127.0.0.1:{port}/")
                await eventually(lambda: open_files() <= min(counts, default=sys.maxsize))
                counts.append(open_files())

        run(go(), loop)


@loops
class TestVerification:
    @pytest.mark.parametrize(
        ("host", "options", "flaws"),
        [
            ("other.test", {}, ("certificate_name",)),
            ("good.test", {"days": (-30, -1)}, ("certificate_date",)),
            ("good.test", {"days": (1, 30)}, ("certificate_date",)),
            ("good.test", {"issuer": ""}, ("certificate_self_issued",)),
            ("other.test", {"days": (-30, -1), "issuer": ""},
             ("certificate_date", "certificate_name", "certificate_self_issued")),
        ],
    )  # fmt: skip
    def test_bad_certificates_are_noted(self, loop, host, options, flaws, tmp_path):
        """By default a page behind a bad certificate is accepted, with the certificate's flaws."""
        (got,), _ = fetch(server_context(tmp_path, "good.test", **options), loop, host=host)

        assert (got.body, got.flaws) == (b"ok", flaws)

    def test_bad_certificates_are_refused_if_asked_for(self, loop, tmp_path):
        """With `verify` an untrusted certificate is a named error."""
        with pytest.raises(CertificateRefused) as error:
            fetch(server_context(tmp_path, "good.test"), loop, tls=strict())
        assert error.value.name == "certificate"

    def test_a_good_certificate_passes(self, loop, tmp_path):
        """With `verify` a certificate signed by a trusted authority is accepted."""
        context = server_context(tmp_path, "good.test", issuer="")
        trusting = tls_context(verify=True)
        trusting.load_verify_locations(tmp_path / "server.pem")
        (got,), _ = fetch(context, loop, tls=trusting)

        assert got.body == b"ok"
        with pytest.raises(CertificateRefused):
            fetch(context, loop, host="other.test", tls=trusting)

    @pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1 is deprecated:DeprecationWarning")
    def test_old_versions(self, loop, tmp_path):
        """Servers that speak only TLS 1.0 are read."""
        context = server_context(tmp_path, "good.test")
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
        (got,), _ = fetch(context, loop)

        assert got.tls.startswith("TLSv1 ")


def strict():
    return tls_context(verify=True)


async def _say(writer, data):
    writer.write(data)
    await writer.drain()


class TestCertificates:
    @pytest.mark.parametrize(
        ("names", "host", "fits"),
        [
            (("a.test",), "a.test", True),
            (("A.test",), "a.test", True),
            (("b.test", "a.test"), "a.test", True),
            (("*.a.test",), "b.a.test", True),
            (("*.a.test",), "a.test", False),
            (("*.a.test",), "c.b.a.test", False),
            (("*",), "test", False),
            (("a.test",), "b.test", False),
            (("a.test",), "a.test.", True),
            (("127.0.0.1",), "127.0.0.1", True),
            (("::1",), "0:0::1", True),
            ((), "nobody", False),
        ],
    )
    def test_a_host_matches_a_name_or_address_of_the_certificate(self, names, host, fits):
        """A host matches a name or address of the certificate; `*` stands for one whole label."""
        der = encoded(*names)

        assert ("certificate_name" in certificate_flaws(der, host, NOW.timestamp())) is not fits

    @given(st.binary(max_size=200))
    def test_rubbish_is_no_certificate(self, der):
        """Bytes that are not a certificate are a flaw, not a crash."""
        assert certificate_flaws(der, "a.test", NOW.timestamp()) == ("certificate_unreadable",)

    @given(junk=st.binary(min_size=1, max_size=8), at=st.integers(0, 400))
    def test_damaged_certificates(self, junk, at):
        """A certificate damaged anywhere gives flaws or none, never an exception."""
        der = encoded("a.test")

        assert isinstance(
            certificate_flaws(der[:at] + junk + der[at + len(junk) :], "a.test", 0.0), tuple
        )
