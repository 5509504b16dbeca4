"""Which families are folded, tried and freed."""

import msgpack
import pytest

from webcrawl.frontier.families.families import PageLook
from webcrawl.frontier.families.learning import (
    FAULTLESS_DOMAIN_PAGES,
    FOLD_AFTER_PAGES,
    MAX_AWAITED,
    MAX_FAMILIES,
    MAX_ROUNDS,
    RAREST_SAMPLE,
    SMALL_SITE_PAGES,
    SOONER_BEFORE_SAMPLING,
    URLS_PER_ROUND,
    Brings,
    DomainLearning,
    Said,
)

NOTHING = (0, 0, 0, 0)


def url(at, kind="list"):
    return f"http://a.test/{kind}/{at}"


def learn(learning, address, brings, *rest):
    return learning.record_page(learning.families_of(address), brings, *rest)


def taught(learning, brings, pages, kind="list"):
    for at in range(pages):
        learn(learning, url(at, kind), brings)
    return learning


def tried(learning, most, kind="list"):
    """Of so many URLs, those that do not wait."""
    return [at for at in range(most) if not learning.waits(url(at, kind))]


@pytest.fixture(name="folded")
def _folded():
    return taught(DomainLearning(), Brings.NOTHING, FOLD_AFTER_PAGES[0])


class TestFolding:
    def test_a_family_without_news_is_folded(self, folded):
        """After FOLD_AFTER_PAGES pages that bring nothing its URLs wait, and one in sixteen, then
        ever fewer, is tried.
        """
        places = tried(folded, 1000)

        assert 5 < len(places) < 15
        assert places[0] == 15

    def test_one_page_less_is_not_enough(self):
        """Up to then all go on."""
        assert (
            len(tried(taught(DomainLearning(), Brings.NOTHING, FOLD_AFTER_PAGES[0] - 1), 100))
            == 100
        )

    def test_one_new_page_in_four_keeps_a_family(self):
        """A page that brings something pays for four that do not."""
        learning = DomainLearning()
        for at in range(1000):
            learn(learning, url(at), Brings.NOTHING if at % 4 else Brings.NEWS)

        assert learning.folded == 0

    def test_other_families_of_the_domain_go_on(self, folded):
        """What one family lacks does not hold another one back."""
        taught(folded, Brings.NEWS, 8, "article")

        assert len(tried(folded, 100, "article")) == 100

    def test_families_without_end_are_folded_together(self):
        """When every URL is a family of its own, the wider ones have the evidence."""
        learning = DomainLearning()
        for at in range(FOLD_AFTER_PAGES[-1]):
            learn(learning, f"http://h{at}.a.test/", Brings.NOTHING)

        assert sum(not learning.waits(f"http://n{at}.a.test/") for at in range(1000)) < 15

    def test_pages_that_lead_to_new_ones_are_not_for_nothing(self):
        """A list that links to new pages of a good family is never folded, whatever it says itself."""
        learning = taught(DomainLearning(), Brings.LINKS, 1000)

        assert learning.folded == 0

    def test_a_list_of_a_new_folder_of_good_pages_is_not_for_nothing(self):
        """Nobody knows the folder's family, but its relatives are good; a list's own relatives do
        not vouch for it.
        """
        learning = DomainLearning()
        for folder in "abcdef":
            for at in range(2):
                learn(learning, f"http://a.test/file/{folder}/x{at}", Brings.NEWS)
                learn(learning, f"http://a.test/tree/{folder}/x{at}", Brings.NEWS)
        unknown = [f"http://a.test/{chr(ord('a') + at) * 9}/x" for at in range(MAX_AWAITED)]
        learning.follow("http://a.test/tree/g/", unknown)

        def brings(link):
            return learning.follow("http://a.test/tree/g/", [link])[0]

        assert brings("http://a.test/file/g/x") is Brings.LINKS
        assert brings("http://a.test/tree/g/h/x") is Brings.NOTHING
        assert brings("http://a.test/third/g/x") is Brings.NOTHING

    @pytest.mark.parametrize("leads", [True, False])
    def test_whether_a_page_leads_on_blindly_is_the_same_whatever_else_it_leads_to(self, leads):
        """Of a page that says something new nobody asks where else its links lead."""
        learning = DomainLearning()
        links = ["http://a.test/third/g/x", url(1), url("y1"), url("z1")]
        found, blind = learning.follow(url("x1"), links, leads=leads)

        assert found is (Brings.DOUBT if leads else Brings.NOTHING)
        assert blind == DomainLearning().follow(url("x1"), links[1:])[1]

    def test_a_labyrinth_is_folded(self):
        """Pages of new words that lead only to pages that nothing else links to are without end."""
        learning = DomainLearning()
        for at in range(400):
            _, blind = learning.follow(url(f"x{at}"), [url(f"y{at}"), url(f"z{at}")])
            learn(learning, url(f"x{at}"), Brings.NEWS, blind)

        assert learning.folded > 0

    def test_a_known_run_is_no_news_once_its_words_are_in_addresses(self):
        """A text that pages had before is known, whatever words of it URLs have since."""
        learning, page = DomainLearning(), b"<p>a text with several words that all pages show</p>"
        learning.look("http://a.test/first/1", page)
        for at in range(2):
            learning.look(f"http://a.test/several/x{at}", b"<p>something else</p>")

        assert not learning.look("http://a.test/several/words/2?a=1&b=2", page).new

    def test_a_page_that_was_not_looked_at_says_nothing(self):
        """What its links say of a labyrinth counts; it is no news, and no page without any."""
        learning = taught(DomainLearning(), Brings.NOTHING, FOLD_AFTER_PAGES[0] - 1)
        before = [(family.stale, family.pages) for family in learning.families.values()]
        learn(learning, url(1), None, (1, 0, 0, 0))

        assert [(family.stale, family.pages) for family in learning.families.values()] == before
        assert [family.blind for family in learning.families.values()] == [1, 0, 0, 0]

    def test_what_may_be_a_copy_is_no_news(self):
        """New text says nothing if a page with one of the URL's values was not looked at; known
        text is none.
        """
        learning = DomainLearning()
        learning.look(url("seen"), b"<p>a text of its own</p>")
        learning.passed(url("passed"))

        def copy(value, text):
            return learning.look(f"http://a.test/print?id={value}", b"<p>" + text + b"</p>").new

        assert copy("passed", b"whatever it may say") is None
        assert copy("passed", b"a text of its own") is False
        assert copy("seen", b"a text of its own") is False
        assert copy("seen", b"another one beside it") is True
        assert copy("third", b"a third for the third") is True

    def test_values_that_no_page_had_are_a_family_of_their_own(self):
        """Copies hold back copies: of URLs in one form those go on whose value came with no page
        before.
        """
        learning = DomainLearning()
        for at in range(FOLD_AFTER_PAGES[0]):
            learning.look(f"http://a.test/list?id={at}", b"<p>text</p>")
            learn(learning, url(at), Brings.NOTHING)

        assert len(tried(learning, FOLD_AFTER_PAGES[0])) == 1
        assert not any(learning.waits(url(at)) for at in range(FOLD_AFTER_PAGES[0], 100))
        assert not learning.waits("http://a.test/new/new")

    @pytest.mark.parametrize("between", "+-,")
    def test_names_of_known_things_put_together_are_no_news(self, between):
        """What a page about both says of each in one text is what others say of two others."""
        learning = DomainLearning()
        for value in "abc":
            learning.look(url(value), b"<p>text</p>")

        assert self.news(learning, between, "ab", "bc", "ca") == [True, False, False]

    @pytest.mark.parametrize(("between", "last"), [(",", False), ("-", True)])
    def test_the_parts_of_a_list_are_known_and_the_words_of_a_name_are_not(self, between, last):
        """A list names things that have addresses; a name like `red-house` may be one of many of
        the same words.
        """
        assert self.news(DomainLearning(), between, "ab", "cd", "ac", "bd") == [
            True,
            True,
            True,
            last,
        ]

    def news(self, learning, between, *pairs):
        """Whether pages about two things say something new, in one text."""
        return [
            learning.look(url(f"{one}{between}{two}"), f"<p>{one} beside {two}</p>".encode()).new
            for one, two in pairs
        ]

    def test_short_values_are_told_apart(self):
        """A number that a page was passed over with makes no other one doubtful."""
        learning = DomainLearning()
        for at in range(0, 1000, 2):
            learning.passed(url(at))

        assert all(
            learning.look(url(at), b"<p>text %d</p>" % at).new is not None
            for at in range(1, 1000, 2)
        )

    def test_pages_that_say_only_their_address_and_lead_on_are_a_labyrinth(self):
        """Though they lead back: what does not exist, or every town, in one text that leads to
        further such pages.
        """
        learning = DomainLearning()
        for at, town in enumerate(
            f"z{a}{b}" for a in "abcdefghijklmnop" for b in "abcdefghijklmnop"
        ):
            said = learning.look(
                url(f"in-{town}"), f"<p>No plumber was found in {town}, sorry</p>".encode()
            )
            links = [url(f"beyond-{town}"), url("known")]
            learn(
                learning,
                url(f"in-{town}"),
                Brings.NEWS,
                learning.follow(url("x"), links, address=said.address)[1],
            )
            assert said == Said(new=True, address=at > 0)

        assert learning.folded > 0

    def test_pages_of_one_text_that_lead_to_known_ones_are_none(self):
        """A list of all towns has an end, though its pages say nothing else."""
        learning = DomainLearning()
        learning.follow(url("list"), [url("a"), url("b")])

        assert learning.follow(url("c"), [url("a"), url("b")], address=True)[1][0] < 0

    @pytest.mark.parametrize("other", ["Called %s, of other words", "<img src=x>Called %s so"])
    def test_a_page_that_says_more_than_its_address_is_news(self, other):
        """Any run of other words, or anything new that it embeds."""
        learning = DomainLearning()
        learning.look(url("abc"), b"<p>Called abc so</p>")

        assert learning.look(url("def"), b"<p>Called def so</p>") == Said(new=True, address=True)
        assert learning.look(
            url("ghi"), b"<p>%s</p>" % other.encode().replace(b"%s", b"ghi")
        ) == Said(new=True)

    def test_a_page_with_nothing_new_but_its_title_is_in_doubt(self):
        """It counts like a list of which nobody knows where it leads, unless its links lead to new
        pages.
        """
        learning = DomainLearning()
        page = "<title>%s</title><p>a frame of words</p><p>nothing yet</p><p>a quotation</p>"
        learning.look(url(1), (page % "red hats").encode())
        said = learning.look(url(2), (page % "blue coats").encode())

        assert said == Said(new=False, title=True)
        assert PageLook(learning, NOTHING, said).brings is Brings.DOUBT
        assert PageLook(learning, NOTHING, said, Brings.LINKS).brings is Brings.LINKS
        assert learning.look(url(3), (page % "blue coats").encode()) == Said(new=False)

    def test_a_name_below_the_domain_is_part_of_the_address(self):
        """A town's name there is what a page says of it."""
        learning = DomainLearning()
        learning.look("http://abc.a.test/", b"<p>Welcome to abc</p>")

        assert learning.look("http://def.a.test/", b"<p>Welcome to def</p>") == Said(
            new=True, address=True
        )

    def test_names_below_the_domain_may_be_a_labyrinth(self):
        """Start pages of ever new hosts are no numbered ones, unless their names are."""
        blind = [
            DomainLearning().follow(
                "http://x.a.test/", [f"http://{name}{at}.a.test/" for at in (1, 2)]
            )[1][1]
            for name in ("y1z", "user-")
        ]

        assert blind == [1, 0]

    def test_plumber_in_every_town_is_no_labyrinth(self):
        """Names that end with a small number are as many as the numbers."""
        _, blind = DomainLearning().follow(
            url("plumber-a-1"), [url("plumber-b-2"), url("plumber-c-3")]
        )

        assert not any(blind)


class TestLooks:
    def looked_at(self, learning, kind):
        return sum(learning.wants(learning.families_of(url(at, kind))) for at in range(800))

    def test_of_a_domain_whose_pages_are_all_new_a_sample_is_looked_at(self):
        """One page in RAREST_SAMPLE is, after a while."""
        learning = taught(DomainLearning(), Brings.NEWS, 100)

        assert self.looked_at(learning, "list") == 800 // RAREST_SAMPLE

    def test_all_of_what_may_be_a_labyrinth_is_looked_at(self):
        """Whether its pages say more than their addresses nobody knows of those that are not."""
        learning = taught(DomainLearning(), Brings.NEWS, 100)
        learn(learning, url(1), Brings.NEWS, (1, 0, 0, 0))

        assert self.looked_at(learning, "list") == 800

    @pytest.mark.parametrize(
        ("before", "looked_at"), [(Brings.NEWS, 800 // RAREST_SAMPLE), (Brings.NOTHING, 800)]
    )
    def test_a_small_family_is_sampled_soon_if_nothing_in_its_domain_lacks_news(
        self, before, looked_at
    ):
        """On a site of many small families most pages are the first of theirs, and all would have a
        look.
        """
        learning = taught(DomainLearning(), Brings.NEWS, FAULTLESS_DOMAIN_PAGES)
        learn(learning, url(1, "other"), before)
        for at in range(SOONER_BEFORE_SAMPLING + 3):
            learn(learning, url(at, "small"), Brings.NEWS)

        assert self.looked_at(learning, "small") == looked_at

    def test_a_new_family_is_looked_at_whatever_its_domain_brings(self):
        """Copies of pages that nobody looked at would seem new, and a new family may be one of
        copies.
        """
        learning = taught(DomainLearning(), Brings.NEWS, 100)
        learn(learning, url(1, "print"), Brings.NEWS)

        assert self.looked_at(learning, "print") == 800


class TestFreeing:
    def test_two_tries_that_bring_something_free_it(self, folded):
        """A sample that disagrees undoes the fold."""
        assert not learn(folded, url(1), Brings.NEWS)
        assert learn(folded, url(2), Brings.NEWS)
        assert len(tried(folded, 100)) == 100

    def test_each_time_it_takes_one_more(self, folded):
        """A family that was freed in vain needs three of the last four tries, then all of them."""
        needed = []
        for _ in range(4):
            taught(folded, Brings.NOTHING, 400)
            news = 1
            while not learn(folded, url(news), Brings.NEWS):
                news += 1
            needed.append(news)

        assert needed == [2, 3, 4, 4]

    def test_one_in_many_does_not(self, folded):
        """One new page among many tries changes nothing."""
        assert not any(
            learn(folded, url(at), Brings.NEWS if at % 5 == 0 else Brings.NOTHING)
            for at in range(50)
        )

    def test_those_that_wait_are_tried_in_the_end(self, folded):
        """When there is nothing else to do a few go on, a few times."""
        assert [folded.try_again(SMALL_SITE_PAGES) for _ in range(MAX_ROUNDS + 1)] == [
            URLS_PER_ROUND
        ] * MAX_ROUNDS + [0]
        assert tried(folded, URLS_PER_ROUND) == [*range(URLS_PER_ROUND)]

    def test_without_a_budget_as_many_again_are_tried_once(self, folded):
        """When there is nothing else to do, as many go on as the domain has had pages; then a few,
        a few times.
        """
        assert folded.try_again(SMALL_SITE_PAGES, unlimited=True) == SMALL_SITE_PAGES
        again = DomainLearning.unpack(folded.pack(), None)

        assert tried(again, SMALL_SITE_PAGES) == [*range(SMALL_SITE_PAGES)]
        assert [
            again.try_again(2 * SMALL_SITE_PAGES, unlimited=True) for _ in range(MAX_ROUNDS + 1)
        ] == [URLS_PER_ROUND] * MAX_ROUNDS + [0]

    def test_a_small_site_is_fetched_whole(self, folded):
        """When there is nothing else to do, those that wait go on until the domain has had
        SMALL_SITE_PAGES pages.
        """
        assert [folded.try_again(SMALL_SITE_PAGES - 90) for _ in range(MAX_ROUNDS + 1)] == [90] * (
            MAX_ROUNDS + 1
        )
        assert tried(folded, 90) == [*range(90)]


class TestBounds:
    def test_families_are_forgotten(self):
        """Of any number of families MAX_FAMILIES are known."""
        learning = DomainLearning()
        for at in range(1000):
            learn(learning, f"http://h{at}.a.test/", Brings.NEWS)

        assert len(learning.families) == MAX_FAMILIES

    def test_a_record_from_before_frees_were_counted_is_read(self, folded):
        """It has one number less for each family, and a memory in it, which is left out."""
        families, *_, rounds, awaited = msgpack.unpackb(folded.pack())
        old = [[row[:-1] for row in families], bytes(16384), bytes(16384), 3, rounds, awaited]
        again = DomainLearning.unpack(msgpack.packb(old), None)

        assert again.pack() == folded.pack()

    @pytest.mark.parametrize("data", [b"", b"\x93", b"\x00", b"\x93\x90\x00\xc0"])
    def test_a_damaged_record_is_refused(self, data):
        """What is no record is an error that its reader expects."""
        with pytest.raises((ValueError, TypeError)):
            DomainLearning.unpack(data, None)
