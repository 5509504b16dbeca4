"""`scrapy export documents`, where something is not in the file that it makes."""

from argparse import Namespace

import pyarrow.parquet as pq
import pytest

from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.tools.commands import export


@pytest.mark.parametrize("begun", [True, False])
def test_what_is_not_read_to_the_end_is_no_file(tmp_path, monkeypatch, capsys, begun):
    """What was made so far stays for the next try, and nothing else does."""

    def killed(sources, jobdir, settings):
        del sources, settings
        if begun:
            (jobdir / "tables").mkdir()
            (jobdir / "tables/documents-00000.parquet").touch()
        return -9

    monkeypatch.setattr(export, "_processed", killed)
    monkeypatch.setattr(export, "missing_library", str)
    archive, target = tmp_path / "a.warc.gz", tmp_path / "a.parquet"
    archive.touch()
    command = export.Documents()
    command.run([str(archive)], Namespace(o=str(target)))

    assert command.exitcode == 1
    assert capsys.readouterr().err == f"{archive}: not read to the end: run the same command to resume\n"
    assert not target.exists()
    assert (tmp_path / "a.parquet.part").exists() == begun


def test_a_crawl_that_has_made_none_beside_one_that_has(tmp_path, capsys):
    """What is said to be left out is in nobody's count, and nothing else is."""
    for name in ("a", "b"):
        (tmp_path / name / "state").mkdir(parents=True)
        (tmp_path / name / "tables").mkdir()
    pq.write_table(SCHEMAS["documents"].empty_table(), tmp_path / "a/tables/documents-00000.parquet")
    sources = [str(tmp_path / name) for name in ("a", "b")]
    export.Documents().run(sources, Namespace(o=str(tmp_path / "all.parquet")))
    export.Documents().run(sources[:1], Namespace(o=str(tmp_path / "one.parquet")))

    said = capsys.readouterr()
    left_out = f"{sources[1]}: has made no documents, as the others have: left out; export it by itself\n"
    assert (said.err, [line.split(": ")[1] for line in said.out.splitlines()]) == (left_out, ["0 documents"] * 2)
