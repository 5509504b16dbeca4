"""`scrapy export documents`, where the archives are not read to the end."""

from argparse import Namespace

import pytest

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
