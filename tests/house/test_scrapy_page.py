"""docs/scrapy.md: every setting and meta key of Scrapy has its row, and what the row says is what happens."""

import re

import pytest
from scrapy import Spider
from scrapy.settings import Settings, default_settings

from tests.support.places import ROOT
from webcrawl import settings as defaults
from webcrawl.adapter.request_meta import KEYS, OF_FTP, WHY
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.adapter.user_settings import enabled, warnings
from webcrawl.crawl.checks.scrapys import TAKEN, UNHEARD

# Read by Scrapy 2.19, or documented, but not among the default settings
MORE = (
    *("CONCURRENT_REQUESTS_PER_IP", "DNS_RESOLVER", "META_COPY_WARN_SKIP_KEYS", "MEDIA_ALLOW_REDIRECTS"),
    *("FILES_EXPIRES", "FILES_RESULT_FIELD", "FILES_URLS_FIELD", "IMAGES_EXPIRES", "IMAGES_MIN_HEIGHT"),
    *("IMAGES_MIN_WIDTH", "IMAGES_RESULT_FIELD", "IMAGES_THUMBS", "IMAGES_URLS_FIELD"),
)
# "Request.meta special keys" in Scrapy's documentation
META = (
    *("allow_offsite", "autothrottle_dont_adjust_delay", "bindaddress", "cookiejar", "depth_reset", "dont_cache"),
    *("dont_merge_cookies", "dont_obey_robotstxt", "dont_redirect", "dont_retry", "download_fail_on_dataloss"),
    *("download_latency", "download_maxsize", "download_slot", "download_timeout", "download_warnsize"),
    *("ftp_local_filename", "ftp_passive", "ftp_password", "ftp_user", "give_up_log_level", "handle_httpstatus_all"),
    *("handle_httpstatus_list", "http_auth_domain", "http_pass", "http_user", "is_start_request", "link_text"),
    *("max_retry_times", "priority_adjust", "proxy", "redirect_reasons", "redirect_times", "redirect_ttl"),
    *("redirect_urls", "referrer_policy", "retry_times", "rule", "verbatim_url"),
)
pytestmark = pytest.mark.xdist_group("pages")  # as one: there are hundreds of rows, and each takes no time
NAMES = (*default_settings.__all__, *MORE)
WHYS = {name: row for row in UNHEARD for name in row.names.split()}
OURS = {one.theirs: one.ours for one in TAKEN}


class Own(Spider):
    name = "own"


def _rows(heading):
    """What the table below a heading says of each name."""
    text = (ROOT / "docs/scrapy.md").read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", text, re.MULTILINE)
    return [(name, says) for names, says in rows for name in re.findall(r"`(\w+)`", names)]


SETTINGS, KEY_ROWS = _rows("Settings"), _rows("Meta keys")


def _settings(spider, **given):
    made = Settings()
    made.setmodule(defaults, priority="project")
    spider.update_settings(made)
    made.setdict(given, priority="cmdline")
    return made


def _does(name):
    if name in OURS:
        return f"as `{OURS[name]}`"
    if name not in WHYS:
        return "yes"
    readers = WHYS[name].readers
    return "not `web`" if "requests" in readers or readers & enabled(_settings(Own)) else "no"


class TestSettings:
    def test_every_setting_has_one_row(self):
        """The table has each setting of Scrapy once, and no other."""
        assert sorted(name for name, _ in SETTINGS) == sorted(NAMES)

    @pytest.mark.parametrize(("name", "says"), SETTINGS)
    def test_it_does_what_its_row_says(self, name, says):
        """A row says `yes`, `no`, `not web`, or the name of the setting that this one is taken as."""
        assert says == _does(name)

    @pytest.mark.parametrize(("name", "says"), [row for row in SETTINGS if row[0] in WHYS])
    def test_who_is_warned(self, name, says):
        """What has no effect is warned of: for every spider, or for the spider without middlewares only."""
        warned = [
            any(name in line for line in warnings(_settings(kind, **{name: '{"x": 1}'}), spider))
            for kind, spider in ((Own, Own()), (WebSpider, WebSpider("x")))
        ]

        assert warned == [says == "no", True]


class TestMeta:
    def test_every_key_has_one_row(self):
        """The table has each documented meta key once, and no other."""
        assert sorted(name for name, _ in KEY_ROWS) == sorted(META)

    @pytest.mark.parametrize(("name", "says"), KEY_ROWS)
    def test_it_does_what_its_row_says(self, name, says):
        """A row says `no` of what is always warned of, `refused` of what no client has, else `yes`."""
        without = name in WHY and not WHY[name][1].replace("RetryMiddleware", "")

        assert says == ("refused" if name in OF_FTP else "no" if without else "yes")

    def test_every_option_is_documented(self):
        """No option is read that the table does not have."""
        assert set(META) >= KEYS | set(WHY)
