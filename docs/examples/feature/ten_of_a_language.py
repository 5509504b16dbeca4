"""Counts pages per language, and asks a host for nothing more once it has given ten pages of one."""

from collections import Counter
from urllib.parse import urlsplit


class TenOfALanguage:
    most = 10

    def __init__(self):
        self.pages = Counter()  # by host and language
        self.full = set()  # hosts
        self.found = {}  # languages of pages that have not ended yet

    def on_page(self, page):
        if page.status == 200 and page.language:
            self.found[page.url] = page.language.partition("-")[0].lower()

    def on_ended(self, link, outcome, exchange):
        language = self.found.pop(link.url, None)
        if language is not None:
            host = urlsplit(link.url).hostname
            self.pages[host, language] += 1
            if self.pages[host, language] == self.most:
                self.full.add(host)

    def next_decision(self, link, now):
        return urlsplit(link.url).hostname not in self.full

    def next_figures(self):
        languages = Counter()
        for (_, language), pages in self.pages.items():
            languages[f"languages/{language}"] += pages
        return {**languages, "languages/full hosts": len(self.full)}

    def state(self):
        return [[*key, pages] for key, pages in self.pages.items()]

    def restore(self, state):
        self.pages = Counter({(host, language): pages for host, language, pages in state})
        self.full = {host for host, _, pages in state if pages >= self.most}
