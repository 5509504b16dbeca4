"""A report as a reader sees it, and what it should say by independent, simple code over crawl.log."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from lxml import html


class Report:
    """A report's tables by name, as lists of rows of texts, and its sentences."""

    def __init__(self, text):
        self.text = text
        self.tree = html.document_fromstring(text)

    def rows(self, name):
        """Return the rows of a table; none if it is not there."""
        found = self.tree.xpath(f"//table[@id='{name}']/tbody/tr")
        return [[" ".join(cell.text_content().split()) for cell in row] for row in found]

    def numbers(self, name):
        """Return the rows of a table, with whole numbers as such."""
        return [[number(cell) for cell in row] for row in self.rows(name)]

    def section(self, name):
        """Return all text of a section."""
        return " ".join(self.tree.get_element_by_id(name).text_content().split())

    def tiles(self):
        """Return the large numbers by their labels."""
        found = self.tree.xpath("//dl[@class='tiles']/div")
        return {
            one.xpath("dt")[0].text_content(): one.xpath("dd")[0].text_content() for one in found
        }


def number(text):
    plain = text.replace(",", "")
    return int(plain) if plain.lstrip("-").isdecimal() else text


@dataclass
class Truth:
    """The figures of a crawl.log."""

    outcomes: Counter = field(default_factory=Counter)
    robots: Counter = field(default_factory=Counter)
    types: Counter = field(default_factory=Counter)
    type_bytes: Counter = field(default_factory=Counter)
    sizes: Counter = field(default_factory=Counter)  # by power of two
    depths: Counter = field(default_factory=Counter)
    documents: Counter = field(default_factory=Counter)  # by host
    host_bytes: Counter = field(default_factory=Counter)
    failures: Counter = field(default_factory=Counter)
    durations: dict = field(default_factory=lambda: defaultdict(list))  # by host
    domains: Counter = field(default_factory=Counter)
    seeds: dict = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0, 0]))
    seed_status: dict = field(default_factory=dict)
    duplicates: int = 0
    downloads: int = 0
    sent: int = 0  # bytes of all downloads


def truth(path):
    """Return the figures of a crawl.log, read line by line."""
    said = Truth()
    for text in path.read_text().splitlines():
        _, status, size, url, path, _, kind, _, fetched, _, seed, notes = text.split()
        status = int(status)
        if size != "-":
            said.downloads += 1
            said.sent += int(size)
        if path.endswith("P"):
            said.robots[status] += 1
            continue
        host = url.split("/")[2].partition(":")[0]
        said.outcomes[status] += 1
        said.failures[host] += status >= 500 or status in (-1, -2, -3, -4, -5, -61, -5004)
        good = size != "-" and status // 100 == 2
        if size != "-":
            said.durations[host].append(int(fetched.split("+")[1]))
        if good:
            _document(said, host, kind.lower(), int(size), path)
            said.duplicates += "duplicate:digest" in notes.split(",")
        if seed != "-":
            _seed(said, seed, status, path, int(size) if good else 0)
    return said


def _document(said, host, kind, size, path):
    said.types[kind] += 1
    said.type_bytes[kind] += size
    said.sizes[2 ** (len(f"{size:b}") - 1) if size else 0] += 1
    said.depths[0 if path == "-" else len(path.replace("R", ""))] += 1
    said.documents[host] += 1
    said.host_bytes[host] += size
    last = host.split(".")[-1]
    said.domains["(address)" if last.isdigit() else f".{last}"] += 1


def _seed(said, seed, status, path, size):
    """Count a URL for its seed."""
    row = said.seeds[seed]
    row[0] += 1
    row[1] += status // 100 == 2
    row[2] += status < 0 or status >= 400
    row[3] += size
    if path == "-":
        said.seed_status.setdefault(seed, status)
    elif set(path) == {"R"}:
        said.seed_status[seed] = status
