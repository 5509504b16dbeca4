"""A site of pages in a good and an ordinary part, which link to each other, and the truth of it."""

from random import Random

from tests.support.plain_site import Site

PAGES, ONE_IN = 200, 10
GOOD, OTHER = ("lamp", "A lamp needs a wick."), ("bread", "A bread needs butter.")


def is_good(page):
    return page % ONE_IN == 3


def links(page):
    """Of a tree, so that all are reached, and four more: a good page's lead to good ones."""
    chance, tree = Random(page), [2 * page + 1, 2 * page + 2]
    others = range(3, PAGES, ONE_IN) if is_good(page) else range(PAGES)
    return [one for one in (*tree, *chance.sample(others, 4)) if one < PAGES]


class Topics(Site):
    """Page N is at /N, page 0 at the root, too."""

    wbufsize = -1  # head and body are one packet: else each answer takes 40 ms

    def answer(self):
        path = self.path[1:] or "0"
        if not path.isdigit():
            return self.say(404, b"")
        word, sentence = GOOD if is_good(int(path)) else OTHER
        anchors = "".join(f'<p><a href="/{one}">page {one}</a></p>' for one in links(int(path)))
        body = f"<title>{word} {path}</title><p>{sentence * 20} {path}</p>{anchors}"
        return self.say(200, body.encode(), content_type="text/html")


TONGUES = {
    "sl": "Danes je lep dan in vsi gremo na sprehod po mestu, kjer so ljudje prijazni in se radi pogovarjajo. ",
    "en": "Today is a beautiful day and all of us go for a walk in the town, where people are friendly and talk. ",
}


def tongue(page):
    return "sl" if is_good(page) else "en"


class Tongues(Topics):
    """Page N is Slovene or English, and says so of itself and of the pages it links to; of some
    links it does not.
    """

    def answer(self):
        path = self.path[1:] or "0"
        if not path.isdigit():
            return self.say(404, b"")
        anchors = "".join(
            f'<p><a href="/{one}"{self.told(one)}>{one}</a></p>' for one in links(int(path))
        )
        body = f'<html lang="{tongue(int(path))}"><p>{TONGUES[tongue(int(path))] * 5} {path}</p>{anchors}'
        return self.say(200, body.encode(), content_type="text/html; charset=utf-8")

    def told(self, page):
        return f' hreflang="{tongue(page)}"' if page % 3 else ""
