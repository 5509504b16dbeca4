"""`scrapy why`: what it is given, what it prints, and that it changes nothing."""

import json
import shutil
import subprocess
from collections import Counter

import pytest

from tests.support.commands import command
from tests.support.hive_jobs import hive
from tests.support.jobs import Job, killed, tree
from tests.support.tampering import tampered
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.tools.why.answer import OpenedCrawls, why
from webcrawl.tools.why.verdict import STATES

pytestmark = pytest.mark.xdist_group("why command")  # one JOBDIR for most tests

KEYS = {
    *(
        "url",
        "state",
        "reason",
        "kind",
        "canonical",
        "filters",
        "refused_by",
        "seen",
        "found",
        "later",
        "queue",
    ),
    *(
        "robots",
        "budget",
        "host",
        "scores",
        "log",
        "skipped",
        "again",
        "archive",
        "counts",
        "redirect",
        "live",
        "now",
        "as_of",
        "looked",
        "odd",
    ),
}


def fetched(job):
    """The URLs in the log."""
    return [line.split()[3] for line in (job / "logs/crawl.log").read_text().splitlines()]


def run(job, *words):
    before = tree(job)
    done = command("scrapy", "why", job, *words)
    assert tree(job) == before
    return done


class TestOutput:
    def test_the_first_line_is_the_answer(self, job):
        """State and reason come first, then the details; the folder stays as it is."""
        done = run(job, fetched(job)[0])

        first, *details = done.stdout.splitlines()
        assert (done.returncode, done.stderr) == (0, "")
        assert first.startswith("fetched: answered 200")
        assert all(line.startswith("  ") for line in details)

    def test_a_log_that_is_away(self, copy):
        """The answer says that it had no log to go by."""
        url = fetched(copy)[0]
        (copy / "logs/crawl.log").unlink()

        done = run(copy, url)

        assert done.returncode == 0
        assert (
            "logs/crawl.log: No such file or directory: its information is missing here"
            in done.stdout
        )

    def test_json_has_every_key(self, job):
        """One object with every key; the command in it prints the record."""
        url = fetched(job)[3]
        done = run(job, url, "--json")

        found = json.loads(done.stdout)
        assert found.keys() == KEYS
        assert (found["url"], found["state"], found["canonical"]["url"]) == (url, "fetched", url)
        record = subprocess.run(  # noqa: S602
            found["archive"][0]["command"], shell=True, capture_output=True, check=True
        ).stdout
        assert record.startswith(b"WARC/1.")
        assert f"WARC-Target-URI: {url}\r\n".encode() in record

    def test_a_file_of_urls(self, job, tmp_path):
        """Each URL has a line, in their order, and then the reasons are counted."""
        urls = [*fetched(job)[:5], "mailto:joe@a.test", "http://never.test/x"]
        (tmp_path / "urls.txt").write_text("\n".join(urls) + "\n\n")
        done = run(job, "--file", tmp_path / "urls.txt")

        lines = done.stdout.splitlines()
        assert [line.split()[1] for line in lines[:7]] == urls
        assert Counter(line.split()[0] for line in lines[:7]) == {
            "fetched": 5,
            "refused": 1,
            "unknown": 1,
        }
        assert sorted(line.split()[0] for line in lines[8:]) == ["1", "1", "5"]

    def test_a_file_as_json(self, job, tmp_path):
        """The last object is the summary."""
        (tmp_path / "urls.txt").write_text("\n".join(fetched(job)[:3]))
        *answers, last = map(
            json.loads, run(job, "--file", tmp_path / "urls.txt", "--json").stdout.splitlines()
        )

        assert [one["state"] for one in answers] == ["fetched"] * 3
        assert last == {"summary": [{"state": "fetched", "kind": "answered 200", "urls": 3}]}

    def test_no_url(self, job, tmp_path):
        """An empty file is said to have none."""
        (tmp_path / "urls.txt").write_text("\n")

        assert (
            run(job, "--file", tmp_path / "urls.txt").stdout
            == f"{tmp_path / 'urls.txt'}: contains no URL\n"
        )

    @pytest.mark.parametrize(
        "words",
        [
            ["http://a.test/", "more"],
            [],
            ["u", "--file", "-"],
        ],
    )
    def test_wrong_words(self, job, words):
        """They are refused with the usage, exit status 2."""
        done = command("scrapy", "why", job, *words)

        assert (done.returncode, done.stdout) == (2, "")
        assert "Usage" not in done.stderr.splitlines()[-1]

    def test_the_wrong_way_round(self, job):
        """A URL in the folder's place is told from a folder that is missing."""
        done = command("scrapy", "why", "http://a.test/", job)

        assert (done.returncode, done.stdout) == (2, "")
        assert "why JOBDIR URL" in done.stderr.splitlines()[-1]


class TestHostile:
    @pytest.mark.parametrize(
        "url",
        [
            "http://a.test/\x1b[31mred\x07",
            "\x00\n\r\t",
            "relative/page.html",
            "//a.test/x",
            "javascript:alert(1)",
            "http://a.test/\u202egnp.exe",
            "http://[::1",
            "http://a.test:99999/",
            "-",
            "'; rm -rf ~",
            "http://a.test/" + "x" * 10_000_000,
        ],
    )
    def test_any_url(self, job, url):
        """Whatever is asked for has one of the states, and a text that is harmless to a terminal."""
        from webcrawl.tools.why.why_text import line_of, text_of

        answer = why(job, url)

        assert answer.state in STATES
        json.dumps(answer.to_json())
        text = text_of(answer)
        assert text.replace("\n", "").isprintable()
        assert "\n" not in line_of(answer)
        assert len(text) < 20_000

    @pytest.mark.parametrize("more", [[], ["--json"]])
    @pytest.mark.parametrize(
        "make", ["nothing", "empty", "file", "damaged", "truncated", "foreign"]
    )
    def test_a_folder_that_is_no_crawl(self, copy, make, more):
        """One line says so, also as JSON, and the exit status is 1."""
        path = copy
        if make == "nothing":
            path = copy / "nowhere"
        elif make == "empty":
            path = copy / "empty"
            path.mkdir()
        elif make == "file":
            path = copy / "logs/crawl.log"
        elif make == "damaged":
            data = bytearray((copy / "state/crawl.db").read_bytes())
            data[8192 * 2 : 8192 * 9] = bytes(8192 * 7)
            (copy / "state/crawl.db").write_bytes(data)
        elif make == "truncated":
            (copy / "state/crawl.db").write_bytes((copy / "state/crawl.db").read_bytes()[:5000])
        else:
            (copy / "state/crawl.db").write_bytes(b"SQLite format 3\0" + bytes(9000))
        done = command("scrapy", "why", path, "http://h3.test/some/where/3.html", *more)

        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr
        if more:
            assert json.loads(done.stdout) == {"error": done.stderr.strip()}
        else:
            assert done.stdout == ""

    @pytest.mark.parametrize("table", ["meta", "host", "robots", "domain", "block", "waiting"])
    def test_rows_that_are_damaged(self, copy, table):
        """A value that cannot be read is a StoreError, or is not needed; nothing else is raised."""
        column = {"meta": "value", "robots": "rules", "waiting": "records"}.get(table, "data")
        tampered(copy / "state/crawl.db", f"UPDATE {table} SET {column} = x'00ff13'", sealed=True)

        for url in ("http://h3.test/some/where/3.html", "http://h1.test/some/where/9991.html"):
            try:
                answer = why(copy, url)
            except StoreError as error:
                assert str(copy) in str(error)  # noqa: PT017 - it may be raised, or not
            else:
                assert answer.state in STATES

    def test_files_that_were_taken_away(self, copy):
        """Without logs and archive, less is known."""
        url = fetched(copy)[0]
        shutil.rmtree(copy / "logs")
        shutil.rmtree(copy / "warc")

        assert why(copy, url).state in ("seen", "unknown")


class TestCrawls:
    def test_a_crawl_without_a_page(self, tmp_path):
        """A crawl that has just begun knows nothing."""
        CrawlDB(tmp_path / "state").close()

        assert why(tmp_path, "http://a.test/").state == "unknown"

    def test_a_killed_crawl(self, tmp_path):
        """What came after the last checkpoint will be done again, and does not count."""
        root = killed(tmp_path / "live", tmp_path / "job")
        before = tree(root)
        with OpenedCrawls(root) as crawls:
            states = Counter(answer.state for answer in crawls.answers(fetched(root)))
        assert tree(root) == before

        assert states["fetched"] > 20
        assert states["fetched"] < len(fetched(root))

    def test_a_running_crawl(self, tmp_path):
        """It is not held up, and holds nobody up."""
        job = Job(tmp_path / "job")
        job.work()
        job.checkpoint()
        url = fetched(job.root)[0]
        assert why(job.root, url).state == "fetched"
        job.work()
        with OpenedCrawls(job.root) as crawls:
            job.checkpoint()
            assert [answer.state for answer in crawls.answers([url])] == ["fetched"]
        job.close()

    def test_a_copy_without_the_logs_index(self, tmp_path):
        """A careless copy is read as well as the crawl itself."""
        root = killed(tmp_path / "live", tmp_path / "job")
        url = fetched(root)[0]
        (root / "state/crawl.db-shm").unlink()

        assert why(root, url).state == "fetched"

    def test_of_a_hive_the_drone_answers_that_knows_the_url(self, tmp_path):
        """Of a hive, the drone answers that knows the URL."""
        root = hive(tmp_path / "hive")
        urls = [fetched(root / f"drone-{drone}")[0] for drone in range(2)]
        with OpenedCrawls(root) as crawls:
            answers = list(crawls.answers(urls))

        assert [(one.state, one.details["drone"]) for one in answers] == [
            ("fetched", 0),
            ("fetched", 1),
        ]

    def test_a_hive_whose_folders_are_elsewhere(self, tmp_path):
        """A line says so."""
        root = hive(tmp_path / "hive")
        for drone in range(2):
            shutil.rmtree(root / f"drone-{drone}")

        with pytest.raises(StoreError, match="none of its drones has begun a crawl"):
            why(root, "http://a.test/")
