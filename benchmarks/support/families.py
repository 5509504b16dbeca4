"""Traps of shapes that nobody listed, and good sites that look like them, for
`benchmarks.support.zoo.crawl`.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from functools import cache
from urllib.parse import parse_qsl, quote

from benchmarks.support.zoo import Page, Site, digest_of, number_in

HOME = "http://zoo.test"
SYLLABLES = (
    "ba",
    "co",
    "di",
    "fe",
    "gu",
    "ha",
    "jo",
    "ki",
    "lu",
    "ma",
    "ne",
    "po",
    "qui",
    "ra",
    "se",
    "ti",
    "vo",
    "wa",
    "zu",
    "tra",
)
DAY = dt.timedelta(1)
FIRST = dt.date(2024, 1, 1)


def _random_of(*seed: object) -> random.Random:
    """Return a generator that gives the same numbers for the same seed in every run."""
    return random.Random(repr(seed))


@cache
def _fraction_of(*seed: object) -> float:
    """Return a number in [0, 1) that belongs to this seed."""
    return _random_of(*seed).random()


def _vocabulary() -> list[str]:
    """Return the words of all sites."""
    draw = _random_of("vocabulary")
    return sorted({"".join(draw.choices(SYLLABLES, k=draw.randint(2, 4))) for _ in range(5000)})


WORDS = _vocabulary()


@cache
def words(number: int, *seed: object) -> str:
    """Return so many words that belong to this seed."""
    return " ".join(_random_of(*seed).choices(WORDS, k=number))


FRAME = words(40, "frame")


def html(title: str, body: str, links: list[str]) -> Page:
    """Return a page in the frame that all pages have, with its links as a list."""
    anchors = "".join(f'<li><a href="{link}">{link[-20:]}</a></li>' for link in links)
    return f"<title>{title}</title><p>{FRAME}</p><h1>{title}</h1>{body}<ul>{anchors}</ul>", [
        link if link.startswith("http") else HOME + link for link in links
    ]


def _query_of(path: str) -> dict[str, str]:
    return dict(parse_qsl(path.partition("?")[2]))


TRAPS: dict[str, Site] = {}
GOOD: dict[str, tuple[Site, int]] = {}


def trap(site: Callable[[str], Page]) -> Callable[[str], Page]:
    """Note a function as a trap: it returns the page of a path."""
    TRAPS[site.__name__] = lambda _, path: site(path)
    return site


def good(pages: int) -> Callable[[Callable[[str], Page]], Callable[[str], Page]]:
    """Return a decorator that notes a site of so many pages, all of them to be fetched."""

    def noted(site: Callable[[str], Page]) -> Callable[[str], Page]:
        GOOD[site.__name__] = (lambda _, path: site(path), pages)
        return site

    return noted


@trap
def epochs(path: str) -> Page:
    """`?date=` seconds since 1970."""
    at = int(_query_of(path).get("date", 1_700_000_000))
    day = dt.datetime.fromtimestamp(at % 4_000_000_000, dt.UTC)
    links = [f"/cal?date={at + 86_400 * step}" for step in (-30, -7, -1, 1, 7, 30)]
    return html(f"Events on {day:%A %d %B %Y}", "<p>No events.</p>", links)


@trap
def dotted_days(path: str) -> Page:
    """`?d=DD.MM.YYYY`."""
    day = dt.datetime.strptime(_query_of(path).get("d", "01.01.2024"), "%d.%m.%Y").replace(
        tzinfo=dt.UTC
    )
    links = [f"/dates?d={day + step * DAY:%d.%m.%Y}" for step in (-7, -1, 1, 7, 30)]
    return html("Dates", f"<td>{day:%d.%m.%Y}</td><td>{day:%A}</td>", links)


@trap
def columns(path: str) -> Page:
    """Apache's index of a folder, sorted by its columns."""
    folder = "/" + path.partition("?")[0]
    files = words(12, folder.count("/") % 3).split()
    _random_of(path).shuffle(files)
    body = "".join(
        f"<pre>{name}.txt 2024-01-0{at % 9} {at}K</pre>" for at, name in enumerate(files)
    )
    below = [f"{folder}{name}/" for name in ("sub", "data")] if folder.count("/") < 9 else []
    return html(
        f"Index of {folder}",
        body,
        [f"{folder}?C={by};O={order}" for by in "NMSD" for order in "AD"] + below,
    )


@trap
def session_tokens(path: str) -> Page:
    """Every link has a token that nobody has seen, and every page a new one."""
    return html(
        "Welcome",
        f"<p>Session {digest_of(path)}</p>",
        [f"/?token={digest_of(path, at)}" for at in range(5)],
    )


@trap
def hashes(path: str) -> Page:
    """Return a page of a repository browser."""
    at = path.rpartition("/")[2]
    body = f"<b>{words(1, _random_of(path).randint(0, 20))}</b> fix typo<pre>parent {digest_of(path)}</pre>"
    return html(
        f"commit {at}",
        body,
        [f"/{kind}/{digest_of(at, kind)}" for kind in ("commit", "tree", "diff", "blame")],
    )


@trap
def four_facets(path: str) -> Page:
    """Return a page of a shop: filters of 8 values of each of four parameters, for 40 articles."""
    if path.startswith("item/"):
        return html(words(4, "item", path), f"<p>{words(30, path)}</p>", ["/shop"])
    chosen = _query_of(path)
    names = ("size", "colour", "brand", "sort")

    def has_chosen(at: int) -> bool:
        return all(_fraction_of(name, chosen[name], at) < 0.3 for name in names if name in chosen)

    shown = [at for at in range(40) if has_chosen(at)][:20]
    body = f"<p>{len(shown)} for {' '.join(chosen.values())}</p>"
    body += "".join(f"<p>{words(4, 'item', f'item/{at}')} {at}.99</p>" for at in shown)
    links = []
    for name in names:
        for value in words(8, name).split():
            query = {**chosen, name: value}
            pairs = [f"{key}={query[key]}" for key in names if key in query]
            links.append("/shop?" + "&".join(pairs))
    return html("Shop", body, links + [f"/item/{at}" for at in shown])


@trap
def matrix(path: str) -> Page:
    """Return a page of that shop with its parameters in the path: `/shop;size=3;colour=b`."""
    text, links = four_facets(path.replace(";", "?", 1).replace(";", "&"))
    return text, [link.replace("?", ";").replace("&", ";") for link in links]


@trap
def numbered(path: str) -> Page:
    """/list/1, /list/2 and so on."""
    at = number_in(path)
    return html(
        f"List {at}",
        f"<p>This is page {at} of many.</p>",
        [f"/list/{at + step}" for step in (1, 2, 10, 100)],
    )


@trap
def addresses(path: str) -> Page:
    """URLs in URLs."""
    here = f"{HOME}/{path}"
    links = [f"/go/{here}", f"/proxy?url={quote(here, safe='')}", f"/{digest_of(path)[:4]}/{path}"]
    return html(
        "Elsewhere", f"<p>You asked for {path}</p>", [link for link in links if len(link) < 1500]
    )


@trap
def names_below(path: str) -> Page:
    """Any name below the domain is a host, and each page names more of them."""
    return html(
        "For sale",
        "<p>This name is for sale</p>",
        [f"http://{digest_of(path, at)[:8]}.zoo.test/{digest_of(path, at)[:5]}" for at in range(5)],
    )


@trap
def beyond_the_end(path: str) -> Page:
    """Ten pages of results, and nothing on all that follow."""
    at = int(_query_of(path).get("page", 1))
    body = f"<p>{words(40, at)}</p>" if at < 10 else "<p>Nothing found.</p>"
    return html(
        "Results", f"<p>Page {at}</p>{body}", [f"/results?page={at + step}" for step in (1, 2, 5)]
    )


@trap
def sessions(path: str) -> Page:
    """60 pages, of which every link has another session in its path."""
    at = number_in(path.partition("/")[2]) % 60
    links = [f"/{digest_of(path, step)}/p{(at * 7 + step) % 60}" for step in range(8)]
    return html(words(3, at), f"<p>{words(40, 'page', at)}</p>", links)


@trap
def orders(path: str) -> Page:
    """One table, sorted in every way."""
    draw = _random_of(path)
    rows = [f"<tr><td>{words(3, at)}</td><td>{at}</td></tr>" for at in range(20)]
    draw.shuffle(rows)
    keys = [
        ",".join(draw.sample(("name", "size", "date", "kind", "owner", "id"), 4)) for _ in range(8)
    ]
    return html(
        "Table",
        "".join(rows),
        [f"/t?sort={key}&dir={draw.choice(('asc', 'desc'))}" for key in keys],
    )


@trap
def mixed_case(path: str) -> Page:
    """One page under each way to write its name."""
    draw = _random_of(path)
    name = "informationcatalogueofproducts"
    links = ["/" + "".join(draw.choice((one, one.upper())) for one in name) for _ in range(5)]
    return html("Information", f"<p>{words(50, 'information')}</p>", links)


@trap
def labyrinth(path: str) -> Page:
    """Fresh words on every page, and links to pages that nothing else links to."""
    draw = _random_of(path)
    links = ["/" + "/".join(draw.choices(WORDS, k=3)) for _ in range(5)]
    return html(words(3, path), f"<p>{words(60, path, 1)}</p>", links)


@trap
def clocks(path: str) -> Page:
    """One article that says when and by whom it was made."""
    draw = _random_of(path)
    made = f"<p>made at 12:{draw.randint(10, 59)} by {digest_of(path)} in 0.{draw.randint(1, 99999)} s</p>"
    return html(
        "Article",
        f"<p>{words(80, 'article')}</p>{made}",
        [f"/a/{draw.randint(1, 10**9)}" for _ in range(4)],
    )


@trap
def empty_days(path: str) -> Page:
    """Return a page of a calendar without entries: days, weeks and months that lead to each
    other.
    """
    at = number_in(path)
    day = FIRST + at % 200_000 * DAY
    kinds = ("day", "week", "month", "year")
    return html(
        f"{path.partition('?')[0]} {day:%d %B %Y}",
        "<p>0 entries</p>",
        [f"/{kind}?t={abs(at + step)}" for kind in kinds for step in (-31, -1, 1, 31)],
    )


@trap
def adverts(path: str) -> Page:
    """Months without an entry, with three of 120 sentences that other pages have, too."""
    month, _, year = path.removeprefix("month/").partition("-")
    at, draw = int(year or 2024) * 12 + int(month or 3), _random_of(path)
    shown = "".join(f"<p>{words(10, 'advert', draw.randrange(120))}</p>" for _ in range(3))
    links = [f"/month/{(at + step) % 12}-{(at + step) // 12}" for step in (-12, -1, 1, 12)]
    return html(WORDS[at % 12], f"<p>No entries.</p>{shown}", links)


@trap
def tags(path: str) -> Page:
    """Articles that have all of some tags, in any order of these."""
    chosen, all_tags = path.strip("/").split("/")[1:], words(16, "tags").split()
    shown = [at for at in range(40) if all(_fraction_of(tag, at) < 0.5 for tag in chosen)][:10]
    body = "".join(f"<h2>{words(4, at)}</h2><p>{words(20, 'tagged', at)}</p>" for at in shown)
    links = ["/tags/" + "/".join([*chosen, tag]) for tag in all_tags if tag not in chosen]
    return html("Tagged " + " and ".join(chosen), body, links[:20])


@trap
def mirrors(path: str) -> Page:
    """40 pages under every prefix."""
    prefix, _, name = path.rpartition("/")
    at = number_in(name) % 40
    links = [f"/{prefix}/doc{(at * 3 + step) % 40}".replace("//", "/") for step in range(4)]
    return html(
        words(3, at),
        f"<p>{words(60, 'mirrored', at)}</p>",
        [*links, f"/mirror{number_in(digest_of(path)[:9])}/{path[-200:]}"],
    )


@trap
def printed(path: str) -> Page:
    """50 pages, each in every combination of ways to show it."""
    at, draw = number_in(path.partition("?")[0]) % 50, _random_of(path)
    ways = (
        "print=1",
        "lang=en",
        "theme=dark",
        "format=plain",
        "font=big",
        "mode=mobile",
        f"ref={digest_of(path)[:6]}",
    )
    shown = [f"/doc{at}.html?" + "&".join(draw.sample(ways, draw.randint(1, 4))) for _ in range(5)]
    return html(
        words(4, at),
        f"<p>{words(90, 'doc', at)}</p>",
        shown + [f"/doc{(at + step) % 50}.html" for step in (0, 1, 2)],
    )


@trap
def not_found(path: str) -> Page:
    """Whatever is asked for does not exist, but other things may."""
    names = ["-".join(_random_of(path, at).choices(WORDS, k=2)) for at in range(5)]
    return html(
        "Not found",
        f"<p>The page {path} does not exist. Try these:</p>",
        [f"/{name}.html" for name in names],
    )


@trap
def log_in(path: str) -> Page:
    """Every page is the same form, and returns to another one."""
    links = [
        f"/{form}?return={quote('/' + digest_of(path, form), safe='')}"
        for form in ("login", "register", "forgot")
    ]
    return html("Log in", "<form><input name=user></form>", links)


@trap
def searches(path: str) -> Page:
    """Nothing is found for any words."""
    links = ["/search?q=" + "+".join(_random_of(path, at).choices(WORDS, k=2)) for at in range(6)]
    return html("Search", f"<p>No results for {_query_of(path).get('q', '')}</p>", links)


@trap
def growing(path: str) -> Page:
    """Relative links that lead into themselves, with names that do not repeat."""
    below = "/" + path.rstrip("/")
    names = ("guide", "api", "faq", "x" + digest_of(path)[:3])
    return html(
        "Docs",
        f"<p>{words(50, 'docs')}</p>",
        [f"{below.rstrip('/')}/{name}" for name in names] if path.count("/") < 20 else ["/"],
    )


@trap
def baskets(path: str) -> Page:
    """Any number of any article is put into the basket."""
    draw = _random_of(path)
    body = f"<p>{words(6, draw.randint(0, 30))} was added. Total {draw.randint(1, 999)}.00</p>"
    return html(
        "Your basket",
        body,
        [f"/cart?add={draw.randint(1, 10**6)}&key={digest_of(path, at)}" for at in range(5)],
    )


def _thread(path: str, text: str) -> Page:
    """One of 2,000 pages with a title and a text of its own, and one of 60 quotations beside it."""
    at = number_in(path)
    quotation = words(12, "quotation", _random_of("quotation", at).randrange(60))
    links = [f"/thread?id={(at * 5 + step) % 2000}" for step in range(1, 6)]
    body, links = html("Forum", f"<p>{text}</p><div>{quotation}</div>", links)
    return f"<title>Thread {words(3, 'title', at)}</title>{body.partition('</title>')[2]}", links


@trap
def empty_threads(path: str) -> Page:
    """Threads of which nothing but the title is new, and for a while the quotation beside it."""
    return _thread(path, "This thread has no posts yet.")


@good(2001)
def threads(path: str) -> Page:
    """The same with a short post each."""
    return _thread(path, words(8, "post", number_in(path)))


@good(9600)
def shop(path: str) -> Page:
    """Articles in one frame, on pages of 25."""
    at = number_in(path)
    if path.startswith("p/"):
        return html(
            words(3, "shop", at),
            f"<p>{words(12, at)}</p>",
            [f"/p/{(at * 31 + step) % 9230}" for step in range(4)],
        )
    links = [f"/p/{one}" for one in range(at * 25, min(at * 25 + 25, 9230))]
    return html(
        "Catalogue", f"<p>page {at}</p>", links + ([f"/list?page={at + 1}"] if at < 369 else [])
    )


@good(9001)
def ids(path: str) -> Page:
    """`?id=N`, each page found on another one."""
    at = number_in(path)
    links = [f"/view?id={8 * at + step}" for step in range(1, 9) if 8 * at + step < 9000]
    return html(f"Item {at}", f"<p>{words(8, at)}</p>", [*links, f"/view?id={at // 2}"])


@good(5001)
def gallery(path: str) -> Page:
    """Pictures with nearly no text."""
    at = number_in(path)
    near = [at + 1, at - 1, *range(at * 3, at * 3 + 3)]
    return html(
        "Photo",
        f"<img src=/img/{at}.jpg><p>IMG {at}</p>",
        [f"/photo/{one}" for one in near if 0 <= one < 5000],
    )


@good(1376)
def archive(path: str) -> Page:
    """A paper's pages by day, those of Sundays and Saturdays without an article."""
    parts = path.strip("/").split("/")
    if len(parts) == 4:
        return html(words(6, path), f"<p>{words(70, path)}</p>", [f"/{'/'.join(parts[:3])}/"])
    if len(parts) == 3:
        day = dt.date(*map(int, parts))
        names = ["-".join(words(3, day, at).split()) for at in range(5 * (day.weekday() < 5))]
        return html(f"{day:%d %B %Y}", "", [f"/{day:%Y/%m/%d}/{name}" for name in names])
    return html("Archive", "", [f"/{FIRST + at * DAY:%Y/%m/%d}/" for at in range(300)])


@good(9589)
def parts(path: str) -> Page:
    """Pages that differ in three words of sixty."""
    at = number_in(path)
    if path.startswith("part/"):
        kinds = zip(
            ("kind", "colour", "maker"), (at % 60, at // 60 % 60, at // 3600 + at % 7), strict=True
        )
        return html(
            "Part",
            "".join(f"<td>{kind}</td><td>{WORDS[one]}</td>" for kind, one in kinds),
            ["/index"],
        )
    links = [f"/part/{one}" for one in range(at * 50, min(9400, at * 50 + 50))]
    return html("Index", "", links + ([f"/index?from={at + 1}"] if at < 187 else []))


@good(3001)
def wiki(path: str) -> Page:
    """Pages of text that link to each other by their names."""
    name = path.rpartition("/")[2]
    at = WORDS.index(name) if name in WORDS[:3000] else 0
    near = [(at * 3 + step) % 3000 for step in range(3)] + [
        _random_of(at, step).randrange(3000) for step in range(4)
    ]
    return html(name, f"<p>{words(100, at)}</p>", [f"/wiki/{WORDS[one]}" for one in near])


@good(8050)
def forum(path: str) -> Page:
    """Threads of one to four pages."""
    thread, page = int(_query_of(path).get("t", 0)), int(_query_of(path).get("page", 1))
    links = [f"/thread?t={thread}&page={at}" for at in range(1, 2 + thread % 4)]
    links += [f"/thread?t={thread * 5 + at}" for at in range(1, 6) if thread * 5 + at < 2300]
    return html(
        words(4, thread), "".join(f"<p>{words(25, thread, page, at)}</p>" for at in range(3)), links
    )
