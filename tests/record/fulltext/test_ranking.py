"""Which pages a search shows first, which it shows as one, and from what text it quotes."""

import pytest

from tests.support.fulltext import Texts, page, written
from webcrawl.record.fulltext.text_search import IndexSearch, SearchAll

STORY = " ".join(f"lamp number {number} stands beside door {number}" for number in range(30))
NEARLY = STORY.replace("number 7 stands", "number 7 leans")


@pytest.fixture(name="texts")
def _texts(tmp_path):
    made = Texts(tmp_path)
    yield made
    made.close()


def found(texts, query, most=10):
    texts.stop()
    return list(IndexSearch(texts.root).find(query, most)[1])


class TestNearDuplicates:
    def test_are_shown_as_one(self, texts):
        """Of pages with nearly the same text one is shown, with the URLs of the others; a page
        further down takes the free place.
        """
        for name, text in (("a", STORY), ("b", NEARLY), ("c", "one more lamp number")):
            texts.add(page(f"http://{name}.test/", f"<p>{text}"))
        answers = found(texts, "lamp number", 2)

        assert len(answers) == 2
        assert sorted(url for one in answers for url in (one.url, *one.similar)) == [
            "http://a.test/",
            "http://b.test/",
            "http://c.test/",
        ]

    def test_short_pages_with_the_same_body(self, texts):
        """Where a text is too short to be nearly another, the digest of the body tells."""
        for url, text in (("http://a.test/", "lamp"), ("http://b.test/", "lamp")):
            texts.add(page(url, f"<p>{text}"))
        texts.add(page("http://c.test/", "<p>lamp on"))
        answers = found(texts, "lamp")

        assert sorted(len(answer.similar) for answer in answers) == [0, 1]


class TestLanguage:
    def test_that_of_the_query_comes_first(self, texts):
        """Of pages that match equally well the one in the language of the words comes first."""
        german = "der Fluss und die Lampe und das Haus"
        english = "the river and the lamp and the house"
        for number in range(12):
            texts.add(page(f"http://de.test/{number}", f"<html lang=de><p>{german} {number}"))
            texts.add(page(f"http://en.test/{number}", f"<html lang=en><p>{english} {number}"))
        for language in ("de", "en"):
            body = f"<html lang={language}><p>und the orbit {language}"
            texts.add(page(f"http://{language}.test/orbit", body))
        texts.stop()
        search = IndexSearch(texts.root)

        assert next(search.find("the orbit and", 1)[1]).url == "http://en.test/orbit"
        assert next(search.find("und orbit die", 1)[1]).url == "http://de.test/orbit"


class TestLinks:
    def test_pages_that_more_domains_link_to_come_first(self, texts):
        """Each registered domain counts once, and a page's own, or a link with nofollow, does not."""
        for name in ("few", "many", "own"):
            texts.add(page(f"http://lamp.test/{name}", f"<p>lamp {name}"))
        link = '<a href="http://lamp.test/{}"{}>to it</a> from {}'
        for number in range(3):
            site = f"http://www.site{number}.test/"
            texts.add(page(site, link.format("many", "", number)))
            texts.add(page(f"http://site0.test/{number}", link.format("few", "", f"few {number}")))
            texts.add(page(f"{site}x", link.format("own", " rel=nofollow", f"x {number}")))
            texts.add(page(f"http://lamp.test/{number}", link.format("own", "", f"own {number}")))
        answers = found(texts, "lamp -from")
        search = SearchAll([texts.root])._open[0]

        assert [one.url.rpartition("/")[2] for one in answers] == ["many", "few", "own"]
        counts = [
            search.linking_domains(f"http://lamp.test/{name}") for name in ("many", "few", "own")
        ]
        assert counts == [3, 1, 0]


class TestMainText:
    def test_the_index_and_snippets_take_it(self, texts):
        """If a module has read the main text, words in it weigh more, and snippets quote it; other
        words of the page are found, too.
        """
        beside = page("http://a.test/beside", "<p>lamp in the navigation")
        beside.main_text = "a text on doors"
        within = page("http://a.test/within", "<p>shop lamp")
        within.main_text = "a text on the lamp"
        texts.add(beside)
        texts.add(within)
        answers = found(texts, "lamp")

        assert [(one.url[-6:], one.snippet[0]) for one in answers] == [
            ("within", "a text on the lamp"),
            ("beside", "lamp in the navigation"),
        ]
        assert [line["main_text"] for line in written(texts.root)] == [
            "a text on doors",
            "a text on the lamp",
        ]

    def test_nobody_has_read_it(self, texts):
        """It is not made for the index alone, which would cost more than all the rest of the page."""
        texts.add(page("http://a.test/", "<p>lamp"))
        texts.stop()

        assert "main_text" not in written(texts.root)[0]
