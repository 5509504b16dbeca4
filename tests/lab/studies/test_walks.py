"""Random walks visit pages as often as their PageRank says; samples and index quality by them."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest

from tests.support.cases import cases
from tests.support.commands import command
from tests.support.examples import in_campaign
from tests.support.walks import (
    Walk,
    bound,
    chi_square,
    copied,
    ends_of_lives,
    impolite,
    lines,
    ranks,
    variation,
    walked,
)
from webcrawl.base.zstd_frame import zstd
from webcrawl.lab.simweb import World, tree_pages
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.studies.random_walks import NoWalk, read_index, read_walk
from webcrawl.lab.walks.walkers import WalkRules
from webcrawl.store.crawldb import CrawlDB

SIX = 6.0  # standard deviations that are beyond chance
WEB = copied(1500)
RANKS = ranks(WEB)


@pytest.fixture(name="db")
def _db(tmp_path):
    db = CrawlDB(tmp_path / "state")
    yield db
    db.close()


@pytest.fixture(name="jobdir", scope="module")
def _jobdir(tmp_path_factory):
    """A walk of 40,000 visits on a graph of 1,500 pages."""
    folder = tmp_path_factory.mktemp("walk")
    db = CrawlDB(folder / "state")
    (folder / "logs").mkdir()
    (folder / "logs/walk.log").write_bytes(b"".join(walked(db, WEB, 40_000)))
    db.close()
    return folder


def text_of(folder, name):
    return zstd.decompress((folder / name).read_bytes()).decode()


def hollins():
    """The pages of hollins.edu, by number."""
    folder = cases("graph-hollins")
    links = {line.split("\t")[0]: [] for line in text_of(folder, "urls.tsv.zst").splitlines()}
    for line in text_of(folder, "edges.tsv.zst").splitlines():
        page, link = line.split("\t")
        if link not in links[page]:
            links[page].append(link)
    return {
        f"http://h/{page}": [f"http://h/{link}" for link in found] for page, found in links.items()
    }


def wikispeedia():
    """Wikipedia for schools."""
    folder = cases("graph-wikispeedia")
    names = [
        line for line in text_of(folder, "articles.tsv.zst").split("\n") if line and line[0] != "#"
    ]
    links = {name: [] for name in names}
    for line in text_of(folder, "links.tsv.zst").split("\n"):
        if "\t" in line and line[0] != "#":
            page, link = line.split("\t")
            links.setdefault(page, []).append(link)
            links.setdefault(link, [])
    return {
        f"http://h/{page}": [f"http://h/{link}" for link in found] for page, found in links.items()
    }


class TestConvergence:
    @pytest.mark.parametrize(
        "graph",
        [lambda: WEB, *in_campaign(hollins, wikispeedia)],
        ids=["made", "hollins", "wikispeedia"],
    )
    def test_visits_converge_to_pagerank(self, db, graph):
        """The pages where lives end are spread as PageRank by power iteration says.

        They pass a chi-square test, and their total-variation distance from it is one that
        independent draws exceed once in a thousand times at most.
        """
        links = graph()
        expected = ranks(links)

        ends = ends_of_lives(lines(walked(db, links, 42_000)))

        assert len(ends) > 5000
        assert abs(chi_square(ends, expected)) < SIX
        for draws in (len(ends) // 4, len(ends)):
            assert variation(ends[:draws], expected) < bound(draws, expected)

    def test_all_visits_do_too(self, db):
        """The shares of all visits are as near to PageRank as those of the ends of lives, or
        nearer.
        """
        found = lines(walked(db, WEB, 30_000))

        assert variation([line.url for line in found], RANKS) < bound(
            len(ends_of_lives(found)), RANKS
        )

    def test_a_walk_with_another_probability_does_not(self, db):
        """The test can fail: a walk that restarts half of the time is far from the PageRank of one
        in seven.
        """
        ends = ends_of_lives(lines(walked(db, WEB, 20_000, restart=0.5)))

        assert chi_square(ends, RANKS) > SIX
        assert chi_square(ends, ranks(WEB, 0.5)) < SIX

    def test_the_synthetic_web(self, db):
        """On hosts that each have to be waited for it converges as well, and no host is asked too
        early.
        """
        world = World(20, 120, seed=3)
        links = {}
        for host in range(world.hosts):
            for page in range(world.pages_of(host)):
                found = dict.fromkeys(
                    one.url for one in tree_pages.anchors(world, host, page) if one.source == "a"
                )
                links[world.origin(host) + path(page)] = [*found]

        walk = Walk(db, WalkRules(40, 1 / 7, "seeds"), links)
        ends = ends_of_lives(walk.run(9000))

        expected = ranks(links)
        assert abs(chi_square(ends, expected)) < SIX
        assert variation(ends, expected) < bound(len(ends), expected)
        assert impolite(walk.requested) == []


class TestSamples:
    def test_near_pagerank(self, jobdir):
        """Visits at random: each page has its PageRank as its share, within what that many draws
        allow.
        """
        found = read_walk(jobdir).near_pagerank(5000, np.random.default_rng(1))

        assert len(found) == 5000
        assert variation(found, RANKS) < bound(5000, RANKS)

    @pytest.mark.campaign
    def test_all_visits_are_as_they_came(self, jobdir):
        """If as many as there are visits are asked for, they are all visits in their order."""
        visits = [
            line.url for line in lines([(jobdir / "logs/walk.log").read_bytes()]) if line.step >= 21
        ]

        assert read_walk(jobdir).near_pagerank(10**6, np.random.default_rng(1)) == visits

    def test_near_uniform(self, tmp_path, db):
        """Of a walk that sees a part of the web, the near-uniform sample is nearer to all pages
        than the visits are.

        It is judged by PageRank, of which the mean over all pages is known.
        """
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/walk.log").write_bytes(b"".join(walked(db, WEB, 3000, walkers=20)))
        found, random = read_walk(tmp_path), np.random.default_rng(1)

        means = [
            np.mean([RANKS[url] for url in urls]) * len(WEB) for urls in _samples(found, random)
        ]

        visited, uniform = means
        assert abs(uniform - 1) < abs(visited - 1) / 4

    def test_a_near_uniform_sample_has_each_page_once(self, jobdir):
        """It is drawn without replacement; all pages are all that there are."""
        found = read_walk(jobdir)

        sample = found.near_uniform(10**6, np.random.default_rng(1))

        assert sorted(sample) == sorted(found.urls)


def _samples(found, random):
    return found.near_pagerank(300, random), found.near_uniform(300, random)


class TestQuality:
    @pytest.mark.parametrize("of", ["best", "half", "none"])
    def test_it_estimates_the_pagerank_of_an_index(self, jobdir, of):
        """The share is the sum of the PageRank of the index's pages, within four of its standard
        errors.
        """
        order = sorted(RANKS, key=RANKS.get, reverse=True)
        index = {"best": set(order[:50]), "half": set(order[::2]), "none": {"http://elsewhere/"}}[
            of
        ]

        share, error = read_walk(jobdir).quality(index)

        exact = sum(RANKS.get(url, 0.0) for url in index)
        assert abs(share - exact) <= 4 * error
        assert error < 0.01

    @pytest.mark.campaign
    def test_the_error_is_right(self, tmp_path):
        """Over many walks the standard error is that of the shares, within a third."""
        index = set([*WEB][::2])
        found = []
        for seed in range(25):
            db = CrawlDB(tmp_path / f"state{seed}")
            log = tmp_path / f"walk{seed}.log"
            log.write_bytes(b"".join(walked(db, WEB, 1500, walkers=20, seed=seed)))
            db.close()
            found.append(read_walk(log).quality(index))

        spread = np.std([share for share, _ in found])
        assert 2 / 3 < np.mean([error for _, error in found]) / spread < 3 / 2

    def test_an_index_is_read_in_canonical_form(self, tmp_path):
        """URLs are compared as the crawl knows them; comments and empty lines are none."""
        (tmp_path / "index.txt").write_text("# pages\n\nHTTP://A.test\nhttp://b.test:80/x\n")

        assert read_index(tmp_path / "index.txt") == {"http://a.test/", "http://b.test/x"}

    @pytest.mark.parametrize(
        ("name", "head"), [("a.gz", gzip.compress(b"")[:10]), ("a.zst", zstd.compress(b"")[:5])]
    )
    def test_a_damaged_index(self, tmp_path, name, head):
        """What cannot be unpacked is refused in a line that names it."""
        (tmp_path / name).write_bytes(head + b"\xff" * 20)

        with pytest.raises(NoWalk, match=name):
            read_index(tmp_path / name)


class TestReading:
    def test_what_is_no_page_is_left_out(self, tmp_path):
        """Redirects, failures and each walker's first steps are no visits; a line under way is not
        there yet.
        """
        log = tmp_path / "walk.log"
        rows = [
            (0, 200, "start"),
            (1, 301, "link"),
            (2, 200, "redirect"),
            (3, -2, "link"),
            (4, 200, "deadend"),
        ]
        text = "".join(
            f"1.5\t7\t{step}\thttp://a/{step}\t{how}\t3\t{status}\n" for step, status, how in rows
        )
        log.write_text(f"{text}1.6\t7\t5\thttp")

        found = read_walk(log, burn_in=1)

        assert found.urls == ["http://a/2", "http://a/4"]
        assert (found.lines, found.failed) == (5, 1)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("a line\n", "line 1 is not a line of a walk"),
            ("1\t2\t3\thttp://a/\tlink\t0\tx\n", "line 1 is not a line of a walk"),
            (f"1\t1{0:019}\t30\thttp://a/\tlink\t0\t200\n", "line 1 is not a line of a walk"),
            ("", "0 lines, but no visit to a page after the first 21 steps of each walker"),
        ],
    )
    def test_what_is_no_log_is_named(self, tmp_path, text, says):
        """The line names the file, and what is wrong with it."""
        (tmp_path / "walk.log").write_text(text)

        with pytest.raises(NoWalk, match=says):
            read_walk(tmp_path / "walk.log")


class TestCommand:
    def test_it_says_what_was_visited(self, jobdir):
        """Without options: how walkers came to pages, and the pages visited most."""
        done = command("scrapy", "lab", "walks", jobdir, "--json")

        found = json.loads(done.stdout)
        assert found["lines"] == 40_000
        assert found["walkers"] == 100
        assert found["each"] == [379, 379]  # of 400 steps, without the first 21
        visits = Counter(
            line.url for line in lines([(jobdir / "logs/walk.log").read_bytes()]) if line.step >= 21
        )
        assert [count for _, count in found["most_visited"]] == [
            count for _, count in visits.most_common(10)
        ]

    def test_a_sample_is_one_url_per_line(self, jobdir):
        """The same seed gives the same sample, another one another."""
        first, again, other = (
            command(
                "scrapy",
                "lab",
                "walks",
                jobdir,
                "--sample",
                "near-uniform",
                "-n",
                20,
                "--seed",
                seed,
            ).stdout
            for seed in (1, 1, 2)
        )

        assert first == again != other
        assert len(first.splitlines()) == 20

    def test_an_index_is_judged(self, jobdir, tmp_path):
        """The answer is the share and its standard error."""
        (tmp_path / "index.txt").write_text("\n".join(WEB))

        done = command(
            "scrapy", "lab", "walks", jobdir, "--index", tmp_path / "index.txt", "--json"
        )

        assert json.loads(done.stdout)["quality"] == 1.0
        assert json.loads(done.stdout)["error"] == 0.0

    @pytest.mark.parametrize(
        ("words", "status"),
        [
            (["--sample", "x"], 2),
            (["-n", "0"], 2),
            (["--burn-in", "x"], 2),
            (["--index", "/nowhere"], 1),
            (["two"], 2),
        ],
    )
    def test_wrong_uses_are_refused(self, jobdir, words, status):
        """A wrong command line has status 2, a file that cannot be read 1; neither has a traceback."""
        done = command("scrapy", "lab", "walks", jobdir, *words)

        assert done.returncode == status
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
