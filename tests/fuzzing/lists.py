"""Targets: robots.txt and seed lists."""

import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.fuzzing.target import LONGEST, Target, chance, folder
from webcrawl.base.zstd_frame import zstd
from webcrawl.net.robots import LIMIT, parse, path_of
from webcrawl.net.robots_book import RobotsBook, RobotsDecision
from webcrawl.net.robots_entry import pack, unpack
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.seeds import Seed, SeedError, Seeds

AGENT = "webcrawl"
PATHS = [
    "/",
    "/a",
    "/a/b.html?c=d",
    "/index.html",
    "/%E9*$",
    "/a//b/../c",
    "/robots.txt",
    "/~x/%7Ey",
]


class Table(dict[str, tuple[float, bytes]]):
    """The frontier's table of rules."""

    def robots(self, origin: str) -> tuple[float, bytes] | None:
        return self.get(origin)

    def set_robots(self, origin: str, until: float, rules: bytes) -> None:
        self[origin] = until, rules

    def sweep(self, before: float) -> None:
        """Nothing expires within an instant."""


def robots(data: bytes) -> None:
    """The longest rule decides; the same after packing, from the table, and with other line ends."""
    rules = parse(data, AGENT).rules
    kept = dict(rules.items())
    assert 0 <= rules.crawl_delay < float("inf")
    assert rules.weight <= 1000 + 400 * len(data)
    again = unpack(pack(rules, AGENT), AGENT)
    assert again is not None
    assert (dict(again.items()), again.crawl_delay) == (kept, rules.crawl_delay)
    if b"\r" not in data and len(data) < LIMIT // 2 and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        assert dict(parse(data.replace(b"\n", b"\r\n"), AGENT).rules.items()) == kept
    table = Table()
    first, second = (RobotsBook(table, AGENT) for _ in range(2))
    first.record_answer("http://h.test", 200, data, 0.0)
    for url in _urls(list(kept)):
        verdict = rules.allowed(url)
        assert verdict == _longest(kept, path_of(url)), url
        expected = (
            RobotsDecision.ALLOWED
            if verdict or url == "http://h.test/robots.txt"
            else RobotsDecision.FORBIDDEN
        )
        assert first.verdict(url, 1.0) is expected is second.verdict(url, 1.0)


def _urls(patterns: list[str]) -> Iterator[str]:
    for path in [
        *PATHS,
        *("/" + pattern.replace("*", "x").strip("$/") for pattern in patterns[:20]),
    ]:
        try:
            yield canonical(f"http://h.test{path}", max_length=10**6)
        except InvalidUrl:
            continue


def _longest(rules: dict[str, bool], path: str) -> bool:
    """RFC 9309 2.2.2 taken literally."""
    found = [(len(pattern), allow) for pattern, allow in rules.items() if _matches(pattern, path)]
    return max(found)[1] if found and not all(rules.values()) else True


def _matches(pattern: str, path: str) -> bool:
    """By dynamic programming: slow but obviously right."""
    places = {0}
    for sign in pattern.removesuffix("$"):
        if sign == "*":
            places = set(range(min(places), len(path) + 1)) if places else places
        else:
            places = {place + 1 for place in places if path[place : place + 1] == sign}
    return len(path) in places if pattern.endswith("$") else bool(places)


def seeds(data: bytes) -> None:
    """Canonical URLs or a SeedError, and the same when resumed from any position."""
    endings = (
        [".csv.gz", ".txt.gz"]
        if data[:2] == b"\x1f\x8b"
        else [".zip", ".csv.zip"]
        if data[:2] == b"PK"
        else [".csv", ".txt"]
    )
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"list{endings[len(data) % 2]}"
        path.write_bytes(data)
        whole, error = _read(str(path), None, 500)
        assert "\n" not in error
        at = chance(data).randrange(len(whole) + 1)
        try:
            before = Seeds(str(path))
        except SeedError:
            return
        assert [seed.url for seed in islice(before, at)] == [seed.url for seed in whole[:at]]
        after, other = _read(str(path), before.position, 500)
        before.close()
    assert after[: len(whole) - at] == whole[at:]
    assert len(whole) == 500 or error == other
    for seed in whole:
        # what is written may be a ninth as long
        assert canonical(seed.url, max_length=len(seed.url)) == seed.url


def _read(path: str, position: bytes | None, most: int) -> tuple[list[Seed], str]:
    found: list[Seed] = []
    try:
        seeds = Seeds(path)
        if position is not None:
            seeds.resume(position)
        found.extend(islice(seeds, most))
        seeds.close()
    except SeedError as error:
        return found, str(error)
    return found, ""


def _robots() -> Iterator[bytes]:
    place = folder("robots-real")
    if place is not None:
        with gzip.open(place / "robots.jsonl.gz", "rt", encoding="utf-8") as rows:
            yield from (
                json.loads(row)["body"].encode("utf-8", "replace") for row in islice(rows, 600)
            )
    place = folder("robots-spec")
    if place is not None:
        for row in (place / "google-robotstxt.jsonl").read_text(encoding="utf-8").splitlines():
            yield json.loads(row)["robots"].encode("utf-8", "replace")


def _tops() -> Iterator[bytes]:
    place = folder("top-sites")
    for path in sorted(place.glob("*.zst")) if place is not None else ():
        with zstd.open(path) as file:
            text = file.read(LONGEST // 4)
        yield text
        yield gzip.compress(text, mtime=0)
        yield zipped(text)


def zipped(text: bytes, name: str = "list.csv", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo(name), text)
    return made.getvalue()


CSV = b'rank,domain\n1,example.com\n2,\xc3\xa9.example\n3,"a.test"\n4,b.test:80/x?y\n'
TXT = b"# seeds\nhttp://a.test/x y\nexample.com # this\n\nftp://f.test/\n127.0.0.1\nhttps://u@[::1]:8/\n"
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
LINES = [
    b"User-agent: *\n", b"User-agent: webcrawl\n", b"user agent ", b"Disallow: ", b"Allow: ", b"Disallow:\n",
    b"Disallow: /*.html$\n", b"Crawl-delay: ", b"nan",
    b"1_0", b"inf", b"Sitemap: x\n", b"/", b"*", b"$", b"**", b"%2F", b"%2a", b"%24", b"/index.html", b"#", b":",
    b"\r", b"\xe9", b"Allow: /a*b*c$\n",
]  # fmt: skip
ROWS = [
    b"1,",
    b",",
    b'"',
    b'""',
    b"#",
    b"http://",
    b"://",
    b".test",
    b"\n",
    b"\r",
    b"[::1]",
    b"xn--",
    b"PK\1\2",
    b"PK\5\6",
    b"GlobalRank,TldRank,Domain\n",
    b"\xe2\x80\xa8",
]

TARGETS = [
    Target("robots", robots, [b"User-agent: *\nDisallow: /a\nAllow: /a/b*c$\nCrawl-delay: 2\n",
    b"\xff\xfe" + "User-agent: *\nDisallow: /é".encode("utf-16-le")],
           LINES, _robots),
    Target("seeds", seeds, [CSV, TXT, TXT.decode().encode("utf-16"), gzip.compress(CSV, mtime=0), zipped(CSV),
    zipped(TXT, "l.txt"), *(zipped(CSV, method=m) for m in METHODS)],
           ROWS, _tops),
]  # fmt: skip
