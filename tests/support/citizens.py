"""Ordinary Scrapy spiders, and the site that they crawl, for tests/end_to_end/test_citizens.py.

A spider here knows nothing of webcrawl. To add one: write the class, and its line in the table of
the test.
"""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import ClassVar

from scrapy import FormRequest, Request, Spider, signals
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import CloseSpider, DontCloseSpider, DropItem
from scrapy.http import JsonRequest
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, CSVFeedSpider, Rule, SitemapSpider, XMLFeedSpider

from tests.support.plain_site import Site
from tests.support.ports import free_port

HTML = "text/html; charset=utf-8"
LINKS = {
    "/": ["/shop/1", "/shop/2", "/about", "/private/1"],
    "/shop/1": ["/shop/2", "/shop/3"],
    "/shop/2": ["/shop/1"],
    "/shop/3": ["/shop/4?page=1"],
}


class Town(Site):
    """A small site with forms, feeds, sitemaps, cookies, and pages that are busy at first."""

    requested: ClassVar = Counter()

    def do_POST(self):  # noqa: N802 - the base class's word
        self.answer()

    do_PUT = do_POST  # noqa: N815

    def answer(self):
        """Answer with the method that has the name of the path's first folder, or with a page of
        links.
        """
        path = self.path.partition("?")[0]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        make = getattr(self, f"on_{path[1:].partition('/')[0].partition('.')[0]}", None)
        if make is not None:
            make(path, body)
        elif "missing" in path:
            self.say(404, b"no")
        else:
            links = "".join(f'<a href="{link}">{link}</a>' for link in LINKS.get(path, ()))
            self.say(200, f"<title>{self.path}</title>{links}".encode(), content_type=HTML)

    @property
    def root(self):
        return f"http://{self.headers['Host']}"

    def on_robots(self, path, body):
        self.say(
            200, f"User-agent: *\nDisallow:\nSitemap: {self.root}/sitemap/index.xml\n".encode()
        )

    def on_sitemap(self, path, body):
        kind, name, files = "urlset", "url", ["/shop/1", "/about", "/shop/2"]
        if path.endswith("index.xml"):
            kind, name, files = "sitemapindex", "sitemap", ["/sitemap/one.xml.gz"]
        urls = "".join(f"<{name}><loc>{self.root}{file}</loc></{name}>" for file in files)
        text = f'<?xml version="1.0"?><{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</{kind}>'
        packed = path.endswith(".gz")
        data = gzip.compress(text.encode()) if packed else text.encode()
        self.say(200, data, content_type="application/gzip" if packed else "application/xml")

    def on_feed(self, path, body):
        rows = "".join(f"<entry><name>n{at}</name><size>{at * 2}</size></entry>" for at in range(4))
        self.say(
            200,
            f"<?xml version='1.0'?><feed>{rows}</feed>".encode(),
            content_type="application/xml",
        )

    def on_table(self, path, body):
        self.say(200, b"name,size\na,1\nb,2\n", content_type="text/csv")

    def on_login(self, path, body):
        if self.command == "POST":
            good = b"user=me" in body and b"token=t0" in body
            self.say(302, b"", location="/account" if good else "/login", set_cookie="session=s1")
        else:
            form = b'<form method="post"><input name="token" value="t0"><input name="user"></form>'
            self.say(200, form, content_type=HTML)

    def on_account(self, path, body):
        good = "session=s1" in self.headers.get("Cookie", "")
        self.say(
            200 if good else 403, b"<title>hello</title>" if good else b"who?", content_type=HTML
        )

    def on_gate(self, path, body):
        """Redirect to the same path until the client sends the cookie that it gets."""
        if "gate=open" in self.headers.get("Cookie", ""):
            self.say(200, b"<title>through the gate</title>", content_type=HTML)
        else:
            self.say(302, b"", location=path, set_cookie="gate=open")

    def on_busy(self, path, body):
        self.requested[path] += 1
        self.say(
            200,
            b"<title>%s</title>" % (b"busy" if self.requested[path] < 2 else b"done"),
            content_type=HTML,
        )

    def on_echo(self, path, body):
        names = ("Accept", "Content-Type", "Cookie", "Referer", "X-Word")
        told = {name: self.headers[name] for name in names if name in self.headers}
        heard = {"method": self.command, "path": self.path, "body": body.decode(), **told}
        self.say(200, json.dumps(heard).encode(), content_type="application/json")


def note(crawler, *what):
    with Path(crawler.settings["NOTES"]).open("a") as file:
        file.write(json.dumps(what) + "\n")


class Events:
    """An extension that notes the signals that a user's own gets, and some counters at the end."""

    HEARD = (
        "item_scraped",
        "item_dropped",
        "item_error",
        "spider_error",
        "spider_opened",
        "spider_closed",
    )
    COUNTED = ("item_scraped_count", "item_dropped_count", "finish_reason", "request_depth_max")

    def __init__(self, crawler):
        self.crawler = crawler
        for name in self.HEARD:
            crawler.signals.connect(getattr(self, name), getattr(signals, name))

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def item_scraped(self, item, response):
        note(self.crawler, "scraped", _name(response))

    def item_dropped(self, item, response, exception):
        note(self.crawler, "dropped", _name(response), str(exception))

    def item_error(self, item, response, failure):
        note(self.crawler, "item error", _name(response), failure.type.__name__)

    def spider_error(self, failure, response):
        note(self.crawler, "error", _name(response), failure.type.__name__)

    def spider_opened(self, spider):
        note(self.crawler, "opened", spider.name)

    def spider_closed(self, spider, reason):
        stats = self.crawler.stats.get_stats()
        errors = {
            name: value for name, value in stats.items() if name.startswith("spider_exceptions")
        }
        counted = {name: stats[name] for name in self.COUNTED if name in stats}
        note(self.crawler, "closed", reason, counted | errors)


def _name(response):
    return "/" + response.url.split("/", 3)[3]


class Citizen(Spider):
    """A spider that has the site's address, and names pages without it."""

    def __init__(self, here, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.here = here
        self.start_urls = [here + path for path in getattr(self, "paths", ["/"])]

    def item(self, response, **more):
        status = {} if response.status == 200 else {"status": response.status}
        title = response.css("title::text").get() if hasattr(response, "css") else None
        return {"page": _name(response), "title": title, **status, **more}

    def parse(self, response):
        yield self.item(response)


class Following(Citizen):
    name = "following"

    def parse(self, response):
        yield self.item(response, depth=response.meta["depth"])
        yield from response.follow_all(css="a", callback=self.parse, cb_kwargs={})


class Ruled(Citizen, CrawlSpider):
    name = "ruled"
    rules = (
        Rule(
            LinkExtractor(allow=r"/shop/\d", deny="page="),
            callback="of_shop",
            follow=True,
            process_request="mark",
        ),
        Rule(LinkExtractor(allow="/about"), callback="of_shop", errback="never"),
    )

    parse = CrawlSpider.parse

    def parse_start_url(self, response, **kwargs):
        return [self.item(response, start=True)]

    def mark(self, request, response):
        request.meta["from"] = _name(response)
        return request

    def of_shop(self, response):
        return self.item(response, text=response.meta["link_text"])


class Mapped(Citizen, SitemapSpider):
    name = "mapped"
    sitemap_rules = (("/shop/", "of_shop"), ("", "parse"))

    def __init__(self, here, **kwargs):
        super().__init__(here, **kwargs)
        self.sitemap_urls = [f"{here}/robots.txt"]

    def of_shop(self, response):
        yield self.item(response, shop=True)


class Fed(Citizen, XMLFeedSpider):
    name = "fed"
    paths = ("/feed.xml",)
    itertag = "entry"

    parse = XMLFeedSpider.parse

    def parse_node(self, response, selector):
        yield {
            "name": selector.xpath("name/text()").get(),
            "size": selector.xpath("size/text()").get(),
        }
        yield response.follow(f"/shop/{selector.xpath('size/text()').get()}", self.of_entry)

    def of_entry(self, response):
        yield self.item(response)


class Tabled(Citizen, CSVFeedSpider):
    name = "tabled"
    paths = ("/table.csv",)

    parse = CSVFeedSpider.parse

    def parse_row(self, response, row):
        return dict(row)


class Member(Citizen):
    """Fills in a form, and gets further with the cookie.

    Another start page wants its cookie back at once.
    """

    name = "member"
    paths = ("/login", "/gate")

    def parse(self, response):
        if response.css("form"):
            yield FormRequest.from_response(response, formdata={"user": "me"}, callback=self.inside)
        else:
            yield self.item(response)

    def inside(self, response):
        yield self.item(response, times=response.meta.get("redirect_times"))


class Failing(Citizen):
    """Has errbacks that get failures and may yield, and callbacks that raise."""

    name = "failing"

    async def start(self):
        yield Request(
            f"http://127.0.0.2:{free_port()}/closed",
            errback=self.failed,
            cb_kwargs={"word": "refused"},
        )
        yield Request(f"{self.here}/missing", errback=self.failed, cb_kwargs={"word": "missing"})
        yield Request(f"{self.here}/missing/unheard")
        yield Request(f"{self.here}/missing/wanted", meta={"handle_httpstatus_list": [404]})
        yield Request(f"{self.here}/1", self.raises)
        yield Request(f"{self.here}/2", self.raises_late)

    def failed(self, failure):
        yield {"failed": failure.type.__name__, "word": failure.request.cb_kwargs["word"]}
        yield Request(f"{self.here}/after/{failure.request.cb_kwargs['word']}")

    def raises(self, response):
        raise ValueError

    def raises_late(self, response):
        yield self.item(response)
        raise LookupError


class Ordered(Citizen):
    """Requests pages by priority; equal priorities do not occur, because their order differs."""

    name = "ordered"

    def parse(self, response):
        for priority in (0, 3, -2, 5, 1, -7, 4, 2, -1):
            yield response.follow(f"/p/{priority}", self.page, priority=priority, dont_filter=True)

    def page(self, response):
        yield self.item(response)


class Repeating(Citizen):
    """Requests the same page more than once, on purpose."""

    name = "repeating"

    async def start(self):
        for jar in (1, 2, 3):
            yield Request(
                f"{self.here}/shop/1", self.of_jar, meta={"cookiejar": jar}, dont_filter=True
            )
        yield Request(f"{self.here}/about", self.again, dont_filter=True)

    def of_jar(self, response):
        yield self.item(
            response, jar=response.meta["cookiejar"], start=response.meta["is_start_request"]
        )

    def again(self, response, times=0):
        yield self.item(response, times=times)
        if times < 2:
            request = response.request.replace(dont_filter=True, cb_kwargs={"times": times + 1})
            yield request
            yield request.replace(dont_filter=False, url=f"{self.here}/shop/3")


class Retrying(Citizen):
    """Requests a page again that says it is busy, from its start request and from another."""

    name = "retrying"
    paths = ("/busy/start",)

    def parse(self, response):
        if response.css("title::text").get() == "busy":
            yield get_retry_request(response.request, spider=self, reason="busy")
        else:
            yield self.item(
                response, times=response.meta["retry_times"], word=response.meta.get("word")
            )
            if response.url.endswith("start"):
                yield response.follow("/busy/more", meta={"word": "w"})


class Telling(Citizen):
    """Sends requests of all kinds; the site answers with what it got."""

    name = "telling"

    async def start(self):
        url = f"{self.here}/echo"
        yield JsonRequest(f"{url}/json", data={"a": [1, "ä"]})
        yield Request(
            f"{url}/put",
            method="PUT",
            body="text",
            headers={"X-Word": "Wört", "Content-Type": "text/x"},
        )
        yield FormRequest(f"{url}/form", formdata={"a": "1", "b": ["2", "3"]})
        yield FormRequest(f"{url}/query", method="GET", formdata={"a": "ä b"})
        yield Request(f"{url}/cookies", cookies={"c": "1"}, headers={"Accept": "text/plain"})
        yield Request.from_curl(f"curl '{url}/curl' -H 'X-Word: curled' --data 'q=1'")
        yield Request(
            f"{url}/one?a=b%20c&d=%C3%A4#fragment",
            self.one,
            cb_kwargs={"deep": {"list": [1, None, "x"]}},
        )

    def parse(self, response):
        yield response.json()

    async def one(self, response, deep):
        yield {**response.json(), **deep}
        yield response.follow("two", self.two, flags=["mine"], meta={"own": (1, 2)})

    async def two(self, response):
        return [
            {**response.json(), "flags": response.request.flags, "own": list(response.meta["own"])}
        ]


class Staying(Citizen):
    """Is idle twice before it ends; a pipeline drops some items and fails for others."""

    name = "staying"
    idle = 0

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.on_idle, signals.spider_idle)
        return spider

    def on_idle(self):
        self.idle += 1
        note(self.crawler, "idle", self.idle)
        if self.idle < 3:
            self.crawler.engine.crawl(Request(f"{self.here}/idle/{self.idle}"))
            raise DontCloseSpider
        raise CloseSpider("had enough")


class Choosy:
    """A pipeline."""

    def process_item(self, item):
        if item["page"] == "/idle/1":
            raise DropItem("not this one")
        if item["page"] == "/idle/2":
            raise ZeroDivisionError
        return {**item, "passed": True}


class Meddled(Citizen):
    """Middlewares replace its requests and change its output."""

    name = "meddled"
    paths = ("/shop/1", "/old")
    custom_settings = {  # noqa: RUF012 - Scrapy's
        "DOWNLOADER_MIDDLEWARES": {"tests.support.citizens.Replacing": 900},
        "SPIDER_MIDDLEWARES": {"tests.support.citizens.Adding": 900},
    }


class Replacing:
    def process_request(self, request):
        if request.url.endswith("/old"):
            return request.replace(url=request.url.replace("/old", "/new"), dont_filter=True)
        if "twice" not in request.meta:
            return request.replace(meta={**request.meta, "twice": True}, dont_filter=True)
        return None

    def process_response(self, request, response):
        response.headers["X-Seen"] = "yes"
        return response


class Adding:
    async def process_start(self, start):
        async for request in start:
            yield request
        yield request.replace(url=f"{request.url}/more")

    async def process_spider_output(self, response, result):
        async for one in result:
            yield {**one, "seen": response.headers["X-Seen"].decode()}
