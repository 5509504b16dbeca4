"""What all protocol handlers of a crawl share: names, the guard, and the clients (assembled from the settings)."""

from __future__ import annotations

import resource
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
from webcrawl.net.tls import tls_context


class Network:
    """Made of checked settings."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        servers = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in values["DNS_NAMESERVERS"]]
        hosts = read_hosts(Path(values["HOSTS_FILE"])) if values["HOSTS_FILE"] else {}
        self.resolver = CachingResolver(NameServers(servers), hosts, timeout=values["DNS_TIMEOUT"])
        self.guard = AddressGuard(map(str, values["PRIVATE_NETWORKS_ALLOWED"]))
        self.http = HttpClient(
            self.resolver,
            self.guard,
            user_agent=values["USER_AGENT"],
            truncate=values["DOWNLOAD_TRUNCATE"],
            timeout=values["DOWNLOAD_TIMEOUT"],
            keep_at_most=_worth_keeping(values),
            tls=tls_context(verify=values["DOWNLOAD_VERIFY_CERTIFICATES"]),
        )

        bounds = {"truncate": values["DOWNLOAD_TRUNCATE"], "timeout": values["DOWNLOAD_TIMEOUT"]}
        self.ftp = FtpClient(self.resolver, self.guard, user_agent=values["USER_AGENT"], **bounds)
        self.gopher = GopherClient(self.resolver, self.guard, **bounds)

    async def close(self) -> None:
        for client in (self.http, self.ftp, self.gopher):
            await client.close()
        await self.resolver.close()


def _worth_keeping(values: Mapping[str, Any]) -> int:
    """Connections: one for each host in the rotation, if the system lets this process open so many files.

    The rotation widens where fetchers starve, but TLS takes at least 45 KB a connection: 1,000 instead of 768 were 3 %
    of a page's time and 25 MiB.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    fetchers: int = values["CONCURRENT_REQUESTS"]
    rotation: int = values["FRONTIER_QUEUES"]
    return max(min(rotation, files // 2 - fetchers), 64)
