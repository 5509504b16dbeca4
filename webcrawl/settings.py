"""Every setting of the crawl, in the order in which a URL meets them; docs/settings.md says what values are allowed.

Scrapy's own settings keep their meaning and are documented there.
"""

# The name of the project, as Scrapy logs it.
BOT_NAME = "webcrawl"

# Where Scrapy finds the spiders.
SPIDER_MODULES = ["webcrawl.spiders"]

# Where Scrapy finds the commands demo, simweb, and crawl, which checks everything first.
COMMANDS_MODULE = "webcrawl.commands"

# Who the crawl says it is. Add a contact: a page or an address where its purpose is explained.
USER_AGENT = "webcrawl/0.1"

# The folder of everything that this crawl keeps. Run again with the same one, the crawl resumes.
JOBDIR = "crawls/web"

# Seed of every random choice, so that a run can be repeated.
RANDOM_SEED = 0

# Where seeds/top1m.csv comes from when it is named and missing: rank,domain lines, plain, .gz or .zip.
TOP1M_URL = "https://tranco-list.eu/top-1m.csv.zip"

# --- URLs ---

# Which links are followed: all, or those inside the seeds' registered domains, the page's own, or its own host.
URL_SCOPE = "any"

# Schemes that are fetched.
URL_SCHEMES = ["http", "https", "ftp", "gopher"]

# Characters of the longest URL that is taken.
URL_MAX_LENGTH = 2000

# Links from a seed to the deepest page that is taken.
URL_MAX_DEPTH = 50

# File of domains and URL prefixes never to be asked for, queued URLs included.
URL_EXCLUDE_FILE = None

# Seconds between two looks whether that file has changed.
URL_EXCLUDE_FILE_INTERVAL = 30

# Endings of the path that are never fetched: archives, disk images, programs, audio, video, fonts.
URL_EXCLUDE_EXTENSIONS = [
    *["7z", "bz2", "cab", "jar", "lzma", "rar", "tar", "tar.gz", "tbz2", "tgz", "txz", "war", "xz", "zip", "zst"],
    *["apk", "deb", "dll", "dmg", "exe", "img", "iso", "msi", "pkg", "rpm", "vmdk"],
    *["aac", "aif", "aiff", "flac", "m4a", "mid", "midi", "mp3", "oga", "ogg", "opus", "wav", "wma"],
    *["3gp", "avi", "flv", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "ogv", "rm", "swf", "webm", "wmv"],
    *["eot", "otf", "ttf", "woff", "woff2"],
]

# RE2 expressions: where there are any, a URL must match one of them.
URL_INCLUDE: list[str] = []

# RE2 expressions: a URL that matches one of them is dropped.
URL_EXCLUDE: list[str] = []

# The filters that a link passes, each counted by its name, in ascending order; None leaves one out.
URL_FILTERS = {
    "webcrawl.urls.filters.scheme.SchemeFilter": 100,
    "webcrawl.urls.filters.length.LengthFilter": 200,
    "webcrawl.urls.filters.depth.DepthFilter": 300,
    "webcrawl.urls.filters.scope.ScopeFilter": 400,
    "webcrawl.urls.filters.exclusion.ExclusionFilter": 500,
    "webcrawl.urls.filters.extension.ExtensionFilter": 600,
    "webcrawl.urls.filters.expressions.ExpressionFilter": 700,
    "webcrawl.urls.filters.known.KnownPathsFilter": 800,
    "webcrawl.urls.filters.growth.GrowthFilter": 910,
    "webcrawl.urls.filters.calendar.CalendarFilter": 920,
    "webcrawl.urls.filters.families.FamiliesFilter": 930,
    "webcrawl.urls.filters.repeats.RepeatsFilter": 940,
}

# The trap filters, all together.
TRAP_RULES = True

# Pages a host of one endless family: calendar, session ids, long queries, deep paths.
TRAP_MAX_PAGES = 200

# Foldings of the form that is compared with URLs seen, never of the form that is fetched; applied in this order.
URL_FOLDINGS: list[str] = []

# LARM's host rules (startsWith, endsWith, synonym) for the form that is compared.
URL_HOST_RULES = None

# --- The seen store ---

# MiB that the seen store may hold in memory, whatever the size of the crawl.
SEEN_MEMORY = 256

# Which URLs were seen: Mercator's eliminator on disk, a set in memory, or a Bloom filter.
SEEN_STORE = "webcrawl.seen.disk.DiskSeen"

# The cache of popular URLs in front of the seen store: CLOCK, LRU, RANDOM or STATIC.
URL_CACHE = "webcrawl.seen.caches.clock.ClockCache"

# Entries of that cache; Broder finds 50,000 enough for any crawl.
URL_CACHE_SIZE = 65_536

# --- The frontier ---

# MiB that the frontier may hold in memory, whatever the size of the crawl.
FRONTIER_MEMORY = 128

# Mercator's k: the priority queues of the front-end.
FRONTIER_LEVELS = 8

# Gives a link its level, from the link and its history.
FRONTIER_PRIORITIZER = "webcrawl.frontier.prioritizers.depth.ByDepth"

# A level of the front-end is picked this many times as often as the next one.
FRONTIER_BIAS = 2.0

# Downloads at once, as in Scrapy, whose advice for broad crawls this is.
CONCURRENT_REQUESTS = 100

# Mercator's n: the host queues of the back-end at the least; 0 is 3 times CONCURRENT_REQUESTS.
FRONTIER_QUEUES = 0

# Host queues that the back-end may grow to while the downloader starves.
FRONTIER_MAX_QUEUES = 30_000

# --- Politeness ---

# Says how long a host is left alone after an answer.
POLITENESS_POLICY = "webcrawl.frontier.politeness.mercator.Mercator"

# The wait before a host's next request is this many times its last download.
POLITENESS_FACTOR = 10

# Seconds of that wait at the least.
POLITENESS_MIN_DELAY = 1.0

# Seconds of that wait at the most.
POLITENESS_MAX_DELAY = 300

# Seconds that a Crawl-delay or a Retry-After can raise the wait to.
CRAWL_DELAY_MAX = 300

# The wait is kept per IP address too.
POLITENESS_PER_IP = False

# Pages of a host that are fetched; 0 is all.
HOST_MAX_PAGES = 0

# Failures in a row after which a host is retired.
HOST_MAX_FAILURES = 5

# Seconds before an unreachable host or robots.txt is tried again, doubled each time.
HOST_RETRY_WAIT = 60

# --- The network ---

# Name servers, host:port; none is the system's.
DNS_NAMESERVERS: list[str] = []

# File in the form of /etc/hosts whose names go before DNS.
HOSTS_FILE = None

# Networks that may be connected to although they are loopback, private, link-local, multicast or reserved.
PRIVATE_NETWORKS_ALLOWED: list[str] = []

# Redirects that are followed one after the other.
REDIRECT_MAX_HOPS = 5

# Bytes of a decoded body that are kept; the rest is not downloaded.
DOWNLOAD_TRUNCATE = 2 * 1024 * 1024

# --- Pages ---

# A body already seen under another URL: `skip` its processing, or `process` it all the same.
CONTENT_SEEN = "skip"

# Kinds of links that are followed.
LINK_SOURCES = "a area frame iframe refresh canonical"

# Links marked nofollow, and those of pages whose meta robots say so, are not followed.
OBEY_NOFOLLOW = False

# --- The archive ---

# Every exchange is kept in warc/.
WARC_ENABLED = True

# How the names of its files begin.
WARC_PREFIX = "webcrawl"

# Megabytes after which a file is finished and the next one begun.
WARC_MAX_SIZE = 1000

# --- Safety ---

# Seconds between two checkpoints.
CHECKPOINT_INTERVAL = 60

# So many unexpected errors within so many seconds stop the crawl.
ERROR_BREAKER = "20/60"

# MiB left on the disk of JOBDIR below which the crawl pauses fetching.
MIN_FREE_DISK = 1024

# --- Scrapy ---

# The frontier, in place of Scrapy's queues.
SCHEDULER = "webcrawl.adapter.scheduler.FrontierScheduler"

# The seen store, in place of a set in memory.
DUPEFILTER_CLASS = "webcrawl.adapter.dupefilter.SeenFilter"

# Without slots and delays: the frontier has waited already.
DOWNLOADER = "webcrawl.adapter.downloader.FrontierDownloader"

# The crawl's own clients; other schemes are not fetched.
DOWNLOAD_HANDLERS = {
    "http": "webcrawl.adapter.handlers.HttpHandler",
    "https": "webcrawl.adapter.handlers.HttpHandler",
    "ftp": "webcrawl.adapter.handlers.FtpHandler",
    "gopher": "webcrawl.adapter.handlers.GopherHandler",
    "data": None,
    "file": None,
    "s3": None,
}

# Seconds for a download, from the name's look-up to the last byte.
DOWNLOAD_TIMEOUT = 30

# Seconds for a name's look-up.
DNS_TIMEOUT = 20

# robots.txt is obeyed; by the frontier, not by Scrapy's middleware.
ROBOTSTXT_OBEY = True

# Scrapy's middlewares whose work the frontier or the client does.
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
}

# Those of Scrapy's own extensions that can be switched on; each is imported, also where it is off: its remote control
# with aiohttp would take 0.15 s and 15 MiB.
EXTENSIONS_BASE = {
    "scrapy.extensions.logcount.LogCount": 0,
    "scrapy.extensions.telnet.TelnetConsole": 0,
    "scrapy.extensions.memusage.MemoryUsage": 0,
    "scrapy.extensions.memdebug.MemoryDebugger": 0,
    "scrapy.extensions.closespider.CloseSpider": 0,
    "scrapy.extensions.feedexport.FeedExporter": 0,
}

# What runs beside the crawl.
EXTENSIONS = {
    "webcrawl.extensions.readable_log.ReadableLog": 50,
    "webcrawl.extensions.checkpoints.Checkpoints": 100,
    "webcrawl.extensions.breaker.ErrorBreaker": 200,
    "webcrawl.extensions.disk_space.DiskSpace": 300,
    "webcrawl.extensions.progress.Progress": 400,
    "webcrawl.extensions.statistics.Statistics": 410,
    "webcrawl.extensions.identity.Identity": 420,
    "webcrawl.extensions.garbage.Garbage": 500,
}

# The crawl's own pipelines: the archive, then the end for what is not new.
ITEM_PIPELINES_BASE = {
    "webcrawl.pipelines.warc.WarcPipeline": 100,
    "webcrawl.pipelines.news.NewsPipeline": 200,
}

# The processing modules, in ascending order from 201: any Scrapy item pipeline.
ITEM_PIPELINES: dict[str, int] = {}

# Items through the pipelines without a task for each.
ITEM_PROCESSOR = "webcrawl.fastpath.items.ItemProcessor"

# Items of one page that are worked on at once; 100, as Scrapy has it, makes a hundred tasks a page.
CONCURRENT_ITEMS = 1

# Bytes of pages under way beyond which no more are asked for.
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 64 * 1024 * 1024

# The event loop: half the cost of asyncio's own.
ASYNCIO_EVENT_LOOP = "uvloop.Loop"

# Cookies would be kept for every host for ever.
COOKIES_ENABLED = False

# A port that runs any Python it is sent has no place in a crawler.
REMOTE_CONTROL_ENABLED = False

# Nor has a console over the network.
TELNETCONSOLE_ENABLED = False

# What is logged at the least.
LOG_LEVEL = "INFO"

# No line a page: crawl.log has them.
LOG_FORMATTER = "webcrawl.adapter.logformat.QuietLogFormatter"
