"""Host records: nothing about a host is forgotten, and memory stays bounded."""

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.frontier.hosts import HostTable
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.host_row import HostState


class Part:
    """Saves a table with its database's checkpoints."""

    def __init__(self, table):
        self.prepare, self.save = table.prepare, table.save


def make(db, room=2, packed=0):
    table = HostTable(db, Pool(Blocks(db), 1 << 16), room, packed)
    db.join(Part(table))
    return table


@pytest.fixture
def db(tmp_path):
    db = CrawlDB(tmp_path)
    yield db
    db.close()


def use(table, name, **fields):
    host = table.get(name)
    table.touch(host)
    for field, value in fields.items():
        setattr(host, field, value)
    table.put_away(host)


class TestHostTable:
    def test_a_new_host_is_blank(self, db):
        """An unknown host has no wait, no failures and an empty queue."""
        host = make(db).get("a")
        assert (host.ready_at, host.failures, host.pages, host.retired, host.waiting()) == (
            0.0,
            0,
            0,
            0,
            0,
        )

    def test_a_record_leaves_memory_and_comes_back(self, db):
        """A host put away long ago is restored from its row."""
        table = make(db, room=2)
        use(
            table,
            "a",
            ready_at=12.5,
            times=[0.1, 0.2],
            crawl_delay=3.0,
            failures=2,
            pages=7,
            ip="127.0.0.1",
        )
        for name in "bcdef":
            use(table, name)
        host = table.get("a")
        assert (host.ready_at, host.times, host.crawl_delay) == (12.5, [0.1, 0.2], 3.0)
        assert (host.failures, host.pages, host.ip) == (2, 7, "127.0.0.1")

    def test_memory_holds_no_more_idle_hosts_than_allowed(self, db):
        """The table keeps a bounded number of hosts as objects, however many are used."""
        table = make(db, room=5)
        for i in range(1000):
            use(table, f"h{i}")
        assert repr(table) == "<HostTable idle=5 dirty=5 <HostRows written=0 changed=0>>"

    def test_an_unchanged_record_is_not_written(self, db):
        """Looking at a host causes no write."""
        table = make(db, room=0)
        table.put_away(table.get("a"))
        assert db.query("SELECT count(*) FROM host") == [(0,)]

    def test_what_is_in_flight_comes_again(self, tmp_path):
        """After a restart, a record that was in flight is the host's first."""
        db = CrawlDB(tmp_path)
        table = make(db)
        use(table, "a", given=b"http://a/1     0 ", state=HostState.ACTIVE)
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path)
        (host,) = make(db).active()
        assert host.later == [(-1.0, b"http://a/1     0 ")]
        db.close()

    def test_prepare_writes_in_slices(self, db):
        """`prepare` writes changed records in slices."""
        table = make(db, room=1000)
        for i in range(500):
            use(table, f"h{i}")
        assert sum(1 for _ in table.prepare()) == 16
        assert repr(table) == "<HostTable idle=500 dirty=0 <HostRows written=0 changed=0>>"

    def test_prepare_writes_rows_in_memory_too(self, db):
        """A host that was changed and then evicted is part of the checkpoint."""
        table = make(db, room=2, packed=1 << 20)
        for i in range(10):
            use(table, f"h{i}", pages=i)
        assert repr(table) == "<HostTable idle=2 dirty=2 <HostRows written=0 changed=8>>"
        for _ in table.prepare():
            pass
        assert repr(table) == "<HostTable idle=2 dirty=0 <HostRows written=8 changed=0>>"
        assert db.query("SELECT count(*) FROM host") == [(10,)]

    @given(
        st.lists(
            st.tuples(st.integers(0, 9), st.sampled_from(["use", "look", "save"])), max_size=60
        ),
        st.integers(0, 4),
        st.sampled_from([0, 300, 700, 1 << 20]),
    )
    @settings(deadline=None)
    def test_wherever_a_record_is_it_is_the_last_one(self, tmp_path_factory, steps, room, packed):
        """As an object, a row in memory or in SQLite, a host comes back as put away last, after a
        restart too.
        """
        folder, twin = tmp_path_factory.mktemp("hosts"), dict.fromkeys(map(str, range(10)), 0)
        with closing(CrawlDB(folder)) as db:
            table = make(db, room=room, packed=packed)
            for number, (name, step) in enumerate(steps, 1):
                if step == "use":
                    twin[str(name)] = number
                    use(table, str(name), pages=number)
                elif step == "look":
                    host = table.get(str(name))
                    assert host.pages == twin[str(name)]
                    table.put_away(host)
                else:
                    db.checkpoint()
            db.checkpoint()
        with closing(CrawlDB(folder)) as db:
            table = make(db, room=room, packed=packed)
            assert {name: table.get(name).pages for name in twin} == twin

    def test_a_spilled_queue_is_saved_again(self, db):
        """When the pool spills a queue, its host's row is stale and is written again."""
        pool = Pool(Blocks(db), 4096)
        table = HostTable(db, pool, 10)
        db.join(Part(table))
        quiet = table.get("quiet")
        quiet.queue.push(b"x" * 3000)
        table.touch(quiet)
        db.checkpoint()
        loud = table.get("loud")
        loud.queue.push(b"y" * 1500)
        assert quiet.queue.in_memory == 0
        assert quiet.dirty

    def test_a_damaged_row_is_named(self, db):
        """The error for an unreadable record names its host."""
        db.execute(
            "INSERT INTO host VALUES ('a', 0, X'00ff', ?)", (rowcrc.host("a", 0, b"\x00\xff"),)
        )
        with pytest.raises(DamagedFile, match="table host, a: ExtraData"):
            make(db).get("a")

    @pytest.mark.parametrize(
        "change", ["state = 1", "data = zeroblob(length(data))", "crc = crc + 1"]
    )
    def test_a_checksum_that_is_wrong(self, db, change):
        """A readable but altered record raises DamagedFile, at the start or when it is used."""
        table = make(db)
        use(table, "a", pages=1)
        table.save()
        db.execute(f"UPDATE host SET {change}")
        with pytest.raises(DamagedFile, match="table host, a: wrong checksum"):
            make(db).get("a")
        db.execute("UPDATE host SET state = 1")
        with pytest.raises(DamagedFile, match="table host, a: wrong checksum"):
            list(make(db).active())

    @given(steps=st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9)), max_size=30))
    @examples(25)
    def test_the_table_is_a_dictionary(self, tmp_path_factory, steps):
        """Used in any order, the table gives the same as a dictionary of all hosts, after reopening
        too.
        """
        folder = tmp_path_factory.mktemp("hosts")
        db, twin = CrawlDB(folder), {}
        table = make(db)
        for name, pages in steps:
            use(table, name, pages=pages)
            twin[name] = pages
        db.checkpoint()
        db.close()
        db = CrawlDB(folder)
        assert {name: make(db).get(name).pages for name in twin} == twin
        db.close()
