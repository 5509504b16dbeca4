"""What a scorer is given, and what is made of what it says."""

import pytest

from tests.support import scorers
from webcrawl.base.page_values import PageScores
from webcrawl.content.html.text_language import SURE, likely_language
from webcrawl.content.scoring import (
    DIED,
    Document,
    PageScoring,
    ScoredBody,
    ScoreProcess,
    fits,
    language_of,
    page_of,
    scores,
    tongues,
)

HUNGARIAN = (
    "A tegnapi ülésen a tanács elfogadta az új költségvetést: több pénz jut az iskolákra és az utakra. "
    * 4
)
HTML = "text/html; charset=utf-8"
SLOVENE = (
    "Danes je lep dan in vsi gremo na sprehod po mestu, kjer so ljudje prijazni in se radi pogovarjajo. "
    * 4
)


def documents(*texts):
    return [Document(text) for text in texts]


def body(text):
    return ScoredBody("http://a.test/", HTML, text.encode())


@pytest.fixture(name="process")
def _process(request):
    process = ScoreProcess(f"tests.support.scorers.{request.param}", (), wall=3.0)
    yield process
    process.close()


class TestScores:
    def test_an_error_costs_one_document(self):
        """After an error each document is asked for by itself; the error is told in one line."""
        found = scores(scorers.picky, documents("lamp", "bread", "wood"))
        assert found == [(1.0, ""), (None, "ValueError: no bread"), (0.0, "")]

    def test_nonsense(self):
        """What is no number from 0 to 1 is not a score, and costs no other document its own."""
        found = scores(scorers.strange, documents("lamp", "nan", "much"))
        assert [score for score, _ in found] == [0.5, None, None]
        assert all("not a score from 0 to 1" in flaw for _, flaw in found[1:])

    @pytest.mark.parametrize("scorer", [scorers.few, scorers.words])
    def test_too_few_and_no_numbers(self, scorer):
        """Another number of scores, or words, is an error."""
        assert [(score, bool(flaw)) for score, flaw in scores(scorer, documents("a", "b"))] == [
            (None, True)
        ] * 2

    def test_no_score_is_no_error(self):
        """A scorer may have nothing to say."""
        assert scores(scorers.no_words, [Document("more", is_anchor=True)]) == [(None, "")]


class TestScoring:
    def test_a_page_and_its_links(self):
        """The scorer sees the title and the visible text; links are known by their canonical URLs."""
        html = "<title>Lamps</title><p>Text</p><a href=/x>A lamp</a><a href=//b.test>other</a><a href=/y></a>"
        (scored,) = PageScoring("tests.support.scorers.lamps", ()).scored(
            [page_of("http://a.test/", HTML, html.encode())]
        )
        found = PageScores(*scored)
        assert found.score == 1.0
        assert found.anchors == {"http://a.test/x": 1.0, "http://b.test/": 0.0}
        assert (found.fits, found.flaw) == (None, "")

    def test_a_class_is_made_once(self):
        """Its instance is called."""
        scoring = PageScoring("tests.support.scorers.Loaded", ())
        assert scoring.scored([page_of("http://a.test/", "text/plain", b"a lamp")])[0][0] == 1.0

    def test_without_a_scorer_the_language_decides(self):
        """Its page has 1 or 0, and what hreflang says of links."""
        html = f"<html lang=sl><p>{SLOVENE}<a href=/en hreflang=en-GB>x</a><a href=/de>y</a>"
        scoring = PageScoring("", ("sl", "hr"))
        (scored,) = scoring.scored([page_of("http://a.test/", HTML, html.encode())])
        found = PageScores(*scored)
        assert (found.score, found.language, found.fits) == (1.0, "sl", 1.0)
        assert (found.anchors, found.tongues) == ({}, {"http://a.test/en": 0.0})


class TestLanguage:
    def test_a_sure_text_goes_before_a_declaration(self):
        """A short one does not."""
        pytest.importorskip("resiliparse")
        assert language_of(SLOVENE, "en-US") == "sl"
        assert language_of("Danes", "en-US") == "en"
        assert language_of("Danes", "") == ""

    def test_a_text_contradicts_as_it_does_for_a_page(self):
        """The detector is never sure of some languages, but another one is clearly less likely."""
        pytest.importorskip("resiliparse")
        assert likely_language(HUNGARIAN)[1] > SURE
        assert [language_of(HUNGARIAN, declared) for declared in ("en", "hu", "")] == ["hu"] * 3

    def test_what_fits(self):
        """A language that is not known says nothing."""
        assert [fits(one, ("sl",)) for one in ("sl", "en", "")] == [1.0, 0.0, None]
        assert fits("sl", ()) is None

    def test_hreflang(self):
        """x-default is no language; what is not a URL is left out."""
        html = b'<link hreflang=sl_SI href=/a><a hreflang=x-default href=/b><a hreflang=de href="http://[">'
        assert tongues(html, "http://a.test/", ("sl",)) == {"http://a.test/a": 1.0}


class TestProcess:
    @pytest.mark.parametrize("process", ["lamps"], indirect=True)
    def test_a_batch(self, process):
        """Each page has what was said of it, in order."""
        found = process.scored([body("<p>a lamp"), body("<p>bread")])
        assert [one.score for one in found] == [1.0, 0.0]

    @pytest.mark.parametrize("process", ["dies", "hangs"], indirect=True)
    def test_a_page_that_takes_the_process_down(self, process):
        """It has no score; the others of its batch have theirs, and so has the next one."""
        found = process.scored([body("<p>a lamp"), body("<p>it dies, or hangs"), body("<p>bread")])
        assert [one.score for one in found] == [1.0, None, 0.0]
        assert found[1] == DIED
        assert process.scored([body("<p>a lamp")])[0].score == 1.0

    @pytest.mark.parametrize("process", ["dies"], indirect=True)
    def test_a_batch_of_such_pages(self, process):
        """After some deaths the rest is not tried."""
        assert process.scored([body("<p>dies")] * 5) == [DIED] * 5

    @pytest.mark.parametrize("process", ["Broken"], indirect=True)
    def test_a_scorer_that_cannot_be_made(self, process):
        """It is said before the first page."""
        with pytest.raises(OSError, match="FileNotFoundError: no model"):
            process.scored([])
