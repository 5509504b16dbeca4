"""Files of a JOBDIR of somebody else's that are nested without end."""

import pytest

from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.hive_folder import HiveFolder
from webcrawl.record.fulltext import text_files
from webcrawl.record.since import sources
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawls import HIVE, hive_of

NESTED = b"[" * 200_000


class TestNested:
    def test_stats(self, tmp_path):
        """stats.json is damaged, as verify says."""
        (tmp_path / stats_file.NAME).write_bytes(NESTED)

        assert [error.path.name for error in stats_file.check(tmp_path)] == [stats_file.NAME]

    def test_a_hive(self, tmp_path):
        """The file of a hive is damaged, for who reads it and for who runs it."""
        (tmp_path / HIVE).write_bytes(NESTED)

        with pytest.raises(DamagedFile):
            hive_of(tmp_path)
        with pytest.raises(HiveError):
            HiveFolder(tmp_path).read()

    def test_texts(self, tmp_path):
        """A line of texts is damaged."""
        with pytest.raises(DamagedFile):
            list(text_files.parse_lines(tmp_path, 0, NESTED + b"\n"))

    def test_the_note_of_an_index(self, tmp_path):
        """What an index of earlier captures was made of is not known."""
        (tmp_path / sources.FILES_LIST).write_bytes(NESTED)

        assert sources.read_indexed_files(tmp_path) is None
