"""The rules of the known-path filter: what each drops and lets pass, and its precision on real URLs."""

from hashlib import blake2b
from pathlib import Path

import pytest

from tests.support.real_urls import real_urls
from webcrawl.base.url_text import host_of
from webcrawl.urls.filters.filter_protocol import Lines, Origin
from webcrawl.urls.filters.known_paths import RULES, KnownPathsFilter

LABELS = Path(__file__).with_name("known_paths_labels.tsv")
COUNTS = Path(__file__).with_name("known_paths_counts.tsv")
LOOKED_AT = 100  # matches of a rule that were looked at, at most
LEAST = 0.98
SHA = "0123456789" * 4

# What each rule drops, and what looks like it and is an article's, as far as such were met or
# thought of.
EXAMPLES = {
    "apache_index": ("d/?C=M;O=A d?C=S&O=D", "news?C=Normal news?c=m;o=a ?C=N"),
    "login": (
        "login?x user/sign-in/?x a/logout.aspx?y signup.cgi?cc=1",
        "login blog/how-to-login/?x catalog-in?x sign?x",
    ),
    "register": (
        "register/? register?forward=/a",
        "register?page=2 register.php?ship=7 the/register",
    ),
    "return_address": (
        "join?return_to=/ auth?next=https%3A%2F%2Fb",
        "a.aspx?ReturnUrl=/b story?next=/2 join?next=4 r?next=http://b",
    ),
    "wp_login": ("wp-login.php blog/wp-login.php?x", "about-wp-login.php.html"),
    "wp_admin": ("wp-admin/ wp-admin?x", "wp-administration"),
    "xmlrpc": ("xmlrpc.php xmlrpc.php?rsd", "xmlrpc.php.html docs/xmlrpc"),
    "replytocom": ("a/?replytocom=31", "a?replytocom=all"),
    "ical": ("event/x/?ical=1 e?a=1&outlook-ical=1", "e?ical=10 e?ical=yes medical=1"),
    "like_comment": ("a/?like_comment=3&_wpnonce=a", "a?like_comments=3"),
    "wordfence": ("?wordfence_lh=1&hid=2", "?wordfence=1"),
    "show_comment": ("a.html?showComment=1281448902099", "a?showComment=true a?showcomment=7"),
    "jetpack_share": (
        "a/?share=facebook a?x=1&share=email&nb=1",
        "a?share=1 a?share=x7Fq a?share=twitterati a?shares=email",
    ),
    "wiki_edit": (
        "Main/Page?action=edit w/index.php?title=A&action=edit&section=1",
        "a?action=edition a?action=info",
    ),
    "mediawiki_action": (
        "w/index.php?title=A&action=history w/index.php?title=A&x=1&action=raw",
        "a?action=history museum/index.php?action=info&id=4 a?action=watch&v=7 w/index.php?title=A&action=view",
    ),
    "mediawiki_revision": (
        "w/index.php?title=A&oldid=917976458 index.php?title=A&diff=prev&oldid=4",
        "a?diff=easy a?diff=2 story?oldid=1234 index.php?page=A&oldid=3 a?title=A&diff=3",
    ),
    "mediawiki_print": ("w/index.php?title=A&printable=yes", "a?printable=edition"),
    "mediawiki_mobile": (
        "w/index.php?title=A&mobileaction=toggle_view_mobile",
        "a?mobileaction=news",
    ),
    "mediawiki_filters": ("a?days=3&hideminor=1", "a?hidelinks=all a?hideminority=1"),
    "mediawiki_special": (
        "wiki/Special:Log/Joe w/index.php?title=Special:UserLogin&x",
        "wiki/Special:BookSources/1 Special:Offers",
    ),
    "dokuwiki": (
        "doku.php/a?do=media doku.php?id=a&do=&x=1 doku.php?id=a&rev=1281448902 doku.php?idx=a",
        "doku.php?id=a",
    ),
    "dokuwiki_rewritten": (
        "start?do=revisions a?do=export_pdf",
        "a?do=index a?do=media a?do=show a?do= news.do?idx=7 a?rev=2",
    ),
    "phpbb_forms": (
        "posting.php?mode=reply&t=7 ucp.php?i=pm report.php?f=2&p=25 memberlist.php?mode=email&u=2",
        "posting.php?job=7 report.php?id=5 report.php?f=text report.php?p=5 a?mode=posts memberlist.php?mode=x&u=2",
    ),
    "vbulletin_forms": (
        "newreply.php?do=newreply&p=3 private.php?do=newpm&u=4 printthread.php?t=7 usercp.php?action=x",
        "private.php?cntid=1 printthread.php showthread.php?t=7",
    ),
    "git_history": (
        f"o/r/commits/{SHA}/f.c o/r/blame/{SHA}/f.c",
        f"o/r/blob/{SHA}/f.c o/r/commit/{SHA} o/r/tree/{SHA}",
    ),
    "gitweb": (
        "?p=a.git;a=blobdiff;h=1 ?p=a.git&a=snapshot",
        "?p=a.git;a=commitdiff;h=1 ?p=7&a=snapshots ?a=snapshot&id=4",
    ),
    "new_issue": (
        "o/r/issues/new?title=x o/r/issues/new/choose",
        "issues/new/ issues/new?page=2 journal/issues/new",
    ),
    "issue_search": (
        "o/r/issues?q=is%3Aopen+is%3Aissue o/r/pulls?x=1&q=is:pr",
        "issues?sort=date issues?q=tennis pulls?q=is",
    ),
    "cart": (
        "a/?add-to-cart=7 checkout/cart/add/id/3 wishlist/index/add/?x",
        "a?add-to-cart=help checkout/cart/",
    ),
    "coppermine": (
        "addfav.php?pid=3 ecard.php?album=2&pid=1&pos=0",
        "ecard.php?image=7 a?slideshow=1 news.php?slideshow=5000",
    ),
    "facebook": (
        "sharer.php?u=x sharer/sharer.php?u=x plugins/like.php?href=x r.php?next=https%3A%2F%2Fwww.facebook.com%2Fx",
        "plugins/like-a-boss/?x sharers r.php?next=https%3A%2F%2Fb",
    ),
    "twitter": ("", "intent/tweet?text=x home?status=open share?text=x"),
    "linkedin": ("shareArticle?mini=true&url=x", "shareArticles?x"),
    "pinterest": ("pin/create/button/?url=x", "pin/created/ pin/create/"),
    "share_form": (
        "share?x=1&url=http://b submit.php?url=http%3A%2F%2Fb share/link?u=https%253A%252F%252Fb",
        "share?title=Apple submit?text=a share/ shares?url=http://b share?url=7",
    ),
    "script_string": (
        "a/'+url+'.html '+id+'/x %22+a.b(c)+%22",
        "Rock+'n'+Roll x%22%20+%20y '80s+hits a+'b'+and+'c' %22a+b%22",
    ),
    "escaped_string": ("%5C%22 a/%5c%5c%27b", "a%5Cb 'a'"),
}


def dropped(urls):
    return [url for url in urls if not KnownPathsFilter().keep([url], Origin())]


def paths(text):
    return [f"http://h.example/{tail}" for tail in text.split(" ") if tail]


class TestRules:
    def test_every_rule_has_examples(self):
        """Each rule has examples here, and no other has."""
        assert list(EXAMPLES) == list(RULES)

    @pytest.mark.parametrize("name", RULES)
    def test_what_a_rule_means_is_dropped(self, name):
        """A rule drops the views, forms and buttons that it is about."""
        examples = paths(EXAMPLES[name][0])

        assert Lines(RULES[name]).among(examples) == dropped(examples) == examples

    @pytest.mark.parametrize("name", RULES)
    def test_what_looks_like_it_passes(self, name):
        """Words that articles use too, other values, and other software's scripts of the same name
        pass all rules.
        """
        assert dropped(paths(EXAMPLES[name][1])) == []

    @pytest.mark.parametrize(
        "url", ["https://twitter.com/intent/tweet?text=a", "https://x.com/share?url=a"]
    )
    def test_a_button_of_one_service_is_dropped_by_its_host(self, url):
        """The addresses behind buttons for Twitter are dropped there, and pass elsewhere."""
        assert dropped([url]) == [url]
        assert dropped([url.replace(".com", ".example")]) == []


def precision():
    """For each rule: matches among all real URLs, their hosts, how many were looked at, how many
    are what it means.

    Those looked at are all, or else a sample: those whose keyed digests are smallest.
    """
    verdicts = {(rule, digest): verdict for rule, digest, verdict in _labels()}
    rows, unknown, used = {}, [], set()
    urls = list(real_urls())
    for name, expression in RULES.items():
        found = Lines(expression).among(urls)
        sample = {(name, _digest(url)): url for url in sorted(found, key=_digest)[:LOOKED_AT]}
        unknown += [
            "\t".join((*one, "?", url)) for one, url in sample.items() if one not in verdicts
        ]
        used.update(sample)
        right = sum(verdicts.get(one) == "right" for one in sample)
        rows[name] = (len(found), len(set(map(host_of, found))), len(sample), right)
    return rows, unknown, [one for one in verdicts if one not in used]


def _digest(url):
    return blake2b(url.encode(), digest_size=8, key=b"known paths").hexdigest()


def _labels():
    return [
        line.split("\t") for line in LABELS.read_text().splitlines() if not line.startswith("#")
    ]


def _counted():
    rows = (line.split("\t") for line in COUNTS.read_text().splitlines() if line[0] != "#")
    return {name: tuple(map(int, counts)) for name, *counts in rows}


class TestPrecision:
    def test_every_rule_is_counted(self):
        """known_paths_counts.tsv has every rule, no other, in the same order."""
        assert list(_counted()) == list(RULES)

    @pytest.mark.campaign
    def test_the_counts_are_what_the_data_says(self):
        """The counts are those of the real URLs and their labels, and no rule is below 98 %.

        Every match that the sample takes has a label, and there is no label without its match.
        """
        rows, unknown, unused = precision()

        assert unknown == []
        assert unused == []
        assert _counted() == rows
        assert [
            name for name, (_, _, looked, right) in rows.items() if right < LEAST * looked
        ] == []
