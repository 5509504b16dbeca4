"""What an answer is, by the marks of vendors, by what it says of itself, and by its structure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.html.link_reader import LinkReader
from webcrawl.content.html.trees import LexborTree, kept_tree
from webcrawl.content.recognise import Probe, recogniser
from webcrawl.content.recognise.shape import DocumentShape

TYPE = (b"Content-Type", b"text/html; charset=utf-8")
ARTICLE = "<p>" + "Words of a page about walls, and of what came of them. " * 40
SCRIPT = "<script src=/app.js></script>"


def of(body="", *headers, status=200, by=None):
    return (by or recogniser()).recognise(status, [TYPE, *headers], body.encode())


def page(title, body="", head=""):
    return f"<!doctype html><title>{title}</title>{head}<body>{body}"


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ((b"CF-Mitigated", b"challenge"), 403, "wall:cloudflare"),
        ((b"x-amzn-waf-action", b"challenge"), 202, "wall:aws-waf"),
        ((b"X-DataDome", b"protected"), 403, "wall:datadome"),
        ((b"X-DataDome", b"protected"), 200, ""),
        ((b"Server", b"cloudflare"), 403, ""),
    ],
)
def test_a_header_field_is_a_mark_with_its_statuses(headers, status, kind):
    """Some vendors send theirs with ordinary answers too."""
    assert of(page("Words", ARTICLE), headers, status=status) == kind


@pytest.mark.parametrize(
    "body", ["", page("Request denied"), page("News", ARTICLE), page("", SCRIPT)]
)
def test_999_is_a_block_page_whatever_it_shows(body):
    """No page has this status. A vendor's own mark goes before it."""
    assert of(body, status=999) == "wall:999"
    assert of(body, (b"X-Li-Pop", b"prod"), status=999) == "wall:linkedin"


@pytest.mark.parametrize(
    ("field", "status", "kind"),
    [
        ((b"Crawler-Price", b"USD 0.01"), 402, "wall:cloudflare-pay"),
        ((b"Crawler-Price", b"USD 0.01"), 200, ""),
        ((b"WWW-Authenticate", b'Basic realm="x"'), 401, ""),
        ((b"WWW-Authenticate", b'LSAT macaroon="x", invoice="y"'), 402, "wall:l402"),
        ((b"WWW-Authenticate", b'License error="invalid_request"'), 402, "wall:rsl"),
        ((b"Server", b"x"), 402, ""),
    ],
)
def test_who_wants_to_be_paid_is_a_block_page(field, status, kind):
    """A 402 that does not say how is somebody's unpaid bill, and what a page costs is no block page
    where it is given.
    """
    assert of(page("Words", ARTICLE), field, status=status) == kind


@pytest.mark.parametrize(
    ("status", "kind"), [(200, "wall:script"), (503, "wall:script"), (404, ""), (302, "")]
)
def test_a_few_words_beside_a_script_that_asks_again_are_a_block_page_with_an_error_too(
    status, kind
):
    """What says that there is no page, or that it is elsewhere, is that."""
    script = "<script>document.cookie = 'a=1'; location.reload()</script>"

    assert of(f"<title>Hello</title><p>Just a second, please{script}", status=status) == kind


PARKED = "<h1>a.test</h1><p>This domain is for sale.</p>"
ADS = "<a href=/?q=loans>Loans</a> <a href=/?q=cars>Cars</a>"


def test_a_domain_traders_page_is_parked_whatever_it_links_to():
    """Such pages are lists of links, and show their readers what they are; an article that says the
    same is a page.
    """
    assert of(page("a.test is for sale", PARKED + ADS)) == "parked"
    assert of(page("This domain is for sale", f"<article>{PARKED}{ADS}</article>")) == ""


@pytest.mark.parametrize(
    "title",
    [
        "My domain expired and I lost everything",
        "Domain parking: a guide",
        "Parked at the beach",
        "Buy this domain",
    ],
)
def test_an_article_about_domains_is_no_parked_page(title):
    """By title and heading alone it might be one; it goes on about it, or a person does.

    A trader's goes on, too.
    """
    heading = f"<h1>{title}</h1>"
    story = (
        "<p>The harbour was built in 1884 after the old pier had been washed away twice.</p>" * 12
    )

    assert of(page(title, heading)) == "parked"
    assert (
        of(page(title, heading + story + ADS))
        == of(page(title, f"{heading}<p>I was there myself.</p>"))
        == ""
    )
    assert of(page("Great.test is for sale", story + ADS)) == "parked"


def test_an_application_that_loads_a_guards_script_is_a_shell():
    """It shows as little as a challenge, but has the place where a framework puts the page."""
    guard = "<script src=https://x.y.token.awswaf.com/x/challenge.js></script>"

    assert of(page("Shop", f"{guard}<div id=root></div>")) == "shell"
    assert of(page("", guard), status=405) == "wall:aws-waf"


def test_a_mark_that_readers_do_not_see_counts_beside_one_that_they_see():
    """Two rows of the table say the same of a page, but are found in different places."""
    script = "<script src=https://www.sedoparking.com/park.js></script>"

    assert of(page("a.test", f"<nav></nav>{PARKED}{ADS}")) == ""
    assert of(page("a.test", f"<nav></nav>{PARKED}{ADS}{script}")) == "parked"


def test_a_mark_counts_whatever_the_status_and_the_language():
    """Anubis answers with 200."""
    body = page(
        "Dein Browser wird geprüft!",
        '<script id="anubis_challenge" type="application/json">{}</script>',
    )

    assert of(body) == of(body, status=403) == "wall:anubis"


def test_a_mark_that_ordinary_pages_have_too_counts_only_on_a_bare_one():
    """Incapsula's script is injected into pages; alone it is the challenge."""
    script = '<script src="/_Incapsula_Resource?SWJIYLWA=1"></script>'

    assert of(page("", script)) == "wall:imperva"
    assert of(page("Words", ARTICLE + script)) == ""


def test_a_page_of_a_site_that_shows_a_mark_writes_about_it():
    """However short it is."""
    quoted = "<h1>What it means</h1><p>Request unsuccessful. Incapsula incident ID: 44."

    assert of(page("Imperva", quoted)) == "wall:imperva"
    assert of(page("Imperva", f"<nav>Blog</nav>{quoted}")) == ""


def test_all_expressions_of_a_mark_must_be_there():
    """Half of a mark is none."""
    title = "Request Rejected"

    assert of(page(title, "Your support ID is: 5585")) == "wall:f5"
    assert of(page("News", ARTICLE + "Your support ID is: 5585")) == ""


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        (
            "Verify you are human",
            "Please enable JavaScript and cookies to continue",
            "wall:unknown",
        ),
        ("429 Too Many Requests", "", "ratelimit"),
        ("Site maintenance", "We will be back.", "maintenance"),
        ("Seite nicht gefunden", "Hier ist nichts.", "soft404"),
        ("ページが見つかりません", "", "soft404"),
        ("Welcome to nginx!", "If you see this page, the web server works.", "default"),
        ("example.org is for sale", "Make an offer.", "parked"),
        ("Sign in", "<form><input name=user><input type=password></form>", "login"),
    ],
)
def test_a_page_that_shows_little_is_what_its_title_says(title, text, kind):
    """Where no vendor's mark says it."""
    assert of(page(title, text)) == kind


@pytest.mark.parametrize(
    "title",
    [
        "How to design a 404 page",
        "Access denied: a history of walls",
        "Captcha",
        "Maintenance",
        "Too many requests",
    ],
)
def test_a_page_about_block_pages_is_a_page(title):
    """A text of some length is what was asked for."""
    assert of(page(title, f"<h1>{title}</h1>{ARTICLE}")) == ""


@pytest.mark.parametrize(
    "text",
    [
        "<p>The object <code>_cf_chl_opt</code> is in the page of a challenge.",
        "<p>Request unsuccessful. Incapsula incident ID: 44, and nothing else.",
        "<pre>/.within.website/x/xess/xess.css</pre>",
        '<p><a href="https://dan.com/">Dan</a> and <a href="https://accounts.google.com/signin/">Google</a>',
    ],
)
def test_who_writes_about_a_block_page_shows_its_mark(text):
    """Browsers of block pages do not show what vendors put into their source, or show little else."""
    assert of(page("Notes on walls", text + ARTICLE[:1200])) == ""


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Just a moment", "Just a moment, said the rain, let me finish with the lane."),
        ("Forbidden Planet (1956)", "A starship's crew looks for a silent colony."),
        ("Maintenance - Lift Company", "We maintain lifts of all makers, day and night."),
        ("Ontario Highway 404", "A highway of the 400 series, north of Toronto."),
        ("Room 404", "A double room on the fourth floor."),
        ("Missing plane still not found", "The search goes on, the coast guard said on Friday."),
        ("FileNotFoundError", "Raised when a file does not exist."),
        ("House with garden is for sale", "Four rooms, 120 square metres."),
        ("Security check at the airport", "Take liquids out of your bag."),
        ("Hold on", f"A song by Tom Waits.{SCRIPT}"),
        ("Error 404 is our new album", "Twelve songs, recorded in a barn."),
        ("Rate limits", "Who sends more gets the status 429."),
        (
            "Captcha - the band",
            f"Captcha are four people from Leeds. Next gig: 4 June, The Brudenell.{SCRIPT}<nav></nav>",
        ),
        (
            "Too many requests",
            "Dear readers, the box of wishes for the crossword is full until May.",
        ),
        ("Verify you are human", f"Leave us your address.<input type=email>{SCRIPT}"),
        ("Contact", "<form><textarea></textarea><div class=h-captcha></div></form>Write to us."),
    ],
)
def test_other_things_have_such_names_too(title, text):
    """Poems, films, firms and roads: a word in a title or a text says nothing."""
    assert of(page(title, f"<h1>{title}</h1><p>{text}")) == ""


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("Сайт", "Подтвердите, что вы не робот", "wall:unknown"),
        ("安全验证", f"请完成下列验证后继续{SCRIPT}", "wall:unknown"),
        ("Just a moment...", SCRIPT, "wall:unknown"),
        ("Один момент…", f"<p>Это займёт 5 секунд.{SCRIPT}", "wall:unknown"),
        ("Oups !", "Désolé, nous ne trouvons pas la page que vous cherchez.", "soft404"),
        ("Ups!", "Die gesuchte Seite existiert leider nicht.", "soft404"),
        (
            "Example",
            "Briefly unavailable for scheduled maintenance. Check back in a minute.",
            "maintenance",
        ),
        (
            "Error",
            "Your access to www.example.org has been blocked. If you are the owner, call us.",
            "wall:unknown",
        ),
        ("Aviso", "La URL solicitada fue rechazada.", "wall:unknown"),
        ("Firewall", "您的请求带有不合法参数，已被网站管理员设置拦截！", "wall:unknown"),  # noqa: RUF001
        ("提示", "您的访问过于频繁,请稍后再试", "ratelimit"),
    ],
)
def test_a_sentence_says_what_a_short_page_is(title, text, kind):
    """Wherever it stands, in some 25 languages."""
    assert of(page(title, f"<p>{text}</p>")) == kind


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (
            "404",
            "I was behind on my reading, and then this: the page you were looking for does not exist. I laughed.",
        ),
        (
            "Zugriff verweigert",
            f"Beim Löschen eines Ordners sagt Windows „Zugriff verweigert“.{' Rechte ändern.' * 9}",
        ),
        (
            "Anubis",
            f"When your browser is slow, it says: making sure you are not a bot. {'Hashes are cheap. ' * 9}",
        ),
        (
            "Access denied",
            f"Such a message may read: “Your access to this site has been blocked.” {'It ends. ' * 16}",
        ),
        (
            "Seite nicht gefunden",
            f"<h1>Zehn Beispiele</h1>Platz eins hat die Feuerwehr.{' Und so geht es weiter.' * 6}",
        ),
        (
            "Captcha loops",
            f"Users have to complete the captcha again and again.{' Clear the cache.' * 9}",
        ),
    ],
)
def test_who_tells_of_errors_and_block_pages_is_none(title, text):
    """A person, a quotation, a condition; or a title with another text."""
    assert of(page(title, f"{text}{SCRIPT}")) == ""


def test_an_article_with_its_date_is_a_page():
    """Errors and block pages have no date of publication."""
    date = '<meta property="article:published_time" content="2026-01-01">'

    assert of(page("Page not found", "<h1>Page not found</h1>")) == "soft404"
    assert of(page("Page not found", "<h1>Page not found</h1>", date)) == ""


def test_a_title_and_a_heading_need_no_sentence():
    """Hints and menus follow, in whatever language."""
    text = f"<p>{'Du kan bruge menuen, eller gå tilbage til forsiden. ' * 4}"

    assert of(page("404 Not found", f"<h1>404</h1>{text}")) == "soft404"
    assert of(page("Eksempel", f"<h1>404</h1>{text}")) == ""


def test_a_title_counts_in_the_midst_of_menus():
    """Soft 404s have the menus of their site."""
    menus = "".join(f"<a href=/{n}>Topic {n}</a>" for n in range(40))

    assert of(page("Page not found - Example", menus + SCRIPT)) == "soft404"
    assert of(page("Example", f"{menus}<p>Sorry, there is no such page.")) == ""
    assert of(page("Example", f"{menus}<h1>404 - Page not found</h1>")) == "soft404"


def test_a_heading_that_nobody_sees_says_nothing():
    """Who hides it shows a page."""
    assert of(page("Tea", "<h1>404 not found</h1><p>Tea for five euros.")) == "soft404"
    assert (
        of(page("Tea", '<h1 style="display:none">404 not found</h1><p>Tea for five euros.')) == ""
    )


def test_a_page_that_shows_code_speaks_of_errors():
    """Its text does not count, however short: so are pages of Rust's documents."""
    assert of(page("E0583", "<p>A file was not found.")) == "soft404"
    assert of(page("E0583", "<p>A file was not found.<pre><code>mod a;</code></pre>")) == ""


def test_a_429_is_a_rate_limit_however_large_its_source():
    """What it says is short."""
    styles = f"<style>{'a{b:c}' * 10_000}</style>"

    assert of(page("Sorry", "<p>Come back later.", styles), status=429) == "ratelimit"
    assert of(page("Sorry", "<p>Come back later.", styles), status=403) == ""


def test_a_404_is_a_404():
    """Only with a good status is it a soft one; a block page's mark counts with any."""
    assert of(page("404 Not Found"), status=404) == ""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (page("App", '<div id="root"></div>' + SCRIPT), "shell"),
        (
            page(
                "App",
                "<noscript>You need to enable JavaScript to run this app.</noscript><main></main>"
                + SCRIPT,
            ),
            "shell",
        ),
        (page("App", '<div id="__next">Loading the shop</div><a href=/a>A</a>' + SCRIPT), "shell"),
        (page("Photo", "<img src=/photo.jpg>" + SCRIPT), ""),
        (page("Frames", "<iframe src=/menu></iframe>" + SCRIPT), ""),
        (page("Short", "<p>hello"), ""),
        (page("App", f'<div id="root">{ARTICLE}</div>{SCRIPT}'), ""),
        (
            page("App", '<div id="trello-root"></div><div><img src=/logo.svg></div>' + SCRIPT),
            "shell",
        ),
        (
            page(
                "App", '<div id="root"><h2>To do</h2><ul><li>Paint<li>Call Eve</ul></div>' + SCRIPT
            ),
            "",
        ),
        (page("App", '<div id="root"><p>Loading, please wait...</div>' + SCRIPT), "shell"),
        (page("App", '<div id="app"><h1>Klaus builds boats</h1><p>Since 1982.</div>' + SCRIPT), ""),
        (page("Card", "<p>Dr. Muster, dentist, High Street 1" + SCRIPT), ""),
        (page("App", '<div id="__nuxt"><img src=/1.jpg><img src=/2.jpg></div>' + SCRIPT), ""),
        (
            page("App", '<div id="root"></div>' + SCRIPT, f"<style>{'a{b:c}' * 10_000}</style>"),
            "shell",
        ),
    ],
)
def test_a_shell_shows_nothing_but_has_scripts(body, kind):
    """Images, frames and a server's rendering are something."""
    assert of(body) == kind


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (SCRIPT, 412, "wall:unknown"),
        (f"<noscript><h1>Scripts, please</h1></noscript>{SCRIPT}", 521, "wall:unknown"),
        (SCRIPT, 202, "wall:unknown"),
        (f"<div></div>{SCRIPT}", 500, ""),
        (SCRIPT, 404, ""),
        (SCRIPT, 200, "shell"),
    ],
)
def test_an_error_that_has_nothing_but_scripts_is_a_block_page(body, status, kind):
    """An error of a site has words, and an application a place for its page."""
    assert of(page("", body), status=status) == kind


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ('document.cookie="a=1"; location.reload()', "wall:script"),
        ("eval(function(p,a,c,k,e,d){return p}('0',1,1,'x'.split('|'),0,{}))", "wall:script"),
        ('location.href="/en/"', "shell"),
        ('document.cookie="a=1"', "shell"),
    ],
)
def test_a_page_with_nothing_but_a_script_that_sets_a_cookie_and_asks_again_is_a_block_page(
    script, kind
):
    """So is one that hides what it does. A redirect alone is none."""
    assert of(page("", f"<script>{script}</script>")) == kind


def test_a_captcha_in_a_form_that_a_reader_fills_in_is_no_block_page():
    """Newsletters and polls have one too."""
    form = "<form>{}<div class=h-captcha></div><button>Go</button></form>"

    assert of(page("Letter", form.format("<input type=hidden>"))) == "wall:unknown"
    assert (
        of(page("Letter", form.format("<input name=mail>")))
        == of(page("Poll", form.format("<select></select>")))
        == ""
    )


def test_the_title_of_a_page_of_a_site_is_no_mark():
    """It may be the name of a play."""
    title, play = "Pardon our interruption", "<p>A play in two acts, on Fridays at eight."

    assert of(page(title, play)) == "wall:distil"
    assert of(page(title, f"<nav>Club</nav>{play}")) == ""


@pytest.mark.parametrize(
    ("title", "body", "kind"),
    [
        ("Page not found: why your links rot", "<h1>Page not found</h1>", ""),
        ("404: This page could not be found", "<h1>404</h1>", "soft404"),
        ("Page not found", "<h1>Page not found</h1>What do you do?<textarea></textarea>", ""),
        ("Chyba", "<h1>Jejda</h1>", ""),
    ],
)
def test_a_title_that_goes_on_is_an_articles(title, body, kind):
    """And where a reader may answer, somebody has written."""
    assert of(page(title, body)) == kind


def test_the_class_of_the_body_says_that_there_is_no_page():
    """Themes set it in whatever language."""
    html = '<title>Chyba</title><body class="home {}"><h1>Jejda</h1>'

    assert of(html.format("error404 logged-out")) == "soft404"
    assert of(html.format("error404s")) == of(html.format("error404"), status=404) == ""


def test_what_will_be_closed_is_open():
    """An announcement of maintenance is a page."""
    assert of(page("Shop", "<p>The shop is closed for maintenance.")) == "maintenance"
    assert of(page("Shop", "<p>The shop will be closed for maintenance on Monday.")) == ""


def test_what_is_no_html_is_judged_by_its_headers_alone():
    """A text file that names block pages is a text file."""
    assert (
        recogniser().recognise(
            200, [(b"Content-Type", b"text/plain")], b"<title>Request Rejected</title>"
        )
        == ""
    )
    assert (
        recogniser().recognise(429, [(b"Content-Type", b"application/json")], b"{}") == "ratelimit"
    )


def test_a_page_in_another_encoding_is_read():
    """The words are looked for in the text."""
    body = page("Страница не найдена", "<a href=/>x</a>").encode("windows-1251")

    assert (
        recogniser().recognise(200, [(b"Content-Type", b"text/html; charset=windows-1251")], body)
        == "soft404"
    )


def test_a_user_adds_marks(tmp_path):
    """Another table goes before the package's own."""
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[mark]]\nis = "wall:mine"\nsource = "ours"\nany = ["halt, who goes there"]\nheader = {X-Wall = ""}'
    )
    anubis = '<script id="anubis_challenge"></script>'
    mine = recogniser(path)

    assert (
        of(page("x", f"Halt, who goes there? {anubis}"), by=mine)
        == of("", (b"x-wall", b"1"), by=mine)
        == "wall:mine"
    )
    assert of(page("x", anubis), by=mine) == "wall:anubis"
    assert of(page("x", "Halt, who goes there?")) == ""


def test_a_user_adds_words_of_a_denial(tmp_path):
    """In a language that the package's table lacks."""
    path = tmp_path / "mine.toml"
    path.write_text("[denial]\ndenies = ['shalala']\nguards = ['eldmur']")
    text = page("403", "<p>Eldmur shalala.")

    assert of(text, status=403, by=recogniser(path)) == "wall:denial"
    assert of(text, status=403) == ""


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("mark = 3 4", "line 1"),
        ("version = 2", "version 2"),
        ("marks = []", "'marks'"),
        ('[[mark]]\nany = ["x"]', "None"),
        ('[[mark]]\nis = "wall"\nany = ["x"]', "'wall'"),
        ('[[mark]]\nis = "wall:x"', "`any`"),
        ('[[mark]]\nis = "wall:x"\nany = ["("]', "missing"),
        ('[[mark]]\nis = "wall:x"\nany = [3]', "3"),
        # not of letters
        ('[[mark]]\nis = "wall:x"\nany = "who goes"', "`any` = 'who goes': must be a list"),
        ('[[mark]]\nis = "wall:x"\nheader = "x"', "`header`"),
        ('[[mark]]\nis = "wall:x"\nany = ["x"]\nstatus = 403', "`status` = 403: must be a list"),
        ('[[mark]]\nis = "wall:x"\nany = ["x"]\nstatus = ["403"]', "must be a list of numbers"),
        ('[[mark]]\nis = "wall:x"\nany = ["x"]\nbare = "no"', "must be a boolean"),
        ('[[mark]]\nis = "wall:x"\nall = ["x"]\nstati = [403]', "'stati'"),
        ('mark = "x"', "`mark`"),
        ("mark = [1]", "must be a table"),
        ('words = "x"', "`words`"),
        ('[words]\nwall = "abc"', "`wall`"),
        ('[names]\nwalls = ["abc"]', "'walls'"),
        ('[denial]\nguard = ["abc"]', "'guard'"),
    ],
)
def test_what_is_no_table_of_marks_is_named(tmp_path, table, why):
    """The crawl says so in one line before it starts."""
    path = tmp_path / "mine.toml"
    path.write_text(table)

    with pytest.raises((ValueError, TypeError), match=why):
        recogniser(path)


def test_a_page_that_may_be_nothing_else_is_not_parsed(monkeypatch):
    """Neither a long one nor a short one, in whatever encoding; one with a hint is."""
    monkeypatch.setattr(DocumentShape, "of", None)

    assert (
        of(page("Words", ARTICLE))
        == of(page("Short", "<p>hello"))
        == of(page("Übung", ARTICLE), status=500)
        == ""
    )
    with pytest.raises(TypeError):
        of(page("Page not found", "<p>hello"))


LONG = page(
    "Page not found: what we learnt", ARTICLE + "<a href=/next>next</a><a href=/back>back</a>"
)


def test_a_page_that_shows_enough_is_parsed_once(monkeypatch):
    """Its links are read from the tree that showed what it is."""
    trees = []
    monkeypatch.setattr(LexborTree, "elements", lambda reader, html: trees.append(html))

    assert of(LONG) == ""
    found = LinkReader().links(LONG.encode(), "text/html; charset=utf-8", "http://a.test/")

    assert [link[1] for link in found.links] == ["/next", "/back"]
    assert trees == []


def test_the_links_of_another_page_are_its_own():
    """A tree that is kept serves the document of which it is, and once."""
    reader, other = LinkReader(), b"<p>Others<a href=/other>other</a>"

    of(LONG)

    assert [link[1] for link in reader.links(other, "text/html", "http://a.test/").links] == [
        "/other"
    ]
    assert kept_tree().pop_tree(LONG.encode()) is None


def test_links_that_are_commented_out_leave_a_page_to_its_scripts():
    """So do images: old browsers are shown them."""
    old = "<!--[if lt IE 7]><a href='/upgrade'>Upgrade</a><img src=old.png><![endif]-->"

    assert of(page("", old + SCRIPT)) == "shell"
    assert of(page("", old + "<a href=/start>Start</a>" + SCRIPT)) == ""


@pytest.mark.parametrize("word", ["server", "URL"])
def test_a_word_that_most_pages_have_makes_none_suspicious(monkeypatch, word):
    """A sentence that begins with it is looked for by its end."""
    monkeypatch.setattr(DocumentShape, "of", None)

    assert of(page(f"The {word}", "<p>hello")) == ""


def test_odd_bodies_are_pages():
    """Nothing that a server sends makes it fail."""
    for body in (
        b"",
        b"\0" * 5000,
        b"<" * 40_000,
        b"<title",
        b"<div>" * 9000,
        b"<html>" + b"\xff\xfe" * 300,
    ):
        assert recogniser().recognise(200, [TYPE], body) in ("", "shell")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(202, "wall:unknown"), (403, "wall:unknown"), (302, ""), (308, ""), (404, "")],
)
def test_scripts_alone_under_a_redirect_are_no_block_page(status, kind):
    """Nobody reads the body of a redirect: where it leads is what counts.

    Of an error and a 202 it is the answer.
    """
    assert of(page("", "<script>window.location='/x'</script>"), status=status) == kind


BLOCKED = "<h1>Request blocked</h1><p>Your request was blocked by the security system.<p>Event ID: 64c11b7a-0022"
NGINX = "<center><h1>403 Forbidden</h1></center><hr><center>nginx/1.24.0 (Ubuntu)</center>"
S3 = "<h1>403 Forbidden</h1><ul><li>Code: AccessDenied<li>Message: Access Denied<li>RequestId: 4442587FB7D0A2F9</ul>"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Blocked", BLOCKED),
        ("Error", "<p>Unser Sicherheitssystem hat die Anfrage abgewiesen."),
        ("Banned", "<h2>Your IP address 203.0.113.8 is banned."),
        ("Denied", "<h3>Denied</h3>Transaction tx-5512-99ab-771c"),
        ("403", "<p>보안 정책에 의해 차단되었습니다."),
        ("403 Forbidden", "<h1>403 Forbidden</h1>Request forbidden by administrative rules."),
        ("Bot verification", "<p>Please wait while we verify you're not a robot."),
        ("Sorry", "<p>You have been blocked."),
    ],
)
def test_an_error_that_turns_away_a_client_is_a_denial(title, text):
    """It names a guard, or the request, or has a reference of the request, in some 25 languages."""
    assert of(page(title, text), status=403) == of(page(title, text), status=406) == "wall:denial"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("403 Forbidden", NGINX),
        ("403 Forbidden", S3),
        (
            "403 Forbidden",
            "<h1>Forbidden</h1><p>You don't have permission to access this resource.",
        ),
        (
            "Error 403 Forbidden",
            "<h2>HTTP ERROR 403 Forbidden</h2><tr><th>URI:<td>/x<tr><th>STATUS:<td>403",
        ),
        ("Access denied", "<h1>Access denied</h1><p>You are not authorized to access this page."),
        ("No access", "<h1>Access denied</h1>Sign in to see it. Request ID: 3a7c9911e0b24c55"),
        ("Account suspended", "<h1>This account has been suspended."),
        ("Kein Zugriff", "<h1>Zugriff verweigert</h1><p>Sie haben keine Berechtigung."),
        ("Forbidden", "<h1>Forbidden</h1><p>Access to this resource is forbidden."),
    ],
)
def test_an_error_that_forbids_a_page_is_none(title, text):
    """It says what servers say by themselves, or which right a reader lacks."""
    assert of(page(title, text), status=403) == ""


def test_a_denial_has_no_site_around_it():
    """Neither menus nor more than a few links."""
    menus = "".join(f"<a href=/{n}>Topic {n}</a>" for n in range(5))

    assert of(page("Blocked", BLOCKED + menus[: len(menus) // 5 * 4]), status=403) == "wall:denial"
    assert of(page("Blocked", BLOCKED + menus), status=403) != "wall:denial"
    assert of(page("Blocked", f"<nav></nav>{BLOCKED}"), status=403) != "wall:denial"


@pytest.mark.parametrize("status", [400, 404, 410, 500, 503, 522])
def test_a_server_that_fails_with_a_number_denies_nobody(status):
    """So does one that cannot make sense of a request."""
    assert (
        of(page("Sorry", "<p>We had to refuse your request. Error ID: 8c9f11ab22cd"), status=status)
        == ""
    )


def test_a_page_that_says_which_request_a_guard_has_denied_is_a_block_page():
    """With a good status all of it is needed, and where it is a form, or links, it is a page."""
    text = "<p>Our firewall flagged your request. Ref. 18.7e1d3417.1741"

    assert of(page("Sorry", text)) == "wall:unknown"
    assert (
        of(page("Sorry", f"{text}<a href=/a>a</a><a href=/b>b</a>"))
        == of(page("Sorry", f"{text}<input>"))
        == ""
    )
    assert (
        of(page("Sorry", text.partition(" Ref")[0]))
        == of(page("Sorry", text.replace("your", "a")))
        == ""
    )


def test_a_script_that_sets_a_cookie_and_reloads_is_a_block_page_whatever_it_says():
    """Who shows something, or has a place for an application, is none."""
    script = '<script>document.cookie="a=1"; location.reload()</script>'

    assert of(page("One second", f"<p>Calculating{script}")) == "wall:script"
    assert of(page("One second", f"<div id=app></div>{script}")) == "shell"
    assert of(page("One second", f"<img src=/1.jpg>{script}")) == ""


@pytest.mark.parametrize(
    ("body", "status", "kind", "value"),
    [
        (b"error code: 1020", 403, "text/plain", "wall:cloudflare"),
        (b"error code: 1020", 200, "text/plain", ""),
        (b"error code: 1015", 429, "text/plain", "ratelimit"),
        (b"error code: 1016", 530, "text/plain", ""),
        (b"error code: 1033", 530, "text/plain", ""),
        (b"error code: 522", 522, "text/plain", ""),
        (
            b'{"url": "https://geo.captcha-delivery.com/captcha/?x"}',
            403,
            "application/json",
            "wall:datadome",
        ),
        (b'{"url": "https://geo.captcha-delivery.com/captcha/?x"}', 404, "application/json", ""),
    ],
)
def test_a_denial_that_is_no_page(body, status, kind, value):
    """A line of text, or an object for a script, with a vendor's mark: of an error that may be a
    denial.
    """
    assert recogniser().recognise(status, [(b"Content-Type", kind.encode())], body) == value


def test_a_button_that_sets_a_cookie_is_no_block_page():
    """Nor is a page with a heading of its own: a challenge reloads by itself, and has no more to
    say.
    """
    script = "<script>function l(x) {document.cookie='l=' + x; location.reload()}</script>"

    assert of(page("Huber", f"<button onclick=\"l('de')\">Deutsch</button>{script}")) == ""
    assert of(page("Clock", f"<h1>12:31</h1>{script}")) == ""
    assert of(page("One second", f"<h1>Please wait</h1>{script}")) == "wall:script"


def test_a_packed_script_that_fills_places_makes_a_shell():
    """A player, a gallery; a film is a page, and a title may say that somebody is checked."""
    packed = "<script>eval(function(p,a,c,k,e,d){return p}('0',1,1,'x'.split('|'),0,{}))</script>"

    assert of(page("Gallery", f"<div id=gallery></div>{packed}")) == "shell"
    assert of(page("Episode 4", f"<video src=/4.mp4></video>{packed}")) == ""
    assert of(page("Checking", f"<div id=loader></div>{packed}")) == "wall:script"


def test_what_a_site_loads_from_a_guard_does_not_make_its_page_a_block_page():
    """A menu, links and sentences are a site's own."""
    script = "<script src=/.safeline/static/x.js></script>"

    assert (
        of(
            page(
                "Docs",
                f"<nav><a href=/a>a</a><a href=/b>b</a></nav><p>{'The harbour has boats. ' * 9}{script}",
            )
        )
        == ""
    )
    assert of(page("Docs", f"<p>Checking{script}")) == "wall:safeline"


def test_who_says_that_nobody_is_blocked_is_a_page():
    """It names an address, a guard and a denial, and denies that."""
    text = "Your IP address 203.0.113.7 is not blocked. No VPN was detected."

    assert of(page("My address", f"<p>{text}")) == ""
    assert (
        of(page("Sorry", f"<p>{text.replace('not', 'now').replace('No VPN was', 'A VPN was')}"))
        == "wall:unknown"
    )


@pytest.mark.parametrize(
    ("said", "kind"), [("Radio Nord, 98.4 MHz", ""), ("Loading", "wall:script")]
)
def test_a_packed_script_beside_words_is_a_block_page_if_they_say_what_it_does(said, kind):
    """Small pages have packed scripts too."""
    packed = "<script>eval(function(p,a,c,k,e,d){return p}('0',1,1,'x'.split('|'),0,{}))</script>"

    assert of(page("Radio", f"<p>{said}</p>{packed}")) == kind


@pytest.mark.parametrize(("by", "kind"), [("", ""), ("Access denied by ", "wall:imunify360")])
def test_a_vendors_name_in_a_list_is_no_mark(by, kind):
    """Hosters name what they sell."""
    assert of(page("Our plans", f"<ul><li>10 GB<li>{by}Imunify360 bot-protection</ul>")) == kind


WORDS = " ".join(f"wort{number}" for number in range(80))
NOWHERE, PAGE = "http://a.test/x/qwertzuiopasdfgh.html", "http://a.test/x/real.html?a=1"


def probe(title, text, url=NOWHERE):
    return Probe.of(url, title, text)


def test_a_long_text_may_differ_a_little():
    """It need not be the same: some pages have a time in them."""
    assert probe("Hoppla", WORDS).is_like(probe("Hoppla", f"{WORDS} anders"))
    assert not probe("Hoppla", WORDS).is_like(probe("Hoppla", WORDS.replace("wort", "sonst")))


def test_a_short_text_is_the_same():
    """There is nothing else to go by."""
    assert probe("Shop", "Nothing here").is_like(probe("Shop", "Nothing  here"))
    assert not probe("Shop", "Nothing here").is_like(probe("Shop", "Nothing there"))


def test_the_words_of_a_url_do_not_count():
    """Such pages repeat what was asked for."""
    one = probe("No real.html", "There is no /x/real.html?a=1 here", PAGE)

    assert one.is_like(
        probe("No qwertzuiopasdfgh.html", "There is no /x/qwertzuiopasdfgh.html here")
    )


def test_pages_of_one_template_have_titles_of_their_own():
    """Another title is another page, whatever the text around it."""
    assert not probe("Shoes", WORDS).is_like(probe("Hats", WORDS))


@given(st.text(), st.text())
def test_it_is_kept_in_a_few_bytes(title, text):
    """As it was."""
    found = probe(title, text)

    assert Probe.unpack(found.pack()) == found
    assert len(found.pack()) == 15


def test_other_bytes_are_none():
    """A damaged record says so."""
    with pytest.raises(ValueError, match="15 bytes"):
        Probe.unpack(b"12")


def test_what_is_no_page_shows_nothing():
    """Only documents are compared."""
    assert recogniser().probe(PAGE, [(b"Content-Type", b"text/plain")], b"x") is None
    assert recogniser().probe(PAGE, [(b"Content-Type", b"text/html")], b"") is None
    assert recogniser().probe(PAGE, [(b"Content-Type", b"text/html")], b"<title>x") == probe(
        "x", ""
    )
