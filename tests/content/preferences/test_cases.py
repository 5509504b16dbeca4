"""Which statement applies: the drafts' examples, and the rules of docs/robots-and-preferences.md, as a table."""

import pytest

from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.content.page import Page
from webcrawl.content.stated_preferences import RobotsWord
from webcrawl.net.robots import parse
from webcrawl.net.robots_entry import pack, unpack

AGENT = "webcrawl"
DRAFT = """
User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""
MANAGED = """
User-agent: *
Content-Signal: search=yes,ai-train=no,use=reference
Allow: /

User-agent: CCBot
Disallow: /
"""


def page(url="http://a.test/", robots="", headers=(), html="", agent=AGENT):
    """A page as the crawl would see it."""
    headers = [
        (b"Content-Type", b"text/html"),
        *((name.encode(), value.encode("latin-1")) for name, value in headers),
    ]
    body = html.encode()
    found = Page.of(
        Link(url), Exchange(url, b"", 200, b"", headers, body, body, body, "", 0.0, Timings())
    )
    rules = unpack(pack(parse(robots.encode(), agent).rules, agent), agent)
    said = rules.said
    found.robots_word = (
        RobotsWord(said.of(url), said.licenses, agent) if said else RobotsWord(agent=agent)
    )
    return found


def preferences(*args, **more):
    return page(*args, **more).preferences


class TestRobotsTxt:
    @pytest.mark.parametrize(
        ("path", "agent", "expected"),
        [
            ("/test", "other", ("train-ai=n",)),
            ("/ai-ok/test", "other", ("train-ai=y",)),
            ("/test", "examplebot", ("train-ai=y",)),
            ("/ai-ok/test", "examplebot", ("train-ai=y",)),
        ],
    )
    def test_the_drafts_example(self, path, agent, expected):
        """attach-05, 3.4: the longest path decides, in the crawler's own group."""
        found = preferences(f"http://a.test{path}", DRAFT, agent=agent)

        assert [str(one) for one in found.statements] == [
            f"robots.txt content-usage {word}" for word in expected
        ]

    @pytest.mark.parametrize(
        ("lines", "path", "forbidden", "allowed"),
        [
            (["Content-Usage: search=n", "Content-Usage: / train-ai=n"], "/x", ["train-ai"], []),
            (["Content-Usage: / search=n", "Content-Usage: / search=y"], "/x", ["search"], []),
            (["Content-Usage: / search=n", "Content-Usage: /x train-ai=y"], "/x", [], ["train-ai"]),
            (
                ["Content-Usage: /a* search=n", "Content-Usage: /abc search=y"],
                "/abc",
                [],
                ["search"],
            ),
            (
                ["Content-Usage: /a* search=n", "Content-Usage: /ab search=y"],
                "/abc",
                ["search"],
                [],
            ),
            (["Content-Usage: /*.pdf$ search=n"], "/a/b.pdf", ["search"], []),
            (["Content-Usage: /*.pdf$ search=n"], "/a/b.pdf?x", [], []),
            (["Content-Usage: /%7Ea search=n"], "/~a/b", ["search"], []),
            (["Content-Usage: /a\tsearch=n"], "/a", ["search"], []),
            (["Content-Usage:search=n # why"], "/a", ["search"], []),
            (["content-usage : search=n"], "/a", ["search"], []),
            (["Content-Usage: search=y", "Content-Signal: search=no"], "/", ["search"], []),
            (
                ["Content-Signal: /a/ search=no", "Content-Signal: search=yes"],
                "/a/b",
                ["search"],
                [],
            ),
            (
                ["Content-Signal: search=yes", "Content-Signal: ai-train=no"],
                "/",
                ["train-ai"],
                ["search"],
            ),
        ],
    )
    def test_paths_and_fields(self, lines, path, forbidden, allowed):
        """Of each field the line with the longest path decides; equal paths, and fields, are
        combined.
        """
        found = preferences(f"http://a.test{path}", "\n".join(["User-agent: *", *lines]))

        assert (list(found.forbidden), list(found.allowed)) == (forbidden, allowed)

    def test_cloudflares_managed_block(self):
        """Signals stand between the names of a group and its rules, and do not end the names."""
        found = preferences("http://a.test/", MANAGED)

        assert (found.forbidden, found.allowed) == (("train-ai",), ("search",))
        assert (
            parse(
                b"User-agent: a\nContent-Signal: search=no\nUser-agent: b\nDisallow: /", "a"
            ).rules.allowed("http://a/")
            is False
        )

    def test_a_usage_rule_ends_the_names_of_a_group(self):
        """attach-05, 3: it is a rule of a group, like Allow and Disallow."""
        txt = b"User-agent: a\nContent-Usage: search=n\nUser-agent: b\nDisallow: /"

        assert parse(txt, "a").rules.allowed("http://a/x")
        assert not parse(txt, "b").rules.allowed("http://a/x")
        assert parse(txt, "b").rules.said is None

    def test_before_the_first_group(self):
        """Lines that are in no group are for nobody; but a licence there is everybody's."""
        txt = "Content-Usage: search=n\nLicense: https://a.test/all.xml\nUser-agent: *\nLicense: https://a.test/ours.xml"
        found = preferences(robots=txt)

        assert found.statements == ()
        assert found.licenses == ("https://a.test/ours.xml", "https://a.test/all.xml")

    def test_a_file_of_nothing_else(self):
        """500 KiB of such lines say together whatever one of them says, and take little memory."""
        lines = b"".join(b"Content-Usage: /%d train-ai=y\n" % at for at in range(20_000))
        rules = parse(b"User-agent: *\nContent-Usage: /secret search=n\n" + lines, AGENT).rules

        assert [str(one) for one in rules.said.of("http://a.test/7")] == [
            "robots.txt content-usage search=n train-ai=y"
        ]
        assert rules.weight < 2000

    def test_nothing_said_costs_nothing(self):
        """A host that says nothing of it has the same row as ever."""
        assert parse(b"User-agent: *\nDisallow: /a", AGENT).rules.said is None
        assert pack(parse(b"User-agent: *\nAllow: /", AGENT).rules, AGENT) == b""


class TestHeaders:
    @pytest.mark.parametrize(
        ("headers", "forbidden", "allowed"),
        [
            ([("Content-Usage", "train-ai=n")], ["train-ai"], []),
            # one dictionary
            ([("content-usage", "train-ai=n"), ("Content-Usage", "train-ai=y")], [], ["train-ai"]),
            ([("Content-Signal", "ai-input=no")], ["ai-input"], []),
            ([("X-Robots-Tag", "noindex, noarchive")], ["archive", "search"], []),
            ([("X-Robots-Tag", "other: noindex")], [], []),
            ([("X-Robots-Tag", "WebCrawl: noindex")], ["search"], []),
            ([("X-Robots-Tag", "other: noindex, webcrawl: noarchive")], ["archive"], []),
            ([("X-Robots-Tag", "webcrawl: noindex, other: noarchive")], ["search"], []),
            ([("X-Robots-Tag", "noarchive, webcrawl: noindex")], ["archive", "search"], []),
            ([("X-Robots-Tag", "max-snippet: 5, noindex")], ["search"], []),
            (
                [("X-Robots-Tag", "unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex")],
                ["search"],
                [],
            ),
            (
                [("X-Robots-Tag", "unavailable_after: Friday, 25-Jun-10 15:00:00 GMT, noindex")],
                ["search"],
                [],
            ),
            (
                [
                    (
                        "X-Robots-Tag",
                        "other: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex",
                    )
                ],
                [],
                [],
            ),
            ([("TDM-Reservation", "1")], ["research", "train-ai", "ai-input"], []),
            ([("TDM-Reservation", "0")], [], ["research", "train-ai", "ai-input"]),
            (
                [("TDM-Reservation", "0"), ("TDM-Reservation", "1")],
                ["research", "train-ai", "ai-input"],
                [],
            ),
            ([("Content-Usage", "train-ai=\xff")], [], []),
            ([("X-Robots-Tag", "\xff\xfe noindex"), ("X-Robots-Tag", "noindex")], ["search"], []),
        ],
    )
    def test_each(self, headers, forbidden, allowed):
        """What each header says, for all crawlers or for this one."""
        found = preferences(headers=headers)

        assert (list(found.forbidden), list(found.allowed)) == (forbidden, allowed)

    def test_thousands(self):
        """Ten thousand headers are read in one go, and leave one statement."""
        found = preferences(
            headers=[("X-Robots-Tag", f"bot{at}: noindex, noai") for at in range(10_000)]
            + [("X-Robots-Tag", "noai")]
        )

        assert len(found.statements) == 1
        assert found.forbidden == ("train-ai", "ai-input")

    def test_addresses(self):
        """A policy and a licence are recorded, and forbid nothing."""
        link = '</l.xml>; rel="license"; type="application/rsl+xml", </cc>; rel=license'
        found = preferences(headers=[("TDM-Policy", "https://a.test/p"), ("Link", link)])

        assert (found.policy, found.licenses, found.forbidden) == (
            "https://a.test/p",
            ("http://a.test/l.xml",),
            (),
        )


class TestBrokenUsage:
    """RFC 9651 ignores a field that cannot be parsed as a whole; what a whole line forbids is heard
    all the same.
    """

    @pytest.mark.parametrize(
        ("lines", "forbidden", "allowed"),
        [
            (["train-ai=n", ""], ["train-ai"], []),
            (["", "train-ai=n"], ["train-ai"], []),
            (["train-ai=n", "  "], ["train-ai"], []),
            (["train-ai=n", "broken,"], ["train-ai"], []),
            (["Broken", "train-ai=n, search=y"], ["train-ai"], []),
            (["search=y", ""], [], []),
            (["train-ai=y", "", "train-ai=n"], ["train-ai"], []),
            (["train-ai=n", "", "train-ai=y"], ["train-ai"], []),
            (["train-ai=n,"], [], []),  # one line, and it is broken: nobody knows what else it has
            (["train-ai=n, search=", "ai-use=n"], ["ai-input"], []),
            (['x="', 'train-ai=n"'], [], []),  # together a string, though neither by itself
            (["train-ai=n", "train-ai=y"], [], ["train-ai"]),  # a dictionary: the last counts
            ([""], [], []),
            (["", ""], [], []),
        ],
    )
    def test_of_headers(self, lines, forbidden, allowed):
        """A broken field allows nothing, and forbids what one of its lines forbids."""
        found = preferences(headers=[("Content-Usage", line) for line in lines])

        assert (list(found.forbidden), list(found.allowed)) == (forbidden, allowed)

    @pytest.mark.parametrize(
        ("lines", "forbidden", "allowed"),
        [
            (["train-ai=n", ""], ["train-ai"], []),
            (["train-ai=n", "broken,"], ["train-ai"], []),
            (["train-ai=n", "/ok/ broken,"], ["train-ai"], []),
            (["train-ai=n", "/ok/ Train-AI=y"], ["train-ai"], []),
            (["train-ai=n", "/ok/ search=y, "], ["train-ai"], []),
            (["/ok/ search=n", "/ok/ broken,"], ["search"], []),
            # an empty dictionary is one, and says nothing of this path
            (["train-ai=n", "/ok/"], [], []),
            (["train-ai=n", "/ok/ other=n"], [], []),  # nor does one of labels that are not known
            (["broken,"], [], []),
        ],
    )
    def test_of_robots_txt(self, lines, forbidden, allowed):
        """Each line is a rule by itself, and one that cannot be read is none: those with shorter
        paths stay.
        """
        txt = "\n".join(["User-agent: *", *(f"Content-Usage: {line}" for line in lines)])
        found = preferences("http://a.test/ok/x", txt)

        assert (list(found.forbidden), list(found.allowed)) == (forbidden, allowed)


class TestDocuments:
    @pytest.mark.parametrize(
        ("html", "forbidden"),
        [
            ("<meta name=robots content='NOAI, noimageai'>", ["train-ai", "ai-input"]),
            ("<meta name=robots content=noimageai>", []),
            (
                "<meta name=robots content=noindex><meta name=Robots content=noarchive>",
                ["archive", "search"],
            ),
            ("<meta name=WebCrawl content='noindex , noarchive'>", ["archive", "search"]),
            ("<meta name=googlebot content=noindex>", []),
            ("<meta name=tdm-reservation content=1>", ["research", "train-ai", "ai-input"]),
            ("<!-- <meta name=robots content=noindex> -->", []),
            ("<textarea><meta name=robots content=noindex></textarea>", []),
            # wherever it stands, as crawlers read it
            ("<p><meta name=robots content=noindex>", ["search"]),
        ],
    )
    def test_each(self, html, forbidden):
        """What meta elements say, read for their sake or with the links."""
        assert list(preferences(html=html).forbidden) == forbidden
        read = page(html=html)
        read.found = LinkReader(["a"], agent=AGENT).links(html.encode(), "text/html", read.url)
        assert list(read.preferences.forbidden) == forbidden

    def test_addresses(self):
        """A licence is relative to the document's base; of policies the first counts."""
        html = "<base href=/d/><link rel=license type=application/rsl+xml href=l.xml><link rel=license href=cc>"
        found = preferences(
            html=html
            + "<meta name=tdm-policy content=https://a.test/p><meta name=tdm-policy content=https://b.test/>"
        )

        assert (found.licenses, found.policy) == (("http://a.test/d/l.xml",), "https://a.test/p")

    def test_a_flood(self):
        """Of a document with thousands of such elements a few are kept."""
        found = page(html="<link rel=license type=application/rsl+xml href=x>" * 5000)
        found.found = LinkReader(["a"]).links(found.body, "text/html", found.url)

        assert len(found.found.said) == 32
        assert found.preferences.licenses == ("http://a.test/x",)


class TestTogether:
    @pytest.mark.parametrize(
        ("robots", "headers", "html", "forbidden", "allowed"),
        [
            ("train-ai=n", [("Content-Usage", "train-ai=y")], "", ["train-ai"], []),
            ("train-ai=y", [("Content-Usage", "train-ai=n")], "", ["train-ai"], []),
            ("train-ai=y", [], "<meta name=robots content=noai>", ["train-ai", "ai-input"], []),
            ("search=y", [("X-Robots-Tag", "noindex")], "", ["search"], []),
            ("train-ai=y", [("Content-Usage", "search=y")], "", [], ["search", "train-ai"]),
            (
                "",
                [("TDM-Reservation", "1")],
                "<meta name=tdm-reservation content=0>",
                [],
                ["research", "train-ai", "ai-input"],
            ),
            (
                "",
                [("TDM-Reservation", "0")],
                "<meta name=tdm-reservation content=1>",
                ["research", "train-ai", "ai-input"],
                [],
            ),
            (
                "",
                [("TDM-Reservation", "1")],
                "<meta name=tdm-reservation content=x>",
                ["research", "train-ai", "ai-input"],
                [],
            ),
            (
                "train-ai=n",
                [("TDM-Reservation", "1")],
                "<meta name=tdm-reservation content=0>",
                ["train-ai"],
                ["research", "ai-input"],
            ),
        ],
    )
    def test_the_most_restrictive_applies(self, robots, headers, html, forbidden, allowed):
        """Whoever says it; but a document's TDM reservation takes the place of the header's."""
        txt = f"User-agent: *\nContent-Usage: {robots}" if robots else ""
        found = preferences("http://a.test/", txt, headers, html)

        assert (list(found.forbidden), list(found.allowed)) == (forbidden, allowed)

    def test_nothing_said(self):
        """Of nearly all pages there is nothing to say, and that is one value for all."""
        assert preferences(html="<p>x") is preferences()
        assert not preferences()
        assert str(preferences()) == ""

    def test_as_one_line(self):
        """Each statement with its source, then the addresses."""
        found = preferences(
            "http://a.test/",
            "User-agent: *\nContent-Usage: search=n\nLicense: https://a.test/l",
            [("X-Robots-Tag", "noai")],
        )

        assert (
            str(found)
            == "robots.txt content-usage search=n; header x-robots-tag train-ai=n ai-input=n; license https://a.test/l"
        )

    def test_a_purpose_that_does_not_exist(self):
        """Who asks for one is told."""
        with pytest.raises(
            ValueError, match="unknown purpose 'training'; expected one of archive, search"
        ):
            preferences().forbids("training")
