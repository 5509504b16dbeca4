"""Items as lines of JOBDIR/rows.jsonl, each exactly once, however often the crawl is killed."""

import json

from webcrawl.adapter.pipelines.output import open_output


class Rows:
    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open_spider(self):
        self.output = open_output(self.crawler, "rows.jsonl")

    def process_item(self, item):
        if isinstance(item, dict):  # what a spider yields; the crawl's own pages pass here too
            self.output.write(f"{json.dumps(item)}\n".encode())
        return item
