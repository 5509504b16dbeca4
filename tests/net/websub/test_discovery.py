"""Which hub tells of a page's news."""

import json

import pytest

from tests.support.cases import cases
from webcrawl.content.formats import listings
from webcrawl.net.websub import offer
from webcrawl.urls.canonical import canonical

URL = "http://a.test/feed"


def site_of(url):
    return ".".join(url.split("/")[2].split(".")[-2:])


def found(body=b"", *links, url=URL):
    headers = [(b"Link", link.encode()) for link in links]
    return offer(url, headers, listings.read(body, "", url).entries, site_of)


def atom(*links):
    return f"<feed>{''.join(f'<link rel={rel!r} href={href!r}/>' for rel, href in links)}</feed>".encode()


def test_nothing_without_a_hub():
    """A page that names itself only has no news to tell."""
    assert found() is None
    assert found(atom(("self", URL)), f"<{URL}>; rel=self") is None


def test_a_feed():
    """Relative addresses too; without a name it is its URL."""
    assert found(atom(("hub", "/hub"), ("self", "/own"))) == (
        "http://a.test/own",
        ["http://a.test/hub"],
    )
    assert found(atom(("hub", "https://hub.test/"))) == (URL, ["https://hub.test/"])


def test_headers_go_first():
    """What the content says is for pages whose headers name no hub."""
    body = atom(("hub", "http://in.test/"), ("self", "http://a.test/in"))
    assert found(body, "<http://h.test/>; rel=hub, <http://a.test/h>; rel=self") == (
        "http://a.test/h",
        ["http://h.test/"],
    )
    assert found(body, "<http://a.test/h>; rel=self") == ("http://a.test/h", ["http://in.test/"])


def test_both_relations_of_one_link():
    """A rel may have several words."""
    assert (
        found(b"", '<http://h.test/>; rel="x hub"', '<http://a.test/s>; rel="self y"').topic
        == "http://a.test/s"
    )


def test_a_name_of_another_site():
    """A page that calls itself another site's is known by its URL: nobody speaks for others."""
    assert found(atom(("hub", "http://h.test/"), ("self", "http://b.test/feed"))).topic == URL
    assert (
        found(atom(("hub", "http://h.test/"), ("self", "https://www.a.test/feed"))).topic
        == "https://www.a.test/feed"
    )


def test_bad_addresses():
    """Only http and https, and the first few."""
    names = ["ftp://h.test/", "mailto:x@h.test", "http://", "javascript:1", "http://h0.test/"]
    assert found(atom(*(("hub", name) for name in names))).hubs == ["http://h0.test/"]
    many = [("hub", f"http://h{number}.test/") for number in range(50)]
    assert found(atom(*many, many[0])).hubs == [f"http://h{number}.test/" for number in range(3)]
    assert found(atom(("hub", "http://h.test/" + "x" * 3000))) is None


def test_a_json_feed():
    """It has hubs, and calls itself by `feed_url`."""
    body = {
        "version": "https://jsonfeed.org/version/1",
        "feed_url": URL,
        "hubs": [{"type": "WebSub", "url": "http://h.test/"}],
    }
    assert offer(URL, [], listings.read_feed(json.dumps(body).encode()).entries, site_of) == (
        URL,
        ["http://h.test/"],
    )


@pytest.mark.parametrize("name", ["feeds", "sitemaps"])
def test_real_feeds(name):
    """Ten of the collected feeds name hubs, and each is found by the name that it gives itself."""
    folder, count = cases(name), 0
    for case in json.loads((folder / "index.json").read_text()):
        reference = case["reference"]
        if not reference.get("hub"):
            continue
        # one has a blank in its host, which no page's URL has
        url = (reference["self"] or [URL])[0].replace(" ", "")
        body = (folder / case["file"]).read_bytes()
        hubs = [canonical(hub) for hub in reference["hub"][:3]]
        assert offer(url, [], listings.read(body, "", url).entries, site_of) == (
            canonical(url),
            hubs,
        )
        count += 1
    assert count == {"feeds": 10, "sitemaps": 0}[name]
