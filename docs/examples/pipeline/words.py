"""Counts the words of each HTML page: one JSON line per page in words.jsonl."""

import json
from pathlib import Path


class WordsPipeline:
    content_types = ("text/html",)

    def open_spider(self):
        self.file = Path("words.jsonl").open("a")

    def process_item(self, page):
        words = len(page.visible_text.split())
        self.file.write(json.dumps({"url": page.url, "title": page.title, "words": words}) + "\n")
        return page

    def close_spider(self):
        self.file.close()
