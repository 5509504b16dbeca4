"""Pages that were fetched again: a search finds what each is now, once."""

import shutil

import pytest

from tests.support.fulltext import Texts, indexed, page, written
from webcrawl.base.page_values import Change
from webcrawl.record.fulltext import text_index
from webcrawl.record.fulltext.text_search import IndexSearch, SearchAll
from webcrawl.urls.exclusion_rules import Forgotten, OptOut

URL = "http://a.test/"


@pytest.fixture(name="texts")
def _texts(tmp_path):
    made = Texts(tmp_path)
    yield made
    made.close()


def state(body, url=URL, change=Change.CHANGED, **changes):
    """What was found when a page was fetched again."""
    one = page(url, f"<p>{body}" if body else "", **changes)
    one.change = change
    return one


def gone(url=URL, **changes):
    return state("not found", url, Change.GONE, status=404, **changes)


def search(root, words):
    total, answers = IndexSearch(root).find(words, 10)
    found = [(answer.url, answer.snippet[0]) for answer in answers]
    assert total == len(found)
    return found


class TestOnePage:
    def test_its_last_state(self, texts):
        """Earlier states are in the text files, and not found."""
        texts.add(page(URL, "<p>old lamp"))
        texts.add(page("http://a.test/other", "<p>another lamp"))
        texts.add(state("new lamp"))
        texts.stop()

        assert search(texts.root, "old") == []
        assert search(texts.root, "lamp") == [
            ("http://a.test/other", "another lamp"),
            (URL, "new lamp"),
        ]
        assert [line["url"] for line in written(texts.root)] == [URL, "http://a.test/other", URL]
        assert [line.get("change") for line in written(texts.root)] == [None, None, "changed"]

    def test_a_state_that_comes_back(self, texts):
        """It is found as of its last fetch."""
        for body in ("lamp", "candle", "lamp"):
            texts.add(state(body))
        texts.stop()

        assert search(texts.root, "lamp candle") == []
        assert len(search(texts.root, "lamp")) == 1
        assert search(texts.root, "candle") == []

    @pytest.mark.parametrize(
        "last",
        [gone(), state(""), state("p { color: red }", content_type="text/css")],
        ids=["gone", "empty", "another type"],
    )
    def test_a_page_without_text(self, texts, last):
        """Nothing finds a page that is gone, or shows no text any more; its line in the text files
        is blank.
        """
        texts.add(page(URL, "<p>lamp"))
        texts.add(last)
        texts.add(page("http://a.test/other", "<p>other"))
        texts.stop()

        line = written(texts.root)[1]
        assert (line["url"], line["text"], line["change"]) == (URL, "", str(last.change))
        ranges = ("ordinal:[1 TO 1]", "fetched_at:[1970-01-01T00:00:00Z TO *]")
        for words in ("lamp", "*", f'url:"{URL}"', "* -other", *ranges):
            assert URL not in [url for url, _ in search(texts.root, words)], words

    def test_a_page_that_comes_back(self, texts):
        """It is found again."""
        for one in (page(URL, "<p>lamp"), gone(), gone(), state("lamp")):
            texts.add(one)
        texts.stop()

        assert search(texts.root, "lamp") == [(URL, "lamp")]

    def test_a_spiders_own_requests(self, texts):
        """Pages that are no states of one, such as the answers to several POST requests, are all
        found.
        """
        for body in ("lamp one", "lamp two"):
            texts.add(page(URL, f"<p>{body}"))
        texts.stop()

        assert len(search(texts.root, "lamp")) == 2


class TestCrashes:
    @pytest.mark.parametrize("last", [state("new lamp"), gone()], ids=["changed", "gone"])
    def test_before_the_checkpoint(self, texts, last):
        """A state that the crawl takes back is not found, and the one before is."""
        texts.add(page(URL, "<p>old lamp"))
        texts.checkpoint()
        texts.wait()
        texts.add(last)
        texts.close()
        again = Texts(texts.root)
        again.stop()

        assert search(again.root, "lamp") == [(URL, "old lamp")]

    def test_the_index_is_ahead(self, texts, tmp_path):
        """An index that knows more than the crawl, as after a restored backup, is made anew: none
        of it is lost.
        """
        texts.add(page(URL, "<p>old lamp"))
        texts.stop()
        shutil.copytree(tmp_path, tmp_path / "backup")
        later = Texts(tmp_path)
        later.add(state("new lamp"))
        later.stop()
        backup = tmp_path / "backup"
        shutil.rmtree(backup / "index")
        shutil.copytree(tmp_path / "index", backup / "index")
        Texts(backup).stop()

        assert search(backup, "lamp") == [(URL, "old lamp")]

    def test_an_index_that_is_made_again(self, texts, monkeypatch):
        """It is what it was, however its pages are portioned."""
        monkeypatch.setattr(text_index, "MAX_COMMIT_PAGES", 2)
        for number in range(9):
            texts.add(state(f"lamp {number}", f"http://a.test/{number % 3}"))
        texts.add(gone("http://a.test/1"))
        texts.stop()
        before = indexed(texts.root)
        shutil.rmtree(texts.root / "index")
        Texts(texts.root).stop()

        assert indexed(texts.root) == before == [(6, URL + "0"), (8, URL + "2"), (9, URL + "1")]
        assert len(search(texts.root, "lamp")) == 2


class TestForgotten:
    def test_who_wants_to_be_forgotten_is_not_found(self, texts):
        """Pages of who wants to be forgotten are in no answer, nor counted among the best."""
        for url in ("http://a.test/", "http://www.b.test/", "http://b.test/new"):
            texts.add(page(url, f"<p>lamp of {url}", started=2e9 if "new" in url else 1e9))
        texts.stop()
        forgotten = Forgotten([OptOut("b.test", until=1.5e9, forget=True)])

        total, answers = SearchAll([texts.root], forgotten).find("lamp", 10)

        assert (total, {answer.url for answer in answers}) == (
            2,
            {"http://a.test/", "http://b.test/new"},
        )


class TestDrones:
    @pytest.mark.parametrize("first", [True, False])
    def test_a_host_that_changed_hands(self, tmp_path, first):
        """Of a page in several indexes the state that was fetched last counts, be it that it is
        gone.
        """
        old, new = Texts(tmp_path / "0"), Texts(tmp_path / "1")
        for name in "abc":
            old.add(page(f"http://a.test/{name}", "<p>old lamp", started=1e9))
        new.add(state("new lamp", "http://a.test/a", started=2e9))
        new.add(gone("http://a.test/b", started=2e9))
        old.stop()
        new.stop()
        roots = [old.root, new.root] if first else [new.root, old.root]
        total, answers = SearchAll(roots).find("lamp", 10)

        assert total == 2
        assert {(answer.url, answer.snippet[0]) for answer in answers} == {
            ("http://a.test/a", "new lamp"),
            ("http://a.test/c", "old lamp"),
        }
        _, answers = SearchAll(roots).find("lamp", 1)
        assert len(list(answers)) == 1
