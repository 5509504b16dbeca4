"""`scrapy export documents`, where something is not in the file that it makes."""

import os
import shutil
import subprocess
import sys
from argparse import Namespace

import pyarrow.parquet as pq
import pytest

from tests.support.archive_files import gzipped, response
from tests.support.places import ROOT
from tests.support.tables import Job
from tests.support.warc_crawl import NOW
from webcrawl.crawl.checks import check
from webcrawl.crawl.control.in_force import InForce
from webcrawl.record.objectstore.storing import StoredFile
from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import STORED
from webcrawl.tools.commands import export
from webcrawl.urls.exclusion_rules import OptOut

# An editable install: the package is found, but not in a folder of the path
INSTALLED = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import webcrawl.__main__ as it; del sys.path[0]; it.main()"
URLS = [f"http://{'ab'[number % 2]}.test/{number}" for number in range(6)]


def crawled(root, *urls, full=64 << 20):
    """A crawl that goes on, with a checkpoint that has a document for each of these pages."""
    job = Job(root, tables=False, documents=True, full=full)
    for url in urls:
        job.page(url, body=b"<p>some words")
    job.checkpoint(until=("tables/documents",) if full == 1 else ())
    return job


def exported(source, target):
    """Exit status, and the URLs of the documents in the file."""
    command = export.DocumentsExport()
    command.run([str(source)], Namespace(o=str(target)))
    return command.exitcode, sorted(pq.read_table(target)["url"].to_pylist())


class TestLeftOut:
    def test_a_file_that_waits_for_its_name(self, tmp_path, capsys):
        """A checkpoint has noted it: it counts."""
        job = crawled(tmp_path / "job", *URLS[:3], full=1)
        assert [path.suffix for path in (tmp_path / "job/tables").glob("documents-*")] == [".open"]

        assert exported(tmp_path / "job", tmp_path / "a.parquet") == (0, sorted(URLS[:3]))
        assert capsys.readouterr().err == ""
        job.close()

    @pytest.mark.parametrize("runs", [False, True])
    def test_what_is_in_no_finished_file(self, tmp_path, capsys, runs):
        """A line says how many documents that are; they are a failure if nobody is about to finish
        them.
        """
        crawled(tmp_path / "job", *URLS[:2], full=1).stop()
        job = crawled(tmp_path / "job", *URLS[2:])
        root = job.root if runs else shutil.copytree(job.root, tmp_path / "killed")
        why = "the crawl is running" if runs else "resume the crawl to finish them"

        assert exported(root, tmp_path / "a.parquet") == (int(not runs), URLS[:2])
        assert (
            capsys.readouterr().err
            == f"{root}: left out 4 documents, not in a finished file yet: {why}\n"
        )
        job.close()

    @pytest.mark.parametrize("stored", [False, True])
    def test_a_file_that_is_not_here(self, tmp_path, capsys, stored):
        """A line names it, and says if it lies in the store."""
        for urls in (URLS[:2], URLS[2:]):
            crawled(tmp_path / "job", *urls).stop()
        first = "tables/documents-00000.parquet"
        (tmp_path / "job" / first).unlink()
        if stored:
            db = CrawlDB(tmp_path / "job/state")
            db.set(f"{STORED}{first}", StoredFile("s3://bucket").pack())
            db.checkpoint()
            db.close()

        assert exported(tmp_path / "job", tmp_path / "a.parquet") == (0, sorted(URLS[2:]))
        why = "in the store (s3://bucket)" if stored else "no longer here"
        assert (
            capsys.readouterr().err == f"{tmp_path / 'job'}: left out 1 file of documents: {why}\n"
        )

    def test_who_wants_to_be_forgotten(self, tmp_path):
        """No document of such a site is in the file, though one was made of its page."""
        crawled(tmp_path / "job", *URLS).stop()
        db = CrawlDB(tmp_path / "job/state")
        InForce(db, check({}), clock=lambda: NOW).exclude(OptOut("b.test", NOW + 10, forget=True))
        db.checkpoint()
        db.close()

        assert exported(tmp_path / "job", tmp_path / "a.parquet") == (0, URLS[::2])


def test_documents_of_other_archives_are_not_mixed_in(tmp_path, monkeypatch, capsys):
    """What an interrupted export left goes on with the same archives alone."""
    monkeypatch.setattr(
        export, "_run_process", lambda _, jobdir, __: (jobdir / "state").mkdir(exist_ok=True)
    )
    monkeypatch.setattr(export, "missing_library", str)
    for name in ("one", "two", "one"):
        archive = tmp_path / f"{name}.warc.gz"
        archive.touch()
        export.DocumentsExport().run([str(archive)], Namespace(o=str(tmp_path / "a.parquet")))

    left = tmp_path / "a.parquet.part"
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path}/one.warc.gz: not read to the end: run the same command to resume",
        f"{left}: was left by an interrupted export of other archives: remove it",
        f"{tmp_path}/one.warc.gz: not read to the end: run the same command to resume",
    ]
    assert {path.name for path in left.iterdir()} == {"sources", "state"}


@pytest.mark.parametrize("begun", [True, False])
def test_what_is_not_read_to_the_end_is_no_file(tmp_path, monkeypatch, capsys, begun):
    """What was made so far stays for the next try, and nothing else does."""

    def killed(sources, jobdir, settings):
        del sources, settings
        if begun:
            (jobdir / "tables").mkdir()
            (jobdir / "tables/documents-00000.parquet").touch()
        return -9

    monkeypatch.setattr(export, "_run_process", killed)
    monkeypatch.setattr(export, "missing_library", str)
    archive, target = tmp_path / "a.warc.gz", tmp_path / "a.parquet"
    archive.touch()
    command = export.DocumentsExport()
    command.run([str(archive)], Namespace(o=str(target)))

    assert command.exitcode == 1
    assert (
        capsys.readouterr().err
        == f"{archive}: not read to the end: run the same command to resume\n"
    )
    assert not target.exists()
    assert (tmp_path / "a.parquet.part").exists() == begun


def test_a_crawl_that_has_made_none_beside_one_that_has(tmp_path, capsys):
    """What is said to be left out is in nobody's count, and nothing else is."""
    for name in ("a", "b"):
        (tmp_path / name / "state").mkdir(parents=True)
        (tmp_path / name / "tables").mkdir()
    pq.write_table(
        SCHEMAS["documents"].empty_table(), tmp_path / "a/tables/documents-00000.parquet"
    )
    sources = [str(tmp_path / name) for name in ("a", "b")]
    export.DocumentsExport().run(sources, Namespace(o=str(tmp_path / "all.parquet")))
    export.DocumentsExport().run(sources[:1], Namespace(o=str(tmp_path / "one.parquet")))

    said = capsys.readouterr()
    left_out = f"{sources[1]}: left out, because it has made no documents, unlike the others; export it separately\n"
    assert (said.err, [line.split(": ")[1] for line in said.out.splitlines()]) == (
        left_out,
        ["0 documents"] * 2,
    )


class TestFolders:
    """The command in a folder that has another `webcrawl` in it."""

    def export(self, folder, *words):
        """Runs it as an installed program does, of which the current folder knows nothing."""
        # as of a checkout, which has the package one folder deeper
        (folder / "webcrawl").mkdir(exist_ok=True)
        (folder / "x.warc.gz").write_bytes(gzipped([response(URLS[0], b"<p>some words")]))
        command = [
            sys.executable,
            "-P",
            "-c",
            INSTALLED,
            "export",
            "documents",
            "x.warc.gz",
            *words,
        ]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    def test_above_a_checkout(self, tmp_path):
        """The process that reads the archive is this program, whatever the current folder has of
        its name.
        """
        done = self.export(tmp_path)

        assert (done.returncode, done.stdout.splitlines()[-1][-24:]) == (
            0,
            "of the archive, 1 document"[-24:],
        ), done.stderr

    def test_a_process_that_does_not_start(self, tmp_path):
        """The last line says that nothing was read, and does not promise that the same command
        would help.
        """
        done = self.export(tmp_path, "-s", "DOWNLOAD_TRUNCATE=-3")

        assert done.returncode == 1
        assert done.stderr.splitlines() == [
            "DOWNLOAD_TRUNCATE = '-3': must be a whole number from 1024 to 2147483647",
            "x.warc.gz: `webcrawl process` ended with status 1 before it read anything; the lines above say why",
        ]
