"""The proxies that the environment names for every request."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from webcrawl.base.loading import missing
from webcrawl.crawl.checks import SettingError
from webcrawl.net.errors import BadOption
from webcrawl.net.proxy import parse_proxy
from webcrawl.net.socks import LIBRARY

# By the scheme of what goes through it. A crawl that went past ALL_PROXY would show the address
# that its operator wants to hide, so it counts wherever no other is named.
NAMES = {
    "http": "http_proxy in the environment",
    "https": "https_proxy in the environment",
    "all": "ALL_PROXY in the environment",
}
PROXY = (
    "an http://, socks5:// or socks5h:// proxy: host and port, with or without user and password"
)


def check_proxies(found: Mapping[str, str]) -> None:
    """Raise SettingError for a proxy of the environment that cannot be used. `found`: by scheme."""
    for scheme in NAMES.keys() & found.keys():
        shown = _without_credentials(found[scheme])
        try:
            proxy = parse_proxy(found[scheme])
        except BadOption as error:
            raise SettingError(NAMES[scheme], shown, PROXY) from error
        if proxy.is_socks and find_spec(LIBRARY) is None:
            raise SettingError(NAMES[scheme], shown, "an http:// proxy here", missing(LIBRARY))


def _without_credentials(proxy: str) -> str:
    """Return the value without what is before its last `@`, with or without a scheme."""
    scheme, separator, rest = proxy.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
