"""The main text of pages with readers' comments, and of threads, by the markup of common systems."""

import pytest

from webcrawl.content.document_extraction import DocumentBody, extracted
from webcrawl.content.html.shown_text import main_text

pytest.importorskip("trafilatura")

SAID = [
    "The river rose during the night and reached the lower streets of the old town before dawn, officials said.",
    "Fire brigades from three districts were called to bring residents of the mill quarter to safety on Monday.",
    "By noon the water had begun to fall, and the mayor thanked volunteers who had worked without a break.",
    "Engineers will examine the two bridges this week; until then buses take a detour by the ring road.",
]
ANSWERS = [
    "I live on the corner and nobody warned us at all, what do we pay our taxes for?",
    "Great pictures, thank you for reporting so quickly on this, neighbours helped a lot.",
    "Same as ten years ago, they promised a dam back then and never built it, shame on them.",
    "My cellar is full, does anybody know whether insurance covers groundwater too?",
] * 5
_PARAGRAPHS = "".join(
    f"<p>{one} {other}</p>" for one, other in zip(SAID, SAID[1:] + SAID[:1], strict=True)
)
ARTICLE = (
    f"<article class=post><h1>Flood</h1><div class=entry-content>{_PARAGRAPHS}</div></article>"
)
# What is around all comments of an article, and around each
COMMENTS = {
    "WordPress": (
        "<section id=comments class=comments-area><ol class=comment-list>%s</ol></section>",
        "<li class='comment depth-1'><article class=comment-body><div class=comment-content><p>%s</p></div></article>",
    ),
    "Drupal": (
        "<section class=comment-wrapper>%s</section>",
        "<article class='comment js-comment'><div class=comment__content><p>%s</p></div></article>",
    ),
    "Disqus": (
        "<div id=disqus_thread><ul id=post-list>%s</ul></div>",
        "<li class=post><div class=post-content><div class=post-message><p>%s</p></div></div>",
    ),
    "The Guardian": (
        "<div class=discussion__comments data-component=discussion><ul class=d-thread>%s</ul></div>",
        "<li class=d-comment><div class=d-comment__body><p>%s</p></div>",
    ),
    "schema.org": (
        "<div>%s</div>",
        "<div itemprop=comment itemscope itemtype=https://schema.org/Comment><p itemprop=text>%s</p></div>",
    ),
}
# of pages without <article>, and that do not say where the text is
BELOW = {
    "WordPress's blocks": (
        "<div class=wp-block-comments><ol>%s</ol></div>",
        "<li><div class=wp-block-comment-content><p>%s</p></div>",
    ),
    "Livefyre": (
        "<div id=livefyre class=fyre-stream>%s</div>",
        "<div class=fyre-text><p>%s</p></div>",
    ),
    "Facebook": (
        "<div class=fbFeedbackContent>%s</div>",
        "<div class=UFICommentBody><span>%s</span></div>",
    ),
    "OpenWeb": ("<div class=spcv_conversation>%s</div>", "<div class=spcv_message><p>%s</p></div>"),
    "German": ("<section id=kommentare>%s</section>", "<div class=text><p>%s</p></div>"),
    "Spanish": ("<div id=comentarios>%s</div>", "<div class=text><p>%s</p></div>"),
    "a table": ("<table id=userComments>%s</table>", "<tr><td><p>%s</p></td></tr>"),
    "microformats": (
        "<div class=mentions>%s</div>",
        "<div class='p-comment h-cite'><p>%s</p></div>",
    ),
    "RDFa": (
        "<div>%s</div>",
        "<div typeof=UserComments><div property=commentText><p>%s</p></div></div>",
    ),
}
THREADS = {
    "phpBB": "<div class='post bg2'><div class=inner><div class=postbody><div class=content>%s</div></div></div></div>",
    "Discourse": "<div itemprop=comment class=crawler-post><div class=post itemprop=text><p>%s</p></div></div>",
    "vBulletin": "<div class='postbit postcontainer'><blockquote class='postcontent restore'>%s</blockquote></div>",
    "XenForo": "<article class=message><div class=message-content><div class=bbWrapper>%s</div></div></article>",
    "Stack Overflow": "<div class=answer><div class='s-prose js-post-body' itemprop=text><p>%s</p></div></div>",
}


def text_of(body):
    return main_text(
        f"<!doctype html><html><head><title>Flood</title></head><body><main>{body}</main></body></html>"
    )


@pytest.mark.parametrize(("around", "each"), COMMENTS.values(), ids=COMMENTS)
def test_an_article_is_without_its_comments(around, each):
    """However many they are, all of the article is there, and nothing of what readers wrote below
    it.
    """
    found = text_of(ARTICLE + around % "".join(each % answer for answer in ANSWERS))

    assert [said in found for said in SAID] == [True] * len(SAID)
    assert [answer in found for answer in ANSWERS] == [False] * len(ANSWERS)


@pytest.mark.parametrize(("around", "each"), BELOW.values(), ids=BELOW)
def test_comments_are_known_wherever_they_stand(around, each):
    """Also where nothing marks the article they are not in its text."""
    page = f"<h1>Flood</h1><div>{_PARAGRAPHS}</div>" + around % "".join(
        each % answer for answer in ANSWERS
    )
    found = text_of(page)

    assert [said in found for said in SAID] == [True] * len(SAID)
    assert [answer in found for answer in ANSWERS] == [False] * len(ANSWERS)
    document = extracted(
        DocumentBody(
            "http://a.test/", f"<title>Flood</title>{page}".encode(), "utf-8", True, "2026-01-01"
        )
    )
    assert [answer in document["text"] for answer in ANSWERS] == [False] * len(ANSWERS)


@pytest.mark.parametrize(
    "around",
    [
        "<div class='post has-comments tone-comment'><h1>Flood</h1>%s</div>",
        "<h1>Flood</h1><div class=kommentar>%s</div>",
        "<div class=commentary>%s</div>",
        "<pre><code><span class=hljs-comment>// %s</span></code></pre>",
    ],
    ids=["a state", "a page that has nothing else", "an opinion", "code"],
)
def test_what_is_only_called_so_is_kept(around):
    """What holds the heading, all of the text, an opinion or code is no readers' comment."""
    text = " ".join(SAID) if "<code>" in around else _PARAGRAPHS
    found = text_of((around % text) + (_PARAGRAPHS if "<code>" in around else ""))

    assert [said in found for said in SAID] == [True] * len(SAID)
    assert ("// The river" in found) is ("<code>" in around)


def test_a_forum_s_posts_are_no_comments():
    """Where schema.org's terms call the page a discussion, what they call comments are its posts."""
    posts = [f"{answer} {said}" for answer, said in zip(ANSWERS, SAID * 5, strict=True)][:4]
    first, *rest = [f"<div class=post itemprop=text><p>{post}</p></div>" for post in posts]
    found = text_of(
        f"<div itemscope itemtype=http://schema.org/DiscussionForumPosting><div class=crawler-post>{first}</div>"
        + "".join(f"<div itemprop=comment class=crawler-post>{post}</div>" for post in rest)
        + "</div>"
    )

    assert [post in found for post in posts] == [True] * len(posts)


@pytest.mark.parametrize("each", THREADS.values(), ids=THREADS)
def test_a_thread_has_its_posts(each):
    """Where posts are the page, they are the main text."""
    posts = [f"{answer} {said}" for answer, said in zip(ANSWERS, SAID * 5, strict=True)][:4]
    found = text_of("".join(each % post for post in posts))

    assert [post in found for post in posts] == [True] * len(posts)
