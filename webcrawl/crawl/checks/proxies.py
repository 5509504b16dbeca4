"""The proxies that the environment names for every request."""

from __future__ import annotations

from collections.abc import Mapping

from webcrawl.crawl.checks import SettingError
from webcrawl.net.errors import BadOption
from webcrawl.net.proxy import parse_proxy

PROXIED = frozenset(("http", "https"))
HTTP_PROXY = "an http:// proxy: host and port, with or without credentials"


def check_proxies(found: Mapping[str, str]) -> None:
    """Raise SettingError for a proxy of the environment that cannot be used. `found`: by scheme."""
    for scheme in PROXIED & found.keys():
        try:
            parse_proxy(found[scheme])
        except BadOption as error:
            name = f"{scheme}_proxy in the environment"
            raise SettingError(name, _without_credentials(found[scheme]), HTTP_PROXY) from error
    if "all" in found:
        _check_proxy_of_all(found)


def _check_proxy_of_all(found: Mapping[str, str]) -> None:
    """Refuse ALL_PROXY where it is ignored: only http_proxy and https_proxy count, as in Scrapy.

    A crawl that went past the proxy would show the address that its operator wants to hide. A proxy
    that cannot be used is refused beside the other two as well: it is named for what those do not
    carry.
    """
    name, shown = "ALL_PROXY in the environment", _without_credentials(found["all"])
    try:
        parse_proxy(found["all"])
    except BadOption as error:
        raise SettingError(name, shown, f"unset, or {HTTP_PROXY}") from error
    if lacking := sorted(f"{scheme}_proxy" for scheme in PROXIED - found.keys()):
        allowed = (
            "unset, or set along with http_proxy and https_proxy: the crawl uses only those two"
        )
        raise SettingError(name, shown, allowed, f"set {' and '.join(lacking)}")


def _without_credentials(proxy: str) -> str:
    """Return the value without what is before its last `@`, with or without a scheme."""
    scheme, separator, rest = proxy.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
