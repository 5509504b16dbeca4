"""What all protocol handlers of a crawl share: names, the guard, and the HTTP client (assembled from the settings)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_cares import NameServers
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
            keep_at_most=max(values["CONCURRENT_REQUESTS"], 64),
            tls=tls_context(verify=values["DOWNLOAD_VERIFY_CERTIFICATES"]),
        )

    async def close(self) -> None:
        await self.http.close()
        await self.resolver.close()
