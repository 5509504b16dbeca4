"""What `page.change` is, whatever answer comes, and which states of a page are processed."""

import pytest

from tests.support.changing_site import Document
from tests.support.revisiting import Web

HOUR = 3600
A, B = Document(b"<p>first state"), Document(b"<p>second state")


@pytest.fixture(name="web")
def _web(tmp_path):
    made = []

    def make(documents, *seeds, **settings):
        made.append(Web(tmp_path / str(len(made)), documents, **settings))
        made[-1].seed(*(seeds or documents))
        return made[-1]

    yield make
    for one in made:
        one.crawl.close()


def through(web, path, *documents):
    """The page becomes each of these in turn, for an hour."""
    for document in documents:
        web.documents[path] = document
        web.run(HOUR)


def processed(web, path):
    """Bodies of this page's states that pipelines get, links read or not."""
    pages = [page for page in web.pages if page.url == web.url(path) and page.change != "unchanged"]
    return [page.body for page in pages if not page.duplicate]


class TestWhatIsProcessed:
    def test_a_page_that_is_again_what_it_was(self, web):
        """It has changed, and is processed: A, B, A, B."""
        one = web({"/": A})
        one.run(0.5 * HOUR)
        through(one, "/", B, A, B)

        assert one.changes("/") == ["new", "changed", "changed", "changed"]
        assert processed(one, "/") == [A.body, B.body, A.body, B.body]

    def test_a_kill_in_between_changes_nothing(self, web):
        """So it is if the crawl was killed in between."""
        one = web({"/": A})
        one.run(0.5 * HOUR)
        through(one, "/", B)
        one.checkpoint()
        through(one, "/", A)
        one.kill()
        through(one, "/", A)

        assert processed(one, "/") == [A.body, B.body, A.body, A.body]

    def test_another_pages_body(self, web):
        """A page that becomes what another one is has changed, and stays unprocessed, each time."""
        one = web({"/": B, "/other": A}, "/other", "/")
        one.run(0.5 * HOUR)
        through(one, "/", A, Document(b"<p>third"), A)

        assert one.changes("/") == ["new", "changed", "changed", "changed"]
        assert processed(one, "/") == [B.body, b"<p>third"]
        assert processed(one, "/other") == [A.body]

    def test_new_pages_with_a_body_seen_before(self, web):
        """A new page with another one's body stays unprocessed, also after it was something else."""
        one = web({"/": A, "/same": A}, "/", "/same")
        one.run(0.5 * HOUR)
        through(one, "/same", B, A)

        assert processed(one, "/same") == [B.body]

    def test_at_a_signal(self, web):
        """A page that is fetched at a signal is processed if it may have been something else
        meanwhile.
        """
        one = web({"/": A}, REVISIT_AGE=10 * HOUR)
        one.run(HOUR)
        one.crawl.parts.revisiting.tell(one.url("/"), one.now)
        one.run(HOUR)
        assert one.changes("/") == ["new", "unchanged"]
        through(one, "/", *[B] * 10)
        one.documents["/"] = A
        one.crawl.parts.revisiting.tell(one.url("/"), one.now)
        one.run(HOUR)

        assert one.changes("/") == ["new", "unchanged", "changed", "changed"]
        assert processed(one, "/") == [A.body, B.body, A.body]

    def test_another_pages_body_at_a_signal(self, web):
        """What a signal finds is compared with what this page was, and not with what others are."""
        one = web({"/": B, "/other": A}, "/other", "/", REVISIT_AGE=100 * HOUR)
        one.run(HOUR)
        one.documents["/"] = A
        one.crawl.parts.revisiting.tell(one.url("/"), one.now)
        one.run(HOUR)

        assert one.changes("/") == ["new", "changed"]
        assert one.pages[-1].exchange.state.revisit.change == "changed"
        assert processed(one, "/") == [B.body]

    @pytest.mark.parametrize("kill", [False, True])
    def test_a_copy_at_a_signal(self, web, kill):
        """A page that was another's copy from the start, or has become one, is unchanged while it
        is.
        """
        one = web(
            {"/": A, "/same": A, "/becomes": B}, "/", "/same", "/becomes", REVISIT_AGE=10 * HOUR
        )
        one.run(HOUR)
        one.documents["/becomes"] = A
        one.run(10 * HOUR)
        if kill:
            one.checkpoint()
            one.kill()
        for path in ("/same", "/becomes"):
            one.crawl.parts.revisiting.tell(one.url(path), one.now)
        one.run(HOUR)

        last = {page.url: page for page in one.pages}
        states = [last[one.url(path)].exchange.state for path in ("/same", "/becomes")]
        assert [state.revisit.change for state in states] == ["unchanged"] * 2


class TestWhatIsSaid:
    @pytest.mark.parametrize("status", [302, 303, 403, 429, 500, 503])
    def test_an_answer_that_says_nothing(self, web, status):
        """The page is as it was, as far as anybody knows: unchanged."""
        one = web({"/": A}, HOST_MAX_FAILURES=100)
        one.run(0.5 * HOUR)
        through(
            one,
            "/",
            Document(status=status, headers={"Location": "/there"} if status < 400 else {}),
        )

        assert one.changes("/")[0] == "new"
        assert set(one.changes("/")[1:]) == {"unchanged"}

    @pytest.mark.parametrize("status", [301, 308])
    def test_moved_for_good(self, web, status):
        """It is gone from where it was, and new where it is."""
        one = web({"/": A})
        one.run(0.5 * HOUR)
        one.documents["/there"] = A
        through(one, "/", Document(status=status, headers={"Location": "/there"}))

        assert one.changes("/") == ["new", "gone"]
        assert one.changes("/there") == ["new"]
        assert processed(one, "/there") == [A.body]

    @pytest.mark.parametrize("status", [302, 404, 503])
    def test_the_first_answer(self, web, status):
        """Whatever the first answer to a URL is, the page is new."""
        one = web(
            {"/": Document(status=status, headers={"Location": "/there"})}, HOST_MAX_FAILURES=100
        )
        one.run(0.1 * HOUR)

        assert set(one.changes("/")) == {"new"}

    @pytest.mark.parametrize(
        ("status", "change"), [(404, "gone"), (410, "gone"), (503, "unchanged")]
    )
    def test_at_a_signal(self, web, status, change):
        """The same holds for a page that is fetched ahead of its turn."""
        one = web({"/": A}, REVISIT_AGE=10 * HOUR, HOST_MAX_FAILURES=100)
        one.run(0.5 * HOUR)
        one.documents["/"] = Document(status=status)
        assert one.crawl.parts.revisiting.tell(one.url("/"), one.now)
        one.run(HOUR)

        assert one.changes("/")[0] == "new"
        assert set(one.changes("/")[1:]) == {change}
