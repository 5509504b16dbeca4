"""A small site whose pages are documents, and some that are none."""

from tests.support.plain_site import Site

PARAGRAPH = (
    "A lamp is a thing that gives light when the evening comes, and people have made lamps of clay, of glass and of "
    "iron for as long as they have had something to read. The first lamps burned oil, and the wick had to be cut with "
    "care; later ones burned gas, and those that we have today need neither of the two. "
)
ARTICLE = f"""<!doctype html><html lang="en-GB"><head><title>Lamps</title><meta name="author" content="Ada Lovelace">
<meta property="article:published_time" content="2024-05-17T08:00:00Z"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/sub">Subscribe now</a></li></ul></nav>
<article><h1>Lamps and their history</h1><p>{PARAGRAPH * 2}</p><h2>How lamps work</h2><p>{PARAGRAPH} See
<a href="/plain">the manual</a> for more of it.</p><ul><li>A lamp of clay, which is the oldest kind</li>
<li>A lamp of glass, which is the brightest kind</li></ul><table><tr><th>Lamp</th><th>Year</th></tr><tr><td>Oil</td>
<td>1780</td></tr></table><pre><code>lamp = on
wick = cut</code></pre><p>{PARAGRAPH}</p></article>
<footer>Subscribe now for letters about lamps.
<a rel="license" href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a></footer></body></html>"""
SLOVENE = """<html lang="sl"><title>Svetilke</title><body><article><h1>Svetilke</h1>
<p>Svetilka je predmet, ki daje svetlobo, ko pride noc, in ljudje so svetilke izdelovali iz gline, stekla in kovine,
odkar imajo kaj brati. Prve svetilke so gorele na olje, stenj pa je bilo treba skrbno obrezovati; potem so gorele na
plin, te, ki jih imamo danes, pa ne potrebujejo nobenega od obeh. Kdor hoce o svetilkah vedeti kaj vec, naj prebere
knjigo, ki jo je napisal njihov izdelovalec, in naj ne pozabi, da je olje nevarno, kadar je doma veliko otrok in malo
odraslih ljudi.</p></article></body></html>"""
PAGES = {
    "/": "<title>Home</title><p>Pages: "
    + "".join(
        f'<a href="/{name}">{name}</a> '
        for name in (
            "article",
            "near",
            "slovene",
            "forbidden",
            "plain",
            "copy",
            "missing",
            "moved",
            "image",
        )
    ),
    "/article": ARTICLE,
    "/near": ARTICLE.replace("the brightest kind", "the brightest sort"),
    "/slovene": SLOVENE,
    "/copy": SLOVENE,
    "/forbidden": f"<title>Mine</title><article><p>{PARAGRAPH}</p></article>",
}


class Lamps(Site):
    """Serves these pages."""

    def answer(self):
        """Answer by the path."""
        if self.path in PAGES:
            more = {"content_usage": "train-ai=n"} if self.path == "/forbidden" else {}
            return self.say(
                200, PAGES[self.path].encode(), content_type="text/html; charset=utf-8", **more
            )
        if self.path == "/plain":
            return self.say(200, b"A plain text,\r\nof two lines.")
        if self.path == "/image":
            return self.say(200, b"GIF89a\x07\x00\x05\x00\x00\x00\x00;", content_type="image/gif")
        if self.path == "/moved":
            return self.say(302, b"", location="/article")
        return self.say(404, b"<p>nothing here", content_type="text/html")
