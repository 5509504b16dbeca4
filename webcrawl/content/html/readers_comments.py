"""Takes readers' comments out of a page's tree, by what its markup calls them, before the main text is looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from typing import Any

# In an id or a class: comment, Kommentar, commentaire, comentario, komentarz and so on, but no commentary; and what
# some systems say instead.
_CALLED = re.compile(
    r"(?<![a-z])(?:(?:user|reader|article)?[ck]omm?ent(?!ar(?:y|ies)|ator)|disqus|dsq-|(?:live)?fyre-|spcv_|coral-"
    r"|remark42|isso-|hyvor-talk|viafoura|UFIComment|fbFeedback)",
    re.IGNORECASE,
)
_MEANT = re.compile(r"(?<![a-z])(?:user)?comments?\b", re.IGNORECASE)  # schema.org's terms
_FORUM = re.compile(r"DiscussionForumPosting|QAPage")  # its terms for pages whose comments are posts
_KEPT = frozenset(("html", "body", "main"))
LEAST = 250  # characters of a text; where less is left, the comments are the page, or the markup calls all of it so


def candidates(tree: Any) -> Iterator[Any]:
    """A page's lxml tree without comments, if it has any, and the whole one, for the case that too little was left."""
    shorter = copy(tree)
    if _drop_comments(shorter):
        yield shorter
    yield tree


def _drop_comments(tree: Any) -> bool:
    if any(_FORUM.search(kind) for kind in tree.xpath("//@itemtype")):
        return False
    found = [one for one in tree.iter() if isinstance(one.tag, str) and _is_comment(one)]
    for one in found:
        if one.getparent() is not None:  # a fragment's root has none
            one.drop_tree()
    return bool(found)


def _is_comment(element: Any) -> bool:
    if element.tag in _KEPT:
        return False
    get = element.get
    meant = " ".join(get(name, "") for name in ("itemprop", "itemtype", "property", "typeof"))
    if not (_CALLED.search(get("id", "")) or _CALLED.search(get("class", "")) or _MEANT.search(meant)):
        return False
    is_code = element.tag == "span" and next(element.iterancestors("pre", "code"), None) is not None
    return not is_code and next(element.iter("h1"), None) is None  # around an h1 it is the page's section or state
