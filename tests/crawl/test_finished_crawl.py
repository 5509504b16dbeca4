"""Crawls in which nothing is left to do: which are refused another run."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from webcrawl.base.errors import CannotStart
from webcrawl.crawl import finished_crawl
from webcrawl.crawl.finished_crawl import NothingLeft, make_room, refuse_complete


@pytest.fixture(autouse=True, name="terms")
def _terms(monkeypatch):
    """Of the last run, and of this one."""
    found = {"spider": "web"}, {"spider": "web"}
    monkeypatch.setattr(finished_crawl, "_terms", lambda *_: found)
    return found


def finished(tmp_path, *, away=0, unfinished=False, excludes=False):
    """A crawl that ended by itself, with nothing in its queues."""
    (tmp_path / "stats.json").write_text(json.dumps({"reason": "finished"}))
    parts = SimpleNamespace(
        seeding=SimpleNamespace(away=away),
        outputs=SimpleNamespace(unfinished=unfinished),
        counters={"pages": 7},
        db=None,
        file_optouts=SimpleNamespace(has_changed=lambda: excludes),
    )
    return SimpleNamespace(parts=parts, pending=0, stats=lambda: {"queued": 0, "over_budget": 0})


def test_nothing_is_left(tmp_path):
    """All was done: a line says so."""
    with pytest.raises(NothingLeft, match="already complete, with 7 pages; nothing left to do"):
        refuse_complete(tmp_path, finished(tmp_path))


def test_changed_settings(tmp_path, terms):
    """Nothing is fetched by them, and that is said; outputs can be made of the pages that there
    are.
    """
    terms[0].update(OUTPUTS="warc", URL_SCOPE="host")
    terms[1].update(OUTPUTS="warc, text", URL_SCOPE="any")

    with pytest.raises(NothingLeft) as told:
        refuse_complete(tmp_path, finished(tmp_path))
    assert str(told.value).endswith(
        "JOBDIR. Changes without effect: OUTPUTS was warc, now warc, text; URL_SCOPE was host, "
        f"now any; to make new outputs of its pages: scrapy process {tmp_path} -s OUTPUTS='text'"
    )


@pytest.mark.parametrize("left", [{"away": 1}, {"unfinished": True}, {"excludes": True}])
def test_something_is_left(tmp_path, left):
    """A list of seeds could not be read, the disk failed while the last archive was finished, or
    the exclusion file says something else now.
    """
    refuse_complete(tmp_path, finished(tmp_path, **left))


def test_texts_without_an_index(tmp_path):
    """The crawl is run to make the index of them, if one is wanted and there are texts."""
    with pytest.raises(NothingLeft):
        refuse_complete(tmp_path, finished(tmp_path), has_index=True)
    (tmp_path / "text").mkdir()
    refuse_complete(tmp_path, finished(tmp_path), has_index=True)
    with pytest.raises(NothingLeft):
        refuse_complete(tmp_path, finished(tmp_path))
    (tmp_path / "index").mkdir()
    with pytest.raises(NothingLeft):
        refuse_complete(tmp_path, finished(tmp_path), has_index=True)


def test_a_crawl_that_cannot_begin_anew(tmp_path):
    """The earlier crawl is in its folder again, and what was begun there is gone."""
    crawl = tmp_path / "crawl"
    (crawl / "state").mkdir(parents=True)
    (crawl / "page").touch()

    def begin_anew():
        with finished_crawl.room_for(crawl, again=True):
            (crawl / "state").mkdir(parents=True)
            raise CannotStart("the exclusion file is not valid")

    with pytest.raises(CannotStart):
        begin_anew()
    assert [*tmp_path.iterdir()] == [crawl]
    assert (crawl / "page").exists()
    with finished_crawl.room_for(crawl, again=True):
        crawl.mkdir()
    assert (tmp_path / "crawl.1" / "page").exists()


@pytest.mark.parametrize("name", [".", "below/.."])
def test_a_folder_without_a_name(tmp_path, monkeypatch, name):
    """What is to begin anew is renamed, which is refused where the crawl would then go on in the
    renamed folder.
    """
    (tmp_path / "state").mkdir()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(
        CannotStart, match=f"to start over, give the folder by its name: {tmp_path}"
    ):
        make_room(Path(name), again=True)
    assert (tmp_path / "state").is_dir()
