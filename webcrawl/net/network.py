"""Assembles the resolver, the guard and the clients of a crawl from its settings."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import Ports
from webcrawl.net.connection_open import PROTOCOLS, Http2Offers
from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_answers import Lookup, read_hosts
from webcrawl.net.dns_cares import NameServers
from webcrawl.net.ftp import FtpClient
from webcrawl.net.gopher import GopherClient
from webcrawl.net.guard import AddressGuard
from webcrawl.net.http import HttpClient
from webcrawl.net.identity.request_signing import RequestSigner, form_and_origin
from webcrawl.net.identity.signing_key import SigningKey
from webcrawl.net.logins import Logins
from webcrawl.net.protocols import Access, FetchLimits
from webcrawl.net.shortage import RunningClock
from webcrawl.net.tls import ANY, tls_context

# Names that are cached at most, and for each MiB of FRONTIER_MEMORY. One takes 0.4 KB, so that is a
# fifth of it
MOST_NAMES_CACHED, NAMES_PER_MIB = 2**16, 2**9


class Network:
    """Everything that the protocol handlers of a crawl share; made from checked settings."""

    def __init__(
        self,
        values: CheckedSettings,
        *,
        lookup: Callable[..., Lookup] = NameServers,
        keep_at_most: int = 256,
    ) -> None:
        """Make the clients for http, ftp and gopher, with one resolver, guard and clock for all."""
        hosts = read_hosts(Path(values["HOSTS_FILE"])) if values["HOSTS_FILE"] else {}
        guard = AddressGuard(map(str, values["PRIVATE_NETWORKS_ALLOWED"]))
        self.resolver = CachingResolver(
            lookup(values["DNS_NAMESERVERS"]),
            hosts,
            size=min(MOST_NAMES_CACHED, values["FRONTIER_MEMORY"] * NAMES_PER_MIB),
            timeout=values["DNS_TIMEOUT"],
            admits=guard.admits,
        )
        bind = values.get("DOWNLOAD_BIND_ADDRESS")
        self.clock = RunningClock()
        ports = Ports(values["PORTS_ALLOWED"])
        self.access = Access(self.resolver, guard, ports=ports, bind=bind, clock=self.clock)
        self.shortage = self.access.shortage
        self.bandwidth = self.access.bandwidth
        bounds = _bounds(values)
        self.http = HttpClient(
            self.access,
            bounds,
            user_agent=values["USER_AGENT"],
            keep_at_most=keep_at_most,
            tls=_tls(values),
            http2=Http2Offers(values["HTTP2"], partial(_tls, values, protocols=PROTOCOLS)),
            contact=values["BOT_FROM"],
            signing=self._signing(values),
            logins=Logins.read(values["AUTH_FILE"]) if values["AUTH_FILE"] else None,
            verifying=partial(_verifying, values),
        )
        self.ftp = FtpClient(self.access, bounds, user_agent=values["USER_AGENT"])
        self.gopher = GopherClient(self.access, bounds)

    def change(self, values: CheckedSettings) -> None:
        """Apply changed limits to the following requests."""
        bounds = _bounds(values)
        for client in (self.http, self.ftp, self.gopher):
            client.use(bounds)

    def _signing(self, values: CheckedSettings) -> RequestSigner | None:
        """Return what signs requests; None without a key.

        Its file is read once: another key is for the next run.
        """
        # A signature names where its key is published, so neither goes without the other.
        if not values["BOT_KEY"] or not values["BOT_AGENT"]:
            return None
        form, origin = form_and_origin(values["BOT_AGENT"])
        return RequestSigner(
            SigningKey.read(values["BOT_KEY"]), origin, form=form, now=self.access.now
        )

    async def close(self) -> None:
        self.shortage.close()
        for client in (self.http, self.ftp, self.gopher):
            await client.close()
        await self.resolver.close()


def _bounds(values: CheckedSettings) -> FetchLimits:
    """Return the limits of a fetch.

    A body longer than Scrapy's DOWNLOAD_MAXSIZE is refused, unless it is truncated before.
    """
    truncate = values["DOWNLOAD_TRUNCATE"]
    largest = values.get("DOWNLOAD_MAXSIZE", 0)
    strict = 0 < largest <= truncate
    return FetchLimits(
        largest if strict else truncate,
        values["DOWNLOAD_TIMEOUT"],
        strict,
        rate=values["DOWNLOAD_MIN_RATE"],
    )


def _tls(values: CheckedSettings, **more: Any) -> ssl.SSLContext:
    given = {
        "verify": values["DOWNLOAD_VERIFY_CERTIFICATES"],
        "least": values.get("DOWNLOAD_TLS_MIN_VERSION"),
        "most": values.get("DOWNLOAD_TLS_MAX_VERSION"),
        "ciphers": values.get("DOWNLOADER_CLIENT_TLS_CIPHERS", ANY),
    }
    return tls_context(**{**given, **more})


def _verifying(values: CheckedSettings, protocols: Sequence[str]) -> ssl.SSLContext:
    """Return a context for servers that get a login: only a checked certificate will do."""
    least = values.get("DOWNLOAD_TLS_MIN_VERSION") or "TLSv1.2"
    return _tls(values, verify=True, least=least, protocols=protocols)
