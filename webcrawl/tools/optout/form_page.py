"""The pages of the form, as HTML without scripts. All that a stranger typed is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from html import escape

from webcrawl.tools.optout.deciding import Result
from webcrawl.tools.optout.subject import LONGEST, Subject
from webcrawl.tools.optout.token import LIFE, Wish
from webcrawl.urls.optout import said

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff;overflow-wrap:anywhere}h1{line-height:1.2}h2{margin-top:2rem}label{display:block;margin:.5rem 0}"
    "input[name=rule]{display:block;width:100%;box-sizing:border-box}input,button{font:inherit;padding:.4rem;"
    "color:inherit;background:transparent;border:1px solid #888;border-radius:4px}button{padding:.4rem 1rem;"
    "cursor:pointer;margin:.5rem 0}code,pre{font:14px/1.4 ui-monospace,monospace;background:#f2f2f2;"
    "white-space:pre-wrap}pre{padding:.7rem}code{padding:.1rem .3rem}"
    ".said{border-left:4px solid #b50;padding:.1rem 1rem;background:#fff4ea}.done{border-color:#283;background:#eefbf0}"
    ":focus-visible{outline:2px solid #05c;outline-offset:2px}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code,pre{background:#2a2a2a}"
    ".said{background:#2b2118}.done{background:#17281b}:focus-visible{outline-color:#8bf}}"
)
POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
WISHES = {
    Wish.LEAVE: "Fetch nothing of it any more",
    Wish.FORGET: "Fetch nothing of it any more, and do not show what is stored",
    Wish.RETURN: "Take back a wish that was made here",
}
OTHER = "<h2>Another one</h2>"
DAYS = LIFE // 86_400


@dataclass(frozen=True, slots=True)
class Token:
    """One that was issued just now, for whom and what."""

    subject: Subject
    wish: Wish
    text: str
    ends: float


class Pages:
    """`name`: what the crawler calls itself."""

    def __init__(self, name: str, contact: str = "") -> None:
        self._name, self._contact = name, contact

    def first(self, rule: str = "", why: str = "") -> bytes:
        """The form; `why` what was typed there cannot be."""
        return self._page(_said(why) if why else "", self._form(rule))

    def token(self, token: Token) -> bytes:
        check = _check(token.subject.rule)
        return self._page(*_proving(token), check, OTHER, self._form("", token.wish))

    def result(self, subject: Subject, result: Result, *, done: bool) -> bytes:
        parts = [_said(result.text, done=done)]
        if result.details:
            parts.append(f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in result.details)}</ul>")
        if done:
            parts.append("<p>Now remove the token from where you published it.</p>")
        else:
            parts.append(_check(subject.rule))
        return self._page(*parts, OTHER, self._form("" if done else subject.rule))

    def _form(self, rule: str, chosen: Wish = Wish.LEAVE) -> str:
        wishes = "".join(
            f'<label><input type="radio" name="wish" value="{wish}"{" checked" if wish is chosen else ""}> '
            f"{escape(text)}</label>"
            for wish, text in WISHES.items()
        )
        return (
            '<form method="get" action=""><label>A domain, with all names below it, or a prefix of addresses: '
            "<code>example.org</code>, <code>example.org/private/</code>"
            f'<input name="rule" required maxlength="{LONGEST}" value="{escape(rule)}" autocapitalize="none" '
            f'autocomplete="off" spellcheck="false"></label>{wishes}<button>Get a token</button></form>'
        )

    def _page(self, *parts: str) -> bytes:
        name = escape(self._name)
        mail = escape(self._contact)
        other = f' Or write to <a href="mailto:{mail}">{mail}</a>.' if mail else ""
        text = (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="robots" content="noindex">\n<meta name="color-scheme" content="light dark">\n'
            f"<title>{name}: leave my site alone</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f"<h1>Have {name} leave your site alone</h1>\n"
            f"<p>{name} is a web crawler. Whoever controls a site can tell it here to stay away: get a token, publish "
            "it on the site or in its zone, and have it checked. Nothing is kept before the token is found."
            f"{other}</p>\n"
        )
        return (text + "\n".join(filter(None, parts)) + "\n</body>\n</html>\n").encode()


def _said(text: str, *, done: bool = False) -> str:
    return f'<p class="said{" done" if done else ""}" role="status">{escape(text)}</p>'


def _proving(token: Token) -> Iterable[str]:
    subject, text = token.subject, escape(token.text)
    yield f"<h2>{escape(subject.rule)}</h2><p>{escape(WISHES[token.wish])}.</p>"
    yield f"<p>This is the token. It counts for {DAYS} days, until {said(token.ends)}, for this name alone:</p>"
    yield f"<pre>{text}</pre>"
    if subject.files:
        files = " or ".join(f"<code>{escape(url)}</code>" for url in subject.files)
        yield f"<p>Publish it as a line of a text file at {files}. Redirects are not followed.</p>"
    if subject.record:
        either = "Or publish" if subject.files else "Publish"
        record = f"{escape(subject.record)}. TXT &quot;{text}&quot;"
        yield f"<p>{either} it as a TXT record of your zone:</p><pre>{record}</pre>"
    yield "<p>If there are several tokens for this name, the one issued last counts. Then:</p>"


def _check(rule: str) -> str:
    return (
        '<form method="post" action="?">'
        f'<input type="hidden" name="rule" value="{escape(rule)}"><button>Check now</button></form>'
    )
