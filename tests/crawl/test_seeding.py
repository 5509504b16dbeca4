"""Seeds of the command line, and those that come by command."""

from collections import Counter
from contextlib import closing

import pytest

from tests.support.url_settings import url_settings
from webcrawl.base.model import Link, unpack
from webcrawl.crawl.seeding import Seeding
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.link_pipeline import build_pipeline
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import SeedError


class Everything:
    """A pipeline that lets everything through, and a seen store that keeps all in a list."""

    def __init__(self):
        self.urls = []

    def process(self, page, depth, urls):
        return [*range(len(urls))], urls, {}

    def submit(self, keys, records):
        self.urls += [unpack(record).url for record in records]


@pytest.fixture(name="begin")
def _begin(tmp_path):
    opened = []

    def begin(source=None):
        db, all_of_it = CrawlDB(tmp_path / "state"), Everything()
        opened.append(db)
        seeds = Seeds(str(source)) if source else None
        return Seeding(db, seeds, all_of_it, all_of_it), all_of_it, db

    yield begin
    for db in opened:
        db.close()


@pytest.fixture(name="lists")
def _lists(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(
            "".join(f"http://{name}{number}.org/\n" for number in range(3))
        )
    return [tmp_path / f"{name}.txt" for name in "abc"]


def read(seeding):
    while seeding.read(2):
        pass


def names(urls):
    return "".join(url[7] for url in urls)


class TestMoreSeeds:
    def test_after_those_before(self, begin, lists):
        """Sources that are added are read after the seeds of the command line, in their order."""
        seeding, found, _ = begin(lists[0])
        for path in lists[1:]:
            seeding.add(str(path))
        read(seeding)

        assert (names(found.urls), seeding.taken, seeding.ended) == ("aaabbbccc", 9, True)

    def test_to_a_crawl_that_has_read_all(self, begin, lists):
        """Also a crawl without seeds, or one that has read them all, reads what is added."""
        seeding, found, _ = begin()
        assert seeding.ended
        seeding.add(str(lists[1]))
        read(seeding)
        seeding.add(str(lists[2]))

        assert not seeding.ended
        read(seeding)
        assert (names(found.urls), seeding.taken) == ("bbbccc", 6)

    def test_each_source_goes_on_from_the_checkpoint_after_a_kill(self, begin, lists):
        """Each source goes on where the last checkpoint was; none is lost, none begins anew."""
        seeding, _, db = begin(lists[0])
        for path in lists[1:]:
            seeding.add(str(path))
        seeding.read(4)
        db.checkpoint()
        seeding.read(4)
        db.close()

        seeding, found, _ = begin(lists[0])
        read(seeding)

        assert (names(found.urls), seeding.taken) == ("bbccc", 9)

    def test_a_source_that_was_read(self, begin, lists):
        """A source by command that is read to its end is not opened again, and its seeds still
        count.
        """
        seeding, _, db = begin()
        seeding.add(str(lists[1]))
        read(seeding)
        db.checkpoint()
        db.close()
        lists[1].unlink()

        seeding, _, _ = begin()

        assert (seeding.taken, seeding.ended) == (3, True)

    def test_a_source_that_is_away(self, begin, lists, caplog):
        """One that cannot be opened in a later run is named, and read in the first run that can."""
        seeding, _, db = begin(lists[0])
        seeding.add(str(lists[1]))
        db.checkpoint()
        db.close()
        away = lists[1].rename(lists[1].with_suffix(".away"))

        seeding, found, db = begin(lists[0])
        read(seeding)
        db.checkpoint()
        db.close()
        assert ("seeds added by command" in caplog.text, names(found.urls), seeding.away) == (
            True,
            "aaa",
            1,
        )
        away.rename(lists[1])
        seeding, found, _ = begin(lists[0])
        read(seeding)

        assert (names(found.urls), seeding.away) == ("bbb", 0)

    @pytest.mark.parametrize("left", [1, 0])
    def test_a_wait_ends(self, begin, lists, caplog, monkeypatch, left):
        """That no seeds can be read for the moment is said once, and that they are read again, be
        it to their end.
        """
        seeding, _, _ = begin(lists[0])
        seeding.read(3 - left)
        lacks, rest = (
            iter([OSError("too many open files")] * 2),
            iter(list(seeding._of_command_line)[:left]),
        )

        def following(_):
            for error in lacks:
                raise error
            return next(rest)

        monkeypatch.setattr(Seeds, "__next__", following)
        with caplog.at_level("INFO"):
            for _ in range(4):
                seeding.read(1)

        assert caplog.messages == [
            "seeds cannot be read for the moment: too many open files",
            "seeds can be read again",
        ]
        assert not seeding.waits

    def test_once_more(self, begin, lists):
        """All sources are read again when some of their seeds may have become ours, those that were
        read too.
        """
        seeding, found, db = begin(lists[0])
        seeding.add(str(lists[1]))
        read(seeding)
        db.checkpoint()
        db.close()
        seeding, found, _ = begin(lists[0])
        seeding.add(str(lists[2]))
        seeding.again()
        read(seeding)

        assert (names(found.urls), seeding.taken, seeding.ended) == ("aaacccbbb", 9, True)

    def test_once_more_of_a_source_that_is_away(self, begin, lists):
        """The run that can open it reads it from its beginning, however far it was read before."""
        seeding, _, db = begin()
        seeding.add(str(lists[1]))
        seeding.read(2)
        db.checkpoint()
        db.close()
        away = lists[1].rename(lists[1].with_suffix(".away"))
        seeding, _, db = begin()
        seeding.again()
        db.checkpoint()
        db.close()
        away.rename(lists[1])
        seeding, found, _ = begin()
        read(seeding)

        assert names(found.urls) == "bbb"

    def test_a_bad_source(self, begin, lists):
        """With a source that cannot be opened all are refused, and nothing has changed."""
        seeding, found, _ = begin()

        with pytest.raises(SeedError):
            seeding.add(str(lists[0]), str(lists[0].with_name("none")))

        assert seeding.ended
        seeding.add(str(lists[1]))
        read(seeding)
        assert names(found.urls) == "bbb"


class TestSegments:
    def test_a_url_keeps_how_it_was_found(self, tmp_path):
        """It is no seed: it brings path, page, seed and cookies, and is not filtered again."""

        class Nothing(Everything):
            def process(self, page, depth, urls):
                self.requested = [*urls]
                return [], [], {}

            def keys(self, urls):
                return [*range(len(urls))]

            def submit(self, keys, records):
                self.urls += map(unpack, records)

        (tmp_path / "s.csv").write_text(
            "rank,url,path,via,seed,chain\n1,http://a.test/x,Ll,http://b.test/,http://s.test/,.1~aGk=\n2,http://c.test/,,,,\n"
        )
        all_of_it = Nothing()
        with closing(CrawlDB(tmp_path / "state")) as db:
            read(Seeding(db, Seeds(str(tmp_path / "s.csv")), all_of_it, all_of_it))

        assert all_of_it.urls == [
            Link("http://a.test/x", "Ll", "http://b.test/", "http://s.test/", chain=".1~aGk=")
        ]
        assert all_of_it.requested == []

    def test_their_seeds_say_what_is_inside(self, tmp_path):
        """With the scope `seeds` those that a segment's URLs were found from are noted."""
        noted = []

        class Noting(Everything):
            def process(self, page, depth, urls):
                noted.extend(urls)
                return super().process(page, depth, urls)

            def keys(self, urls):
                return [*range(len(urls))]

        (tmp_path / "s.csv").write_text(
            "url,path,via,seed,chain\n"
            + "".join(
                f"http://a.test/{at},L,http://b.test/,http://s{at % 2}.test/,\n" for at in range(4)
            )
        )
        all_of_it = Noting()
        with closing(CrawlDB(tmp_path / "state")) as db:
            read(Seeding(db, Seeds(str(tmp_path / "s.csv")), all_of_it, all_of_it, all_first=True))

        assert {*noted} == {"http://s0.test/", "http://s1.test/"}
        assert len(all_of_it.urls) == 4


class Drone:
    """One of two drones: those hosts are its own whose names begin with its letter."""

    def __init__(self, letter):
        self.letter = letter

    def is_ours(self, url):
        return url.startswith(f"http://{self.letter}")

    def keep_seeds(self, keys, _urls, records):
        return keys, records


def test_each_drone_counts_what_is_left_out_of_its_own_seeds(tmp_path):
    """All drones read all seeds, and a seed that a filter drops counts once in the hive."""
    (tmp_path / "seeds.txt").write_text(
        "http://a.test/x.exe\nhttp://b.test/\nhttp://b.test/y.exe\n"
    )
    filtered = Counter()
    for letter in "ab":
        pipeline = build_pipeline(url_settings(URL_EXCLUDE_EXTENSIONS=["exe"]), bytes(16))
        with closing(CrawlDB(tmp_path / letter)) as db:
            seeds = Seeds(str(tmp_path / "seeds.txt"))
            seeding = Seeding(db, seeds, pipeline, Everything(), other_drones=Drone(letter))
            seeding.read(10)
            seeding.close()
        filtered += pipeline.filtered

    assert filtered == {"extension": 2}
