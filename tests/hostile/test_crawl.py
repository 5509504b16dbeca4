"""Whole crawls of hostile servers: every URL has its documented outcome, nothing leads inside, no
line is broken.
"""

import html
import json
import re
from collections import Counter
from ipaddress import IPv4Address

import pytest

from tests.support.cases import cases
from tests.support.crawling import PATIENT, SETTINGS, Crawl
from tests.support.hostile import BOMBS, MISDEEDS, rows
from tests.support.hostile_site import page, site
from tests.support.warc_reader import read
from webcrawl.lab.simweb import World
from webcrawl.lab.simweb.web_answers import WebRequest

ERRORS = "docs/errors.md"
INSIDE = "127.9.9.9"  # loopback, but outside the networks that the crawl may connect to
NUMBER = int(IPv4Address(INSIDE))
ATTEMPTS = 3  # the first, and two retries
FAILURES = SETTINGS["HOST_MAX_FAILURES"]  # of a host that has given no page, until it is given up
TRUNCATED = {"disconnect": ATTEMPTS, "time": 2}  # answers of which a part is missing
SPELLINGS = [
    INSIDE,
    "127.9.9.9.",
    "0177.9.9.9",
    "0177.011.011.011",
    "0x7f.9.9.9",
    "0x7F.0x9.0x9.0x9",
    f"0x{NUMBER:x}",
    f"0{NUMBER:o}",
    f"{NUMBER}",
    "127.9.2313",
    "127.592137",
    "%31%32%37.9.9.9",
    "\uff11\uff12\uff17.9.9.9",
    "127\u30029\u30029\u30029",
    "user:password@127.9.9.9",
    f"[::ffff:{INSIDE}]",
    "[::ffff:7f09:909]",
    "[0:0:0:0:0:FFFF:7F09:0909]",
]


def lines_of(crawl, name="crawl.log"):
    return (
        (crawl.jobdir / "logs" / name)
        .read_bytes()
        .decode("ascii" if name == "crawl.log" else "utf-8")
        .split("\n")[:-1]
    )


def logged(crawl):
    """Status and annotations by URL."""
    return {
        fields[3]: (int(fields[1]), fields[11].split(","))
        for fields in map(str.split, lines_of(crawl))
    }


class TestOutcomes:
    def test_every_misdeed_is_logged_and_counted_by_its_name(self, simweb, tmp_path):
        """Each URL has the status of its documented outcome in crawl.log, each outcome its counter
        in stats.json.
        """
        world = World(1, 1)
        for bomb in BOMBS:  # slow to make; cached from here on
            world.answer(WebRequest(0, f"/x/{bomb}/0"))
        server = simweb(len(MISDEEDS), len(MISDEEDS), slow=0.1)
        urls = {f"{server.world.origin(at)}/x/{kind}/1": kind for at, kind in enumerate(MISDEEDS)}
        (tmp_path / "seeds.txt").write_text("\n".join(urls))
        # the server floods from the thread that also answers for names, and all hosts are requested
        # at once: a connection must not need as long as its host may
        settings = {"DNS_NAMESERVERS": server.nameserver, "DOWNLOAD_TRUNCATE": 2**18, **PATIENT}
        crawl = Crawl(
            tmp_path / "job",
            {"seeds": tmp_path / "seeds.txt"},
            {"URL_MAX_DEPTH": 0, "OUTAGE_END_WAIT": 60, **settings},
        )

        assert crawl.run() == 0

        statuses = {name: int(status) for name, status, _ in rows("Errors", ERRORS)}
        groups = dict(row[0].split("/")[::-1] for row in rows("Flaws", ERRORS))
        lines, counted = {}, Counter()
        for kind, _, outcome in rows("What a server does"):
            name, *wrong = outcome.split(", ")
            truncated = [note for note in wrong if groups[note] == "truncated"]
            lines[kind] = (
                statuses.get(name) or int(name),
                [f"truncated:{note}" for note in truncated],
            )
            counted.update({f"{groups[note]}/{note}": TRUNCATED.get(note, 1) for note in wrong})
            if name in statuses:
                # the first is not otherwise soon
                counted[f"outcome/{name}"] += 1 if name == "http2_only" else FAILURES
        found = logged(crawl)
        told = {
            kind: (found[url][0], [note for note in found[url][1] if "truncated" in note])
            for url, kind in urls.items()
        }
        kept = ("outcome/", "truncated/", "flaw/")
        assert told == lines
        assert {key: count for key, count in crawl.stats.items() if key.startswith(kept)} == counted
        assert crawl.stats["errors"] == 0
        short = sum(
            any(f"truncated:{note}" in wrong for note in TRUNCATED) for _, wrong in told.values()
        )
        assert f"{short} pages truncated" in crawl.output.read_text()


class TestTheWayInside:
    @pytest.fixture(name="inside")
    def _inside(self):
        """A server that no crawl may reach."""
        with site({}, INSIDE) as server:
            yield server

    def test_no_way_leads_there(self, inside, tmp_path):
        """Spellings, redirects, refreshes, names, robots.txt redirects, other protocols: no packet
        arrives.
        """
        port = inside.port
        ways = [f"http://{spelling}:{port}/{at}" for at, spelling in enumerate(SPELLINGS)]
        ways += [
            f"{scheme}://{host}:{port}/way"
            for scheme in ("ftp", "gopher", "https")
            for host in (INSIDE, "inside.test")
        ]
        ways += [f"//{spelling}:{port}/relative" for spelling in SPELLINGS]
        redirects = {f"/redirect/{at}": way for at, way in enumerate(ways)}
        links = "".join(
            f'<a href="{html.escape(way)}">in</a>' for way in [*ways, *redirects, "/refresh"]
        )
        answers = {
            ("a.test", "/"): page(links.encode()),
            ("a.test", "/refresh"): page(
                b'<meta http-equiv=refresh content="0; url=http://inside.test:%d/f">' % port
            ),
            ("b.test", "/robots.txt"): page(
                b"", b"Location: http://0x7f.9.9.9:%d/robots.txt" % port, status=b"302 F"
            ),
            ("b.test", "/"): page(b"not to be seen: robots.txt could not be had"),
        }
        for path, way in redirects.items():
            answers["a.test", path] = page(b"", b"Location: " + way.encode(), status=b"302 Found")
        with site(answers) as outside:
            (tmp_path / "hosts").write_text(f"127.0.0.1 a.test b.test\n{INSIDE} inside.test\n")
            (tmp_path / "seeds.txt").write_text(
                f"http://a.test:{outside.port}/\nhttp://b.test:{outside.port}/\n"
            )
            settings = {
                "HOSTS_FILE": tmp_path / "hosts",
                "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/16",
                "PORTS_ALLOWED": port,
            }
            crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

            assert crawl.run() == 0

        assert inside.visits == 0
        assert {path for host, path in outside.requested if host == "a.test"} >= {
            *redirects,
            "/refresh",
        }
        assert ("b.test", "/") not in outside.requested
        assert crawl.stats["outcome/address_refused"] > 5
        assert crawl.stats["errors"] == 0
        assert all(status < 0 for url, (status, _) in logged(crawl).items() if f":{port}/" in url)

    def test_the_test_would_notice(self, inside, tmp_path):
        """With that address allowed, the same links do lead there, in every spelling but the mapped
        ones.
        """
        links = "".join(
            f'<a href="http://{spelling}:{inside.port}/{at}">in</a>'
            for at, spelling in enumerate(SPELLINGS)
        )
        with site({"/": page(links.encode())}) as outside:
            (tmp_path / "seeds.txt").write_text(f"http://127.0.0.1:{outside.port}/\n")
            crawl = Crawl(
                tmp_path / "job",
                {"seeds": tmp_path / "seeds.txt"},
                {"PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8"},
            )

            assert crawl.run() == 0

        mapped = {f"/{at}" for at, spelling in enumerate(SPELLINGS) if "[" in spelling}
        assert {path for _, path in inside.requested} == {
            f"/{at}" for at in range(len(SPELLINGS))
        } - mapped | {"/robots.txt"}


NAUGHTY = [
    "\x1b[2J\x1b]0;owned\x07",
    "two\r\nlines: yes",
    "\ttabs\tand\vfeeds\f",
    "\x85next\u2028line\u2029paragraph",
    "\x9b31m\x9d0;c1\x9c",
    "\u202eright to left\u202c\ufeff",
    "\u2067isolated\u2069 \u2066\u2068 \u200f\u200e\u061c marks",
    "nul\0nul",
    "back\\slash \\n \\x1b",
    "quote\" onerror=1 '",
    "%0d%0aX: y %1b[2J",
    "\U0001f4a9 \ud7ff",
]


class TestText:
    @pytest.mark.campaign
    def test_nothing_breaks_a_line(self, tmp_path):
        """Titles, anchors, URLs, header fields, reasons and Locations of any sort leave every line
        and record whole.
        """
        strings = [*NAUGHTY, *json.loads((cases("malicious") / "blns.json").read_text())]
        answers, links = {}, []
        for at, text in enumerate(strings):
            raw = re.sub(rb"[\r\n\0]", b" ", text.encode("utf-8", "replace"))
            links.append(
                f'<a href="/{at}">{html.escape(text)}</a> <a href="/n/{html.escape(text)}">{at}</a>'
            )
            fields = [
                b"X-Naughty: " + raw,
                b"Content-Type: text/html" + raw,
                b"ETag: " + raw,
                b"Retry-After: " + raw,
            ]
            body = f"<title>{html.escape(text)}</title>{at}".encode("utf-8", "replace")
            answers[f"/{at}"] = page(body, *fields, status=b"200 " + raw)
            answers[f"/r{at}"] = page(b"", b"Location: /to/" + raw, status=b"302 " + raw)
            links.append(f'<a href="/r{at}">r</a>')
        answers["/"] = page("\n".join(links).encode("utf-8", "replace"))
        with site(answers) as server:
            (tmp_path / "seeds.txt").write_text(
                f"http://127.0.0.1:{server.port}/\n", encoding="utf-8"
            )
            settings = {
                "ITEM_PIPELINES": json.dumps(
                    {"webcrawl.adapter.pipelines.outputs.LinkLogPipeline": 300}
                ),
                "POLITENESS_FACTOR": 0,
                "POLITENESS_MIN_DELAY": 0,
                "LOG_LEVEL": "DEBUG",
                "TRAP_RULES": False,
            }
            crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

            assert crawl.run() == 0, crawl.output.read_text()[-3000:]

        requested = {path for _, path in server.requested}
        assert {f"/{at}" for at in range(len(strings))} | {
            f"/r{at}" for at in range(len(strings))
        } <= requested
        assert all(re.fullmatch(r"[!-~]*", path) for path in requested)
        assert all(
            re.fullmatch(r"[ -~]+", line) and len(line.split()) == 12 for line in lines_of(crawl)
        )
        written = lines_of(crawl, "links.log")
        assert len(written) >= 3 * len(strings)
        assert all(
            line.count("\t") == 4
            and line.replace("\t", "").splitlines() == [line.replace("\t", "")]
            for line in written
        )
        assert not any(_controls(line.replace("\t", "")) for line in written)
        assert not _controls(crawl.output.read_text("utf-8").replace("\n", ""))
        assert crawl.stats["errors"] == 0
        records = [
            record for path in (crawl.jobdir / "warc").glob("*.warc.gz*") for record in read(path)
        ]
        assert sum(record.kind == "response" for record in records) > 2 * len(strings)
        assert not any(_controls(value) for record in records for value in record.fields.values())


def _controls(text):
    """Terminal controls, line ends and characters that change the direction of text."""
    return re.search("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text)
