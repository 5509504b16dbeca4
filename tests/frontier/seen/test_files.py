"""The disk store's files: which exist, which are removed, and what happens if they are damaged."""

from pathlib import Path

import pytest

from tests.support.faults import BreakingDisk
from tests.support.seens import ROOMY, job_of
from webcrawl.frontier.seen.protocol import Layout
from webcrawl.store.errors import DamagedFile


class TestFiles:
    def test_scratch_files_go_with_their_merge(self, tmp_path):
        """The scratch files of T are removed after their merge."""
        job = job_of(tmp_path, Layout(chunk=4, budget=5, largest=10_000, fresh=0, share=100.0))
        job.submit(*range(4))
        job.settle()
        job.submit(*range(40))
        spilled = [name for name in job.names() if name.startswith("scratch")]
        job.settle()

        assert len(spilled) > 2
        assert not [name for name in job.names() if name.startswith("scratch")]
        job.close()

    def test_files_that_no_checkpoint_names_are_removed_at_the_start(self, tmp_path):
        """Incomplete files and scratch files are removed at the start; files of other names stay."""
        job = job_of(tmp_path)
        job.submit(*range(40))
        job.settle()
        job.checkpoint()
        kept = job.names()
        for name in ("url-00000999", "scratch-00000007", "content-00000001", "url-1", "notes.txt"):
            (job.folder / "seen" / name).write_bytes(b"x")
        job.reopen()

        assert job.names() == sorted([*kept, "content-00000001", "url-1", "notes.txt"])
        job.close()

    def test_a_file_that_cannot_be_removed_does_no_harm(self, tmp_path):
        """If a left-over file cannot be removed, the crawl starts anyway."""
        fs = BreakingDisk(for_good=True)
        job = job_of(tmp_path, fs=fs)
        (job.folder / "seen" / "scratch-00000007").write_bytes(b"x")
        job.checkpoint()
        job.close()
        fs.fail_at = fs.operations + 1
        job.open()

        assert job.names() == ["scratch-00000007"]
        job.close()

    @pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files as Linux shows them")
    def test_replaced_files_are_closed(self, tmp_path):
        """After two checkpoints, only the files in use are open."""
        job = job_of(tmp_path, Layout(chunk=4, budget=100, largest=10_000, fresh=0, share=0.0))
        for key in range(0, 400, 4):
            job.submit(*range(key, key + 4))
            job.settle()
            job.checkpoint()
        job.checkpoint()
        job.db.worker.submit(len, "").result()  # it closes them
        found = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]

        assert sum(path.is_relative_to(job.folder / "seen") for path in found) == job.store.stats()["runs"]
        job.close()

    def test_a_number_is_not_used_twice(self, tmp_path):
        """A replaced file is removed after the next COMMIT; until then no other file may get its name."""
        job = job_of(tmp_path, Layout(chunk=4, budget=100, largest=10_000, fresh=0, share=0.0))
        seen = set()
        for key in range(0, 40, 4):
            job.submit(*range(key, key + 4))
            job.settle()
            new = set(job.names()) - seen
            assert len(new) == 1
            seen |= new
        job.checkpoint()
        assert job.settle() == []
        job.reopen()
        job.submit(*range(44))
        assert job.settle() == [b"%d" % key for key in range(40, 44)]
        job.close()

    @pytest.mark.parametrize("harm", ["missing", "short", "foreign", "another count"])
    def test_a_damaged_file_is_refused_and_nothing_is_changed(self, tmp_path, harm):
        """A damaged file that a checkpoint names stops the crawl before it starts."""
        job = job_of(tmp_path)
        job.submit(*range(40))
        job.settle()
        job.checkpoint()
        job.close()
        path = max((job.folder / "seen").iterdir())
        (job.folder / "seen" / "url-00000999").write_bytes(b"left over")
        if harm == "missing":
            path.unlink()
        elif harm == "short":
            path.write_bytes(path.read_bytes()[:-9])
        elif harm == "foreign":
            path.write_bytes(b"x" * path.stat().st_size)
        else:
            other = job_of(tmp_path / "other")
            (tmp_path / "other").mkdir(exist_ok=True)
            other.submit(*range(1000, 1007))
            other.settle()
            other.close()
            path.write_bytes(max((other.folder / "seen").iterdir()).read_bytes())
        before = {file.name: file.read_bytes() for file in (job.folder / "seen").iterdir()}
        with pytest.raises(DamagedFile) as caught:
            job.open()

        assert caught.value.path == path
        assert before == {file.name: file.read_bytes() for file in (job.folder / "seen").iterdir()}

    def test_a_flipped_bit_in_a_file_is_found_by_the_check(self, tmp_path):
        """Check finds a flipped bit by the checksum of its page."""
        job = job_of(tmp_path)
        job.submit(*range(40))
        job.settle()
        path = max((job.folder / "seen").iterdir())
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)

        assert [damage.path for damage in job.store.check()] == [path]
        job.close()

    @pytest.mark.parametrize(
        ("change", "table"),
        [
            ("UPDATE meta SET value = x'02000000000000000100000000000000' WHERE name = 'seen.fresh'", "fresh"),
            ("UPDATE meta SET value = x'00' WHERE name = 'seen.fresh'", "fresh"),
            ("DELETE FROM meta WHERE name GLOB 'seen.new.*'", "new"),
            ("UPDATE meta SET value = x'00' WHERE name GLOB 'seen.new.*'", "new"),
            ("UPDATE meta SET name = 'seen.new.9' WHERE name GLOB 'seen.new.*'", "new"),
        ],
    )
    def test_a_damaged_value_is_refused(self, tmp_path, change, table):
        """Values of F and of the verdicts with an impossible form raise DamagedFile."""
        job = job_of(tmp_path, ROOMY)
        job.submit(1, 2, 3)
        job.store.merge()
        job.checkpoint()
        job.tamper(change)
        with pytest.raises(DamagedFile, match=f"seen.{table}"):
            job.open()
