"""What a host's sitemaps bring, beside what its pages link to: how many URLs, and how many of the host's turns.

Both have the same share of the turns until one of them proves better at finding new pages (docs/frontier.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field

URLS = 50_000  # of a host's sitemaps, for each domain that links to its own: as many as sitemaps.org lets one file have
ENOUGH = 4  # pages of each kind, from which on their news decide
WINDOW = 64  # pages of one kind, after which the older ones count half
LEAST = 1 / 16  # of the turns, for either: nothing starves, and who gets better is noticed


@dataclass(slots=True)
class Listed:
    """The sitemaps of one host: kept with its record. Of the two numbers one is of linked pages, one of listed ones."""

    urls: int = 0  # that they have brought
    full: bool = False  # some were left out: no more sitemaps are asked for
    credit: float = 0.0  # turns that they are owed
    tried: list[int] = field(default_factory=lambda: [0, 0])  # pages
    new: list[int] = field(default_factory=lambda: [0, 0])  # of these, those that were

    def save(self) -> list[object]:
        """As the host's row has it."""
        return [self.urls, self.full, self.credit, self.tried, self.new]

    def take(self, urls: int, most: int) -> int:
        """Of so many URLs of a sitemap, how many it may bring if all may bring `most`."""
        taken = max(min(urls, most - self.urls), 0)
        self.urls += taken
        self.full = taken < urls
        return taken

    def share(self) -> float:
        """The part of the turns that listed URLs have while others wait, too."""
        if min(self.tried) < ENOUGH:
            return 0.5
        # Squares: of a list with three dead URLs in four, a share like its news would cost a sixth of all turns.
        linked, listed = (((new + 1) / (tried + 2)) ** 2 for new, tried in zip(self.new, self.tried, strict=True))
        return min(max(listed / (linked + listed), LEAST), 1 - LEAST)

    def has_turn(self) -> bool:
        """True if the next turn is a listed URL's; counts it."""
        self.credit += self.share()
        if self.credit < 1.0:
            return False
        self.credit -= 1.0
        return True

    def learn(self, *, listed: bool, new: bool) -> None:
        """A page is done."""
        self.tried[listed] += 1
        self.new[listed] += new
        if self.tried[listed] >= WINDOW:
            self.tried[listed] //= 2
            self.new[listed] //= 2
