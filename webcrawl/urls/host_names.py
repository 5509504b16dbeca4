"""The host of a canonical URL, its registered domain (its site), and how many sites led to it.

The public suffix list is tldextract's, whose own code is not imported: with requests, urllib3 and
others it took a sixth of a second at each start. The answers are the same
(tests/urls/test_hosts.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from webcrawl.base.url_text import host_of

FILE = ".tld_set_snapshot"
PRIVATE = "// ===BEGIN PRIVATE DOMAINS==="


IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}", re.ASCII)


class Suffixes(NamedTuple):
    """The suffix of a host below which names have owners of their own, and its registry's part."""

    public: str
    registry: str


class _Rule(NamedTuple):
    ends: bool = False  # a rule of the list, and not only on the way to one
    private: bool = False


def suffixes_of(host: str) -> Suffixes:
    """Return the suffixes of a host without a final dot, by the longest rule that fits.

    `*` is any label, and `!` an exception from that.
    """
    rules = _rules()
    labels = host.split(".")
    public = registry = at = len(labels)
    path, private = "", False
    while at:
        label = _decoded(labels[at - 1])
        rule = rules.get(f"{label}{path}")
        if rule is None:
            star = rules.get(f"*{path}")
            if star is not None:
                # An exception takes its own label out of the suffix: `!www.ck` beside `*.ck`
                is_exception = f"!{label}{path}" in rules
                public = at if is_exception else at - 1
                private = star.private
            break
        at -= 1
        path = f".{label}{path}"
        if rule.ends:
            public = at
            private = rule.private
            # A platform's suffix (github.io) is below the registry's own
            registry = registry if private else at
    found = ".".join(labels[public:])
    return Suffixes(found, ".".join(labels[registry:]) if private else found)


def is_ipv4(host: str) -> bool:
    return IPV4.fullmatch(host) is not None


def _decoded(label: str) -> str:
    """Return a label of a host as the list has it, as people write it."""
    label = label.lower()
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


@cache
def _rules() -> dict[str, _Rule]:
    """Return all names of the list and those above them, read on first use, which takes 10 ms."""
    package = find_spec("tldextract")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("No module named 'tldextract'", name="tldextract")
    public, _, private = (
        Path(package.origin).with_name(FILE).read_text(encoding="utf-8").partition(PRIVATE)
    )
    rules: dict[str, _Rule] = {}
    on_the_way = _Rule()
    for text, rule in ((public, _Rule(ends=True)), (private, _Rule(ends=True, private=True))):
        for line in text.split("\n"):
            if not line.strip() or line.startswith("//"):
                continue
            name = line.split(None, 1)[0]
            rules[name] = rule
            # The search goes label by label from the right, and must not end before a longer rule
            while (name := name.partition(".")[2]) and name not in rules:
                rules[name] = on_the_way
    return rules


__all__ = ["RegisteredDomains", "host_of", "names_above"]


def names_above(host: str) -> Iterator[str]:
    """Yield a host and all names that it is below, the most specific one first."""
    yield host
    if host.startswith("["):  # an IPv6 address is below nothing
        return
    while dot := host.find(".") + 1:
        host = host[dot:]
        if host:
            yield host


class RegisteredDomains:
    """Maps hosts to registered domains by the public suffix list in tldextract, without a download.

    The list's private part counts: `a.github.io` and `b.github.io` have different owners. Under a
    top-level domain that is not in the list, its rule `*` applies: two labels. An address, a public
    suffix and `localhost` are their own domain, so that every host has one. The last `size` hosts
    are cached: a lookup takes 3 us per host. A caller that asks several times per page calls `of`,
    which is the cache itself.
    """

    def __init__(self, size: int = 2**16) -> None:
        self.of: Callable[[str], str] = lru_cache(size)(_domain)

    def __call__(self, host: str) -> str:
        """Return the registered domain of a host in canonical form."""
        return self.of(host)


def _domain(host: str) -> str:
    """Return the registered domain of a host: the label before its public suffix, and this.

    An IP address and a public suffix are their own domains.
    """
    if host[0] == "[":  # an IPv6 address is its own domain
        return host
    undotted = host.rstrip(".")
    suffix = suffixes_of(undotted).public
    if suffix:
        label = undotted[: -len(suffix)].removesuffix(".").rpartition(".")[2]
        # A public suffix is its own domain
        return f"{label}.{suffix}" if label else host
    if is_ipv4(undotted):
        return host
    # The list's rule `*`, for a top-level domain that it lacks: two labels
    return ".".join(host.removesuffix(".").split(".")[-2:])


# Hops that stayed within a site. The letter of one that left it is small: so the path alone has both
# counts, and records need no field for them
HOPS = "LERPM"


def steps(path: str) -> int:
    """Return the links followed since the path entered its site."""
    here = path[len(path.rstrip(HOPS)) :]
    # A redirect (R) and a robots.txt (P) are no links
    return here.count("L") + here.count("E") + here.count("M")


def sites(path: str) -> int:
    """Return how often the path led into another site, be it one where it had been."""
    return sum(map(path.count, "lerm"))


def entered(path: str, via: str, url: str, domain_of: Callable[[str], str]) -> str:
    """Return the path of a page found on `via`, with a mark if the last hop led into another site."""
    # A seed
    if not path or not via:
        return path
    # A hop that is marked already
    if path[-1] not in HOPS:
        return path
    is_same_server = via.split("/", 3)[2] == url.split("/", 3)[2]  # as most links are
    if is_same_server or domain_of(via) == domain_of(url):
        return path
    # The page that redirects is where another site was entered, or a seed: this is the same place
    if path[-1] == "R" and not steps(path):
        return path
    return path[:-1] + path[-1].lower()
