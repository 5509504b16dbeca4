"""What owners of hosts say of the use of their pages, and what that forbids: as text, and again as plain purposes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from webcrawl.simweb.answers import HTML, Answer

if TYPE_CHECKING:
    from webcrawl.simweb.world import World

MINING = ("research", "train-ai", "ai-input")
NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Owner:
    """One kind: what is added to robots.txt, heads and documents, where {agent} is the crawler's token.

    `forbids`: for which purposes the pages below `folder` must not be used, or but for these if it begins with `!`.
    """

    robots: str = ""
    headers: tuple[str, ...] = ()
    meta: str = ""
    forbids: tuple[str, ...] = ()
    folder: str = "/"


OWNERS: dict[str, Owner] = {
    "owner_usage": Owner("Content-Usage: train-ai=n, search=n\n", forbids=("train-ai", "search")),
    "owner_usage_path": Owner(
        "Content-Usage: search=n\nContent-Usage: /archive/ search=y\n", forbids=("search",), folder="!/archive/"
    ),
    "owner_usage_agent": Owner(
        "Content-Usage: search=n\n\nUser-agent: {agent}\nContent-Usage: /news/ search=n\n",
        forbids=("search",),
        folder="/news/",
    ),
    "owner_usage_old": Owner("Content-Usage: bots=n, all=n, tdm=n\n"),  # labels of earlier drafts
    "owner_usage_broken": Owner("Content-Usage: search=no\nContent-Usage: Search=n\n"),
    "owner_signal": Owner("Content-Signal: search=no, ai-input=no, ai-train=yes\n", forbids=("search", "ai-input")),
    "owner_license": Owner("License: https://licences.test/rsl.xml\n"),
    "owner_header": Owner(headers=("Content-Usage: ai-use=n, search=n",), forbids=("ai-input", "search")),
    "owner_header_robots": Owner(headers=("X-Robots-Tag: noindex, noarchive",), forbids=("search", "archive")),
    "owner_header_agent": Owner(
        headers=("X-Robots-Tag: somebody: noindex", "X-Robots-Tag: {agent}: noarchive"), forbids=("archive",)
    ),
    "owner_header_tdm": Owner(headers=("TDM-Reservation: 1", "TDM-Policy: https://licences.test/p"), forbids=MINING),
    "owner_meta": Owner(meta='<meta name="robots" content="noindex">', forbids=("search",)),
    "owner_meta_archive": Owner(meta='<META NAME="ROBOTS" CONTENT="NoArchive">', forbids=("archive",)),
    "owner_meta_ai": Owner(meta='<meta name="robots" content="noai, noimageai">', forbids=("train-ai", "ai-input")),
    "owner_meta_agent": Owner(meta='<meta name="{agent}" content="noindex">', forbids=("search",)),
    "owner_meta_other": Owner(meta='<meta name="somebody" content="noindex, noarchive, noai">'),
    "owner_meta_tdm": Owner(headers=("TDM-Reservation: 1",), meta='<meta name="tdm-reservation" content="0">'),
    "owner_strict": Owner("Content-Usage: search=y\n", ("Content-Usage: search=n",), forbids=("search",)),
    "owner_all": Owner(
        "Content-Signal: search=no\n",
        ("TDM-Reservation: 1",),
        '<meta name="robots" content="noarchive">',
        ("search", *MINING, "archive"),
    ),
}
SILENT = Owner()


def of(world: World, host: int) -> Owner:
    return OWNERS.get(world.kind("owner", host), SILENT)


def forbids(world: World, host: int, path: str) -> frozenset[str]:
    """For which purposes the owner does not want the page at this request target used."""
    owner = of(world, host)
    inside = path.startswith(owner.folder.removeprefix("!"))
    return NOBODY if inside is owner.folder.startswith("!") else frozenset(owner.forbids)


def speak(owner: Owner, answer: Answer, agent: str) -> Answer:
    """The answer with what its owner adds to it."""
    lines = tuple(line.replace("{agent}", agent) for line in owner.headers)
    body = answer.body
    if owner.meta and answer.type == HTML:
        body = body.replace(b"<title>", owner.meta.replace("{agent}", agent).encode() + b"<title>", 1)
    return replace(answer, headers=(*answer.headers, *lines), body=body)
