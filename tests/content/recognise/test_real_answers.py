"""Recorded answers and their labels, and real pages that must not be taken for anything else."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.cases import cases, unpacked
from webcrawl.content.recognise import recogniser
from webcrawl.content.recognise.marks import OWN

HTML = [(b"Content-Type", b"text/html; charset=utf-8")]
PAGES = ("", "login")  # a page on which one may log in was asked for where it has a URL of its own


def recorded():
    """Class of each answer, by label and as recognised."""
    folder = cases("walls")
    for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        head, _, body = (folder / label["file"]).read_bytes().partition(b"\r\n\r\n")
        pairs = (field.split(b":", 1) for field in head.split(b"\r\n")[1:])
        headers = [(name.strip(), value.strip()) for name, value in pairs]
        yield (
            label["class"],
            recogniser().recognise(label["status"], headers, body).partition(":")[0],
        )


def test_recorded_answers_are_recognised():
    """Of block pages and shells at least 95 %, of soft 404s 85 % without a probe; ordinary pages
    are pages.
    """
    counts = Counter(recorded())
    of = Counter(label for label, _ in counts.elements())

    assert counts["wall", "wall"] >= 0.95 * of["wall"]
    assert counts["shell", "shell"] >= 0.95 * of["shell"]
    assert counts["soft404", "soft404"] >= 0.85 * of["soft404"]
    assert {kind for label, kind in counts if label == "ordinary"} == {""}


def built(name="built", part=None):
    """As `recorded`, of answers that were made in the manner of others'."""
    for line in gzip.decompress(
        (Path(__file__).parent / f"{name}.jsonl.gz").read_bytes()
    ).splitlines():
        row = json.loads(line)
        if part not in (None, row.get("set")):
            continue
        headers = [
            *HTML,
            *((name.encode(), value.encode()) for name, value in row["headers"].items()),
        ]
        yield (
            row["class"],
            recogniser().recognise(row["status"], headers, row["body"].encode()).partition(":")[0],
        )


def test_ordinary_pages_that_are_named_like_block_pages_are_pages():
    """Of 159 traps, eleven are taken for something else, three of them for block pages; of 106 block
    pages, one is not.
    """
    counts = Counter(built())
    taken = Counter(
        {kind: count for (label, kind), count in counts.items() if label == "ordinary" and kind}
    )

    assert sum(count for (label, _), count in counts.items() if label == "ordinary") == 159
    assert taken["wall"] <= 3
    assert taken.total() <= 11
    assert (
        counts["wall", "wall"]
        >= sum(count for (label, _), count in counts.items() if label == "wall") - 1
    )


@pytest.mark.parametrize(
    ("part", "block_pages", "missing", "shells", "taken"),
    [("first", 83, 24, 20, 1), ("second", 53, 13, 13, 3), ("third", 81, 6, 6, 1)],
)
def test_vendors_that_no_recorded_answer_has_are_recognised(
    part, block_pages, missing, shells, taken
):
    """Of 84, 58 and 83 block pages and rate limits 83, 53 and 81; of 89, 63 and 101 pages that look
    like them 1, 3 and 1.

    The third part has many denials in some 20 languages, and errors of servers and sites that are
    none.
    """
    counts = Counter(built("blind", part))
    shut = ("wall", "ratelimit")

    assert (
        sum(count for (label, kind), count in counts.items() if label in shut and kind in shut)
        >= block_pages
    )
    assert counts["soft404", "soft404"] >= missing
    assert counts["shell", "shell"] >= shells
    assert sum(counts["ordinary", kind] for kind in shut) <= taken


def test_articles_are_pages():
    """None of 217 real ones is a block page or a soft 404.

    One of them is a shell, which shows nothing.
    """
    found = Counter()
    for name in ("html-newspaper", "html-readability"):
        for path in (cases(name) / "pages").iterdir():
            if path.name.endswith(".html.gz"):
                found[recogniser().recognise(200, HTML, gzip.decompress(path.read_bytes()))] += 1

    assert found.total() > 200
    assert found.keys() - {""} <= {"shell"}
    assert found["shell"] <= 1


def test_pages_of_real_sites_are_pages():
    """Of 1,600, eight say "file not found", one is Gerrit's shell, and many are forms to log in."""
    path = cases("site-uci-shared") / "pages.jsonl.zst"
    found = Counter()
    for line in unpacked(path).split(b"\n")[:-1]:
        row = json.loads(line)
        if row["html"]:
            found[recogniser().recognise(200, HTML, row["body"].encode())] += 1

    assert {kind: count for kind, count in found.items() if kind not in PAGES} == {
        "soft404": 8,
        "shell": 1,
    }


def test_each_mark_has_a_source():
    """A mark that nobody can look up cannot be mended."""
    text = OWN.read_text(encoding="utf-8")

    assert text.count("\nsource = ") == text.count("[[mark]]") > 40
