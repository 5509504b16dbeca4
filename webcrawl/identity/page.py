"""The page at the address in USER_AGENT: who crawls, why, how fast, how to slow it down, how to make it leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from webcrawl.identity.addresses import Network, listed
from webcrawl.identity.directory import PATH

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
    """What the settings of a crawl say of it."""

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
    form: str = ""  # where owners have their sites left alone themselves


def page(who: Who, now: float) -> str:
    """A page without scripts, which needs no other file."""
    parts = [
        *_who(who),
        *_how_fast(who),
        *_how_to_slow(who),
        *_how_to_leave(who),
        *_how_to_know(who, now),
        _paragraph(f"Written on {datetime.fromtimestamp(now, UTC):%Y-%m-%d} from the settings of the crawl."),
    ]
    name = escape(who.name)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}: a web crawler</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _who(who: Who) -> list[str]:
    parts = [
        "<h2>Who</h2>",
        f"<p>A web crawler. Its requests say <code>User-Agent: {escape(who.user_agent)}</code>.</p>",
    ]
    if who.contact:
        mail = escape(who.contact)
        parts.append(
            f'<p>Write to <a href="mailto:{mail}">{mail}</a>, which its requests name as <code>From</code>.</p>'
        )
    if who.why or who.purposes:
        parts.append("<h2>Why</h2>")
    if who.why:
        parts.append(_paragraph(who.why))
    if who.purposes:
        purposes = ", ".join(f"<code>{escape(one)}</code>" for one in who.purposes)
        parts.append(f"<p>Its declared purposes: {purposes}. What a site forbids for all of them is not kept.</p>")
    return parts


def _how_fast(who: Who) -> list[str]:
    waits = ", ".join(f"{_seconds(wait)} after one that took {_seconds(took)}" for took, wait in who.waits)
    parts = ["<h2>How fast</h2>", _paragraph(f"A host gets one request at a time. Then it is left alone: {waits}.")]
    if who.several:
        several = ", ".join(f"<code>{escape(name)}</code> {count}" for name, count in who.several)
        parts.append(f"<p>By agreement some hosts get more requests at a time: {several}.</p>")
    return parts


def _how_to_slow(who: Who) -> list[str]:
    parts = ["<h2>How to slow it down</h2>"]
    if who.obeys:
        parts.append(
            "<p>In <code>robots.txt</code>, with the seconds between two requests, "
            f"of which up to {_seconds(who.crawl_delay_max)} are kept:</p>"
            f"<pre>User-agent: {escape(who.name)}\nCrawl-delay: 10</pre>"
        )
    parts.append(
        "<p>Or answer with <code>Retry-After</code>, whatever the status: the host is left alone for so long, "
        f"up to {_seconds(who.retry_after_max)}. <code>RateLimit</code> fields are heeded as well.</p>"
    )
    return parts


def _how_to_leave(who: Who) -> list[str]:
    parts = ["<h2>How to make it leave</h2>"]
    if who.obeys:
        parts.append(
            "<p>In <code>robots.txt</code>, which is read before anything else:</p>"
            f"<pre>User-agent: {escape(who.name)}\nDisallow: /</pre>"
        )
    else:
        parts.append("<p>This crawl does not read <code>robots.txt</code>.</p>")
    if who.form:
        form = escape(who.form)
        parts.append(
            f'<p>Or prove that the site is yours, at <a href="{form}">{form}</a>: it is left alone at once.</p>'
        )
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
    return ["<h2>How to know it</h2>", *parts] if parts else []


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _seconds(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size and seconds % size == 0), (1, "second"))
    return f"{seconds / size:g} {unit}{'s' * (seconds != size)}"
