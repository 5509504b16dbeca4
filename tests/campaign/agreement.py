"""What a killed crawl has left, in each output, beside what an untouched one has; and whether what
it says is true.
"""

import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from pyarrow import parquet

from webcrawl.lab.simweb.kinds import trap_entrance
from webcrawl.record.objectstore.storing import stored_files_of_crawl
from webcrawl.record.pagefiles import page_file_name
from webcrawl.store.jobdir import crawl_line
from webcrawl.tools.verify_crawl import verify

# statuses of crawl.log that say that something went wrong: names, connections, time limits
FAILED = range(-8, 0)
QUEUED = re.compile(r"(\d+) URLs? queued")
TIMELY = re.compile("/x/(changing|endless)")
FAILURES = re.compile(r"(\d+) failures?\b")


def unlike(crawl, other, killed, beside=frozenset()):
    """Yield every way in which a killed crawl's outputs differ from an untouched one's.

    Rows that are there twice count, too. `beside` has URLs without ports that only one of both need
    have.
    """
    outputs = killed.settings[-1]["OUTPUTS"].split()
    for name in outputs:
        find = FINDERS.get(name)
        if find is None:
            continue
        mine, others = find(crawl.jobdir, beside), find(other.jobdir, beside)
        yield from (
            f"{name}: {url} is there {times} times" for url, times in mine.urls.items() if times > 1
        )
        # Of pages that are the same byte for byte the first has the row, and that may be one that
        # is not compared
        lost = others.facts - find(crawl.jobdir, None).facts
        new = mine.facts - find(other.jobdir, None).facts
        yield from (f"{name}: lacks {fact!r}" for fact in sorted(map(str, lost)))
        yield from (
            f"{name}: has {fact!r}, which an untouched crawl has not"
            for fact in sorted(map(str, new))
        )
    if "requests" in outputs and len({values["OUTPUTS"] for values in killed.settings}) == 1:
        sent = Counter(without_port(row[2]) for row in _rows(crawl.jobdir, "logs/requests.log"))
        yield from (
            f"requests: lacks {url}"
            for url in Counter(without_port(hit.url) for hit in killed.hits) - sent
        )
    if "OUTPUT_STORE" in killed.settings[-1]:
        yield from damaged_copies(crawl.jobdir)


def damaged_copies(jobdir):
    """Yield each file that the crawl has noted as stored, and of which the folder that is its store
    has no copy with these bytes.
    """
    stored, _ = stored_files_of_crawl(jobdir)
    if not stored:
        yield "store: nothing is stored"
    for name, file in stored.items():
        copy = Path(file.address.removeprefix("file://"), name)
        if not copy.exists():
            yield f"store: {name} is missing"
        elif hashlib.sha256(copy.read_bytes()).hexdigest() != file.sha256:
            yield f"store: {name} has other bytes"


def untruths(crawl, killed):
    """Yield every figure and sentence of a crawl's end that its files deny."""
    stats = crawl.stats
    said = crawl.output.read_text()
    lines = [*map(crawl_line.read, (crawl.jobdir / crawl_line.LOG).read_bytes().splitlines())]
    answered = sum(line.status > 0 for line in lines)
    queued = killed.snapshot.queued.total()
    if stats["answers"] + stats.get("sitemaps", 0) != answered:
        yield f"stats.json: {stats['answers']} answers, crawl.log has {answered} answers"
    failed = sum(
        line.status in FAILED or line.status == 429 or line.status >= 500 for line in lines
    )
    if min(map(int, FAILURES.findall(said)[-1:]), default=0) < failed:
        yield f"it says {FAILURES.findall(said)[-1:]} failures, and crawl.log has {failed}"
    if QUEUED.findall(said)[-1:] != [str(queued)]:
        yield f"it says {QUEUED.findall(said)[-1:]} URLs queued, and {queued} are"
    if "nothing is left" in said and killed.snapshot.queued + killed.snapshot.waiting:
        yield "it says that nothing is left, and URLs are queued"
    found = Counter()
    yield from (f"verify: {damage}" for damage in verify(crawl.jobdir, found))


class Found:
    """The rows of an output: how often each URL has one, and what two crawls of one web must
    share.
    """

    def __init__(self, urls, facts):
        self.urls, self.facts = Counter(urls), set(facts)


def _links(jobdir, beside):
    rows = Counter(without_port(row[0]) for row in _rows(jobdir, "logs/links.log"))
    passed_over = []
    if beside is not None:
        passed_over = [url for url in rows if trap_entrance(url) is not None or url in beside]
    return Found((), rows.items() - {(url, rows[url]) for url in passed_over})


def _text(jobdir, beside):
    members = (gzip.decompress(path.read_bytes()) for path in sorted((jobdir / "text").iterdir()))
    lines = [json.loads(line) for member in members for line in member.splitlines()]
    return Found(
        [line["url"] for line in lines],
        [without_port(line["text"]) for line in _comparable(lines, beside)],
    )


def _documents(jobdir, beside):
    lines = parquet.read_table(sorted((jobdir / "tables").glob("documents-*.parquet"))).to_pylist()
    # what broke its reader has none
    texts = [without_port(line["text"] or "") for line in _comparable(lines, beside)]
    return Found([line["url"] for line in lines], texts)


def _neardup(jobdir, _beside):
    # texts have ports, and each crawl its own
    return Found((url for _, url in _rows(jobdir, "logs/neardup.log")), ())


def _images(jobdir, _beside):
    rows = _rows(jobdir, "logs/images.log")
    return Found([row[0] for row in rows], [tuple(row[1:4]) for row in rows])


def _pagefiles(jobdir, _beside):
    rows = _rows(jobdir, "logs/store.log")
    for _, url, _, _, _, _, size, _, number, offset in rows:
        assert (jobdir / page_file_name(int(number))).stat().st_size >= int(offset) + int(size), url
    return Found([row[1] for row in rows], ())


def _skipped(jobdir, _beside):
    return Found(("\t".join(row[1:]) for row in _rows(jobdir, "logs/skipped.log")), ())


FINDERS = {
    "links": _links,
    "text": _text,
    "documents": _documents,
    "neardup": _neardup,
    "images": _images,
    "pagefiles": _pagefiles,
    "skipped": _skipped,
}


def without_port(text):
    return re.sub(r":\d+/", "/", text)


def _comparable(rows, beside):
    """Return the rows that two crawls of one web must share; all if `beside` is None.

    The number of a trap's pages depends on the order, and what a page of TIMELY says on the time.
    """
    if beside is None:
        return rows
    rows = [row for row in rows if without_port(row["url"]) not in beside]
    return [
        row for row in rows if trap_entrance(row["url"]) is None and not TIMELY.search(row["url"])
    ]


def _rows(jobdir, name):
    return [line.split("\t") for line in (jobdir / name).read_text().splitlines()]
