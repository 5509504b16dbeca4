"""Paths that are known to lead nowhere (LARM's KnownPathsFilter): other views of the same pages, forms, buttons.

They belong to software that many sites run; the quirks of a single site belong in URL_EXCLUDE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from webcrawl.urls.filters.lines import Lines

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup

EXPRESSIONS = (
    # Apache's directory index, in every sort order
    r"\?(?:C=[NMSD](?:[;&]O=[AD])?|[NMSD]=[AD])$",
    # accounts: logging in and out, registering, with or without a return address
    r"/(?:wp-login|wp-signup|ucp|usercp)\.php|/wp-admin(?:/|\?|$)|/xmlrpc\.php",
    r"/(?:log|sign)[-_]?(?:in|on|out|up)(?:\.[a-z]{2,5})?/?\?|/(?:register|lostpassword)(?:\.[a-z]{2,5})?/?\?",
    r"[?&](?:redirect_to|return_?to|return_?url|next|continue)=(?:/|%2f|https?:|https?%3a)",
    # WordPress and its plug-ins, Blogger, LiveJournal
    r"[?&](?:replytocom|like_comment|showComment|ical|outlook-ical|wordfence_lh)=",
    r"[?&]share=[a-z0-9_-]+|[?&](?:replyto|quote)=[0-9]|[?&]mode=(?:reply|quote|post|login|register|report)",
    # MediaWiki
    r"[?&]action=(?:edit|history|submit|delete|protect|watch|unwatch|info|purge|raw)(?:&|$)",
    r"[?&](?:oldid|diff|undo|undoafter|curid|redlink|mobileaction)=|[?&]printable=(?:yes|1)",
    r"[?&](?:hide(?:minor|bots|anons|liu|myself|redirs|links|trans)|returntoquery)=|[?&]dir=prev(?:&|$)",
    (
        r"(?:/|[?&]title=)Special:(?:CreateAccount|User(?:Login|Logout)|RecentChanges|WhatLinksHere|Log|Export"
        r"|MobileDiff|Diff|Book|CiteThisPage|PermanentLink|Contributions|Random|Search)(?:[/?&]|$)"
    ),
    # DokuWiki, Trac
    (
        r"[?&]do=(?:login|edit|revisions|diff|backlink|recent|index|media|admin|register|resendpwd|profile"
        r"|subscribe|export_[a-z0-9]+)?(?:&|$)|[?&]idx=|[?&]rev=[0-9]{9,}"
    ),
    # boards: phpBB, vBulletin
    r"/(?:posting|report|memberlist|mcp|newreply|newthread|sendmessage|printthread|private)\.php\?",
    # repositories: a page for every commit of every file
    r"/(?:blame|blob|tree|raw|commits)/[0-9a-f]{40}(?:[/?]|$)|[?&;]a=(?:blame|blobdiff|commitdiff|snapshot)",
    r"/(?:issues|pull|merge_requests)/new[/?]|/(?:issues|pulls|milestones|labels)/?\?(?:.*&)?(?:q|sort)=",
    # shops and galleries
    r"[?&](?:add-to-cart|add_to_wishlist|add_to_compare)=|/(?:checkout/cart|wishlist/index|product_compare)/add",
    r"/(?:addfav|ratepic|ecard)\.php\?|[?&]slideshow=[0-9]",
    # share buttons
    r"/sharer?(?:/sharer)?\.php\?|/plugins/like(?:box)?\.php\?|/shareArticle\?|/pin/create/|/submitlink\?",
    r"/intent/(?:tweet|retweet|favorite|like|follow|user)\?|/home/?\?status=|/widgets/tweet_button\.html\?",
    r"/(?:share|submit|bookmark|bookmarklet|popout)(?:/link|\.php)?/?\?(?:.*&)?(?:url|u|title|text|link)=",
    # strings that scripts concatenate, taken for links by a parser
    r"^[^?]*(?:(?:%22|%27|')(?:%20)*\+|\+(?:%20)*(?:%22|%27|'))|/(?:%5c)+(?:%22|%27)",
)


class KnownPathsFilter:
    """Searches the whole batch for all of them as one expression."""

    name = "known_path"

    suspects = "|".join(EXPRESSIONS)

    def __init__(self) -> None:
        self._lines = Lines(self.suspects)

    @classmethod
    def from_setup(cls, _setup: Setup, /) -> Self:
        return cls()

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return self._lines.without(urls)
