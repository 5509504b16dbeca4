"""Assembles the resolver, the guard and the clients of a crawl from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_cares import NameServers
from webcrawl.net.ftp import FtpClient
from webcrawl.net.gopher import GopherClient
from webcrawl.net.guard import AddressGuard
from webcrawl.net.hostsfile import read_hosts
from webcrawl.net.http import HttpClient
from webcrawl.net.protocols import Access, Bounds
from webcrawl.net.tls import tls_context
from webcrawl.ports import Ports


class Network:
    """Everything that the protocol handlers of a crawl share; made from checked settings."""

    def __init__(self, values: Mapping[str, Any], *, keep_at_most: int = 256) -> None:
        hosts = read_hosts(Path(values["HOSTS_FILE"])) if values["HOSTS_FILE"] else {}
        self.resolver = CachingResolver(NameServers(values["DNS_NAMESERVERS"]), hosts, timeout=values["DNS_TIMEOUT"])
        guard = AddressGuard(map(str, values["PRIVATE_NETWORKS_ALLOWED"]))
        self.access = Access(self.resolver, guard, ports=Ports(values["PORTS_ALLOWED"]))
        self.shortage = self.access.shortage
        bounds = Bounds(
            truncate=values["DOWNLOAD_TRUNCATE"],
            timeout=values["DOWNLOAD_TIMEOUT"],
            grace=values["DOWNLOAD_GRACE"],
            rate=values["DOWNLOAD_MIN_RATE"],
        )
        self.http = HttpClient(
            self.access,
            bounds,
            user_agent=values["USER_AGENT"],
            keep_at_most=keep_at_most,
            tls=tls_context(verify=values["DOWNLOAD_VERIFY_CERTIFICATES"]),
        )
        self.ftp = FtpClient(self.access, bounds, user_agent=values["USER_AGENT"])
        self.gopher = GopherClient(self.access, bounds)

    async def close(self) -> None:
        self.shortage.close()
        for client in (self.http, self.ftp, self.gopher):
            await client.close()
        await self.resolver.close()
