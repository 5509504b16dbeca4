"""The statistics of a crawl: what counts as what, and that crawl.log gives the same."""

import json
from dataclasses import replace

import msgpack
import pytest

from webcrawl.base.model import Exchange, Link, Outcome, PageState, Status
from webcrawl.record.statistics import (
    IP_ADDRESS,
    Statistics,
    count_log_line,
    figures,
    top_level_domain,
)
from webcrawl.store.jobdir.crawl_line import line

KEY = bytes(16)
PAGE = Link("http://a.test/", "LL")
NOW = 1_700_000_000.25


def answer(size=100, kind="text/html; charset=utf-8", **more):
    headers = [(b"Content-Type", kind.encode("latin-1"))] if kind else []
    state = PageState(**{name: more.pop(name) for name in [*more] if hasattr(PageState, name)})
    return Exchange(
        "", b"", 200, b"", headers, b"", b"x" * size, b"", "", NOW, None, **more, state=state
    )


def heard(*ends):
    statistics = Statistics(KEY)
    for link, outcome, exchange in ends:
        statistics.record_end(link, outcome, exchange)
    return statistics


OK = Outcome(200, 0.1, at=NOW, ended=1.0)
ENDS = [
    (PAGE, OK, answer()),
    (replace(PAGE, path="LRl"), OK, answer(0, "")),
    (replace(PAGE, path="P", url="http://a.test/robots.txt"), OK, answer(7, "text/plain")),
    (replace(PAGE, url="http://b.test:81/x"), replace(OK, status=404), answer(9)),
    (replace(PAGE, url="http://[::1]:81/x"), replace(OK, status=503, at=NOW + 70), answer(9)),
    (
        replace(PAGE, url="http://127.0.0.1/"),
        replace(OK, seconds=2.0006),
        answer(1 << 20, "IMAGE/gif", truncated="length"),
    ),
    (replace(PAGE, url="http://c.test/"), OK, answer(100, "text/html", duplicate=True)),
    (
        replace(PAGE, url="http://c.test/odd"),
        replace(OK, at=NOW + 0.7499),
        answer(3, "a b\u00e9,c" * 50),
    ),
    (replace(PAGE, url="http://d.test/"), Outcome(Status.TIMEOUT, 1.0, at=NOW, ended=1.0), None),
    (replace(PAGE, url="http://a.test/private"), Outcome(Status.ROBOTS_FORBIDDEN), None),
    (replace(PAGE, url="data:none"), Outcome(Status.UNSUPPORTED), None),
]


class TestWhatCounts:
    def test_documents_are_good_answers_but_robots_txt(self):
        """Answers of status 2xx are documents; robots.txt is counted apart."""
        statistics = heard(*ENDS)

        assert (statistics.lines, statistics.documents) == (11, 5)
        assert statistics.robots == {200: 1}
        assert statistics.outcomes == {200: 5, 404: 1, 503: 1, -4: 1, -7: 1, -9998: 1}

    @pytest.mark.parametrize(
        "outcome", [replace(OK, status=404), OK, Outcome(Status.TIMEOUT, 1.0, at=NOW, ended=1.0)]
    )
    def test_a_probe_is_no_outcome(self, outcome):
        """The URL of a probe cannot exist: its answer is neither an outcome nor a document, but a
        download.
        """
        statistics = heard(
            (replace(PAGE, path="LLS"), outcome, answer() if outcome.status > 0 else None)
        )

        assert (statistics.outcomes, statistics.documents) == ({}, 0)
        assert sum(statistics.times) == (outcome.status > 0)

    def test_a_host_has_documents_bytes_and_failures(self):
        """A host has its documents and their bytes, and the URLs that failed: 5xx, no answer, no
        connection.
        """
        rows = {row.name: row[1:4] for row in heard(*ENDS).hosts}

        assert rows == {
            "a.test": (2, 100, 0),
            "b.test": (0, 0, 0),
            "[::1]": (0, 0, 1),
            "127.0.0.1": (1, 1 << 20, 0),
            "c.test": (2, 103, 0),
            "d.test": (0, 0, 1),
        }

    def test_sizes(self):
        """A document of n bytes is in the bin of the largest power of two that is not greater than
        n.
        """
        found = figures(heard(*ENDS))["sizes"]

        assert found == {"HTML": {"64": 2}, "images": {"1048576": 1}, "other": {"0": 1, "2": 1}}

    def test_depth(self):
        """Redirects are no links followed."""
        assert figures(heard(*ENDS[:2]))["depths"] == {"2": 2}

    def test_duplicates_and_truncated_bodies(self):
        """Bodies seen before are counted, with their bytes; those that were truncated, by reason."""
        statistics = heard(*ENDS)

        assert (statistics.duplicates, statistics.duplicate_size) == (1, 100)
        assert statistics.truncated.rows() == [("length", 1, 1 << 20)]

    def test_pages_that_need_scripts(self):
        """They are counted by host, from answers and from the log's lines alike."""
        end, read = (PAGE, OK, answer(notes=("shell",))), Statistics(KEY)
        count_log_line(read, line(NOW, *end, ["3t", "shell"]).decode().split())

        assert heard(end, *ENDS).scripted.rows() == read.scripted.rows() == [("a.test", 1, 100)]

    @pytest.mark.parametrize("notes", [("wall:anubis",), ("truncated:length", "wall:akamai")])
    def test_a_block_page_is_no_document(self, notes):
        """It came in place of one; what words alone make a block page is one.

        Answers and the log's lines say the same.
        """
        ends, read = (
            [(PAGE, OK, answer(notes=notes)), (PAGE, OK, answer(notes=("wall:unknown",)))],
            Statistics(KEY),
        )
        for link, outcome, exchange in ends:
            count_log_line(
                read, line(NOW, link, outcome, exchange, exchange.state.notes).decode().split()
            )

        heard_too = heard(*ends)
        assert [(one.documents, one.size, one.outcomes) for one in (heard_too, read)] == [
            (1, 100, {200: 2})
        ] * 2

    def test_a_state_of_before_has_none_of_them(self):
        """It is restored with all that it has."""
        saved = heard(*ENDS).save()
        del saved["scripted"]
        statistics = Statistics(KEY)
        statistics.restore(saved)

        assert statistics.save() == heard(*ENDS).save()

    @pytest.mark.parametrize(
        ("host", "domain"),
        [
            *[("a.co.uk", "uk"), ("localhost", "localhost"), ("a.com.", "com"), ("", "")],
            *[
                ("127.0.0.1", IP_ADDRESS),
                ("[::1]", IP_ADDRESS),
                ("xn--p1ai.xn--p1ai", "xn--p1ai"),
                ("a.s3", "s3"),
            ],
        ],
    )
    def test_top_level_domains(self, host, domain):
        """Addresses are counted together."""
        assert top_level_domain(host) == domain


class TestTheLog:
    def test_lines_say_the_same(self):
        """Statistics read from the log's lines are those of what was heard, whatever servers sent."""
        read = Statistics(KEY)
        for link, outcome, exchange in ENDS:
            notes = ["3t"]
            if exchange is not None:
                notes += ["duplicate:digest"] * exchange.state.duplicate
                notes += [f"truncated:{exchange.truncated}"] * bool(exchange.truncated)
            text = line(outcome.at or NOW, link, outcome, exchange, notes)
            count_log_line(read, text.decode().split())

        assert read.save() == heard(*ENDS).save()

    @pytest.mark.parametrize("text", ["", "a b c", " ".join("a" * 12), " ".join("x" * 13)])
    def test_other_lines_are_refused(self, text):
        """What is no line raises an error, and counts nothing."""
        statistics = Statistics(KEY)
        with pytest.raises((ValueError, IndexError)):
            count_log_line(statistics, text.split())

        assert statistics.lines == 0


def test_restored_statistics_go_on():
    """What was saved and restored, as bytes, behaves as if it had never been away."""
    one, two = heard(*ENDS[:6]), Statistics(KEY)
    two.restore(msgpack.unpackb(msgpack.packb(one.save()), strict_map_key=False))
    for end in ENDS[6:]:
        two.record_end(*end)

    assert two.save() == heard(*ENDS).save()


def test_hostile_names_take_bounded_memory():
    """Names of types, hosts and top-level domains without end do not add up."""
    statistics = Statistics(KEY)
    for number in range(30_000):
        url, kind = f"http://h{number}.t{number}/", f"x/{'y' * 200}{number}"
        statistics.count_answer(200, url, "", int(NOW * 1000) + number * 10**6, 1, 2**49, kind)

    assert len(json.dumps(figures(statistics))) < 50_000
    assert len(statistics.types.names) <= 512
    assert len(statistics.domains.names) <= 2048
    assert len(statistics.hosts.rows) <= 8192
    assert len(statistics._media_types) <= 1024
    assert sum(statistics.series.downloads) == statistics.documents == 30_000
