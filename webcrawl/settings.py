"""Every setting of the crawl, in the order in which a URL meets them; docs/settings.md lists the allowed values.

Scrapy's own settings keep their meaning; Scrapy's documentation describes them.
"""

# The project's name in Scrapy's logs.
BOT_NAME = "webcrawl"

# Where Scrapy finds the spiders.
SPIDER_MODULES = ["webcrawl.spiders"]

# Where Scrapy finds demo, simweb and verify; crawl and runspider that check everything first; and, for single pages,
# fetch, shell, parse and others without a crawl.
COMMANDS_MODULE = "webcrawl.commands"

# How the crawler identifies itself. Add a contact: a page that explains the crawl's purpose, or an address.
USER_AGENT = "webcrawl/0.1"

# File with the Ed25519 key that signs every request (Web Bot Auth), which only its owner may read (docs/identity.md).
BOT_KEY = None

# The https origin at which the public key is published, such as https://bot.example.org.
BOT_AGENT = None

# How Signature-Agent is written: as a dictionary, or as a string, which some servers still want (docs/identity.md).
BOT_AGENT_FORM = "dictionary"

# E-mail address to send as From with every request.
BOT_FROM = None

# Addresses and networks from which the crawl comes; their names in DNS are checked at the start.
BOT_ADDRESSES: list[str] = []

# The folder that holds all state and output of the crawl; if none, crawls/ and the spider's name. Run again to resume.
JOBDIR = None

# Seed of every random choice, so that a run can be repeated.
RANDOM_SEED = 0

# Where to download seeds/top1m.csv from if it is named and missing: rank,domain lines, plain, .gz or .zip.
TOP1M_URL = "https://tranco-list.eu/top-1m.csv.zip"

# --- URLs ---

# Which links to follow: any, or only those in the seeds' registered domains, in the page's, or on the page's host.
URL_SCOPE = "any"

# Follow links. Without, only the seeds are fetched, and what pages link to is written to logs/found.log.
URL_FOLLOW = True

# Schemes to fetch.
URL_SCHEMES = ["http", "https", "ftp", "gopher"]

# Longest URL to take, in characters.
URL_MAX_LENGTH = 2000

# Deepest page to take, in links from where its site was entered, and the most sites entered on the way there.
URL_MAX_DEPTH = 50

# File of domains and URL prefixes never to request, not even if they are queued already.
URL_EXCLUDE_FILE = None

# Seconds between checks whether that file has changed.
URL_EXCLUDE_FILE_INTERVAL = 30

# Path endings never to fetch: archives, disk images, programs, audio, video, fonts.
URL_EXCLUDE_EXTENSIONS = [
    *["7z", "bz2", "cab", "jar", "lzma", "rar", "tar", "tar.gz", "tbz2", "tgz", "txz", "war", "xz", "zip", "zst"],
    *["apk", "deb", "dll", "dmg", "exe", "img", "iso", "msi", "pkg", "rpm", "vmdk"],
    *["aac", "aif", "aiff", "flac", "m4a", "mid", "midi", "mp3", "oga", "ogg", "opus", "wav", "wma"],
    *["3gp", "avi", "flv", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "ogv", "rm", "swf", "webm", "wmv"],
    *["eot", "otf", "ttf", "woff", "woff2"],
]

# RE2 expressions: if there are any, a URL must match at least one of them.
URL_INCLUDE: list[str] = []

# RE2 expressions: a URL that matches one of them is dropped.
URL_EXCLUDE: list[str] = []

# The filters that a link must pass, in ascending order; drops are counted per filter. None leaves one out.
URL_FILTERS = {
    "webcrawl.urls.filters.scheme.SchemeFilter": 100,
    "webcrawl.urls.filters.length.LengthFilter": 200,
    "webcrawl.urls.filters.depth.DepthFilter": 300,
    "webcrawl.urls.filters.scope.ScopeFilter": 400,
    "webcrawl.urls.filters.exclusion.ExclusionFilter": 500,
    "webcrawl.urls.filters.port.PortFilter": 550,
    "webcrawl.urls.filters.extension.ExtensionFilter": 600,
    "webcrawl.urls.filters.expressions.ExpressionFilter": 700,
    "webcrawl.urls.filters.known.KnownPathsFilter": 800,
    "webcrawl.urls.filters.growth.GrowthFilter": 910,
    "webcrawl.urls.filters.calendar.CalendarFilter": 920,
    "webcrawl.urls.filters.families.FamiliesFilter": 930,
    "webcrawl.urls.filters.repeats.RepeatsFilter": 940,
}

# Enables the trap filters, all together.
TRAP_RULES = True

# Pages to take per host from one endless family: calendar, session ids, long queries, deep paths.
TRAP_MAX_PAGES = 200

# Foldings of the form that is compared with URLs seen, never of the form that is fetched; applied in this order.
URL_FOLDINGS: list[str] = []

# File of LARM's host rules (startsWith, endsWith, synonym) for the form that is compared.
URL_HOST_RULES = None

# --- The seen store ---

# MiB of memory for the seen store, whatever the size of the crawl.
SEEN_MEMORY = 256

# Remembers which URLs were seen: Mercator's eliminator on disk, a set in memory, or a Bloom filter.
SEEN_STORE = "webcrawl.seen.disk.DiskSeen"

# The cache of popular URLs in front of the seen store: CLOCK, LRU, RANDOM or STATIC.
URL_CACHE = "webcrawl.seen.caches.clock.ClockCache"

# Entries in that cache; Broder finds 50,000 enough for any crawl.
URL_CACHE_SIZE = 65_536

# Write the stream of discovered links to logs/url.trace, for `scrapy caches`.
URL_TRACE = False

# --- The frontier ---

# Where URLs wait for their turn: ours, or a plain one (docs/extending.md#a-frontier).
FRONTIER = "webcrawl.frontier.state.open_frontier"

# MiB of memory for the frontier, whatever the size of the crawl.
FRONTIER_MEMORY = 128

# Mercator's k: the number of priority queues in the front-end.
FRONTIER_LEVELS = 8

# Assigns each link its level, from the link and its history.
FRONTIER_PRIORITIZER = "webcrawl.frontier.prioritizers.depth.ByDepth"

# Each level of the front-end is picked this many times as often as the next one.
FRONTIER_BIAS = 2.0

# Concurrent downloads; 100 is what Scrapy advises for broad crawls.
CONCURRENT_REQUESTS = 100

# Mercator's n: the minimum number of host queues in the back-end; 0 means 3 times CONCURRENT_REQUESTS.
FRONTIER_QUEUES = 0

# Number of host queues that the back-end may grow to while the downloader starves.
FRONTIER_MAX_QUEUES = 30_000

# While others wait, hosts of one registered domain have one in this many of FRONTIER_QUEUES, at least 4; 1: no limit.
FRONTIER_DOMAIN_SHARE = 16

# Decides how many pages a registered domain may have; the other URLs of the domain wait on disk.
DOMAIN_BUDGET = "webcrawl.frontier.allowances.reputed.ByReputation"

# Pages that DOMAIN_BUDGET starts from: those of a domain to which one other links.
DOMAIN_BUDGET_PAGES = 1000

# --- Politeness ---

# Decides how long to leave a host alone after a response.
POLITENESS_POLICY = "webcrawl.frontier.politeness.mercator.Mercator"

# The wait before the next request to a host is this many times its last download time.
POLITENESS_FACTOR = 10

# Shortest wait, in seconds.
POLITENESS_MIN_DELAY = 1.0

# Longest wait, in seconds.
POLITENESS_MAX_DELAY = 300

# Longest wait, in seconds, that a Crawl-delay can impose.
CRAWL_DELAY_MAX = 300

# Longest wait, in seconds, that a Retry-After can impose.
RETRY_AFTER_MAX = 86_400

# A host that answers more slowly or fails more often than at first is left alone up to so many times longer; 1: never.
SLOW_DOWN_MAX = 8

# Also keep the wait per IP address.
POLITENESS_PER_IP = False

# Requests that hosts of these names may have at once, each with its wait; all other hosts have one at a time.
HOST_CONNECTIONS: dict[str, int] = {}

# Pages to fetch per host; 0 means all.
HOST_MAX_PAGES = 0

# Consecutive failures after which a host is set aside: its URLs stay, and one of them is tried at growing intervals.
HOST_MAX_FAILURES = 5

# Seconds before an unreachable host or robots.txt is retried, doubled each time, up to a day.
HOST_RETRY_WAIT = 60

# Seconds that a host set aside may be away before it is given up and all its URLs end.
HOST_PATIENCE = 259_200

# Seconds until a crawl ends in which only hosts set aside have URLs left; these stay, and the next run goes on.
OUTAGE_END_WAIT = 900

# --- The network ---

# Name servers, as host:port; if there are none, the system's.
DNS_NAMESERVERS: list[str] = []

# Who asks the name servers; the cache before it stays.
DNS_LOOKUP = "webcrawl.net.dns_cares.NameServers"

# File in the format of /etc/hosts, looked up before DNS.
HOSTS_FILE = None

# Networks to allow connections to although they are loopback, private, link-local, multicast or reserved.
PRIVATE_NETWORKS_ALLOWED: list[str] = []

# Ports to allow although they belong to other services, or for gopher are not usual; also ranges such as 8000-8099.
PORTS_ALLOWED: list[str] = []

# Longest chain of redirects to follow.
REDIRECT_MAX_HOPS = 5

# Which cookies to send: those that a chain of redirects sets, until the chain ends (`redirects`), or none (`off`).
COOKIES = "redirects"

# Bytes of a decoded body to keep; the rest is not downloaded.
DOWNLOAD_TRUNCATE = 2 * 1024 * 1024

# --- Pages ---

# What to do with a body already seen under another URL: `skip` its processing, or `process` it anyway.
CONTENT_SEEN = "skip"

# Kinds of links to follow.
LINK_SOURCES = "a area frame iframe refresh canonical"

# Fetch what pages need to be shown (images, style sheets, fonts, scripts, frames) beyond any scope, three hops deep.
REQUISITES = False

# Fetch the sitemaps that robots.txt names, and follow the links of sitemaps; None: on with revisits, else off.
SITEMAPS = None

# Fetch the feeds that pages name, and follow the links of feeds; None: on with revisits, else off.
FEED_LINKS = None

# Links to follow per page, the first ones; 0 means all. FTP listings and Gopher menus are never cut.
PAGE_MAX_LINKS = 50_000

# What the crawl is for; what a site forbids for all of that is not kept (docs/preferences.md).
PURPOSE = None

# Do not follow links marked nofollow, nor those of pages whose robots words say so; None: on if PURPOSE has search.
OBEY_NOFOLLOW = None

# Leave pages whose owners forbid search out of the index; None: on if PURPOSE has search.
OBEY_NOINDEX = None

# Keep bodies of pages whose owners forbid archiving out of the archive; None: on if PURPOSE has archive.
OBEY_NOARCHIVE = None

# --- Revisits ---

# Decides which pages are fetched again, and when (docs/revisits.md); with none, no page is.
REVISIT_POLICY = "none"

# Seconds after which a page is fetched again, of all pages alike with `fixed`, and on average with the other policies.
REVISIT_AGE = 86_400

# Pages fetched again per second; 0: as REVISIT_SHARE says. A hive's drones share it.
REVISIT_RATE = 0

# The part of all fetches that are fetches of known pages, as long as there are new ones; of each host's turns, too.
REVISIT_SHARE = 0.5

# How much a page matters beside others: by its depth, by how many domains link to its own, or by a function of yours.
REVISIT_IMPORTANCE = "depth"

# --- The archive ---

# What the crawl writes beside its log, by the names in docs/outputs.md.
OUTPUTS = "warc cdxj"

# Prefix of the archive files' names.
WARC_PREFIX = "webcrawl"

# Megabytes after which an archive file is closed and the next one started.
WARC_MAX_SIZE = 1000

# Version of the archive's format; 1.0 is for old readers.
WARC_VERSION = "1.1"

# Keep the signatures of BOT_KEY in the request records, as they were sent.
WARC_SIGNATURES = True

# The bucket or folder to which finished archive, index and table files are copied; in a hive, drone-N in it.
OUTPUT_STORE = None

# Keep those files in JOBDIR, too; otherwise each is removed when its copy in the store was verified.
OUTPUT_STORE_KEEP = True

# --- Safety ---

# Seconds between checkpoints.
CHECKPOINT_INTERVAL = 60

# Stop the crawl after this many unexpected errors within this many seconds.
ERROR_BREAKER = "20/60"

# Pause fetching while the disk of JOBDIR has less than this many MiB free.
MIN_FREE_DISK = 1024

# Times of the day, in UTC, at which nothing is fetched.
QUIET_HOURS = ""

# Bytes per second to receive at most, of answers' heads and bodies; of each drone of a hive.
BANDWIDTH_MAX = 0

# Stop the crawl after this many bytes of answers, over all its runs; a larger number goes on.
CLOSESPIDER_BYTES = 0

# Take commands on a Unix socket in JOBDIR, which only the crawl's own user can reach (scrapy ctl, the dashboard).
CONTROL = True

# --- Metrics ---

# Port on which Prometheus may ask for the crawl's figures, at /metrics; of drone N of a hive: this and N.
METRICS_PORT = None

# Where that port is: who reaches it reads the figures.
METRICS_HOST = "127.0.0.1"

# File with the same figures for node_exporter, renewed every 15 seconds; of drone N of a hive, -N before its ending.
METRICS_FILE = None

# --- WebSub ---

# Port on which hubs reach the crawl, which then subscribes to those that pages name; of drone N of a hive: this and N.
WEBSUB_PORT = None

# Where that port is; on loopback, a web server before it passes on what hubs send.
WEBSUB_HOST = "127.0.0.1"

# The URL by which hubs know it; of drone N of a hive, /N follows.
WEBSUB_ADDRESS = None

# --- the hive ---

# How many drones share the crawl when it is founded; 0 for a crawl of its own (docs/hive.md).
HIVE_DRONES = 0

# The number of this drone, from 0.
HIVE_DRONE = 0

# Name of the hive, by which its drones find each other in the server; by default the spider's.
HIVE_NAME = ""

# What stays together on one drone: a domain, a host, a top-level domain; or a file of regions and their drones.
HIVE_PARTITION = "domain"

# The cache of links already sent to other drones.
HIVE_URL_CACHE = "webcrawl.seen.caches.clock.ClockCache"

# Entries in that cache.
HIVE_URL_CACHE_SIZE = 65_536

# MiB that the server may hold of links on their way; what is more waits on the senders' disks.
HIVE_STREAM_MEMORY = 64

# Seconds without a sign of life after which a drone counts as away.
HIVE_LEASE = 30.0

# The Redis or Valkey server of the hive and of scrapy-redis' keys, such as rediss://user@host:6379/0.
REDIS_URL = None

# File with the server's password, which then stands in no setting.
REDIS_PASSWORD_FILE = None

# The list, set or sorted set in that server from which seeds are taken as they come.
REDIS_START_URLS_KEY = "%(name)s:start_urls"

# How scrapy-redis' RedisPipeline writes an item: a page as JSON without its body.
REDIS_ITEMS_SERIALIZER = "webcrawl.adapter.page_json.to_json"

# Idle seconds before a crawl that takes seeds from there may end; 0: it never does; none: when nothing is left.
MAX_IDLE_TIME_BEFORE_CLOSE = None

# --- Scrapy ---

# The frontier, in place of Scrapy's queues.
SCHEDULER = "webcrawl.adapter.scheduler.FrontierScheduler"

# The seen store, in place of a set in memory.
DUPEFILTER_CLASS = "webcrawl.adapter.dupefilter.SeenFilter"

# Has no slots and no delays: the frontier has waited already.
DOWNLOADER = "webcrawl.adapter.downloader.FrontierDownloader"

# The crawl's own clients; no other scheme is fetched.
DOWNLOAD_HANDLERS_BASE = {
    "http": "webcrawl.adapter.handlers.HttpHandler",
    "https": "webcrawl.adapter.handlers.HttpHandler",
    "ftp": "webcrawl.adapter.handlers.FtpHandler",
    "gopher": "webcrawl.adapter.handlers.GopherHandler",
    "data": None,
    "file": None,
    "s3": None,
}

# Your own, which replace those above for their schemes.
DOWNLOAD_HANDLERS: dict[str, str] = {}

# Handlers to allow although they connect without the address guard, such as Scrapy's.
FOREIGN_HANDLERS_ALLOWED: list[str] = []

# Seconds for a whole download, from the name lookup to the last byte.
DOWNLOAD_TIMEOUT = 30

# Bytes per second that an answer must bring on average after DOWNLOAD_GRACE, or it ends as at DOWNLOAD_TIMEOUT; 0: any.
DOWNLOAD_MIN_RATE = 500

# Seconds after its request in which an answer need not bring anything.
DOWNLOAD_GRACE = 15

# Seconds for a name lookup.
DNS_TIMEOUT = 20

# Obey robots.txt; the frontier does, not Scrapy's middleware.
ROBOTSTXT_OBEY = True

# Switches off the Scrapy middlewares whose work the frontier or the client does.
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
}

# What runs beside the crawl: the Scrapy extensions that can be enabled, and the crawl's own. Scrapy imports even
# disabled ones, so its remote control is left out: aiohttp would take 0.15 s and 15 MiB.
EXTENSIONS_BASE = {
    "webcrawl.extensions.core_stats.SpidersCoreStats": 0,
    "scrapy.extensions.logcount.LogCount": 0,
    "scrapy.extensions.telnet.TelnetConsole": 0,
    "scrapy.extensions.memusage.MemoryUsage": 0,
    "scrapy.extensions.memdebug.MemoryDebugger": 0,
    "webcrawl.extensions.limits.Limits": 0,
    "scrapy.extensions.feedexport.FeedExporter": 0,
    "webcrawl.extensions.readable_log.ReadableLog": 50,
    "webcrawl.extensions.checkpoints.Checkpoints": 100,
    "webcrawl.extensions.breaker.ErrorBreaker": 200,
    "webcrawl.extensions.disk_space.DiskSpace": 300,
    "webcrawl.extensions.quiet_hours.QuietHours": 305,
    "webcrawl.extensions.byte_limit.ByteLimit": 310,
    "webcrawl.extensions.progress.Progress": 400,
    "webcrawl.extensions.bound.Bound": 405,
    "webcrawl.extensions.statistics.Statistics": 410,
    "webcrawl.extensions.summary.Summary": 415,
    "webcrawl.extensions.metrics.Metrics": 418,
    "webcrawl.extensions.websub.WebSub": 419,
    "webcrawl.extensions.identity.Identity": 420,
    "webcrawl.extensions.following.Following": 430,
    "webcrawl.extensions.history.History": 435,
    "webcrawl.extensions.output_store.OutputStore": 437,
    "webcrawl.extensions.redis_seeds.RedisSeeds": 440,
    "webcrawl.extensions.control.Control": 450,
    "webcrawl.extensions.garbage.Garbage": 500,
    "webcrawl.extensions.trim.Trim": 510,
}

# Yours; None switches one of those above off.
EXTENSIONS: dict[str, int | None] = {}

# The crawl's own pipelines: those that OUTPUTS chooses from, and one that drops pages already seen.
ITEM_PIPELINES_BASE = {
    "webcrawl.pipelines.warc.WarcPipeline": 100,
    "webcrawl.pipelines.link_log.LinkLogPipeline": 150,
    "webcrawl.pipelines.changes.ChangesPipeline": 198,
    "webcrawl.pipelines.tables.TablesPipeline": 199,
    "webcrawl.pipelines.news.NewsPipeline": 200,
    "webcrawl.pipelines.text.TextPipeline": 202,
    "webcrawl.pipelines.images.ImagesPipeline": 211,
    "webcrawl.pipelines.tags.TagsPipeline": 212,
    "webcrawl.pipelines.pagefiles.PageFilesPipeline": 213,
    "webcrawl.pipelines.neardup.NearDuplicatesPipeline": 214,
    "webcrawl.pipelines.skipped.SkippedPipeline": 215,
    "webcrawl.pipelines.requests.RequestsPipeline": 216,
}

# Your processing modules, in ascending order from 201: any Scrapy item pipeline.
ITEM_PIPELINES: dict[str, int] = {}

# Sends items through the pipelines without a coroutine for each.
ITEM_PROCESSOR = "webcrawl.fastpath.items.ItemProcessor"

# Items of one page to process at once; Scrapy's default of 100 makes a hundred tasks per page.
CONCURRENT_ITEMS = 1

# Bytes of pages being processed above which no more are requested.
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 64 * 1024 * 1024

# The event loop: uvloop costs half as much as asyncio's own.
ASYNCIO_EVENT_LOOP = "uvloop.Loop"

# Off: the cookies of every host would be kept for the whole crawl.
COOKIES_ENABLED = False

# Off: a port that runs any Python sent to it has no place in a crawler.
REMOTE_CONTROL_ENABLED = False

# Off: nor has a console over the network.
TELNETCONSOLE_ENABLED = False

# Lowest level that is logged.
LOG_LEVEL = "INFO"

# Logs no line per page: crawl.log has them.
LOG_FORMATTER = "webcrawl.adapter.logformat.QuietLogFormatter"
