"""Paths that are known to lead nowhere (LARM's KnownPathsFilter): other views of the same pages,
forms, buttons.

They belong to software that many sites run; the quirks of a single site belong in URL_EXCLUDE.
tests/urls/known_paths_counts.tsv has each rule's matches among real URLs, and how many are right; a
test recomputes it, and demands 98 of 100. A rule names the software's own script or parameter
together with the values it takes, because the words alone are used by articles too: `idx=` by
newspapers, `report.php?` by agencies, `share=` by links that are shared. Case is ignored.
"""

from __future__ import annotations

from typing import Self

from webcrawl.urls.filters.filter_protocol import Lines, Origin, Setup

# the start of a URL as a parameter's value, escaped up to twice
_URL = r"(?:https?(?::|%(?:25)?3a))"
_QUOTE = r"(?:%22|%27|')"
_END = r"(?:&|$)"
_FILE = r"(?:\.[a-z]{2,5})?/?\?"  # `/login?`, `/login/?`, `/login.aspx?`
_AMONG = r"(?:.*&)?"  # earlier parameters of the query
_BACK = r"(?:redirect_to|return_?to|return_?url|next|continue)=(?:/|%2f|https?:|https?%3a)"
# how MediaWiki writes the address of a page's other views
_INDEX = r"/index\.php\?title=[^&]*&(?:.*&)?"

RULES = {
    # Apache's directory listings in every sort order
    "apache_index": r"\?(?-i:C=[NMSD][;&]O=[AD])$",
    # accounts: logging in and out, registering, with or without a return address
    "login": rf"/(?:log|sign)[-_]?(?:in|on|out|up)[0-9]?{_FILE}",
    # Without a return address it would drop registers of ships and companies
    "register": rf"/register{_FILE}(?:$|{_AMONG}(?:forward|redirect|return|next|continue|back|referr?er)[^=&]*=)",
    # On such pages only: content systems add `next=/…` and `ReturnUrl=/…` to articles
    "return_address": (
        rf"/(?:join|auth|sso|authorize|regstep[0-9]|remember|user/update|sessions?/new){_FILE}{_AMONG}{_BACK}"
    ),
    # WordPress and its plug-ins, Blogger
    "wp_login": r"/wp-(?:login|signup)\.php(?:[?/]|$)",
    "wp_admin": r"/wp-admin(?:[?/]|$)",
    "xmlrpc": r"/xmlrpc\.php(?:\?|$)",
    "replytocom": r"[?&]replytocom=[0-9]",
    "ical": rf"[?&](?:outlook-)?ical=1{_END}",
    "like_comment": r"[?&]like_comment=[0-9]",
    "wordfence": rf"[?&]wordfence_lh=[01]{_END}",
    "show_comment": r"[?&]showcomment=[0-9]{10}",
    # By the services' names: other values of `share` are tokens
    "jetpack_share": (
        r"[?&]share=(?:facebook|twitter|x|linkedin|reddit|tumblr|pinterest|pocket|telegram|(?:jetpack-)?whatsapp|skype|email"
        rf"|print|google-plus-1|press-this|stumbleupon|digg|mastodon|threads|bluesky|nextdoor|custom-[0-9]+){_END}"
    ),
    # wikis: MediaWiki (and PmWiki and MoinMoin, which edit by the same parameter), DokuWiki
    "wiki_edit": rf"[?&]action=edit{_END}",
    # Behind `index.php?title=`: elsewhere `action=info` is an ordinary action of other software,
    # `diff` a difficulty and `oldid` the old number of an article
    "mediawiki_action": rf"{_INDEX}action=(?:history|submit|delete|protect|watch|unwatch|info|purge|raw){_END}",
    "mediawiki_revision": rf"{_INDEX}(?:oldid|diff)=(?:[0-9]+|prev|next|cur){_END}",
    "mediawiki_print": rf"[?&]printable=yes{_END}",
    "mediawiki_mobile": r"[?&]mobileaction=toggle_view_(?:mobile|desktop)",
    "mediawiki_filters": rf"[?&]hide(?:minor|bots|anons|liu|myself|redirs|links|trans)=[01]{_END}",
    "mediawiki_special": (
        r"(?:/|[?&]title=)Special:(?:CreateAccount|User(?:Login|Logout)|RecentChanges|WhatLinksHere|Log|Export"
        r"|MobileDiff|Diff|Book|CiteThisPage|PermanentLink|Contributions|Random|Search)(?:[/?&]|$)"
    ),
    # Below doku.php: newspapers and boards number their articles by `idx=` (of ten uses in public
    # repositories none was DokuWiki's), and front controllers have `do=index`, `do=profile`
    "dokuwiki": rf"/doku\.php[^?]*\?{_AMONG}(?:do=[a-z_]*|idx=[^&]*|rev=[0-9]+|tab_(?:files|details)=[a-z]+){_END}",
    "dokuwiki_rewritten": rf"[?&]do=(?:edit|revisions|backlink|resendpwd|export_(?:pdf|raw|xhtml|xhtmlbody|odt)){_END}",
    # boards: phpBB, vBulletin, MyBB
    # With their parameters: of ten uses each of `report.php?`, `private.php?` and `ecard.php?` in
    # public repositories 2, 5 and 1 were the board's or the gallery's. In whole values: others have
    # `mode=poster` and `mode=reports`. Profiles in memberlist.php are pages
    "phpbb_forms": (
        rf"/posting\.php\?{_AMONG}mode=(?:reply|quote|post|edit|delete|bump|smilies){_END}|/report\.php\?f=[0-9]+&p=[0-9]+$"
        rf"|/ucp\.php\?{_AMONG}(?:mode|i)="
        rf"|/memberlist\.php\?{_AMONG}mode=(?:searchuser|contactadmin|email){_END}"
    ),
    "vbulletin_forms": (
        rf"/newreply\.php\?{_AMONG}(?:do|p|tid)=|/newthread\.php\?{_AMONG}(?:do|f|fid)=|/sendmessage\.php\?{_AMONG}do="
        rf"|/(?:private|usercp)\.php\?{_AMONG}(?:do|action)=|/printthread\.php\?{_AMONG}(?:t|tid)=[0-9]"
    ),
    # repositories: the history of every file, forms
    # Not `/blob/`, `/tree/`, `/raw/` and `a=commitdiff`: all such URLs that matched were sources
    # that articles cite
    "git_history": r"/(?:blame|commits)/[0-9a-f]{40}(?:[/?]|$)",
    "gitweb": r"\?p=[^;&]+[;&](?:.*[;&])?a=(?:blame|blobdiff|snapshot)(?:[;&]|$)",
    "new_issue": (
        r"/issues/new/choose$|/merge_requests/new\?merge_request(?:\[|%5b)"
        rf"|/issues/new\?{_AMONG}(?:title|body|labels|template|assignees|issue(?:\[|%5b)[^=&]*)="
    ),
    # Not `sort=`: magazines sort their issues
    "issue_search": rf"/(?:issues|pulls)/?\?{_AMONG}q=(?:[^&]*(?:\+|%20))?is(?::|%3a)(?:issue|pr|open|closed)",
    # shops (WooCommerce, Magento) and galleries (Coppermine)
    "cart": (
        r"[?&](?:add-to-cart|add_to_wishlist)=[0-9]|/(?:checkout/cart|wishlist/index|product_compare)/add(?:[/?]|$)"
    ),
    # Newspapers' galleries have `slideshow=1` too
    "coppermine": (
        r"/(?:addfav\.php\?pid|ratepic\.php\?pic|ecard\.php\?album=[^&]*&pid|displayimage\.php\?(?:.*&)?slideshow)=[0-9]"
    ),
    # share buttons
    "facebook": (
        r"/sharer(?:/sharer)?\.php\?|/plugins/like(?:box)?\.php\?|/r\.php\?next=https?%3a%2f%2f(?:www\.)?facebook\.com%2f"
    ),
    # On its own hosts: any site may have `/intent/…?` and `/home?status=`
    "twitter": (
        r"//(?:[a-z]+\.)?(?:twitter|x)\.com/(?:intent/(?:tweet|post|retweet|favorite|like|follow|user)\?|share\?"
        r"|home/?\?status=|widgets/tweet_button\.html\?)"
    ),
    "linkedin": r"/shareArticle\?",
    "pinterest": r"/pin/create/(?:button|bookmarklet|link|api_other)(?:[/?]|$)",
    # With a URL as the value: any site may have `/share?title=`
    "share_form": (
        rf"/(?:share|submit|submitlink|bookmark|bookmarklet)(?:/link|\.php)?/?\?{_AMONG}(?:url|u|link)={_URL}"
    ),
    # strings that scripts concatenate, and escaped ones, taken for links by a parser: `'+name+'`,
    # `/\"`
    # At an end of a segment: a quotation mark beside a plus is in `Rock+'n'+Roll`, too
    "script_string": (
        rf"^[^?]*(?:/{_QUOTE}(?:%20)*\+(?:%20)*[a-z_$][^/?+]*\+(?:%20)*{_QUOTE}"
        rf"|{_QUOTE}(?:%20)*\+(?:%20)*[a-z_$][^/?+]*\+(?:%20)*{_QUOTE}(?:[/.?]|$))"
    ),
    "escaped_string": r"/(?:%5c)+(?:%22|%27|')",
}


class KnownPathsFilter:
    """Drops other views of a page, forms and buttons, by the paths of widespread software.

    It searches the whole batch for all rules as one expression.
    """

    name = "known_path"

    suspects = "|".join(RULES.values())

    def __init__(self) -> None:
        self._lines = Lines(self.suspects)

    @classmethod
    def from_setup(cls, _setup: Setup, /) -> Self:
        return cls()

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return self._lines.without(urls)
