"""What comes of a check: proofs become orders, and nothing else does."""

import asyncio
from dataclasses import replace

import pytest

from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.crawl.control.commands import obey
from webcrawl.tools.optout.deciding import AT_ONCE, CHECKS, ORDERS, Deciding, Found, Outcome
from webcrawl.tools.optout.token import LIFE, Tokens, Wish, subject_of
from webcrawl.urls.exclusion_rules import rules_of
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.optout import OptOut

DOMAINS = RegisteredDomains()
TOKENS = Tokens(bytes(32))
NOW = 1_800_000_000.0
NAME = "example.org"
CONDITION = ("--if-by", "proof of control (")


class Site:
    """A file with these lines, for whatever name; others may wait before they look."""

    def __init__(self, *lines, kind="file", ours=False):
        self.lines, self.kind, self.ours, self.looks = list(lines), kind, ours, 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def look(self, subject):
        self.looks += 1
        await self.gate.wait()
        place = subject.files[0] if self.kind == "file" else subject.record
        return [Found(place, self.kind, self.lines, "" if self.lines else "answers with status 404", self.ours)]


class Crawl:
    """Keeps records as a crawl does."""

    def __init__(self, *records):
        self.records = {one.rule: one for one in records}
        self.orders = []
        self.error = None
        self.meanwhile = None  # what the operator excludes before the next order comes

    def excluded(self):
        return [*self.records.values()]

    def exclude(self, wish):
        self.records[wish.rule] = wish
        return True

    def include(self, rule):
        del self.records[rule]

    def ask(self, name, *words):
        if name == "excluded":
            found = [one for one in self.records.values() if rules_of([one]).excludes(words[0])]
            return {"records": len(found), "excluded": [one.to_json(NOW) for one in found]}
        self.orders.append((name, *words))
        if self.error is not None:
            raise self.error
        if self.meanwhile is not None:
            self.exclude(self.meanwhile)
        return obey(self, name, *words)


class Made:
    """A form's checks, with a clock that stands still."""

    def __init__(self, *lines, records=(), **site):
        self.site, self.crawl, self.said, self.now = Site(*lines, **site), Crawl(*records), [], NOW
        self.ticks = 0.0
        self.deciding = Deciding(
            TOKENS, self.site, self.crawl.ask, self.said.append, lambda: self.now, lambda: self.ticks
        )

    def check(self, name=NAME, asker=""):
        return asyncio.run(self.deciding.check(subject_of(name, DOMAINS), asker))


def token(wish=Wish.LEAVE, name=NAME, at=NOW, tokens=TOKENS):
    return tokens.issue(subject_of(name, DOMAINS).rule, wish, at)


PROVEN = OptOut(NAME, NOW - 60, "proof of control (TXT)", "_webcrawl-optout.example.org")
ORDERED = OptOut(NAME, NOW - 60, "joe", "a letter")


class TestProofs:
    @pytest.mark.parametrize("kind", ["file", "TXT"])
    def test_leave(self, kind):
        """Who proves control is left alone: the record says how it was proven and where, and the operator is told."""
        made = Made("# mine", token(), kind=kind)

        result = made.check()

        assert (result.outcome, result.text) == (
            Outcome.DONE,
            "example.org is left alone, since 2027-01-15T08:00:00Z.",
        )
        place = {"file": "https://example.org/.well-known/webcrawl-optout.txt", "TXT": "_webcrawl-optout.example.org"}
        by = f"proof of control ({kind})"
        assert made.crawl.orders == [("exclude", NAME, "--by", by, "--why", place[kind], *CONDITION)]
        assert made.said == [f"example.org: leave, proven by {kind} {place[kind]}: {result.text}"]

    def test_forget(self):
        """Who asks for it is forgotten as well."""
        made = Made(token(Wish.FORGET))

        assert made.check().text.endswith("Searches, and outputs made from now on, leave out what is stored of it.")
        assert made.crawl.orders[0][-1] == "--forget"

    def test_again(self):
        """A proof that is checked once more is ordered once more: a checkpoint has it for certain."""
        made = Made(token(), records=[PROVEN])

        assert made.check().outcome is made.check().outcome is Outcome.DONE
        assert len(made.crawl.orders) == 2

    @pytest.mark.parametrize(
        "lines",
        [
            (),
            ("webcrawl-leave-1800000000-" + "0" * 32,),
            (token(name="www.example.org"),),
            (token(name="example.org/"),),
            (token(tokens=Tokens(b"x" * 32)),),
        ],
    )
    def test_no_proof(self, lines):
        """Without a token, or with one forged, somebody else's or another crawl's, nothing is ordered."""
        made = Made(*lines)

        result = made.check()

        assert (result.outcome, result.text) == (Outcome.NOT_PROVEN, "No proof was found.")
        assert made.crawl.orders == []
        assert made.said == ["example.org: checked: No proof was found."]

    def test_nothing_found_is_shown(self):
        """The answer has nothing of what was found: nobody reads other servers through us."""
        made = Made("root:x:0:0", "<b>")

        assert "root" not in repr(made.check())

    def test_expired(self):
        """A token that is over is told apart, and does nothing."""
        made = Made(token(at=NOW - LIFE))

        result = made.check()

        assert (result.outcome, made.crawl.orders) == (Outcome.NOT_PROVEN, [])
        assert result.text == "The token that was found is over since 2027-01-15T08:00:00Z: get a new one."

    def test_our_own_lack(self):
        """If this machine could not look everywhere, nobody is told that there is no proof."""
        assert Made(ours=True).check().outcome is Outcome.NOT_NOW


class TestTheWayBack:
    def test_of_a_proof(self):
        """A proof takes back what a proof has done."""
        made = Made(token(Wish.RETURN), records=[PROVEN])

        assert made.check().text == "example.org may be crawled again."
        assert made.crawl.orders == [("include", NAME, *CONDITION)]

    @pytest.mark.parametrize(
        "record",
        [
            ORDERED,
            OptOut(NAME, by="", why=""),
            OptOut(NAME, by="proof of control (file)", source="file"),
            OptOut(NAME, by="no proof of control (file)"),
        ],
    )
    @pytest.mark.parametrize("wish", Wish)
    def test_not_of_others(self, record, wish):
        """A record that the operator made stays as it is, whatever is proven."""
        made = Made(token(wish), records=[record])

        assert made.check().outcome is Outcome.REFUSED
        assert made.crawl.orders == []

    @pytest.mark.parametrize("wish", Wish)
    def test_not_of_what_others_order_meanwhile(self, wish):
        """What the operator excludes between the form's look at the records and its order stays as well."""
        made = Made(token(wish), records=[PROVEN])
        made.crawl.meanwhile = ORDERED

        assert made.check().outcome is Outcome.REFUSED
        assert made.crawl.excluded() == [ORDERED]

    @pytest.mark.parametrize(("until", "said"), [(NOW + 60, ", until 2027-01-15T08:01:00Z"), (0.0, "")])
    def test_until_when_others_hold(self, until, said):
        """Whoever is told of such a record is told its end as well, if it has one."""
        result = Made(token(), records=[replace(ORDERED, until=until)]).check()

        assert result.text.startswith(f"{NAME} is left alone already{said}, by a record that was made otherwise.")

    def test_not_of_what_is_above(self):
        """A proof for a name takes back nothing that is about a domain above it, and says that this still holds."""
        name = f"www.{NAME}"
        own = OptOut(name, NOW, "proof of control (file)")

        alone = Made(token(Wish.RETURN, name), records=[ORDERED])
        both = Made(token(Wish.RETURN, name), records=[ORDERED, own])

        assert alone.check(name).outcome is Outcome.REFUSED
        assert both.check(name).text == f"{name} is left alone all the same: another record still names it."
        assert [*both.crawl.records] == [NAME]

    def test_a_token_of_the_time_before(self):
        """A token that was issued before the site has left, and is still published, does not bring it back."""
        assert Made(token(Wish.RETURN, at=NOW - 61), records=[PROVEN]).check().outcome is Outcome.REFUSED
        assert Made(token(Wish.RETURN, at=NOW - 60), records=[PROVEN]).check().outcome is Outcome.DONE

    def test_of_nothing(self):
        """Where there is no record, there is nothing to take back; one that is over is none."""
        over = OptOut(NAME, 1.0, until=2.0)

        assert Made(token(Wish.RETURN)).check().outcome is Outcome.REFUSED
        assert Made(token(Wish.RETURN), records=[over]).check().outcome is Outcome.REFUSED
        assert Made(token(), records=[over]).check().outcome is Outcome.DONE

    def test_the_token_issued_last_counts(self):
        """An older token that is still published does not undo what a later one asks for."""
        made = Made(token(Wish.LEAVE, at=NOW - 10), token(Wish.RETURN, at=NOW - 5), records=[PROVEN])

        made.check()

        assert made.crawl.orders == [("include", NAME, *CONDITION)]


class TestUntold:
    @pytest.mark.parametrize("error", [NotRunning("no crawl"), CommandError("no"), OSError(24)])
    def test_a_crawl_that_cannot_be_told(self, error):
        """Who has a proof that the crawl could not be told of is asked to come again, and the operator hears why."""
        made = Made(token())
        made.crawl.error = error

        assert made.check().outcome is Outcome.NOT_NOW
        (said,) = made.said
        assert said.startswith("example.org: leave is proven (file https://example.org/")
        assert said.endswith(f"), but not carried out: {error}")
        made.crawl.error = None
        assert made.check().outcome is Outcome.DONE

    def test_an_order_that_may_have_been_carried_out(self):
        """Where nobody knows whether the crawl has obeyed, neither the owner nor the operator hears that it has not."""
        made = Made(token())
        made.crawl.error = NoAnswer("done, but no checkpoint has it yet")

        result = made.check()

        assert (result.outcome, "not confirmed" in result.text) == (Outcome.NOT_NOW, True)
        assert made.said[0].endswith("), but perhaps not carried out: done, but no checkpoint has it yet")


class TestBounds:
    def test_of_a_site(self):
        """A site is asked a few times a minute, whichever of its names strangers type."""
        made = Made()
        names = [f"{number}.example.org" for number in range(CHECKS[0])]

        assert {made.check(name).outcome for name in names} == {Outcome.NOT_PROVEN}
        refused = made.check("other.example.org/x")
        assert (refused.outcome, refused.wait) == (Outcome.TOO_OFTEN, 60.0)
        assert made.site.looks == CHECKS[0]
        made.now -= 10_000  # somebody has set the clock back, which counts for nothing here
        made.ticks += 60
        assert made.check().outcome is Outcome.NOT_PROVEN

    def test_nobody_locks_out_another(self):
        """Who has used up all checks of an address takes none from the owners who ask from others."""
        made = Made()
        for number in range(500):
            made.check(f"site{number}.example", "192.0.2.1")

        assert made.check(NAME, "198.51.100.7").outcome is Outcome.NOT_PROVEN

    def test_nobody_locks_out_an_owner(self):
        """Who asks for somebody else's site all the time takes no check from its owner."""
        made = Made()
        for _ in range(500):
            made.check(NAME, "192.0.2.1")

        assert made.check(NAME, "198.51.100.7").outcome is Outcome.NOT_PROVEN

    def test_of_a_site_for_all(self):
        """A site is asked a bounded number of times a minute, however many ask for it."""
        made = Made()
        for number in range(500):
            made.check(NAME, f"192.0.2.{number}")

        assert made.site.looks == CHECKS[1]

    def test_of_an_asker(self):
        """A flood of names is answered without a single question to them beyond the bound."""
        made = Made()
        for number in range(500):
            made.check(f"site{number}.example")

        assert made.site.looks == CHECKS[1]

    def test_at_once(self):
        """Few checks are under way at once, and of one name a single one."""

        async def go():
            made.site.gate.clear()
            names = [NAME, NAME, *(f"site{number}.example" for number in range(AT_ONCE))]
            tasks = [asyncio.create_task(made.deciding.check(subject_of(name, DOMAINS))) for name in names]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            made.site.gate.set()
            return await asyncio.gather(*tasks)

        made = Made()
        outcomes = [result.outcome for result in asyncio.run(go())]

        assert made.site.looks == AT_ONCE
        assert outcomes[:2] == [Outcome.NOT_PROVEN, Outcome.TOO_OFTEN]

    def test_checks_of_one_at_once(self):
        """Who holds all checks that an address may have under way holds none of another's."""

        async def go():
            made.site.gate.clear()
            names = [f"site{number}.example" for number in range(2 * AT_ONCE)]
            flood = [asyncio.create_task(made.deciding.check(subject_of(name, DOMAINS), "a")) for name in names]
            await asyncio.sleep(0)
            owner = asyncio.create_task(made.deciding.check(subject_of(NAME, DOMAINS), "b"))
            await asyncio.sleep(0)
            made.site.gate.set()
            await asyncio.gather(*flood)
            return await owner

        made = Made()

        assert asyncio.run(go()).outcome is Outcome.NOT_PROVEN
        assert made.site.looks == AT_ONCE + 1

    def test_of_records(self):
        """Who has a domain with endless names fills no list: a day has few records for it."""
        made = Made()
        for number in range(ORDERS[0] + 5):
            name = f"{number}.example.org"
            made.site.lines = [token(name=name, at=made.now)]
            result = made.check(name)
            made.ticks += 60

        assert len(made.crawl.orders) == ORDERS[0]
        assert (result.outcome, result.text) == (
            Outcome.TOO_OFTEN,
            "Your proof was found, but too many were lately: try again in 24 hours.",
        )
