"""The proxies that the environment names, and the hosts that need none (no_proxy)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from webcrawl.net.protocols import Proxy
from webcrawl.net.proxy import parse_proxy

# the clients for ftp and gopher refuse what is to go through a proxy
SCHEMES = ("http", "https", "ftp", "gopher")
ALL = "all"  # of ALL_PROXY, for the schemes that have no proxy of their own


class EnvironmentProxies:
    """Chooses the proxy of each URL, as Scrapy's HttpProxyMiddleware does, and by ALL_PROXY."""

    def __init__(self, urls: Mapping[str, str], encoding: str = "utf-8") -> None:
        """`urls`: of proxies, by scheme. `encoding`: of the credentials in them."""
        named = {scheme: urls.get(scheme) or urls.get(ALL) for scheme in SCHEMES}
        self._urls = {scheme: url for scheme, url in named.items() if url}
        self._encoding = encoding

    @property
    def all(self) -> frozenset[Proxy]:
        """Return the proxies that web pages go through."""
        web = (self._urls[scheme] for scheme in ("http", "https") if scheme in self._urls)
        return frozenset(parse_proxy(url, encoding=self._encoding) for url in web)

    def of(self, url: str) -> Proxy | None:
        """Return the proxy of a URL, or None if it is asked for without one.

        Raise BadOption if it is no such proxy.
        """
        parts = urlsplit(url)
        proxy = self._urls.get(parts.scheme)
        if proxy is None:
            return None
        if not parts.hostname or proxy_bypass(parts.hostname):
            return None
        return parse_proxy(proxy, encoding=self._encoding)


def environment_proxies(encoding: str = "utf-8") -> EnvironmentProxies | None:
    """Return the proxies of this process's environment, or None if it names none."""
    urls = getproxies()
    named = any(scheme in urls for scheme in (*SCHEMES, ALL))
    return EnvironmentProxies(urls, encoding) if named else None
