"""Asks the operating system's resolver in threads: for what only it knows (mDNS, LDAP, a VPN's split names)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from webcrawl.net.dns_answer import Answer, Failure

TTL = 300.0  # seconds; the system does not tell how long its answers hold
FAILURES = {
    socket.EAI_NONAME: Failure.NO_NAME,
    socket.EAI_NODATA: Failure.NO_ADDRESS,
    socket.EAI_AGAIN: Failure.SERVER_FAILED,
}


class SystemResolver:
    """As many questions at once as there are threads: slower than NameServers, but the system's own answer."""

    def __init__(
        self,
        servers: Iterable[str] = (),
        *,
        threads: int = 64,
        getaddrinfo: Callable[..., list[Any]] = socket.getaddrinfo,
    ) -> None:
        if tuple(servers):
            raise ValueError("the system's resolver cannot be told which name servers to ask")
        self._getaddrinfo = getaddrinfo
        self._threads = ThreadPoolExecutor(threads, "dns")

    async def ask(self, host: str) -> Answer:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._threads, self._ask, host)
        except socket.gaierror as error:
            return Answer(failure=FAILURES.get(error.errno or 0, Failure.SERVER_FAILED))
        except UnicodeError:  # the library's own idea of a name
            return Answer(failure=Failure.BAD_NAME)
        return Answer(tuple(dict.fromkeys(address[0] for *_, address in found)), TTL)

    def _ask(self, host: str) -> list[Any]:
        return self._getaddrinfo(host, None, type=socket.SOCK_STREAM)

    async def probe(self) -> None:
        """Nothing to find out: the system does not say whom it asks."""

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
