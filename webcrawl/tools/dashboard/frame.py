"""Makes the parts that all pages of the dashboard have: head, top line, links, forms and buttons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from webcrawl.base.markup import Child, Html, document, tag

STATE_WORDS = {
    "running": "Running",
    "paused": "Paused",
    "stopping": "Stopping",
    "stopped": "Stopped",
    "killed": "Was killed",
    "new": "Not begun",
    "gone": "Gone",
    "silent": "Not answering",
}
Parts = Mapping[str, Html]  # contents, by the id of their element


@dataclass(frozen=True)
class DashboardAddress:
    """The address of all pages, and the token that their forms must have."""

    base: str
    form_token: str

    def at(self, *parts: str, **query: str | None) -> str:
        """Return the address of a page. Parts and values may contain any character."""
        path = "/".join(quote(part, safe="") for part in parts)
        values = {name: value for name, value in query.items() if value}
        question_mark = "?" if values else ""
        return f"{self.base}/{path}{question_mark}{urlencode(values, errors='replace')}"

    def form(self, action: str, *children: Child, class_: str | None = None) -> Html:
        """Return a form that is sent as a POST, with the token."""
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
    answer: Html | None = None,
) -> str:
    """Return a whole document.

    `events` is the address at which the script gets updates. A browser without scripts loads the
    page again every ten seconds. `answer` is that to a command.
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
        tag(
            "main",
            tag("div", answer, id="said", role="status"),
            parts,
            id="content",
            tabindex="-1",
        ),
        data_events=events,
    )
    return document(f"{title} · webcrawl", body, *head)


def part(name: str, content: Child) -> Html:
    """Return an element whose content changes while the page is open."""
    return tag("div", content, id=name, data_part="")


def top(site: DashboardAddress, *crumbs: Child) -> Html:
    """Return the line at the top: the link to all crawls, and the name of this one."""
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
    """Return the state of a crawl as a word with a coloured dot."""
    return tag(
        "span",
        tag("span", class_="dot", aria_hidden="true"),
        STATE_WORDS.get(state, state),
        class_=f"badge {state}",
    )


def choice(name: str, chosen: str, links: Mapping[str, str], label: str) -> Html:
    """Return links side by side, of which `chosen` is the present page.

    `links` are addresses by their words. `name` is a CSS class.
    """
    anchors = [
        tag("a", words, href=address, aria_current="true" if words == chosen else None)
        for words, address in links.items()
    ]
    return tag("nav", *anchors, class_=f"choice {name}", aria_label=label)


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
