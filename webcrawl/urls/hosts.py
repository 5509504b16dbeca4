"""The host of a canonical URL, and its registered domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract


def host_of(url: str) -> str:
    """The host name or address of a canonical URL, without the port; IPv6 keeps its brackets."""
    host = url.split("/", 3)[2]
    if ":" not in host:
        return host
    return host[: host.index("]") + 1] if host[0] == "[" else host.partition(":")[0]


def names_above(host: str) -> Iterator[str]:
    """A host and all names that it is below, the most specific one first."""
    yield host
    if host.startswith("["):
        return
    while dot := host.find(".") + 1:
        host = host[dot:]
        if host:
            yield host


@cache
def suffixes() -> TLDExtract:
    """The public suffix list, once for the process; on first use, for loading it takes 0.1 s."""
    from tldextract import TLDExtract  # noqa: PLC0415 - on first use

    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


def is_public_suffix(host: str) -> bool:
    """Whether names right below this one have owners of their own, as in `co.uk`, `github.io` or any single label."""
    name = host.removesuffix(".")
    return not name.startswith("[") and ("." not in name or suffixes().extract_str(name).suffix == name)


class RegisteredDomains:
    """Maps hosts to registered domains by the public suffix list in tldextract; nothing is downloaded.

    The list's private part counts: `a.github.io` and `b.github.io` have different owners. Under a top-level domain that
    is not in the list, its rule `*` applies: two labels. An address, a public suffix and `localhost` are their own
    domain, so that every host has one. The last `size` hosts are cached: a lookup takes 3 us per host. Whoever asks
    several times per page calls `of`, which is the cache itself.
    """

    def __init__(self, size: int = 2**16) -> None:
        self.of: Callable[[str], str] = lru_cache(size)(_domain)

    def __call__(self, host: str) -> str:
        """The registered domain of a host in canonical form."""
        return self.of(host)


def _domain(host: str) -> str:
    if host[0] == "[":
        return host
    found = suffixes().extract_str(host)
    if found.suffix or found.ipv4:
        return found.top_domain_under_public_suffix or host
    return ".".join(host.removesuffix(".").split(".")[-2:])
