"""`scrapy search` in a hive: one answer from the indexes of all drones."""

import json
import shutil

import pytest

from tests.support.commands import command
from tests.support.fulltext import Texts, page
from tests.support.hive_jobs import named
from webcrawl.record.fulltext.text_search import IndexSearch, SearchAll
from webcrawl.store.errors import StoreError

pytestmark = pytest.mark.xdist_group("fulltext drones")


@pytest.fixture(name="hive", scope="module")
def _hive(tmp_path_factory):
    """Three drones with twelve pages each, the first of which have the word most often."""
    root = tmp_path_factory.mktemp("hive")
    for drone in range(3):
        texts = Texts(root / f"drone-{drone}")
        for number in range(12):
            words = (
                f"{'lamp ' * (3 * number + drone + 1)} {'filler ' * 40}" if number < 5 else "dark"
            )
            texts.add(page(f"http://d{drone}.test/{number}", f"<p>{words}"))
        texts.stop()
    named(root, range(3))
    return root


@pytest.fixture(name="copy")
def _copy(hive, tmp_path):
    return shutil.copytree(hive, tmp_path / "hive")


def search(*words):
    return command("scrapy", "search", *words)


def folders(root):
    return [root / f"drone-{drone}" for drone in range(3)]


def test_the_best_of_all(hive):
    """Answers are those of all indexes, by their scores; the number of pages is the sum."""
    total, answers = SearchAll(folders(hive)).find("lamp", 7)
    alone = [
        answer for folder in folders(hive) for answer in IndexSearch(folder).find("lamp", 7)[1]
    ]

    assert total == 15
    assert [answer.url for answer in answers] == [
        answer.url for answer in sorted(alone, key=lambda answer: -answer.score)[:7]
    ]
    assert {url.split("/")[2] for url in (answer.url for answer in alone)} == {
        "d0.test",
        "d1.test",
        "d2.test",
    }


def test_the_command_takes_a_hives_folder(hive):
    """The hive's folder takes the place of a crawl's."""
    done = search(hive, "lamp", "-n", 4)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("4 of 15 pages\n")

    scores = [
        json.loads(line)["score"]
        for line in search(hive, "lamp", "--json", "-n", 15).stdout.splitlines()
    ]
    assert len(scores) == 15
    assert scores == sorted(scores, reverse=True)


def test_an_index_that_cannot_be_read(copy):
    """The pages of the others are shown; then a line says whose are missing, and the exit status is
    1.
    """
    shutil.rmtree(copy / "drone-1/index")
    done = search(copy, "lamp")

    assert done.returncode == 1
    assert done.stdout.endswith("10 pages\n")
    assert done.stderr == (
        f"{copy}/drone-1/index: no index: there is no archive to build one from: crawl again with "
        "index in OUTPUTS; its pages are not among these\n"
    )


def test_no_index_at_all(copy):
    """One line, as for a single crawl."""
    for folder in folders(copy):
        shutil.rmtree(folder / "index")

    with pytest.raises(StoreError, match="drone-0/index: no index"):
        SearchAll(folders(copy))
    done = search(copy, "lamp")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_a_query_that_is_not_understood(hive):
    """It is searched as plain words in all indexes, and one remark says so."""
    search_all = SearchAll(folders(hive))

    assert search_all.find("lamp:", 3)[0] == 15
    assert search_all.remark == "lamp:: searched as plain words"
