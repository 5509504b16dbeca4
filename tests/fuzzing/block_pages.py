"""Target: what an answer is, of any status, headers and body."""

from collections.abc import Iterator

from tests.fuzzing.pages import MARKUP, PAGES, TYPES
from tests.fuzzing.target import LONGEST, Target, chance, folder
from webcrawl.content.recognise import Probe, recogniser
from webcrawl.content.recognise.marks import KIND

STATUSES = (200, 200, 200, 203, 301, 402, 403, 404, 405, 429, 503, 999)
FIELDS = [
    (b"X-DataDome", b"1"),
    (b"cf-mitigated", b""),
    (b"WWW-Authenticate", b"L402 \xff"),
    (b"x-amzn-waf-action", b"a"),
]


def recognise(data: bytes) -> None:
    """A known name, the same whether the names of the headers are known; a probe that packs and is
    like itself.
    """
    random = chance(data)
    status, media = random.choice(STATUSES), random.choice(TYPES)
    headers = [(b"Content-Type", media.encode()), *random.sample(FIELDS, random.choice((0, 0, 1)))]
    known = recogniser()
    kind = known.recognise(status, headers, data)
    assert kind == known.recognise(
        status, headers, data, names={name.lower() for name, _ in headers}
    )
    assert not kind or KIND.fullmatch(kind)
    assert status < 300 or kind not in ("soft404", "shell")
    shown = known.probe("http://a.test/b?c", headers, data)
    if shown is not None:
        assert Probe.unpack(shown.pack()) == shown
        assert shown.is_like(shown)


def _answers() -> Iterator[bytes]:
    cases = folder("walls")
    if cases is not None:
        for path in sorted((cases / "cases").iterdir()):
            yield path.read_bytes().partition(b"\r\n\r\n")[2][:LONGEST]


SEEDS = [
    *PAGES,
    b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>",
    b'<title>App</title><div id="root"><p>Loading</p></div><script src=a.js></script>',
    "<title>Page not found</title><h1>404</h1><p>Die Seite existiert nicht. ページが見つかりません".encode(),
    b"<title>a.test is for sale</title><input type=password><form action=/password>opening soon",
]
TOKENS = [
    *MARKUP,
    *(
        b"id=root",
        b"id='app'",
        b"<noscript>",
        b"hidden",
        b" style='display:none'",
        b"_cf_chl_opt",
        b"px-captcha",
    ),
    *(
        b"404",
        b"not found",
        b"Access denied",
        b"maintenance",
        b"429",
        b"login",
        b"<h1>",
        b"<code>",
        b"<textarea>",
    ),
]
TARGETS = [Target("recognise", recognise, SEEDS, TOKENS, _answers)]
