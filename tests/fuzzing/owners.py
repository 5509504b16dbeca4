"""Target: what owners say of the use of their pages, by robots.txt, headers and documents."""

from tests.fuzzing.target import Target
from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.page import Page
from webcrawl.content.purpose_bits import LARGEST, PURPOSES, Purpose, combined, forbidden, mask
from webcrawl.content.stated_preferences import LONGEST, NO_WORD, RobotsWord, kept
from webcrawl.net.robots import LICENSES, MOST_PATHS_PER_FIELD, parse
from webcrawl.net.robots_entry import pack, unpack
from webcrawl.record.warc.warc_record import fields

AGENT = "webcrawl"
URLS = ("http://h.test/", "http://h.test/a/b?c=d", "http://h.test/%E9*$", "http://h.test/ai-ok/x")
NAMES = (
    b"Content-Usage",
    b"Content-Signal",
    b"X-Robots-Tag",
    b"tdm-reservation",
    b"tdm-policy",
    b"Link",
)


def preferences(data: bytes) -> None:
    """A robots.txt, then a document, and each line as every header: bounded, in one line, and the
    strictest applies.
    """
    rules = parse(data, AGENT).rules
    again = unpack(pack(rules, AGENT), AGENT)
    assert again is not None
    assert (again.said is None) == (rules.said is None)
    headers = [
        (b"Content-Type", b"text/html"),
        *((name, line) for line in data.split(b"\n")[:20] for name in NAMES),
    ]
    for url in URLS:
        word = NO_WORD
        if rules.said is not None and again.said is not None:
            assert again.said.of(url) == rules.said.of(url)
            assert again.said.licenses == rules.said.licenses
            assert all(len(paths) <= MOST_PATHS_PER_FIELD for paths in rules.said.fields().values())
            word = RobotsWord(rules.said.of(url), rules.said.licenses, AGENT)
        page = Page.of(
            Link(url), Exchange(url, b"", 200, b"", headers, data, data, data, "", 0.0, Timings())
        )
        page.robots_word = word
        found = page.preferences
        assert 0 <= found.said <= LARGEST
        assert all(found.said & one.said == one.said for one in found.statements)
        assert mask(found.forbidden) == forbidden(found.said)
        assert not set(found.allowed) & set(found.forbidden)
        assert len(found.licenses) <= 3 * LICENSES
        assert all(len(one) <= LONGEST for one in (*found.licenses, found.policy))
        assert fields({"preferences": str(found)}).count(b"\r\n") == bool(found)
        assert kept(found.statements)[0] | kept(found.statements)[1] <= found.said
        for purpose in PURPOSES:
            withheld = Purpose.of([purpose]).withholds(found)
            assert withheld == found.forbids(purpose) == (purpose in found.forbidden)
    assert combined([]) == 0


TARGETS = [
    Target(
        "preferences",
        preferences,
        [
            b"User-Agent: *\nContent-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\nLicense: https://a.test/l.xml\n",
            b"User-agent: *\nContent-Signal: search=yes, ai-train=no, use=reference\nAllow: /\n",
            b"<meta name=robots content='noai, noindex'><meta name=webcrawl content=noarchive>\n",
            b"<meta name=tdm-reservation content=1><link rel=license type=application/rsl+xml href=/l.xml>\n",
            b'train-ai=y;p="x", search=n, ai-use=(1 2)\nwebcrawl: noindex, other: none\n1\nhttps://a.test/p\n',
            b'</l.xml>; rel="license"; type="application/rsl+xml"\n',
        ],
        [
            *(
                b"train-ai=",
                b"ai-use=",
                b"search=",
                b"=n",
                b"=y",
                b"yes",
                b"no",
                b", ",
                b";",
                b"noindex",
                b"noarchive",
            ),
            *(
                b"Content-Usage: ",
                b"Content-Signal: ",
                b"License: ",
                b"User-agent: *\n",
                b"/",
                b"*",
                b"$",
                b"webcrawl: ",
            ),
            *(
                b"<meta name=",
                b" content=",
                b"tdm-reservation",
                b"(",
                b")",
                b'"',
                b"\\",
                b"?1",
                b":YQ==:",
                b"\t",
                b"\xff",
            ),
        ],
    ),
]
