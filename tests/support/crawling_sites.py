"""Sites served on loopback under their real names, on the ports of their URLs."""

import asyncio
import ssl
from contextlib import AsyncExitStack, contextmanager
from threading import Event, Thread

import pytest
from cryptography.hazmat.primitives import serialization

from tests.support import net_http
from tests.support.certificates import certificate

PORTS = {"http": 80, "https": 443}


class Sites:
    """One server for all hosts.

    `answer` returns status, type and body of a URL. `requested` lists the requested URLs.
    """

    def __init__(self, answer, address, tls):
        self.answer, self.address, self.requested = answer, address, []
        self._contexts = {"http": None, "https": tls}

    async def open(self, servers):
        """Listen until the stack `servers` ends."""
        for scheme, port in PORTS.items():
            await servers.enter_async_context(
                net_http.serving(self._handler(scheme), self.address, self._contexts[scheme], port)
            )

    def _handler(self, scheme):
        """Return what answers the connections of a scheme."""

        async def handle(reader, writer):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                host = next(line[6:] for line in head if line.lower().startswith("host: "))
                url = f"{scheme}://{host}{head[0].split(' ')[1]}"
                self.requested.append(url)
                status, kind, body = self.answer(url)
                top = f"HTTP/1.1 {status} So\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(top.encode() + body)
                await writer.drain()

        return handle

    def hosts_file(self, path, names):
        """Write a HOSTS_FILE that maps these names to this server, and return its path."""
        path.write_text("".join(f"{self.address} {name}\n" for name in names))
        return path


@contextmanager
def serving(answer, folder, names):
    """Serve the sites during the block; skip the test where port 80 may not be opened."""
    loop, stop, started = asyncio.new_event_loop(), asyncio.Event(), Event()
    tls, found = _tls(folder, names), []

    async def serve():
        """Serve on the first address that is free, until `stop` is set."""
        async with AsyncExitStack() as servers:
            for number in range(1, 200):  # tests that run at the same time take one address each
                sites = Sites(answer, f"127.0.77.{number}", tls)
                try:
                    await sites.open(servers)
                except PermissionError:
                    break
                except OSError:
                    continue
                found.append(sites)
                break
            started.set()
            await stop.wait()

    thread = Thread(target=loop.run_until_complete, args=(serve(),), name="sites", daemon=True)
    thread.start()
    started.wait()
    try:
        if not found:
            pytest.skip("nobody may listen on the ports 80 and 443 of 127.0.77.0/24 here")
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def _tls(folder, names):
    """Return the TLS context of a server with these names."""
    one, key = certificate(*names)
    path = folder / "server.pem"
    path.write_bytes(
        one.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
