"""Links of every kind and spelling, and things that look like links."""

from __future__ import annotations

from webcrawl.lab.simweb.web_answers import Anchor, Answer, Kind, Place, document

# What a page of each kind has in its body, or in its head (_IN_HEAD); {0} is the link's target.
_WRITTEN = {
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


def _source(source: str) -> Kind:
    def answer(place: Place) -> Answer:
        link = place.anchor(source)
        body = _WRITTEN.get(source, "").format(place.landing())
        head = _IN_HEAD.get(source, "").format(place.landing())
        return Answer(body=document(place.url, body, head), links=[link])

    return Kind(answer)


def _frames(place: Place) -> Answer:
    body = (
        f"<!DOCTYPE html><title>{place.url}</title><frameset cols='50%,50%'><frame src='{place.landing('left')}'>"
        f"<frame src={place.landing('right')}><noframes>no frames</noframes></frameset>"
    )
    return Answer(body=body.encode(), links=[place.anchor("frame", "left"), place.anchor("frame", "right")])


def _base(place: Place) -> Answer:
    folder = place.landing("")
    head = f'<base target="_top"><base href="{folder}"><base href="/never/base/">'
    body = '<a href="here">by the base</a> <a href="./">the base itself</a>'
    return Answer(body=document(place.url, body, head), links=[place.anchor(), place.anchor(name="")])


def _spellings(place: Place) -> Answer:
    """Every link is one that browsers follow, by the URL standard's parser and the HTML standard's attribute rules."""
    own, site = place.landing, place.origin
    authority = site.partition("//")[2]
    written = {
        "spaces": f"  {own('spaces')}\n\t",
        "newline": own("new") + "\n" + "line",
        "entity": f"{own('entity')}?a=1&amp;b=2",
        "numeric": own("numeric").replace("/", "&#x2F;"),
        "bare": f"{own('bare')}?a=1&b=2",
        "inner": own("in") + " ner",
        "dots": f"/x/y/../z/../../{own('dots')[1:]}",
        "escaped": f"/x/y/%2e%2E/..{own('escaped')}",
        "backslash": own("backslash").replace("/", "\\"),
        "upper": f"{site.split(':')[0].upper()}://{authority.upper()}{own('upper')}",
        "scheme": f"//{authority}{own('scheme')}",
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
    found = [Anchor("a", site + canonical.get(name, own(name))) for name in (*written, "unquoted", "quoted")]
    own_page = '\n<a href="">this page</a> <a href="#part">its part</a> <a href="?b=1">its query</a>'
    found += [Anchor("a", place.url + place.rest), Anchor("a", f"{place.url}?b=1")]
    return Answer(body=document(place.url + place.rest, body + own_page), links=found)


def _no_links(place: Place) -> Answer:
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
    return Answer(body=document(place.url, body))


def _nofollow(place: Place) -> Answer:
    body = (
        f'<a rel="external nofollow" href="{place.landing()}">not endorsed</a> <a href="{place.landing("ok")}">ok</a>'
    )
    return Answer(
        body=document(place.url, body), links=[place.anchor(nofollow=True), place.anchor(name="ok", nofollow=False)]
    )


def _robots_meta(place: Place) -> Answer:
    body = f'<a href="{place.landing()}">a page</a>'
    head = '<meta name="ROBOTS" content="noindex, NOFOLLOW">'
    return Answer(body=document(place.url, body, head), links=[place.anchor(nofollow=True)])


KINDS = {
    **{f"source_{source}": _source(source) for source in (*_WRITTEN, *_IN_HEAD)},
    "source_frame": Kind(_frames),
    "base": Kind(_base),
    "spellings": Kind(_spellings),
    "no_links": Kind(_no_links),
    "nofollow": Kind(_nofollow),
    "robots_meta": Kind(_robots_meta),
}
