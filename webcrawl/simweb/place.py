"""The place of a special answer, `/x/KIND/NUMBER/REST`. Only the page of that number links to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from webcrawl.simweb.answers import Anchor, Ask

if TYPE_CHECKING:
    from webcrawl.simweb.world import World

_TARGET = re.compile(r"/x/([a-z0-9_]+)/(\d{1,10})(?:([/?].*))?")


@dataclass(frozen=True, slots=True)
class Place:
    """A special answer's kind and number on its host; `rest` is what follows them in the URL."""

    world: World
    host: int
    kind: str
    number: int
    rest: str = ""
    ask: Ask | None = None

    @classmethod
    def of(cls, world: World, ask: Ask) -> Place | None:
        match = _TARGET.fullmatch(ask.path)
        return cls(world, ask.host, match[1], int(match[2]), match[3] or "", ask) if match else None

    @property
    def attempt(self) -> int:
        return self.ask.attempt if self.ask else 1

    @property
    def path(self) -> str:
        """The path of the place's first URL."""
        return f"/x/{self.kind}/{self.number}"

    @property
    def url(self) -> str:
        return self.origin + self.path

    @property
    def origin(self) -> str:
        return self.world.origin(self.host)

    def landing(self, name: str = "here") -> str:
        """The path of an ordinary page that only this place links to."""
        return f"/x/landing/{self.number}/{self.kind}/{name}"

    def anchor(self, source: str = "a", name: str = "here", *, nofollow: bool = False) -> Anchor:
        return Anchor(source, self.origin + self.landing(name), nofollow)

    def elsewhere(self) -> int:
        """Another host, if there is one."""
        return (self.host + 1 + self.number % max(self.world.hosts - 1, 1)) % self.world.hosts


def document(title: str, body: str, head: str = "") -> bytes:
    """A small page. Titles must differ between places, so that no two bodies are equal by chance."""
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{escape(title)}</title>{head}</head>\n'
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    ).encode()
