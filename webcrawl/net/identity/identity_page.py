"""The page at the address in USER_AGENT: who crawls, why, how fast, and how to make it leave.

It lists the addresses from which the crawl comes; `misfits` compares them with their names in DNS.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network
from itertools import islice

from webcrawl.base.markup import Html, document, join, lines, tag
from webcrawl.net.dns_cares import ReverseNames
from webcrawl.net.identity.key_directory import PATH

Network = IPv4Network | IPv6Network
ADDRESSES_LOOKED_UP = 16  # addresses whose names are looked up, the first ones


def listed(networks: Iterable[Network], now: float) -> str:
    """Return the list in the form in which Googlebot's and Common Crawl's are published."""
    made = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    prefixes = [{f"ipv{one.version}Prefix": str(one)} for one in networks]
    return json.dumps({"creationTime": made, "prefixes": prefixes}, indent=2)


UNKNOWN = "could not be looked up"  # which is no fault of the name


async def misfits(networks: Sequence[Network], resolver: ReverseNames) -> list[str]:
    """Return the faults in the names of these addresses.

    Servers look up a name, and then the address of that name.
    """
    addresses = (str(address) for network in networks for address in network)
    found = [await _misfit(address, resolver) for address in islice(addresses, ADDRESSES_LOOKED_UP)]
    return [fault for fault in found if fault]


async def _misfit(address: str, resolver: ReverseNames) -> str:
    """Return the fault in the names of an address; empty if there is none."""
    names = await resolver.names(address)
    if names is None:
        return f"{address} {UNKNOWN}"
    if not names:
        return f"{address} has no name"
    for name in names:
        if address in (await resolver.addresses(name) or ()):
            return ""
    return f"{address} has the name {names[0]}, which resolves to other addresses"


STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "code,pre{font:14px/1.4 ui-monospace,monospace;background:#f4f4f4}pre{padding:.7rem;overflow-x:auto}"
    "code{padding:.1rem .3rem}h1{line-height:1.2}h2{margin-top:2rem}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code,pre{background:#262626}a{color:#8bf}}"
)


ADDRESSES = "addresses.json"  # the list of addresses as a file, beside the page
UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"))


@dataclass(frozen=True, slots=True)
class Who:
    """The answers that the settings of a crawl give."""

    name: str  # its name in robots.txt
    user_agent: str
    contact: str
    why: str
    purposes: Sequence[str]
    waits: Sequence[tuple[float, float]]  # seconds of a download, and of the wait after it
    # hosts that have more than one request at a time, and how many
    several: Sequence[tuple[str, int]]
    obeys: bool  # robots.txt
    crawl_delay_max: float
    retry_after_max: float
    agent: str | None
    networks: Sequence[Network]


def page(who: Who, now: float) -> str:
    """Return a page without scripts, which needs no other file."""
    body = tag(
        "body",
        tag("h1", who.name),
        *_who(who),
        *_how_fast(who),
        *_how_to_slow(who),
        *_how_to_leave(who),
        *_how_to_know(who, now),
        tag(
            "p",
            f"Written on {datetime.fromtimestamp(now, UTC):%Y-%m-%d} from the settings of the crawl.",
        ),
    )
    return document(f"{who.name}: a web crawler", body, tag("style", Html(STYLE)))


def _who(crawler: Who) -> Iterator[Html]:
    """Yield the part of the page on who crawls and what for."""
    yield tag("h2", "Who")
    yield tag(
        "p",
        "A web crawler. Its requests say ",
        tag("code", f"User-Agent: {crawler.user_agent}"),
        ".",
    )
    if crawler.contact:
        mail = tag("a", crawler.contact, href=f"mailto:{crawler.contact}")
        yield tag("p", "Write to ", mail, ", which its requests name as ", tag("code", "From"), ".")
    if crawler.why or crawler.purposes:
        yield tag("h2", "Why")
    if crawler.why:
        yield tag("p", crawler.why)
    if crawler.purposes:
        purposes = _listed(tag("code", purpose) for purpose in crawler.purposes)
        yield tag(
            "p",
            "Its declared purposes: ",
            purposes,
            ". What a site forbids for all of them is not kept.",
        )


def _how_fast(who: Who) -> Iterator[Html]:
    waits = ", ".join(
        f"{_seconds(wait)} after one that took {_seconds(took)}" for took, wait in who.waits
    )
    yield tag("h2", "How fast")
    yield tag("p", f"A host gets one request at a time. Then it is left alone: {waits}.")
    if who.several:
        several = _listed(join(tag("code", name), f" {many}") for name, many in who.several)
        yield tag("p", "By agreement some hosts get more requests at a time: ", several, ".")


def _how_to_slow(crawler: Who) -> Iterator[Html]:
    """Yield the part of the page on how a site slows the crawler down."""
    yield tag("h2", "How to slow it down")
    if crawler.obeys:
        longest = _seconds(crawler.crawl_delay_max)
        delay = f", with the seconds between two requests, of which up to {longest} are kept:"
        yield tag("p", "In ", tag("code", "robots.txt"), delay)
        yield tag("pre", lines(f"User-agent: {crawler.name}\nCrawl-delay: 10"))
    longest = _seconds(crawler.retry_after_max)
    left_alone = f", whatever the status: the host is left alone for so long, up to {longest}. "
    limits = join(tag("code", "RateLimit"), " fields are heeded as well.")
    yield tag("p", "Or answer with ", tag("code", "Retry-After"), left_alone, limits)


def _how_to_leave(who: Who) -> Iterator[Html]:
    yield tag("h2", "How to make it leave")
    if who.obeys:
        yield tag("p", "In ", tag("code", "robots.txt"), ", which is read before anything else:")
        yield tag("pre", lines(f"User-agent: {who.name}\nDisallow: /"))
    else:
        yield tag("p", "This crawl does not read ", tag("code", "robots.txt"), ".")
    if who.contact:
        yield tag("p", f"Or write to {who.contact}, with the name of your domain.")


def _how_to_know(crawler: Who, now: float) -> Iterator[Html]:
    """Yield the part of the page on how a site tells the crawler from one that borrows its name."""
    if crawler.agent or crawler.networks:
        yield tag("h2", "How to know it")
    if crawler.agent:
        keys = tag("a", tag("code", f"{crawler.agent}{PATH}"), href=f"{crawler.agent}{PATH}")
        yield tag(
            "p", "Every request is signed (Web Bot Auth, RFC 9421). The keys are at ", keys, "."
        )
    if crawler.networks:
        link = tag("a", ADDRESSES, href=ADDRESSES)
        yield tag("p", "It comes from these addresses alone, which are also in ", link, ":")
        yield tag("pre", lines(listed(crawler.networks, now)))


def _listed(items: Iterable[Html]) -> Html:
    """Return them with commas between."""
    return Html(", ".join(items))


def _seconds(seconds: float) -> str:
    for size, unit in UNITS:
        if seconds >= size and seconds % size == 0:
            return _counted(seconds / size, unit)
    return _counted(seconds, "second")


def _counted(many: float, unit: str) -> str:
    ending = "" if many == 1 else "s"
    return f"{many:g} {unit}{ending}"
