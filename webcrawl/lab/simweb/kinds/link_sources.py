"""Links of every kind and spelling, things that look like links, and traps, which generate pages
without an end.
"""

from __future__ import annotations

import re

from webcrawl.lab.simweb.random_content import draws
from webcrawl.lab.simweb.web_answers import Anchor, AnswerKind, AnswerPlace, WebAnswer, document

# What a page with a link of each kind has in its body or head; {0} is the link's target
_IN_BODY = {
    "a": '<a href="{0}">a page</a>',
    "area": '<map name="m"><area shape="rect" coords="0,0,9,9" href="{0}" alt="a place"></map>',
    "iframe": '<iframe src="{0}"></iframe>',
    "img": '<img src="{0}" alt="">',
    "srcset": '<img srcset="{0} 2x" alt="">',
    "style": '<p style="background: url({0})">decorated</p>',
    "media": '<video src="{0}" controls></video>',
    "object": '<object data="{0}"></object>',
    "form": '<form action="{0}"><input name="q"></form>',
}
_IN_HEAD = {
    "canonical": '<link rel="canonical" href="{0}">',
    "link": '<link rel="alternate" href="{0}">',
    "script": '<script src="{0}"></script>',
    "refresh": '<meta http-equiv="Refresh" content="5; URL={0}">',
}


def _source_kind(source: str) -> AnswerKind:
    def answer(place: AnswerPlace) -> WebAnswer:
        link = place.anchor(source)
        body = _IN_BODY.get(source, "").format(place.landing())
        head = _IN_HEAD.get(source, "").format(place.landing())
        return WebAnswer(body=document(place.url, body, head), links=[link])

    return AnswerKind(answer)


def _frames(place: AnswerPlace) -> WebAnswer:
    body = (
        f"<!DOCTYPE html><title>{place.url}</title><frameset cols='50%,50%'><frame src='{place.landing('left')}'>"
        f"<frame src={place.landing('right')}><noframes>no frames</noframes></frameset>"
    )
    return WebAnswer(
        body=body.encode(), links=[place.anchor("frame", "left"), place.anchor("frame", "right")]
    )


def _base(place: AnswerPlace) -> WebAnswer:
    folder = place.landing("")
    # HTML Standard 4.2.3: the first base with an href counts
    head = f'<base target="_top"><base href="{folder}"><base href="/never/base/">'
    body = '<a href="here">by the base</a> <a href="./">the base itself</a>'
    return WebAnswer(
        body=document(place.url, body, head), links=[place.anchor(), place.anchor(name="")]
    )


def _spellings(place: AnswerPlace) -> WebAnswer:
    """Return a page with one link in each spelling that browsers follow.

    They follow it by the URL standard's parser and the HTML standard's rules for attributes.
    """
    own, site = place.landing, place.origin
    authority = site.partition("//")[2]
    written = {
        "spaces": f"  {own('spaces')}\n\t",
        # URL Standard 4.4: tabs and line ends within a URL are dropped
        "newline": own("new") + "\n" + "line",
        "entity": f"{own('entity')}?a=1&amp;b=2",
        "numeric": own("numeric").replace("/", "&#x2F;"),
        "bare": f"{own('bare')}?a=1&b=2",
        "inner": own("in") + " ner",
        "dots": f"/x/y/../z/../../{own('dots')[1:]}",
        "escaped": f"/x/y/%2e%2E/..{own('escaped')}",
        "backslash": own("backslash").replace("/", "\\"),
        # A scheme and a host may have capitals; a path with one would be another page
        "upper": f"{site.split(':')[0].upper()}://{authority.upper()}{own('upper')}",
        "scheme": f"//{authority}{own('scheme')}",
        # URL Standard 4.4: with the page's own scheme this is a relative link
        "single": f"{site.split(':')[0]}:{own('single')}",
        "fragment": f"{own('fragment')}#part-2",
        "user": f"{site.split('//')[0]}//user:secret@{authority}{own('user')}",
        "umlaut": own("straße-日本"),
        "pipe": own("a|b"),
        "percent": own("100%"),
    }
    canonical = {
        "newline": own("newline"),
        "entity": f"{own('entity')}?a=1&b=2",
        "bare": f"{own('bare')}?a=1&b=2",
        "inner": own("in") + "%20ner",
        "umlaut": own("stra%C3%9Fe-%E6%97%A5%E6%9C%AC"),
        "pipe": own("a|b"),
        "percent": own("100%"),
    }
    body = "\n".join(f'<A HREF="{href}">{name}</A>' for name, href in written.items())
    body += f"\n<a href={own('unquoted')}>unquoted</a> <a href='{own('quoted')}'>quoted</a>"
    found = [
        Anchor("a", site + canonical.get(name, own(name)))
        for name in (*written, "unquoted", "quoted")
    ]
    own_page = (
        '\n<a href="">this page</a> <a href="#part">its part</a> <a href="?b=1">its query</a>'
    )
    found += [Anchor("a", place.url + place.rest), Anchor("a", f"{place.url}?b=1")]
    return WebAnswer(body=document(place.url + place.rest, body + own_page), links=found)


def _no_links(place: AnswerPlace) -> WebAnswer:
    """Return a page full of what only looks like links."""
    # No link leads below /never/, so a request there means that a crawler has taken text for one
    never = f"/never/{place.number}"
    body = f"""<!-- <a href="{never}/comment">a comment</a> --> <a name="anchor">no href</a>
<script>document.write('<a href="{never}/script">');</script>
<style>/* <a href="{never}/style"> */</style>
<textarea><a href="{never}/textarea"></textarea> <title><a href="{never}/title"></title>
<a href="javascript:go('{never}/javascript')">script</a> <a href="mailto:x@site0.test">mail</a>
<a href="tel:+1234">phone</a> <a href="data:text/html,<a href='{never}/data'>">data</a>
<a href="file:///etc/passwd">file</a> <a href="about:blank">blank</a> <a href="http://">nothing</a>
<a href="http://[::1/">half an address</a> <a href="http://:80/">no host</a> <a href="http://a b.test/">space</a>
&lt;a href="{never}/escaped"&gt; <p title="<a href='{never}/attribute'>">attribute</p>
<a data-href="{never}/data-href">data</a> <link rel="stylesheet" data-x="{never}/x">"""
    return WebAnswer(body=document(place.url, body))


def _nofollow(place: AnswerPlace) -> WebAnswer:
    body = (
        f'<a rel="external nofollow" href="{place.landing()}">not endorsed</a> <a '
        f'href="{place.landing("ok")}">ok</a>'
    )
    return WebAnswer(
        body=document(place.url, body),
        links=[place.anchor(nofollow=True), place.anchor(name="ok", nofollow=False)],
    )


def _robots_meta(place: AnswerPlace) -> WebAnswer:
    body = f'<a href="{place.landing()}">a page</a>'
    head = '<meta name="ROBOTS" content="noindex, NOFOLLOW">'
    return WebAnswer(body=document(place.url, body, head), links=[place.anchor(nofollow=True)])


KINDS: dict[str, AnswerKind] = {
    **{f"source_{source}": _source_kind(source) for source in (*_IN_BODY, *_IN_HEAD)},
    "source_frame": AnswerKind(_frames),
    "base": AnswerKind(_base),
    "spellings": AnswerKind(_spellings),
    "no_links": AnswerKind(_no_links),
    "nofollow": AnswerKind(_nofollow),
    "robots_meta": AnswerKind(_robots_meta),
}


_MONTH = re.compile(r"\?month=(\d{4})-(\d\d)")
_SIZES, _COLOURS, _ORDERS = ("s", "m", "l"), ("red", "green", "blue"), ("price", "name", "date")


def _page_with_links(place: AnswerPlace, *hrefs: tuple[str, str]) -> WebAnswer:
    """Return a page with these links, each given as written and as the target it means."""
    body = "\n".join(f'<a href="{href.replace("&", "&amp;")}">more</a>' for href, _ in hrefs)
    links = [Anchor("a", place.origin + target) for _, target in hrefs]
    return WebAnswer(body=document(place.url + place.rest, body), links=links)


def _calendar(place: AnswerPlace) -> WebAnswer:
    """Return a month of a calendar, with links to the next and the previous one."""
    match = _MONTH.fullmatch(place.rest)
    month = int(match[1]) * 12 + int(match[2]) - 1 if match else 2024 * 12
    targets = [
        f"{place.path}?month={at // 12:04}-{at % 12 + 1:02}" for at in (month - 1, month + 1)
    ]
    return _page_with_links(place, *((target, target) for target in targets))


def _session(place: AnswerPlace) -> WebAnswer:
    """Return one of five pages whose links get a new session id on every visit."""
    # The ids follow from the URL of the visit: the same request gets the same page
    ids = draws(place.number, _hash_of_text(place.rest), place.host)
    targets = [
        f"{place.path}/{step}?sid={number:016x}"
        for step in range(5)
        for number in ids[step % 2 :][:1]
    ]
    return _page_with_links(place, *((target, target) for target in targets))


def _session_path(place: AnswerPlace) -> WebAnswer:
    ids = draws(place.number, _hash_of_text(place.rest), place.host)
    targets = [f"{place.path}/{step}.jsp;jsessionid={ids[step % 2]:016X}" for step in range(3)]
    return _page_with_links(place, *((target, target) for target in targets))


def _repeated_folders(place: AnswerPlace) -> WebAnswer:
    """Return a page whose links lack a leading slash, on a server that accepts every path."""
    folder = (place.path + place.rest).rpartition("/")[0]
    return _page_with_links(
        place, *((href, f"{folder}/{href}") for href in ("about/team/", "about/jobs/"))
    )


def _ever_deeper(place: AnswerPlace) -> WebAnswer:
    """Return a page with links to ever deeper folders."""
    names = draws(place.number, _hash_of_text(place.rest), place.host)
    folder = (place.path + place.rest).rpartition("/")[0] if place.rest else place.path
    targets = [f"{folder}/{name % 9973}/" for name in names]
    return _page_with_links(place, *((target, target) for target in targets))


def _facets(place: AnswerPlace) -> WebAnswer:
    """Return a page of a shop with filters, in any order and number."""
    chosen = place.rest.removeprefix("?")
    pairs = [f"size={size}" for size in _SIZES] + [f"colour={colour}" for colour in _COLOURS]
    pairs += [f"sort={order}" for order in _ORDERS]
    before = f"{chosen}&" if chosen else ""
    targets = [f"{place.path}?{before}{pair}" for pair in pairs]
    return _page_with_links(place, *((target, target) for target in targets))


def _endless_list(place: AnswerPlace) -> WebAnswer:
    """Return a page of an endless list."""
    match = re.fullmatch(r"\?page=(\d{1,12})", place.rest)
    at = int(match[1]) if match else 0
    targets = [f"{place.path}?page={at + step}" for step in (1, 2, 10, 100)]
    return _page_with_links(place, *((target, target) for target in targets))


def _hash_of_text(text: str) -> int:
    """Return a hash that is the same in every process, unlike Python's own."""
    return int.from_bytes(text.encode()[-24:], "big") % 2**61


TRAPS: dict[str, AnswerKind] = {
    "trap_calendar": AnswerKind(_calendar, trap=True),
    "trap_session": AnswerKind(_session, trap=True),
    "trap_session_path": AnswerKind(_session_path, trap=True),
    # It grows only below a folder, so the link to it ends in a slash
    "trap_repeating": AnswerKind(
        _repeated_folders, entries=lambda place: [f"{place.url}/"], trap=True
    ),
    "trap_growing": AnswerKind(_ever_deeper, trap=True),
    "trap_facets": AnswerKind(_facets, trap=True),
    "trap_numbers": AnswerKind(_endless_list, trap=True),
}
