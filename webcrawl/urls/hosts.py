"""The host of a canonical URL and the registered domain it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache


def host_of(url: str) -> str:
    """The host name or address of a canonical URL, without the port; IPv6 keeps its brackets."""
    host = url.split("/", 3)[2]
    if ":" not in host:
        return host
    return host[: host.index("]") + 1] if host[0] == "[" else host.partition(":")[0]


class RegisteredDomains:
    """Host -> registered domain by the public suffix list that tldextract carries; nothing is downloaded.

    The list's private part counts: `a.github.io` and `b.github.io` are two owners. Under a top level that the
    list does not know, its rule `*` holds: two labels. An address, a public suffix and `localhost` are their
    own domain, so that every host has one. The last `size` hosts are remembered: the list costs 3 us a host.
    """

    def __init__(self, size: int = 2**16) -> None:
        self._size = size

    @cached_property
    def _domain(self) -> Callable[[str], str]:
        """Made when it is first needed: the list takes 0.1 s, and most crawls go everywhere."""
        from tldextract import TLDExtract  # noqa: PLC0415 - as said

        extract = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)

        def domain(host: str) -> str:
            if host[0] == "[":
                return host
            found = extract.extract_str(host)
            if found.suffix or found.ipv4:
                return found.top_domain_under_public_suffix or host
            return ".".join(host.removesuffix(".").split(".")[-2:])

        return lru_cache(self._size)(domain)

    def __call__(self, host: str) -> str:
        """The registered domain of a host in canonical form."""
        return self._domain(host)
