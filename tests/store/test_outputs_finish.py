"""Finished outputs lose their `.open` after the checkpoint that notes all of them, whatever fails
in between.
"""

import contextlib
import errno
import logging
import shutil
from contextlib import closing
from unittest.mock import Mock

import pytest

from tests.support.faults import BreakingDisk, ForgetfulDisk
from tests.support.outputs import Crawl
from tests.support.saving import prepared
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StoreError, TakenAway


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    with closing(Crawl(tmp_path)) as crawl:
        yield crawl


def _files(root):
    return {path.name: path.read_bytes() for path in (root / "warc").iterdir()}


def _finished(crawl, name="warc/a.open", data=b"record"):
    output = crawl.outputs.open(name)
    output.write(data)
    output.finish()


class TestFinish:
    def test_the_name_changes_after_the_checkpoint(self, crawl, tmp_path):
        """The checkpoint notes the final name and all bytes; renaming comes next."""
        _finished(crawl)
        assert list(_files(tmp_path)) == ["a.open"]
        crawl.checkpoint()
        assert crawl.noted() == {"warc/a": 6}
        assert list(crawl.outputs.check()) == []
        crawl.checkpoint()

        assert _files(tmp_path) == {"a": b"record"}
        assert crawl.noted() == {"warc/a": 6}

    def test_what_waits_for_its_end(self, crawl):
        """A file that a checkpoint has noted with `.open` does, until one notes its end."""
        output = crawl.outputs.open("warc/a.open")
        output.write(b"record")
        seen = [crawl.outputs.unfinished]
        crawl.checkpoint()
        seen.append(crawl.outputs.unfinished)
        output.finish()
        crawl.checkpoint()

        assert [*seen, crawl.outputs.unfinished] == [False, True, False]

    def test_the_row_with_open_goes(self, crawl, tmp_path):
        """A file that an earlier checkpoint noted with `.open` is then noted only under its final
        name.
        """
        output = crawl.outputs.open("warc/a.open")
        output.write(b"one")
        crawl.checkpoint()
        assert crawl.noted() == {"warc/a.open": 3}
        output.write(b"two")
        output.finish()
        crawl.checkpoint()
        crawl.checkpoint()

        assert crawl.noted() == {"warc/a": 6}
        assert list(crawl.outputs.check()) == []

    def test_a_clean_end_renames(self, crawl, tmp_path):
        """Close renames finished files that are noted: after a clean stop none has its `.open`."""
        _finished(crawl)
        crawl.checkpoint()
        crawl.close()

        assert _files(tmp_path) == {"a": b"record"}

    def test_no_checkpoint_no_name(self, crawl, tmp_path):
        """Without a checkpoint a finished file keeps its `.open`, because the next start will
        truncate it.
        """
        output = crawl.outputs.open("warc/a.open")
        output.write(b"one")
        crawl.checkpoint()
        output.write(b"two")
        output.finish()
        crawl.close()
        assert _files(tmp_path) == {"a.open": b"onetwo"}
        with closing(Crawl(tmp_path)) as again:
            assert again.outputs.open("warc/a.open").tell() == 3

        assert _files(tmp_path) == {"a.open": b"one"}

    def test_a_failed_commit_renames_nothing(self, crawl, tmp_path):
        """If a part fails after the outputs have saved, neither prepare nor close renames files."""
        crawl.db.join(Failing())
        _finished(crawl)
        with pytest.raises(StoreError, match="on purpose"):
            crawl.checkpoint()
        with contextlib.suppress(StoreError):
            list(crawl.db.prepare())
        crawl.close()

        assert _files(tmp_path) == {"a.open": b"record"}

    def test_only_a_file_with_open_can_be_finished(self, crawl):
        """Only a file with the suffix `.open` can be finished."""
        with pytest.raises(ValueError, match=r"does not end in \.open"):
            crawl.outputs.open("warc/a").finish()

    def test_a_finished_file_takes_no_more(self, crawl):
        """A finished file can be neither written nor opened again, before or after the checkpoint."""
        output = crawl.outputs.open("warc/a.open")
        output.finish()
        with pytest.raises(ValueError, match="closed"):
            output.write(b"x")
        with pytest.raises(ValueError, match="finished"):
            crawl.outputs.open("warc/a.open")
        crawl.checkpoint()
        for name in ("warc/a.open", "warc/a"):
            with pytest.raises(ValueError, match="finished"):
                crawl.outputs.open(name)


class TestTakenAway:
    """A finished file is its owner's."""

    def test_it_may_go_while_the_crawl_runs(self, crawl, tmp_path, caplog):
        """The crawl goes on without a word, and so does the next one; the file stays noted."""
        _finished(crawl)
        for _ in range(2):
            crawl.checkpoint()
        shutil.rmtree(tmp_path / "warc")
        crawl.checkpoint()
        crawl.close()

        with closing(Crawl(tmp_path)) as again:
            again.checkpoint()
            assert again.noted() == {"warc/a": 6}
        assert caplog.messages == []

    @pytest.mark.parametrize(
        ("take", "how"),
        [
            pytest.param(lambda path: path.unlink(), "moved or removed", id="removed"),
            pytest.param(lambda path: path.write_bytes(b"rec"), "truncated", id="truncated"),
            pytest.param(lambda path: [path.unlink(), path.mkdir()], "replaced", id="replaced"),
        ],
    )
    @pytest.mark.parametrize("noted", [True, False])
    def test_with_open_it_is_still_ours(self, crawl, tmp_path, take, how, noted):
        """What befalls a file before it has its final name fails the next checkpoint, or else the
        end.
        """
        _finished(crawl)
        prepared(crawl.db)
        if noted:
            crawl.db.checkpoint()
        take(tmp_path / "warc/a.open")

        with pytest.raises(TakenAway, match=rf"a\.open: {how} while the crawl ran"):
            crawl.outputs.close() if noted else crawl.db.checkpoint()
        (tmp_path / "warc/a").touch()  # as if it had its final name: the crawl may close

    @pytest.mark.parametrize(
        ("taken", "warns"), [((".cdxj",), True), ((".cdxj", ".warc.gz"), False), ((), False)]
    )
    def test_an_index_without_its_archive(self, tmp_path, caplog, taken, warns):
        """Archives that are moved with their indexes are their owner's affair; of an index alone a
        restart warns.
        """
        with closing(Crawl(tmp_path)) as crawl:
            for name in ("a.b", "a.b-1", "c"):
                _finished(crawl, f"warc/{name}.warc.gz.open")
                _finished(crawl, f"warc/{name}.cdxj.open")
            crawl.checkpoint()
        for ending in taken:
            (tmp_path / f"warc/a.b{ending}").unlink()

        with closing(Crawl(tmp_path)):
            said = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
        assert [line.partition(":")[0] for line in said] == [f"{tmp_path}/warc/a.b.cdxj"] * warns

    def test_the_next_start_counts_them(self, tmp_path, caplog):
        """One file is one file."""
        with closing(Crawl(tmp_path)) as crawl:
            _finished(crawl)
            crawl.checkpoint()
        (tmp_path / "warc/a").unlink()

        with caplog.at_level(logging.INFO), closing(Crawl(tmp_path)):
            assert f"{tmp_path}: 1 finished file missing; `" in caplog.text

    def test_it_may_come_back(self, crawl, tmp_path):
        """A file that is back is left as it is; if it is too short by then, it is damaged."""
        _finished(crawl)
        crawl.checkpoint()
        crawl.close()
        file = tmp_path / "warc/a"
        file.rename(tmp_path / "aside")
        Crawl(tmp_path).close()
        (tmp_path / "aside").rename(file)
        Crawl(tmp_path).close()
        assert file.read_bytes() == b"record"

        file.write_bytes(b"rec")
        with pytest.raises(DamagedFile, match="the file ends early"):
            Crawl(tmp_path)

    def test_a_file_that_is_not_finished_may_not(self, crawl, tmp_path):
        """A file that a later run goes on with is needed, with `.open` or without."""
        for name in ("warc/a.open", "logs/crawl.log"):
            crawl.outputs.open(name).write(b"data")
        crawl.checkpoint()
        crawl.close()
        (tmp_path / "logs/crawl.log").unlink()

        with pytest.raises(DamagedFile, match=r"crawl\.log: damaged at byte 0: missing"):
            Crawl(tmp_path)


class Failing:
    def prepare(self):
        return iter(())

    def save(self):
        raise StoreError("on purpose")


def test_a_sync_without_memory(crawl, monkeypatch):
    """The checkpoint fails, and its error says what is missing."""
    crawl.outputs.open("warc/a").write(b"record")
    monkeypatch.setattr(Disk, "sync", Mock(side_effect=MemoryError))
    with pytest.raises(StoreError, match=r": out of memory$"):
        crawl.checkpoint()


class TestRecovery:
    def test_a_crash_before_the_renaming(self, crawl, tmp_path):
        """A noted file that still has its `.open` is truncated to the noted length and renamed."""
        _finished(crawl)
        crawl.checkpoint()
        with (tmp_path / "warc/a.open").open("ab") as file:
            file.write(b"more")
        crawl.db.close()

        with closing(Crawl(tmp_path)) as again:
            assert _files(tmp_path) == {"a": b"record"}
            assert list(again.outputs.check()) == []

    def test_what_is_too_short_is_damage(self, crawl, tmp_path):
        """A finished file that has lost its end, under either name, raises DamagedFile and is left
        as it is.
        """
        _finished(crawl)
        crawl.checkpoint()
        crawl.db.close()
        path = tmp_path / "warc/a.open"
        path.write_bytes(b"xxxxx")

        with pytest.raises(DamagedFile, match="6 bytes are noted"):
            Crawl(tmp_path)
        assert _files(tmp_path) == {"a.open": b"xxxxx"}

    def test_a_renaming_that_fails_is_done_later(self, tmp_path, caplog):
        """If renaming fails, the checkpoint still holds; the failure is logged and renaming is
        retried.
        """
        disk = BreakingDisk()
        with closing(Crawl(tmp_path, disk)) as crawl:
            _finished(crawl)
            crawl.checkpoint()
            disk.fail_at = disk.operations + 1
            with caplog.at_level(logging.WARNING):
                crawl.checkpoint()
            assert [broken.split()[0] for broken in disk.broken] == ["rename"]
            assert "warc/a: still has .open at the end of its name" in caplog.text
            assert list(_files(tmp_path)) == ["a.open"]
            crawl.checkpoint()

            assert list(_files(tmp_path)) == ["a"]


class TestSweep:
    def test_what_no_checkpoint_has_noted_goes(self, crawl, tmp_path):
        """A sweep removes only matching files that were started after the last checkpoint."""
        _finished(crawl, "warc/pending.open")
        crawl.outputs.open("warc/noted.open").write(b"x")
        crawl.checkpoint()
        crawl.outputs.open("warc/current.open").write(b"x")
        for name in ("lost.open", "lost", "foreign.txt"):
            (tmp_path / "warc" / name).write_bytes(b"x")
        crawl.outputs.sweep("warc/*.open")

        assert sorted(_files(tmp_path)) == [
            "current.open",
            "foreign.txt",
            "lost",
            "noted.open",
            "pending.open",
        ]

    def test_a_file_that_stays_is_an_error(self, tmp_path):
        """A failed sweep raises StoreError."""
        disk = BreakingDisk()
        with closing(Crawl(tmp_path, disk)) as crawl:
            (tmp_path / "lost.open").write_bytes(b"x")
            disk.fail_at = disk.operations + 1
            with pytest.raises(StoreError, match=r"lost\.open"):
                crawl.outputs.sweep("*.open")


class PowerCut(BreakingDisk, ForgetfulDisk):
    """Fails at the n-th operation, then loses what was not synced: a renamed file has its old name
    again.
    """

    def __init__(self, fail_at=0):
        ForgetfulDisk.__init__(self)
        BreakingDisk.__init__(self, fail_at, errno.EIO, for_good=True)


class Noting(BreakingDisk):
    def _step(self, what):
        self.operations += 1
        self.broken.append(what)


STEPS = 2


def _live(root, disk, done):
    """Each step finishes a file, leaves another one half-filled, and makes a checkpoint; then all
    is closed.
    """
    with closing(Crawl(root, disk)) as crawl:
        crawl.outputs.sweep("warc/*.open")
        first = int(crawl.db.get("step") or b"0")
        output = crawl.outputs.open(f"warc/{first}.open")
        for step in range(first + 1, STEPS + 1):
            output.write(b"end")
            output.finish()
            output = crawl.outputs.open(f"warc/{step}.open")
            output.write(b"begin,")
            crawl.db.set("step", b"%d" % step)
            crawl.checkpoint()
            done.append(step)


def _assert_state(root, step):
    """Asserts that after reopening the files are as of this step's checkpoint, with final names if
    finished.
    """
    with closing(Crawl(root)) as crawl:
        crawl.outputs.sweep("warc/*.open")
        assert int(crawl.db.get("step") or b"0") == step
        expected = {str(number): b"begin,end" if number else b"end" for number in range(step)}
        if step:
            expected[f"{step}.open"] = b"begin,"
        assert (_files(root) if (root / "warc").exists() else {}) == expected
        assert list(crawl.outputs.check()) == []


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["full for good", "broken once", "power cut"])
def test_whatever_fails_names_and_lengths_are_of_the_last_checkpoint(tmp_path, kind):
    """After any failed operation the next start restores the noted length and name of every file."""
    # creating the database is tested elsewhere and takes half of the time
    Crawl(tmp_path / "new").close()
    shutil.copytree(tmp_path / "new", tmp_path / "whole")
    noting = Noting()
    _live(tmp_path / "whole", noting, [])
    assert sum("rename" in what for what in noting.broken) == STEPS
    for fail_at in range(1, noting.operations + 1):
        root, done = tmp_path / str(fail_at), []
        shutil.copytree(tmp_path / "new", root)
        disk = (
            PowerCut(fail_at)
            if kind == "power cut"
            else BreakingDisk(fail_at, for_good=kind == "full for good")
        )
        with contextlib.suppress(StoreError, OSError):
            _live(root, disk, done)
        assert disk.broken
        if kind == "power cut":
            disk.crash()
        _assert_state(root, done[-1] if done else 0)
        _live(root, Disk(), [])
        assert sorted(_files(root)) == [*map(str, range(STEPS)), f"{STEPS}.open"]


def test_a_file_is_called_finished_when_it_has_its_name(crawl, caplog):
    """What no checkpoint has noted may still be lost: the log says nothing of it before."""
    caplog.set_level(logging.INFO, "webcrawl.store.outputs")
    _finished(crawl)
    crawl.checkpoint()
    assert caplog.messages == []

    crawl.checkpoint()
    assert caplog.messages == ["a: finished, 6 bytes"]
