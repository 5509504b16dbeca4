"""What a crawl that fetches pages again shows: its figures, and the table of changes."""

import json
import re
from collections import Counter

import pytest

from tests.support.changing_site import Document, changing_site, log_of
from tests.support.crawling import wait_until
from tests.support.tables import files, rows
from webcrawl.store.jobdir.revisit_figures import PREFIX
from webcrawl.tools.report.report_page import report
from webcrawl.tools.verify_crawl import verify

NAMES = ("unchanged_304", "unchanged_digest", "changed_digest", "changed_text", "gone")


def site_of_all_kinds():
    return {
        "/": Document(b"<a href=/same>s</a><a href=/moving>m</a><a href=/gone>g</a>", etag='"1"'),
        "/same": Document(b"<p>the same"),
        "/moving": Document(b"<p>first"),
        "/gone": Document(b"<p>here"),
    }


def logged(crawl):
    """What each fetch of a page found, by the log: path, status, and what the crawl says of it."""
    found = Counter()
    for status, path, notes in log_of(crawl):
        if "revisit" not in notes:
            found[path, status, "new"] += status == 200
        elif said := {"changed", "unchanged", "gone"}.intersection(notes):
            found[path, status, said.pop()] += 1
    return +found


def tabled(crawl):
    return Counter(
        (f"/{row['url'].split('/', 3)[3]}", row["fetch_status"], row["change"])
        for row in rows(crawl.jobdir, "changes")
    )


def test_what_changed_is_told(tmp_path):
    """Each fetch is a row, as the log has it, and is counted in stats.json, in the last lines and
    in the report.
    """
    documents = site_of_all_kinds()
    with changing_site(documents) as site:
        crawl = site.crawl(tmp_path, OUTPUTS="warc cdxj changes")
        running = crawl.start()
        wait_until(lambda: len(site.of("/gone")) >= 2)
        documents["/moving"] = Document(b"<p>second, and quite another text")
        documents["/gone"] = Document(status=404)
        gone, moving = len(site.of("/gone")), len(site.of("/moving"))
        wait_until(lambda: len(site.of("/gone")) > gone)
        assert site.until("/moving", moving + 3, running) == 0

    assert list(verify(crawl.jobdir, Counter())) == []
    assert tabled(crawl) == logged(crawl)
    assert {name for *_, name in tabled(crawl)} == {"new", "changed", "unchanged", "gone"}
    (changed,) = [row for row in rows(crawl.jobdir, "changes") if row["change"] == "changed"]
    assert (changed["known_by"], changed["previous_digest"] != changed["digest"]) == ("text", True)
    assert changed["interval_seconds"] > 0.2
    stats = {name: crawl.stats[PREFIX + name] for name in NAMES}
    assert sum(stats.values()) == sum(
        many for (*_, change), many in tabled(crawl).items() if change != "new"
    )
    assert (
        min(stats["unchanged_304"], stats["unchanged_digest"], stats["changed_text"], stats["gone"])
        > 0
    )
    assert crawl.stats[f"{PREFIX}taken"] >= sum(stats.values())
    assert 0 < crawl.stats[f"{PREFIX}freshness"] <= 1
    assert (
        sum(crawl.stats["statistics"]["revisits"]["rates"]) == crawl.stats[f"{PREFIX}sampled"] == 4
    )
    assert re.search(
        r"\d+ revisits of \d pages \(\d+ unchanged, 1 changed, \d+ gone\)", crawl.output.read_text()
    )
    assert "What revisits found" in report(crawl.jobdir, {}, 0.0)
    assert "revisits" in json.loads(
        (crawl.jobdir / "logs/history.jsonl").read_text().splitlines()[-1]
    )


@pytest.mark.campaign
def test_killed_again_and_again(tmp_path):
    """After each kill -9 table, log and counters are those of the last checkpoint."""
    with changing_site(site_of_all_kinds()) as site:
        crawl = site.crawl(tmp_path, OUTPUTS="changes", CHECKPOINT_INTERVAL=0.2, WARC_MAX_SIZE=1)
        for _ in range(3):
            running, before = crawl.start(), len(site.requested)
            wait_until(lambda before=before: len(site.requested) > before + 12)
            running.kill()
            assert list(verify(crawl.jobdir, Counter())) == []
        assert site.until("/same", len(site.of("/same")) + 2, crawl.start()) == 0

    assert list(verify(crawl.jobdir, Counter())) == []
    assert tabled(crawl) == logged(crawl)
    assert all(name.endswith(".parquet") for name in files(crawl.jobdir))
    known = Counter(change for (*_, change), many in tabled(crawl).items() for _ in range(many))
    assert sum(crawl.stats[PREFIX + name] for name in NAMES) == known.total() - known["new"]


def test_a_plain_crawl_says_nothing(tmp_path):
    """No figure, no line, no section."""
    with changing_site({"/": Document(b"<p>one")}) as site:
        crawl = site.crawl(tmp_path, REVISIT_POLICY="none")
        assert crawl.run() == 0

    assert not any(name.startswith(PREFIX) for name in crawl.stats)
    assert "revisits" not in crawl.stats["statistics"]
    assert "revisit" not in crawl.output.read_text()
    assert ">Revisits<" not in report(crawl.jobdir, {}, 0.0)
