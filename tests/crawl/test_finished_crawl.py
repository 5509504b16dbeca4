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


def finished(tmp_path, *, away=0, unfinished=False):
    """A crawl that ended by itself, with nothing in its queues."""
    (tmp_path / "stats.json").write_text(json.dumps({"reason": "finished"}))
    parts = SimpleNamespace(
        seeding=SimpleNamespace(away=away),
        outputs=SimpleNamespace(unfinished=unfinished),
        counters={"pages": 7},
        db=None,
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


@pytest.mark.parametrize("left", [{"away": 1}, {"unfinished": True}])
def test_something_is_left(tmp_path, left):
    """A list of seeds could not be read, or the disk failed while the last archive was finished."""
    refuse_complete(tmp_path, finished(tmp_path, **left))


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
