"""The page at the address in USER_AGENT: who crawls, why, how fast, how to slow it down, how to make it leave.

It lists the addresses from which the crawl comes; `misfits` compares them with their names in DNS.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from ipaddress import IPv4Network, IPv6Network
from itertools import islice
from typing import Protocol

from webcrawl.net.identity.key_directory import PATH

Network = IPv4Network | IPv6Network
MOST = 16  # addresses whose names are looked up, the first ones


class Names(Protocol):
    """Asks name servers."""

    async def names(self, address: str) -> tuple[str, ...] | None:
        """The names of an address; None if nobody can say."""
        ...

    async def addresses(self, name: str) -> tuple[str, ...] | None:
        """The addresses of a name, of both families; None if nobody can say."""
        ...


def listed(networks: Iterable[Network], now: float) -> str:
    """The list in the form in which Googlebot's and Common Crawl's are published."""
    made = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    prefixes = [{f"ipv{one.version}Prefix": str(one)} for one in networks]
    return json.dumps({"creationTime": made, "prefixes": prefixes}, indent=2)


UNKNOWN = "could not be looked up"  # which is no fault of the name


async def misfits(networks: Sequence[Network], asked: Names) -> list[str]:
    """The faults in the names of these addresses: servers look up a name, and then the address of that name."""
    found = []
    addresses = (str(address) for network in networks for address in network)
    for address in islice(addresses, MOST):
        names = await asked.names(address)
        if names is None:
            found.append(f"{address} {UNKNOWN}")
        elif not names:
            found.append(f"{address} has no name")
        elif not any([address in (await asked.addresses(name) or ()) for name in names]):
            found.append(f"{address} is called {names[0]}, which has other addresses")
    return found


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
    several: Sequence[tuple[str, int]]  # hosts that have more than one request at a time, and how many
    obeys: bool  # robots.txt
    crawl_delay_max: float
    retry_after_max: float
    agent: str | None
    networks: Sequence[Network]


def page(who: Who, now: float) -> str:
    """A page without scripts, which needs no other file."""
    sections = {
        "Who": _who(who),
        "Why": _why(who),
        "How fast": _how_fast(who),
        "How to slow it down": _how_to_slow(who),
        "How to make it leave": _how_to_leave(who),
        "How to know it": _how_to_know(who, now),
    }
    parts = [part for title, found in sections.items() if found for part in (f"<h2>{title}</h2>", *found)]
    parts.append(_paragraph(f"Written on {datetime.fromtimestamp(now, UTC):%Y-%m-%d} from the settings of the crawl."))
    name = escape(who.name)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}: a web crawler</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _who(who: Who) -> list[str]:
    parts = [f"<p>A web crawler. Its requests say <code>User-Agent: {escape(who.user_agent)}</code>.</p>"]
    if who.contact:
        mail = escape(who.contact)
        parts.append(
            f'<p>Write to <a href="mailto:{mail}">{mail}</a>, which its requests name as <code>From</code>.</p>'
        )
    return parts


def _why(who: Who) -> list[str]:
    parts = [_paragraph(who.why)] if who.why else []
    if who.purposes:
        purposes = ", ".join(f"<code>{escape(one)}</code>" for one in who.purposes)
        parts.append(f"<p>Its declared purposes: {purposes}. What a site forbids for all of them is not kept.</p>")
    return parts


def _how_fast(who: Who) -> list[str]:
    waits = ", ".join(f"{_seconds(wait)} after one that took {_seconds(took)}" for took, wait in who.waits)
    parts = [_paragraph(f"A host gets one request at a time. Then it is left alone: {waits}.")]
    if who.several:
        several = ", ".join(f"<code>{escape(name)}</code> {count}" for name, count in who.several)
        parts.append(f"<p>By agreement some hosts get more requests at a time: {several}.</p>")
    return parts


def _how_to_slow(who: Who) -> list[str]:
    by_answers = (
        "<p>Or answer with <code>Retry-After</code>, whatever the status: the host is left alone for so long, "
        f"up to {_seconds(who.retry_after_max)}. <code>RateLimit</code> fields are heeded as well.</p>"
    )
    if not who.obeys:
        return [by_answers]
    by_robots = (
        "<p>In <code>robots.txt</code>, with the seconds between two requests, "
        f"of which up to {_seconds(who.crawl_delay_max)} are kept:</p>"
        f"<pre>User-agent: {escape(who.name)}\nCrawl-delay: 10</pre>"
    )
    return [by_robots, by_answers]


def _how_to_leave(who: Who) -> list[str]:
    parts = ["<p>This crawl does not read <code>robots.txt</code>.</p>"]
    if who.obeys:
        parts = [
            (
                "<p>In <code>robots.txt</code>, which is read before anything else:</p>"
                f"<pre>User-agent: {escape(who.name)}\nDisallow: /</pre>"
            )
        ]
    if who.contact:
        parts.append(f"<p>Or write to {escape(who.contact)}, with the name of your domain.</p>")
    return parts


def _how_to_know(who: Who, now: float) -> list[str]:
    parts = []
    if who.agent:
        address = escape(f"{who.agent}{PATH}")
        parts.append(
            "<p>Every request is signed (Web Bot Auth, RFC 9421). The keys are at "
            f'<a href="{address}"><code>{address}</code></a>.</p>'
        )
    if who.networks:
        parts.append(
            f'<p>It comes from these addresses alone, which are also in <a href="{ADDRESSES}">{ADDRESSES}</a>:</p>'
            f"<pre>{escape(listed(who.networks, now))}</pre>"
        )
    return parts


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _seconds(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size and seconds % size == 0), (1, "second"))
    return f"{seconds / size:g} {unit}{'s' * (seconds != size)}"
