"""The error that keeps a crawl from starting; apart from the checks, which take half a second to import."""


class CannotStart(Exception):  # noqa: N818 - reads as what it is
    """The reason why the crawl cannot start, in one line."""
