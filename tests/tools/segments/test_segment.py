"""The URLs that wait for a segment, and the segment that is taken from them: a seed list."""

from collections import Counter
from contextlib import closing
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawl.base.model import Link
from webcrawl.frontier.politeness.fixed import Fixed
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile
from webcrawl.store.lines import BlockReader, BlockWriter
from webcrawl.tools.segments.segment import (
    LinkPool,
    copy_segment,
    hosts_needed,
    max_urls_per_host,
    write_segment,
)
from webcrawl.urls.seeds import Seeds
from webcrawl.urls.seeds.seed_source import UrlDiscovery

HOSTS = ["a.test", "b.test", "www.b.test", "c.test:8080", "aa.test"]


def domain_of(url):
    return ".".join(url.split("/")[2].split(":")[0].split(".")[-2:])


def record(host, number):
    return Link(f"http://{host}/{number}", "L", f"http://{host}/", "http://s.test/").pack()


def opened(folder, memory=1 << 20, name="pool"):
    db = CrawlDB(folder / "state")
    try:
        return db, LinkPool(db, folder / name, domain_of, memory)
    except DamagedFile:
        db.close()
        raise


def lines(pool):
    pool.spill()
    return [line for some in pool.sorted_lines() for line in some]


def urls(pool):
    return [line.split(b" ")[3].decode() for line in lines(pool)]


def expected(added):
    """All in memory: by domain, by host, then in the order of finding."""
    order = sorted((domain_of(f"http://{host}/"), host, at) for at, (host, _) in enumerate(added))
    return [f"http://{added[at][0]}/{added[at][1]}" for _, _, at in order]


def test_by_domain_then_by_host_then_as_they_were_found(tmp_path):
    """Links from other sites, found later, are with their host's own."""
    db, pool = opened(tmp_path)
    with closing(db):
        added = [
            ("b.test", 1),
            ("www.b.test", 2),
            ("a.test", 3),
            ("b.test", 4),
            ("c.test:8080", 5),
            ("a.test", 6),
        ]
        pool.add([record(*one) for one in added])

        assert urls(pool) == expected(added)


@settings(max_examples=15)
@given(
    batches=st.lists(st.lists(st.sampled_from(HOSTS), max_size=300), max_size=8),
    memory=st.sampled_from([500, 9000]),
)
def test_the_same_as_sorting_in_memory(tmp_path_factory, batches, memory):
    """However many files there are, and after a restart."""
    folder = tmp_path_factory.mktemp("pool")
    db, pool = opened(folder, memory)
    added = [(host, at) for at, host in enumerate(host for batch in batches for host in batch)]
    rest = list(added)
    for batch in batches:
        pool.add([record(*one) for one in rest[: len(batch)]])
        del rest[: len(batch)]
    db.checkpoint()
    db.close()

    db, pool = opened(folder, memory)
    with closing(db):
        assert len(pool) == len(added)
        assert urls(pool) == expected(added)


def test_many_files_become_one(tmp_path):
    """No more than 64 are read at a time."""
    db, pool = opened(tmp_path, memory=1)
    with closing(db):
        added = [(HOSTS[at % 5], at) for at in range(150)]
        for one in added:
            pool.add([record(*one)])

        assert len(pool._files) < 64
        assert urls(pool) == expected(added)


def test_what_no_checkpoint_names_is_removed(tmp_path):
    """After a crash the pool is as of the last checkpoint, and files of later ones are gone."""
    db, pool = opened(tmp_path, memory=1)
    pool.add([record("a.test", 1)])
    db.checkpoint()
    pool.add([record("a.test", 2)])
    db.close()
    assert len([*(tmp_path / "pool").iterdir()]) == 2

    db, pool = opened(tmp_path)
    with closing(db):
        assert urls(pool) == ["http://a.test/1"]
        assert len([*(tmp_path / "pool").iterdir()]) == 1


@pytest.mark.parametrize("how", ["gone", "shorter", "other bytes"])
def test_a_damaged_pool_is_one_line_before_anything_is_taken(tmp_path, how):
    """A file that is not as it was written is one line, before anything is taken from it."""
    db, pool = opened(tmp_path)
    pool.add([record("a.test", at) for at in range(100)])
    db.checkpoint()
    db.close()
    (path,) = (tmp_path / "pool").iterdir()
    data = path.read_bytes()
    path.unlink()
    if how != "gone":
        path.write_bytes(data[:-9] if how == "shorter" else data[:50] + b"\0\1\2" + data[53:])

    with pytest.raises(DamagedFile):  # noqa: PT012 - at the start, or where the bytes are read
        db, pool = opened(tmp_path)
        with closing(db):
            lines(pool)


def test_blocks_come_back(tmp_path):
    """Lines of any length, in blocks; an unfinished file is removed after an error."""
    written = [b"%d%b\n" % (at, b"x" * (at % 700)) for at in range(5000)]
    with BlockWriter(Disk(), tmp_path / "b") as file:
        file.write(written)
    with BlockReader(tmp_path / "b") as reader:
        assert [line for some in reader for line in some] == written
    assert file.named == ("b", (tmp_path / "b").stat().st_size, 5000)

    with pytest.raises(ZeroDivisionError), BlockWriter(Disk(), tmp_path / "c"):
        _ = 1 / 0
    assert not (tmp_path / "c").exists()


def test_very_long_lines(tmp_path):
    """Lines as long as URLs may be are in blocks that can be read."""
    written = [
        Random(at).randbytes(200_000).replace(b"\n", b"n").replace(b"\r", b"r") + b"\n"
        for at in range(150)
    ]
    with BlockWriter(Disk(), tmp_path / "b") as file:
        file.write(written)
    with BlockReader(tmp_path / "b") as reader:
        assert [line for some in reader for line in some] == written


class Twin:
    """A pool in memory."""

    def __init__(self):
        self.waiting = []

    def next_segment(self, cap, most):
        taken, of = [], {}
        for host, number in sorted(
            self.waiting, key=lambda one: (domain_of(f"http://{one[0]}/"), one[0], one[1])
        ):
            if of.setdefault(host, 0) < cap and len(taken) < most:
                of[host] += 1
                taken.append((host, number))
        self.waiting = [one for one in self.waiting if one not in set(taken)]
        return [f"http://{host}/{number}" for host, number in taken]


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(HOSTS), max_size=60), st.integers(5, 60), st.integers(1, 4)
        ),
        min_size=1,
        max_size=6,
    )
)
def test_segments_are_those_of_a_pool_in_memory(tmp_path_factory, builds):
    """After any builds and restarts nothing is lost, nothing comes twice, and each host gives what
    it has first.
    """
    folder = tmp_path_factory.mktemp("pool")
    twin, number = Twin(), 0
    for hosts, most, needed in builds:
        db, pool = opened(folder, memory=3000)
        with closing(db):
            new = [(host, number + at) for at, host in enumerate(hosts)]
            number += len(new)
            pool.add([record(*one) for one in new])
            twin.waiting += new
            found = write_segment(pool, Disk(), folder / "segment.csv", most, needed)
            rows = (folder / "segment.csv").read_text().splitlines()[1:] if found.urls else []
            db.checkpoint()

        assert [row.split(",")[1] for row in rows] == twin.next_segment(found.per_host, most)
        assert found.left == len(twin.waiting)


def test_more_hosts_than_a_segment_has_urls(tmp_path):
    """Those that have waited longest have their turn; the others are first in the next."""
    db, pool = opened(tmp_path)
    with closing(db):
        added = [(f"h{at:05d}.test", at) for at in range(40_000)][::-1]
        pool.add([record(*one) for one in added])
        taken = []
        while write_segment(pool, Disk(), tmp_path / "segment.csv", 9000, 10).urls:
            taken.append(
                {
                    row.split(",")[1]
                    for row in (tmp_path / "segment.csv").read_text().splitlines()[1:]
                }
            )

    assert [len(some) for some in taken] == [9000, 9000, 9000, 9000, 4000]
    assert len(set().union(*taken)) == 40_000
    assert all(int(url.rpartition("/")[2]) >= 40_000 - (1 << 14) for url in taken[0])


LINKS = [
    Link("http://a.test/1", "LlR", "http://b.test/x", "http://s.test/", chain=".1f~aGk="),
    Link('http://a.test/2?q="x",y', "L", "http://a.test/,", "http://s.test/"),
    Link("http://b.test/", seed="http://b.test/"),
]


def made(folder, links):
    db, pool = opened(folder)
    with closing(db):
        pool.add([link.pack() for link in links])
        write_segment(pool, Disk(), folder / "segment.csv", 100, 1)
    return folder / "segment.csv"


def read(path):
    with closing(Seeds(str(path))) as seeds:
        return [*seeds], seeds.bad


def test_a_segment_is_read_as_seeds(tmp_path):
    """Each URL brings how it was found: depth, page, seed, cookies of a redirect; a seed is a seed
    again.
    """
    found, bad = read(made(tmp_path, LINKS))

    assert bad == 0
    assert [seed.url for seed in found] == [link.url.replace('"', "%22") for link in LINKS]
    assert [seed.found for seed in found] == [
        UrlDiscovery("LlR", "http://b.test/x", "http://s.test/", ".1f~aGk="),
        UrlDiscovery("L", "http://a.test/,", "http://s.test/", ""),
        None,
    ]


def test_its_columns(tmp_path):
    """Rank, URL, and how it was found, under a header that any reader of CSV understands."""
    assert made(tmp_path, LINKS).read_text() == (
        "rank,url,path,via,seed,chain\n"
        "1,http://a.test/1,LlR,http://b.test/x,http://s.test/,.1f~aGk=\n"
        '2,"http://a.test/2?q=""x"",y",L,"http://a.test/,",http://s.test/,\n'
        "3,http://b.test/,,,,\n"
    )


@pytest.mark.parametrize(
    "row",
    [
        "1,http://a.test/,L,,http://s.test/,",
        "1,http://a.test/,X,http://b.test/,http://s.test/,",
        "1,http://a.test/,L,b.test,http://s.test/,",
        "1,http://a.test/,L,http://b.test/,a b,",
        "1,http://a.test/,L,http://b.test/,,%%",
        "1,http://a.test/,L,http://b.test/",
        "1,mailto:a@b.test,L,http://b.test/,,",
    ],
)
def test_a_row_that_says_it_wrongly_is_a_bad_line(tmp_path, row):
    """It is counted and logged like any other, and what follows is read."""
    path = tmp_path / "s.csv"
    path.write_text(f"rank,url,path,via,seed,chain\n{row}\n2,http://good.test/,,,,\n")

    found, bad = read(path)

    assert ([seed.url for seed in found], bad) == (["http://good.test/"], 1)


def test_other_lists_have_no_such_columns(tmp_path):
    """A header with only some of their names is that of an ordinary list."""
    path = tmp_path / "s.csv"
    path.write_text("url,path,seed\nhttp://a.test/,??,!!\n")

    assert read(path)[0][0].found is None


def test_a_copy_is_whole_or_not_there(tmp_path):
    """An old file of that name is replaced; without a segment by one without rows."""
    source, target = made(tmp_path, LINKS), tmp_path / "out" / "s.csv"
    target.parent.mkdir()
    target.write_text("old")

    copy_segment(source, target)
    assert target.read_bytes() == source.read_bytes()
    copy_segment(None, target)
    assert target.read_text() == "rank,url,path,via,seed,chain\n"
    assert [path.name for path in target.parent.iterdir()] == ["s.csv"]


@pytest.mark.parametrize(
    ("policy", "needed"),
    [
        pytest.param(Mercator(10, 1.0, 300), 1100, id="ten times as long as a download"),
        pytest.param(Mercator(0, 1.0, 300), 200, id="at least a second"),
        pytest.param(Fixed(10, 70.0, 300), 7100, id="seventy seconds"),
    ],
)
def test_hosts_that_keep_a_crawl_busy(policy, needed):
    """Each of 100 slots needs a host that is requested, and as many more as downloads fit into a
    host's wait.
    """
    assert hosts_needed(100, policy.wait) == needed


@pytest.mark.parametrize(
    ("hosts", "most", "needed", "cap"),
    [
        pytest.param([5] * 10, 1000, 10, 5, id="all have equally much"),
        pytest.param([2] * 10 + [1000], 1000, 10, 2, id="one has very much: most of it stays"),
        pytest.param([2] * 10 + [7] * 10, 1000, 10, 7, id="enough hosts have more"),
        pytest.param([2] * 10 + [7] * 10, 45, 10, 2, id="a segment of less: all give equally much"),
        pytest.param([3] * 10, 10, 5, 1, id="one of each"),
        pytest.param([3] * 10, 9, 5, 0, id="more hosts than the segment has URLs"),
        pytest.param([1000], 300, 50, 300, id="a single host"),
        pytest.param(
            [10, 1000], 300, 50, 150, id="too few hosts: what each would give if all had enough"
        ),
        pytest.param([], 300, 50, 0, id="nothing"),
    ],
)
def test_how_many_of_each_host(hosts, most, needed, cap):
    """As many as `needed` hosts have, so that the crawl is busy until the end; what is beyond that
    stays.
    """
    assert max_urls_per_host(Counter(hosts), most, needed) == cap


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=60), st.integers(1, 400), st.integers(1, 30)
)
def test_never_more_than_asked_for_and_busy_to_the_end(hosts, most, needed):
    """The segment is not too large; hosts that have more than it takes are limited only when too few
    would be left.
    """
    cap = max_urls_per_host(Counter(hosts), most, needed)
    taken = sum(min(cap, count) for count in hosts)

    assert taken <= most
    assert (cap == 0) == (len(hosts) > most)
    if len(hosts) >= needed and cap:
        assert sum(count >= cap for count in hosts) >= needed
        more = sum(min(cap + 1, count) for count in hosts)
        assert sum(count > cap for count in hosts) < needed or more > most
