"""Generated pages, well-formed and not: what a reader without a tree could take for something else."""

from __future__ import annotations

from random import Random

BLOCKS = [
    "div",
    "p",
    "ul",
    "li",
    "ol",
    "dl",
    "dd",
    "dt",
    "h1",
    "h2",
    "table",
    "tbody",
    "tr",
    "td",
    "th",
    "caption",
    "form",
    "section",
    "article",
    "center",
    "pre",
    "main",
    "nav",
]
INLINE = [
    "a",
    "a",
    "a",
    "a",
    "b",
    "i",
    "em",
    "font",
    "nobr",
    "span",
    "button",
    "object",
    "strong",
    "small",
    "u",
    "custom-tag",
    "code",
    "noscript",
    "label",
]
RAW = ["script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes"]
VOID = [
    "br",
    "img",
    "hr",
    "input",
    "area",
    "base",
    "link",
    "meta",
    "embed",
    "wbr",
    "col",
    "source",
    "param",
    "iframe",
    "frame",
]
RARE = [
    "svg",
    "math",
    "select",
    "option",
    "optgroup",
    "template",
    "plaintext",
    "frameset",
    "html",
    "head",
    "body",
    "colgroup",
    "thead",
    "tfoot",
    "image",
    "ruby",
    "rt",
    "rp",
    "rb",
    "rtc",
    "applet",
    "marquee",
    "keygen",
    "listing",
    "summary",
    "details",
    "dialog",
    "isindex",
    "selectedcontent",
    "option",
    "use",
    "g",
    "path",
    "address",
]
SCHEMES = (
    "http://",
    "https://",
    "//",
    "ftp://",
    "gopher://",
    "mailto:",
    "javascript:",
    "tel:",
    "data:",
    "HTTP://",
    "x:",
)
HOSTS = (
    "a.test",
    "www.b.example.org",
    "A.test",
    "xn--bcher-kva.de",
    "b\u00fccher.de",
    "1.2.3.4",
    "0x7f.1",
    "[::1]",
    "a",
    "a..b",
    "a.test:80",
    "a.test:8080",
    "a.test:443",
    "a.test:65536",
    "a.test:0080",
    "u:p@a.test",
    "a.test.",
    "-a.test",
    "a_b.test",
    "a.1",
    "x" * 64 + ".de",
    "%61.test",
    "a b.test",
    "",
)
PARTS = (
    "/",
    "/a",
    "/b/c",
    "/.",
    "/..",
    "/../",
    "./",
    "../",
    "/%2e",
    "/%2E%2e/",
    "/a%20b",
    "/%",
    "/a b",
    "/\u00e4",
    "\\",
    "/x;y=1",
    "?",
    "?q=1",
    "?a=1&b=2",
    "?a=1&amp;b=2",
    "?'",
    '?"',
    "?\u00e4",
    "#",
    "#f",
    "#\u00e4",
    "# x",
    "a",
    "b.html",
    "c:d",
    "@",
    "\t",
    "\n",
    " ",
    "\r\n",
    "&#32;",
    "&copy",
    "&copy=1",
    "&copy;",
    "&notit;",
    "&#x41;",
    "&#0;",
    "&#150;",
    "&lt",
    "|",
    "[",
    "^",
    "{",
    "`",
    "~",
    "\x7f",
    "\u00a0",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "&amp",
    "&Aacute",
    "&bne;",
    "<",
    "",
)
TEXTS = (
    "",
    " ",
    "\n",
    "word",
    "&amp;",
    "a < b",
    "<",
    "</",
    "<!",
    "<!-- c -->",
    "<!-->",
    "<!--->",
    "<!-- <a href=1> --!>",
    "<!-- x",
    "<?x?>",
    "</>",
    "</ x>",
    "<![CDATA[ x ]]>",
    "<!DOCTYPE html>",
    "&notit;",
    "\u00a0",
    "\r",
    "<3",
    "\f",
    "&#13;",
)
DOCTYPES = (
    "",
    "",
    "<!DOCTYPE html>",
    "<!doctype HTML>\n",
    "<!DOCTYPE x>",
    "<!-- c --><!DOCTYPE html>",
    "<!DOCTYPE html SYSTEM 'x'>",
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/x.dtd">',
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">',
    '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">',
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">',
)
NAMES = (
    "href",
    "href",
    "HREF",
    "xlink:href",
    "rel",
    "src",
    "id",
    "class",
    "lang",
    "xml:lang",
    "type",
    "name",
    "=",
    "a/b",
    "x",
)
RELS = (
    "nofollow",
    "canonical",
    "license",
    "CANONICAL next",
    "stylesheet",
    "alternate",
    "",
    "no&shy;follow",
    "canonical\u2003x",
)
METAS = (
    'name=robots content="noindex, NOFOLLOW"',
    "name=' Robots ' content=none",
    "name=tdm-reservation content=1",
    "content=x",
    'http-equiv=refresh content="5"',
    'http-equiv=Refresh content="0; url=/r"',
    "charset=utf-8",
    "name=tdm-policy content='&amp;'",
    "name=robots content=''",
    "name=keywords content=k",
    "http-equiv=refresh name=robots content=7",
)


def address(random: Random) -> str:
    """A URL, plain or odd."""
    if random.random() < 0.3:
        return random.choice(
            ("/a", "/b/c?d=1", "x.html", "../y", "#top", "http://a.test/z", "https://b.example.org/", "?p=2")
        )
    start = random.choice(SCHEMES) + random.choice(HOSTS) if random.random() < 0.4 else ""
    return start + "".join(random.choice(PARTS) for _ in range(random.randrange(5)))


def value(random: Random, text: str) -> str:
    """An attribute's value as it may be written."""
    quote = random.choice(('"', '"', '"', "'", ""))
    space = random.choice(("", "", "", " ", "\n"))
    return f"{space}={space}{quote}{text}{quote if random.random() < 0.995 else ''}"


def attributes(random: Random, tag: str) -> str:
    """Attributes of a tag, of which some matter."""
    if tag == "meta":
        return f" {random.choice(METAS)}"
    found = []
    if tag in ("a", "area", "base", "link"):
        found.append("href" + value(random, address(random)) if random.random() < 0.9 else "href")
    if tag in ("iframe", "frame", "img"):
        found.append("src" + value(random, address(random)))
    if tag in ("a", "link") and random.random() < 0.5:
        found.append("rel" + value(random, random.choice(RELS)))
    names = random.choices(NAMES, k=random.choice((0, 0, 0, 1, 2)))
    found += [name + (value(random, random.choice(PARTS)) if random.random() < 0.8 else "") for name in names]
    random.shuffle(found)
    return "".join(random.choice((" ", " ", " ", "\n", "/", " / ")) + one for one in found)


def start(random: Random, tag: str) -> str:
    """A start tag."""
    name = tag.upper() if random.random() < 0.05 else tag
    end = random.choice((">", ">", ">", ">", "/>", " >", " />"))
    return f"<{name}{attributes(random, tag)}{end if random.random() < 0.998 else ''}"


def piece(random: Random, opened: list[str]) -> str:
    """One tag or text; `opened` are the tags that may be closed."""
    kind = random.random()
    if kind < 0.2:
        return random.choice(TEXTS)
    if kind < 0.45 and opened:
        at = -1 if random.random() < 0.8 else random.randrange(len(opened))
        return f"</{opened.pop(at)}>"
    if kind < 0.5:
        return f"</{random.choice((*BLOCKS, *INLINE, *RARE, 'br', 'p'))}>"
    if kind < 0.56:
        tag = random.choice(RAW)
        inner = random.choice((*TEXTS, "<a href=1>", "<!--<script>", "</a>", "</script", "<svg>", "&amp;"))
        return f"{start(random, tag)}{inner}{'</' + tag + '>' if random.random() < 0.95 else ''}"
    if kind < 0.66:
        return start(random, random.choice(VOID))
    tag = random.choice(RARE) if kind < 0.69 else random.choice(BLOCKS) if kind < 0.83 else random.choice(INLINE)
    opened.append(tag)
    return start(random, tag)


def page(random: Random) -> str:
    """A document of up to 60 pieces, most of which do not fit together."""
    opened: list[str] = []
    head = random.choice(
        ("", "<html lang=de><head>", "<html><head>", "<head>", "<body>", "<title>t</title>", "<noscript>")
    )
    length = random.choice((3, 6, 12, 25, 60))
    pieces = [piece(random, opened) for _ in range(random.randrange(1, length + 1))]
    return random.choice(DOCTYPES) + head + "".join(pieces)


def mutated(random: Random, text: str) -> str:
    """The same with some pieces of it repeated, removed, moved or changed."""
    for _ in range(random.randrange(1, 6)):
        at, to = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
        to = min(to, at + random.choice((1, 3, 10, 100)))
        change = random.randrange(4)
        if change == 0:
            text = text[:at] + text[to:]
        elif change == 1:
            text = text[:to] + text[at:to] + text[to:]
        elif change == 2:
            text = text[:at] + random.choice("<>/\"'= a&!-\n") + text[to:]
        else:
            where = random.randrange(len(text) + 1)
            text = text[:where] + text[at:to] + text[where:]
    return text


def table_page(random: Random) -> str:
    """A document in which tables, their parts and anchors meet more often."""
    tags = (
        "table",
        "tr",
        "td",
        "th",
        "tbody",
        "caption",
        "a",
        "a",
        "b",
        "p",
        "div",
        "form",
        "object",
        "colgroup",
        "col",
        "button",
    )
    pieces = []
    for _ in range(random.randrange(2, 30)):
        tag = random.choice(tags)
        pieces.append(start(random, tag) if random.random() < 0.6 else f"</{tag}>")
        pieces.append(random.choice(("", "", " ", "t")))
    return random.choice(DOCTYPES) + "".join(pieces)


def anchor_page(random: Random) -> str:
    """A document of anchors and other formatting elements across blocks."""
    tags = (
        "a",
        "a",
        "a",
        "b",
        "i",
        "nobr",
        "font",
        "p",
        "div",
        "li",
        "ul",
        "span",
        "h1",
        "button",
        "object",
        "address",
        "dd",
    )
    pieces = []
    for _ in range(random.randrange(2, 30)):
        tag = random.choice(tags)
        if tag == "a":
            pieces.append(f"<a href={random.randrange(9)}>" if random.random() < 0.5 else "</a>")
        else:
            pieces.append(f"<{tag}>" if random.random() < 0.6 else f"</{tag}>")
        pieces.append(random.choice(("", "", " ", "t")))
    return "".join(pieces)


def any_page(random: Random) -> str:
    """A page of any of these sorts."""
    found = random.choice((page, page, page, table_page, anchor_page))(random)
    return mutated(random, found) if random.random() < 0.3 else found
