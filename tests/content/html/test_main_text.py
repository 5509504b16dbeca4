"""The main text of pages with readers' comments, and of threads, by the markup of common systems."""

import pytest

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
_PARAGRAPHS = "".join(f"<p>{one} {other}</p>" for one, other in zip(SAID, SAID[1:] + SAID[:1], strict=True))
ARTICLE = f"<article class=post><h1>Flood</h1><div class=entry-content>{_PARAGRAPHS}</div></article>"
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
THREADS = {
    "phpBB": "<div class='post bg2'><div class=inner><div class=postbody><div class=content>%s</div></div></div></div>",
    "Discourse": "<div itemprop=comment class=crawler-post><div class=post itemprop=text><p>%s</p></div></div>",
    "vBulletin": "<div class='postbit postcontainer'><blockquote class='postcontent restore'>%s</blockquote></div>",
    "XenForo": "<article class=message><div class=message-content><div class=bbWrapper>%s</div></div></article>",
    "Stack Overflow": "<div class=answer><div class='s-prose js-post-body' itemprop=text><p>%s</p></div></div>",
}


def text_of(body):
    return main_text(f"<!doctype html><html><head><title>Flood</title></head><body><main>{body}</main></body></html>")


@pytest.mark.parametrize(("around", "each"), COMMENTS.values(), ids=COMMENTS)
def test_an_article_is_without_its_comments(around, each):
    """However many they are, all of the article is there, and nothing of what readers wrote below it."""
    found = text_of(ARTICLE + around % "".join(each % answer for answer in ANSWERS))

    assert [said in found for said in SAID] == [True] * len(SAID)
    assert [answer in found for answer in ANSWERS] == [False] * len(ANSWERS)


@pytest.mark.parametrize("each", THREADS.values(), ids=THREADS)
def test_a_thread_has_its_posts(each):
    """Where posts are the page, they are the main text."""
    posts = [f"{answer} {said}" for answer, said in zip(ANSWERS, SAID * 5, strict=True)][:4]
    found = text_of("".join(each % post for post in posts))

    assert [post in found for post in posts] == [True] * len(posts)
