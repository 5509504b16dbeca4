"""Articles first, then everything else by its depth."""


class ArticlesFirst:
    def __init__(self, levels):
        self.last = levels - 1

    def level(self, link):
        return 0 if "/article" in link.url else min(1 + link.depth, self.last)
