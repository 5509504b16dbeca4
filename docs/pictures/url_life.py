"""The life of a URL, from the seed lists to the outputs, and what a checkpoint keeps."""

from __future__ import annotations

from docs.pictures.draw import Picture

WIDE, HIGH = 148, 84  # of a box
LEFTS = (24, 212, 400, 588)
UPPER, MIDDLE, LOWER = 50, 196, 342


def drawn() -> str:
    picture = Picture("The life of a URL", 470)
    first, second, third, fourth = LEFTS

    picture.bar(388, 24, 360, 270, "frame", round_by=8)
    picture.text(400, 42, "state/crawl.db, state/seen/", "quiet")

    picture.box(first, UPPER, WIDE, HIGH, "seeds", "lists, a few", "at a time")
    picture.box(second, UPPER, WIDE, HIGH, "canonical form", "then filters")
    picture.box(third, UPPER, WIDE, HIGH, "seen store", "cache, then", "T, U, F", look="kept")
    picture.box(fourth, UPPER, WIDE, HIGH, "front-end", "a FIFO queue", "per level", look="kept")
    picture.box(fourth, MIDDLE, WIDE, HIGH, "back-end", "a queue per", "host, a heap", look="kept")
    picture.box(first, LOWER, WIDE, HIGH, "pipelines", "archive, logs", look="kept")
    picture.box(second, LOWER, WIDE, HIGH, "visitor", "body seen?", "links")
    picture.box(third, LOWER, WIDE, HIGH, "net", "http, ftp,", "gopher")
    picture.box(fourth, LOWER, WIDE, HIGH, "admission", "exclusions,", "robots.txt")

    across, down = UPPER + HIGH / 2, LOWER + HIGH / 2
    picture.arrow((first + WIDE, across), (second, across))
    picture.arrow((second + WIDE, across), (third, across))
    picture.arrow((third + WIDE, across), (fourth, across))
    middle = fourth + WIDE / 2
    picture.arrow((middle, UPPER + HIGH), (middle, MIDDLE))
    picture.text(middle - 12, 169, "each URL once", "quiet", "end")
    picture.arrow((middle, MIDDLE + HIGH), (middle, LOWER))
    picture.text(middle - 12, 325, "host is due", "quiet", "end")
    picture.arrow((fourth, down), (third + WIDE, down))
    picture.arrow((third, down), (second + WIDE, down))
    picture.arrow((second, down), (first + WIDE, down))
    picture.text(first + WIDE + 20, 334, "page", "quiet", "middle")

    links = second + WIDE / 2
    picture.arrow((links, LOWER), (links, UPPER + HIGH))
    picture.text(links - 12, 232, "all links of a page,", "quiet", "end")
    picture.text(links - 12, 251, "in one batch", "quiet", "end")
    finish = second + WIDE - 16
    picture.arrow((finish, LOWER), (finish, MIDDLE + 42), (fourth, MIDDLE + 42))
    picture.text(third + 8, MIDDLE + 34, "finish: its outcome", "quiet")

    picture.bar(first, 444, 16, 12, "kept")
    picture.text(first + 24, 455, "on disk: a crash returns it to the last checkpoint", "quiet")
    return picture.svg()
