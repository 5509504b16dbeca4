"""The host of a canonical URL, its registered domain (its site), and how many sites led to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from webcrawl.base.hosts import host_of
from webcrawl.urls.public_suffixes import is_ipv4, suffixes_of

__all__ = ["RegisteredDomains", "host_of", "is_public_suffix", "names_above"]


def names_above(host: str) -> Iterator[str]:
    """A host and all names that it is below, the most specific one first."""
    yield host
    if host.startswith("["):
        return
    while dot := host.find(".") + 1:
        host = host[dot:]
        if host:
            yield host


def is_public_suffix(host: str) -> bool:
    """Return whether names below this one have owners of their own, as in `co.uk`, `github.io` or any single label."""
    name = host.removesuffix(".")
    return not name.startswith("[") and ("." not in name or suffixes_of(name).public == name)


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
    suffix = suffixes_of(host.rstrip(".")).public
    if suffix:
        label = host.rstrip(".")[: -len(suffix)].removesuffix(".").rpartition(".")[2]
        return f"{label}.{suffix}" if label else host
    if is_ipv4(host.rstrip(".")):
        return host
    return ".".join(host.removesuffix(".").split(".")[-2:])


HOPS = "LERPM"  # hops that stayed within a site


def steps(path: str) -> int:
    """Links followed since the path entered its site."""
    here = path[len(path.rstrip(HOPS)) :]
    return here.count("L") + here.count("E") + here.count("M")


def sites(path: str) -> int:
    """Return how often the path led into another site, be it one where it had been."""
    return sum(map(path.count, "lerm"))


def entered(path: str, via: str, url: str, domain_of: Callable[[str], str]) -> str:
    """The path of a page found on the page `via`, with a mark if the last hop led into another site."""
    if not path or not via or path[-1] not in HOPS or via.split("/", 3)[2] == url.split("/", 3)[2]:
        return path
    if domain_of(via) == domain_of(url):
        return path
    if path[-1] == "R" and not steps(path):
        return path  # the page that redirects is where another site was entered, or a seed: this is the same place
    return path[:-1] + path[-1].lower()
