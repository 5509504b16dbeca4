"""Drops the printable twins of pages: /print/... and ...?print=1.

The crawl counts them as url/filtered/print.
"""


class NoPrintPages:
    name = "print"

    def keep(self, urls, origin, /):
        return [url for url in urls if "/print/" not in url and "print=1" not in url]
