"""The parts that all pages have: head, header, links, and what changes while they are open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from webcrawl.base.markup import Child, Html, document, tag

WORDS = {  # of a state
    "running": "Running",
    "paused": "Paused",
    "stopping": "Stopping",
    "stopped": "Stopped",
    "killed": "Was killed",
    "new": "Not begun",
    "gone": "Gone",
    "silent": "Not answering",
}
Parts = Mapping[str, Html]  # by the id of the element that each one fills


@dataclass(frozen=True)
class DashboardAddress:
    """The address of the pages, and the token of their forms."""

    base: str
    form_token: str

    def at(self, *parts: str, **query: str | None) -> str:
        """Return the address of a page; parts and values may be anything."""
        path = "/".join(quote(part, safe="") for part in parts)
        given = {name: value for name, value in query.items() if value}
        return f"{self.base}/{path}{'?' if given else ''}{urlencode(given, errors='replace')}"

    def form(self, action: str, *children: Child, class_: str | None = None) -> Html:
        """Return a form that changes something."""
        return tag(
            "form",
            hidden("form", self.form_token),
            *children,
            method="post",
            action=action,
            class_=class_,
        )


def page(
    site: DashboardAddress,
    title: str,
    header: Html,
    parts: Html,
    events: str | None,
    said: Html | None = None,
) -> str:
    """Return a whole document.

    `events`: where the script hears of changes; a browser without it loads the page again.
    """
    head = (
        tag("link", rel="stylesheet", href=site.at("style.css")),
        tag("link", rel="icon", href="data:,"),
        tag("noscript", tag("meta", http_equiv="refresh", content="10")) if events else None,
        tag("script", src=site.at("script.js"), defer=""),
    )
    body = tag(
        "body",
        tag("a", "To the content", href="#content", class_="skip"),
        header,
        tag("main", tag("div", said, id="said", role="status"), parts, id="content", tabindex="-1"),
        data_events=events,
    )
    return document(f"{title} · webcrawl", body, *head)


def part(name: str, content: Child) -> Html:
    """Return an element whose content changes while the page is open."""
    return tag("div", content, id=name, data_part="")


def top(site: DashboardAddress, *crumbs: Child) -> Html:
    """Return the line at the top: where one is."""
    home = tag(
        "a",
        tag("span", class_="mark", aria_hidden="true"),
        "webcrawl",
        href=site.at(),
        class_="home",
    )
    updates = tag("span", id="updates")
    return tag("div", home, *crumbs, updates, class_="top")


def badge(state: str) -> Html:
    return tag(
        "span",
        tag("span", class_="dot", aria_hidden="true"),
        WORDS.get(state, state),
        class_=f"badge {state}",
    )


def choice(name: str, chosen: str, links: Mapping[str, str], label: str) -> Html:
    """Return links, of which one is the present place; `name` is for the style."""
    made = [
        tag("a", words, href=where, aria_current="true" if words == chosen else None)
        for words, where in links.items()
    ]
    return tag("nav", *made, class_=f"choice {name}", aria_label=label)


def field(
    label: str, name: str, value: str = "", kind: str = "text", **attributes: str | None
) -> Html:
    return tag(
        "label",
        tag("span", label),
        tag("input", type=kind, name=name, value=value or None, **attributes),
    )


def hidden(name: str, value: str) -> Html:
    return tag("input", type="hidden", name=name, value=value)


def button(words: str, class_: str | None = None, **attributes: str | None) -> Html:
    return tag("button", words, type="submit", class_=class_, **attributes)
