"""The crawl's settings: of what is fetched, when and how, in a URL's order, then of the outputs.

The last sections keep a crawl safe, name who is told, and are for the hive.
"""

from __future__ import annotations

from webcrawl.base.settings.setting_kinds import (
    DAY,
    MANY,
    TEBIBYTE,
    Choice,
    Choices,
    HeaderText,
    Maybe,
    Name,
    Number,
    Rate,
    SeedsKey,
    Setting,
    Size,
    Switch,
    WholeNumber,
)

OFF, AUTO, EVERY = "off", "auto", "all"  # of RENDER
ACTIONS = Maybe(Choices(("scroll", "more", "play")))  # of RENDER_ACTIONS

# Archives, programs, sounds, films and fonts
_EXTENSIONS = """
    7z bz2 cab jar lzma rar tar tar.gz tbz2 tgz txz war xz zip zst
    apk deb dll dmg exe img iso msi pkg rpm vmdk
    aac aif aiff flac m4a mid midi mp3 oga ogg opus wav wma
    3gp avi flv m4v mkv mov mp4 mpeg mpg ogv rm swf webm wmv
    eot otf ttf woff woff2
"""
URL_EXCLUDE_EXTENSIONS = _EXTENSIONS.split()

# Neighbours that have an expression share one search per page: a filter without one between them
# costs a second search (`benchmarks.urls`)
URL_FILTERS = {
    "webcrawl.urls.filters.url_parts.SchemeFilter": 100,
    "webcrawl.urls.filters.url_parts.LengthFilter": 200,
    "webcrawl.urls.filters.depth.DepthFilter": 300,
    "webcrawl.urls.filters.scope.ScopeFilter": 400,
    "webcrawl.urls.filters.exclusion.ExclusionFilter": 500,
    "webcrawl.urls.filters.url_parts.PortFilter": 550,
    "webcrawl.urls.filters.url_parts.ExtensionFilter": 600,
    "webcrawl.urls.filters.expressions.ExpressionFilter": 700,
    "webcrawl.urls.filters.known_paths.KnownPathsFilter": 800,
    "webcrawl.urls.filters.traps.GrowthFilter": 910,
    "webcrawl.urls.filters.traps.CalendarFilter": 920,
    "webcrawl.urls.filters.traps.FamiliesFilter": 930,
    "webcrawl.urls.filters.traps.RepeatsFilter": 940,
}

CRAWL_SETTINGS: dict[str, tuple[Setting, ...]] = {  # by section
    "The crawl": (
        Setting("USER_AGENT", "webcrawl/0.1", HeaderText()).means(
            "How the crawler identifies itself. A crawl of public addresses needs a contact in it (or BOT_FROM): the "
            "address of a page about the crawl, or of a mailbox."
        ),
        Setting("BOT_KEY", None, "key file").means(
            "File with the Ed25519 key that signs every request (Web Bot Auth); only its owner "
            "may have access to it (docs/site-owners-operator.md)."
        ),
        Setting("BOT_AGENT", None, "agent origin").means(
            "The https origin at which the public key is published, such as https://bot.example.org; with `string:` "
            "before it for servers that know Signature-Agent only as a string (docs/site-owners-operator.md)."
        ),
        Setting("BOT_FROM", None, "mail address").means(
            "E-mail address to send as From with every request."
        ),
        Setting("JOBDIR", None, "folder").means(
            "The folder that holds all state and output of the crawl; by default crawls/ and the spider's name. Run "
            "again to resume."
        ),
        Setting("RANDOM_SEED", 0, WholeNumber(0, 2**63 - 1)).means(
            "Seed of every random choice, so that a run can be repeated."
        ),
        Setting("FEATURES", [], "dotted paths").means(
            "Your own features: classes that take part in the life of each URL (docs/features.md)."
        ),
        Setting("TOP1M_URL", "https://tranco-list.eu/top-1m.csv.zip", HeaderText()).means(
            "Where to download seeds/top1m.csv from if it is given as seeds but missing: "
            "rank,domain lines, plain, .gz or .zip."
        ),
    ),
    "URLs": (
        Setting("URL_SCOPE", "any", "scope").means(
            "Which links to follow: any, only those in the seeds' registered domains, in the "
            "page's domain, or on the page's host."
        ),
        Setting("URL_FOLLOW", True, Switch()).means(
            "Follow links. If it is off, only the seeds are fetched, and the links of pages are "
            "written to logs/found.log."
        ),
        Setting("URL_SCHEMES", ["http", "https", "ftp", "gopher"], "schemes").means(
            "Schemes to fetch."
        ),
        Setting("URL_MAX_LENGTH", 2000, WholeNumber(64, 65_536)).means(
            "Longest URL to take, in characters."
        ),
        Setting("URL_MAX_DEPTH", 50, WholeNumber(0, MANY)).means(
            "Maximum number of links followed inside a site after entering it; also the maximum "
            "number of sites crossed to reach it."
        ),
        Setting("URL_EXCLUDE_FILE", None, "file").means(
            "File of domains and URL prefixes never to request, even if their URLs are already queued."
        ),
        Setting("URL_EXCLUDE_EXTENSIONS", URL_EXCLUDE_EXTENSIONS, "extensions").means(
            "Path endings never to fetch: archives, disk images, programs, audio, video, fonts."
        ),
        Setting("URL_INCLUDE", [], "expressions").means(
            "RE2 expressions: if there are any, a URL must match at least one of them."
        ),
        Setting("URL_EXCLUDE", [], "expressions").means(
            "RE2 expressions: a URL that matches one of them is dropped."
        ),
        Setting("URL_FILTERS", URL_FILTERS, "filters").means(
            "The filters that a link must pass, in ascending order; drops are counted per filter. "
            "Your entries are merged into the defaults, and None disables one of them; a dict "
            "that gives a default filter a number, or is empty, is the whole list."
        ),
        Setting("TRAP_RULES", True, Switch()).means(
            "Enables all trap filters and, from the next start on, the [folding](urls-and-traps.md#folding) of URLs "
            "that resemble others without new content."
        ),
        Setting("TRAP_MAX_PAGES", 200, WholeNumber(1, MANY)).means(
            "Maximum number of pages per host from one endless family: calendar, session ids, "
            "long queries, deep paths."
        ),
        Setting("URL_FOLDINGS", [], "dotted paths").means(
            "Normalisations for the comparison with seen URLs, applied in this order; the URL "
            "that is fetched does not change."
        ),
        Setting("URL_HOST_RULES", None, "file").means(
            "File of LARM's host rules (startsWith, endsWith, synonym) for the form that is compared."
        ),
    ),
    "The seen store": (
        Setting("SEEN_MEMORY", 256, WholeNumber(16, TEBIBYTE)).means(
            "MiB of memory for the seen store, whatever the size of the crawl."
        ),
        Setting("SEEN_STORE", "webcrawl.frontier.seen.disk.DiskSeen", "dotted path").means(
            "Remembers which URLs were seen: Mercator's eliminator on disk, a set in memory, or a Bloom filter."
        ),
        Setting("URL_CACHE", "webcrawl.frontier.seen.caches.clock.ClockCache", "dotted path").means(
            "The cache of popular URLs in front of the seen store: CLOCK, LRU, RANDOM or STATIC."
        ),
        Setting("URL_TRACE", False, Switch()).means(
            "Write the stream of discovered links to logs/url.trace, for `webcrawl lab caches`."
        ),
    ),
    "The frontier": (
        Setting("FRONTIER", "webcrawl.frontier.state.open_frontier", "dotted path").means(
            "Where URLs wait for their turn: webcrawl's own frontier, or a plain one "
            "(docs/policies.md#frontier)."
        ),
        Setting("FRONTIER_MEMORY", 128, WholeNumber(8, TEBIBYTE)).means(
            "MiB of memory for the frontier, whatever the size of the crawl."
        ),
        Setting("FRONTIER_LEVELS", 8, WholeNumber(1, 1000)).means(
            "Mercator's k: the number of priority queues in the front-end."
        ),
        Setting(
            "FRONTIER_PRIORITIZER", "webcrawl.frontier.prioritizers.depth.ByDepth", "dotted path"
        ).means("Assigns each link its level, from the link and its history."),
        Setting("SCORER", None, "maybe dotted path").means(
            "Scores documents from 0 to 1, in a separate process, for prioritizers and tables "
            "(docs/order-and-budgets.md#prefer-good-pages)."
        ),
        Setting("CONCURRENT_REQUESTS", 100, WholeNumber(0, 1_000_000)).means(
            "Concurrent downloads; 100 is what Scrapy advises for broad crawls."
        ),
        Setting("FRONTIER_QUEUES", 0, WholeNumber(0, 1_000_000)).means(
            "Mercator's n: the minimum number of host queues in the back-end; 0 means 3 times CONCURRENT_REQUESTS."
        ),
        Setting("FRONTIER_MAX_QUEUES", 30_000, WholeNumber(1, 1_000_000)).means(
            "Maximum number of host queues to which the back-end grows while the downloader has "
            "too little to do."
        ),
        Setting(
            "DOMAIN_BUDGET", "webcrawl.frontier.allowances.reputed.ByReputation", "dotted path"
        ).means(
            "Decides how many pages a registered domain may have; the other URLs of the domain wait on disk."
        ),
        Setting("DOMAIN_BUDGET_PAGES", 1000, WholeNumber(1, MANY)).means(
            "Pages that DOMAIN_BUDGET starts from: the budget of a domain to which one other domain links."
        ),
    ),
    "Politeness": (
        Setting(
            "POLITENESS_POLICY", "webcrawl.frontier.politeness.mercator.Mercator", "dotted path"
        ).means("Decides how long to leave a host alone after a response."),
        Setting("POLITENESS_FACTOR", 10, Number(0, 100_000)).means(
            "The wait before the next request to a host is this many times its last download time."
        ),
        Setting("POLITENESS_MIN_DELAY", 1.0, Number(0, DAY)).means("Shortest wait, in seconds."),
        Setting("POLITENESS_MAX_DELAY", 300, Number(0, DAY)).means("Longest wait, in seconds."),
        Setting("CRAWL_DELAY_MAX", 300, Number(0, DAY)).means(
            "Longest wait, in seconds, that a Crawl-delay can impose."
        ),
        Setting("RETRY_AFTER_MAX", 86_400, Number(0, DAY)).means(
            "Longest wait, in seconds, that a Retry-After can impose."
        ),
        Setting("POLITENESS_PER_IP", False, Switch()).means(
            "Make hosts that share an IP address take turns."
        ),
        Setting("HOST_CONNECTIONS", {}, "host connections").means(
            "Number of concurrent requests for the named hosts, each with its own wait; all other "
            "hosts get one at a time."
        ),
        Setting("HOST_MAX_PAGES", 0, WholeNumber(0, MANY)).means(
            "Pages to fetch per host; 0 means all."
        ),
        Setting("HOST_MAX_FAILURES", 5, WholeNumber(1, MANY)).means(
            "Consecutive failures after which a host is deferred: its URLs stay, and one of them is tried at growing "
            "intervals."
        ),
        Setting("HOST_RETRY_WAIT", 60, Number(0.1, DAY)).means(
            "Seconds before an unreachable host or robots.txt is retried, doubled each time, up to a day."
        ),
        Setting("HOST_PATIENCE", 259_200, Number(0, MANY)).means(
            "Seconds that a deferred host may be unreachable before it is given up and all its URLs end."
        ),
        Setting("OUTAGE_END_WAIT", 900, Number(0, MANY)).means(
            "If only unreachable hosts have URLs left, the crawl ends after this many seconds, or after as long as "
            "the run has taken if that is shorter, but at least 30. Their URLs stay, and the same command resumes "
            "with them."
        ),
        Setting("STOPPED_STATUS", 0, WholeNumber(0, 125)).means(
            "Exit status of a run that was stopped by a signal, a command or a limit, and has lost "
            "nothing: a value other than 0 distinguishes it from a finished crawl."
        ),
    ),
    "The network": (
        Setting("DNS_NAMESERVERS", [], "servers").means(
            "Name servers, as host:port; if there are none, the system's."
        ),
        Setting("DNS_LOOKUP", "webcrawl.net.dns_cares.NameServers", "dotted path").means(
            "The resolver that queries the name servers; the cache in front of it remains."
        ),
        Setting("HOSTS_FILE", None, "file").means(
            "File in the format of /etc/hosts, looked up before DNS."
        ),
        Setting("AUTH_FILE", None, "login file").means(
            "File with the logins that you have for hosts: basic, bearer, a header or a cookies.txt (docs/logins.md). "
            "They are sent to these hosts only and never stored."
        ),
        Setting("PRIVATE_NETWORKS_ALLOWED", [], "networks").means(
            "Networks to which connections are allowed although they are loopback, private, "
            "link-local, multicast or reserved."
        ),
        Setting("PORTS_ALLOWED", [], "ports").means(
            "Ports to allow although they belong to other services or, for gopher, are unusual; "
            "also ranges such as 8000-8099."
        ),
        Setting("REDIRECT_MAX_HOPS", 5, WholeNumber(0, 100)).means(
            "Longest chain of redirects to follow."
        ),
        Setting("HTTP2", "needed", Choice(("off", "needed", "prefer"))).means(
            "`needed`: HTTP/2 only with servers that support nothing else; `prefer`: with all that support it; "
            "`off`: with none."
        ),
        Setting("DOWNLOAD_TRUNCATE", 2 * 1024 * 1024, WholeNumber(1024, 2**31 - 1)).means(
            "Bytes of a decoded body to keep; the rest is not downloaded. If it is not set, 64 MiB with `REQUISITES`, "
            "`PURPOSE=archive` or `URL_SCOPE=host`; only the first 2 MiB of a document are then read."
        ),
    ),
    "Pages": (
        Setting("CONTENT_SEEN", "skip", Choice(("skip", "process"))).means(
            "What to do with a body already seen under another URL: `skip` its processing, or `process` it anyway."
        ),
        Setting("RECOGNISE_FILE", None, "marks file").means(
            "Table of marks that identify block pages and similar answers, used before the package's own table "
            "(docs/block-pages.md)."
        ),
        Setting("SOFT404_PROBE", 50, WholeNumber(0, MANY)).means(
            "Number of pages after which a host gets one request for a URL that cannot exist, to "
            "learn its soft 404s; 0: never."
        ),
        Setting("LINK_SOURCES", "a area frame iframe refresh canonical", "link sources").means(
            "Kinds of links to follow."
        ),
        Setting("REQUISITES", False, Switch()).means(
            "Fetch the resources that pages need to be displayed (images, style sheets, fonts, scripts, frames) "
            "beyond any scope, three hops deep."
        ),
        Setting("RENDER", OFF, Choice((OFF, AUTO, EVERY))).means(
            "`auto`: a browser renders the pages that need scripts, and the crawl finds out which "
            "do (docs/browser.md); `all`: it renders each page; `off`: pages that seem to need scripts are counted "
            "and their hosts named."
        ),
        Setting("RENDER_SHARE", 0.5, Number(0.01, 1)).means(
            "The share of CONCURRENT_REQUESTS that rendering may use. When it is full, the pages "
            "that would gain least are kept as they were sent; with `RENDER=all`, pages wait."
        ),
        Setting("RENDER_ACTIONS", None, ACTIONS).means(
            "What the browser does on a rendered page before its document is taken: `scroll` to the end, click on "
            "`more`, `play` its media; for half of the page's time at most."
        ),
        Setting("RENDER_VIEWS", None, Maybe(Choices(("view", "fullpage", "pdf")))).means(
            "How the archive keeps the appearance of a rendered page: a screenshot of its first window (`view`), of "
            "all of it (`fullpage`), or a PDF (`pdf`)."
        ),
        Setting("SITEMAPS", None, Maybe(Switch())).means(
            "Fetch the sitemaps that robots.txt names, and follow their links. On: of all hosts; off: of none; None: "
            "of hosts that have given ten pages, or with revisits of all."
        ),
        Setting("FEED_LINKS", None, Maybe(Switch())).means(
            "Fetch the feeds that pages name, and follow the links of feeds; None: on with revisits, else off."
        ),
        Setting("MARKDOWN_LINKS", False, Switch()).means(
            "Fetch the Markdown versions that pages name, and what the llms.txt of a site lists "
            "(docs/corpora.md)."
        ),
        Setting("PURPOSE", None, "purposes").means(
            "The purposes of the crawl; content that a site forbids for all of them is not kept "
            "(docs/robots-and-preferences.md)."
        ),
        Setting("OBEY_NOFOLLOW", None, Maybe(Switch())).means(
            "Do not follow links marked nofollow, nor links of pages whose robots directives say so; None: on if "
            "PURPOSE has search."
        ),
        Setting("STRUCTURED_DATA", False, Switch()).means(
            "Read JSON-LD, microdata, RDFa and Open Graph of each page with its links, for the outputs `tables`, "
            "`documents` and `text` (docs/structured.md)."
        ),
    ),
    "Revisits": (
        Setting("REVISIT_POLICY", "none", "revisit policy").means(
            "Decides which pages are fetched again, and when (docs/revisits.md); with none, no page is fetched again."
        ),
        Setting("REVISIT_AGE", 86_400, Number(0.1, MANY)).means(
            "Seconds after which a page is fetched again: every page with `fixed`, the average page with the other "
            "policies."
        ),
        Setting("REVISIT_RATE", 0, Number(0, 1_000_000)).means(
            "Pages fetched again per second, by all drones of a hive together; 0: REVISIT_SHARE decides."
        ),
        Setting("REVISIT_SHARE", 0.5, Number(0.01, 0.99)).means(
            "While new URLs remain, the share of fetches (overall and per host) spent on pages already known."
        ),
    ),
    "The archive": (
        Setting("OUTPUTS", "warc cdxj", "outputs").means(
            "What the crawl writes in addition to its log, by the names in docs/outputs.md."
        ),
        Setting("MASK_CONTACTS", False, Switch()).means(
            "Fill the column `text_masked` of `documents`: the text with mail addresses and telephone numbers masked."
        ),
        Setting("CHUNK_SIZE", 2000, WholeNumber(200, 100_000)).means(
            "Maximum number of characters of a chunk in the output `chunks` (docs/corpora.md)."
        ),
        Setting("OFFICE_FILES", False, Switch()).means(
            "Make `documents` of DOCX, PPTX, ODT and EPUB files as well."
        ),
        Setting("TOKENIZER_FILE", None, "tokenizer").means(
            "The tokenizer.json of a language model: fill the column `token_count` of `documents` and `chunks`."
        ),
        Setting("WARC_DESCRIPTION", None, Maybe(HeaderText())).means(
            "The purpose of the crawl: `description` in the archive files and in a WACZ file."
        ),
        Setting("WARC_COLLECTION", None, Maybe(HeaderText())).means(
            "The collection that the crawl belongs to: `isPartOf` in the archive files and in a WACZ file."
        ),
        Setting("WARC_PREFIX", "webcrawl", Name()).means("Prefix of the archive files' names."),
        Setting("WARC_MAX_SIZE", 1000, WholeNumber(1, TEBIBYTE)).means(
            "Megabytes after which an archive file is closed and the next one started."
        ),
        Setting("OUTPUT_STORE", None, "output store").means(
            "The bucket or folder to which finished archive, index and table files are copied; in a hive, into "
            "drone-N there."
        ),
        Setting("OUTPUT_STORE_KEEP", True, Switch()).means(
            "Keep stored files in JOBDIR too; otherwise each is removed after its copy in the "
            "store has been verified."
        ),
    ),
    "Streams": (
        Setting("WEBHOOK_URL", None, "callback address").means(
            "Where OUTPUTS=webhook sends pages and outcomes of URLs (docs/stream.md)."
        ),
        Setting("WEBHOOK_SECRET_FILE", None, "file").means(
            "File with the secret that signs the requests; without it, the environment variable WEBHOOK_SECRET has "
            "the secret."
        ),
        Setting("STREAM_BACKLOG", 256, WholeNumber(1, TEBIBYTE)).means(
            "Pause fetching while more than this many MiB wait on disk for the receiver of a stream."
        ),
    ),
    "Safety": (
        Setting("CHECKPOINT_INTERVAL", 60, Number(0.1, DAY)).means("Seconds between checkpoints."),
        Setting("ERROR_BREAKER", "20/60", Rate()).means(
            "Stop the crawl after this many unexpected errors within this many seconds."
        ),
        Setting("MIN_FREE_DISK", 1024, WholeNumber(0, TEBIBYTE)).means(
            "Pause fetching while the disk of JOBDIR has less than this many MiB free."
        ),
        Setting("BANDWIDTH_MAX", 0, Size(10_000, 10**12)).means(
            "Maximum number of bytes of answers to receive per second; in a hive, for each drone."
        ),
        Setting("CLOSESPIDER_BYTES", 0, Size(1, 10**18)).means(
            "Stop the crawl after this many bytes of answers, over all its runs; resume it with a "
            "larger number."
        ),
        Setting("CONTROL", True, Switch()).means(
            "Take commands on a Unix socket in JOBDIR, which only the crawl's own user can reach (webcrawl ctl, the "
            "dashboard)."
        ),
    ),
    "Metrics": (
        Setting("METRICS_PORT", None, "metrics port").means(
            "Port on which Prometheus reads the crawl's figures, at /metrics: on loopback, or on the interface whose "
            "address precedes it. Anyone who can reach the port can read the figures. 0: any free port; metrics.url "
            "in JOBDIR says which. Drone N that `hive` starts uses this port plus N."
        ),
        Setting("METRICS_FILE", None, "metrics file").means(
            "File with the crawl's figures for node_exporter, renewed every 15 seconds; for drone N of a hive, -N is "
            "added before the ending."
        ),
    ),
    "WebSub": (
        Setting("WEBSUB_PORT", None, Maybe(WholeNumber(1, 65_535))).means(
            "Port on which hubs reach the crawl, which then subscribes to the hubs that pages name; drone N of a "
            "hive uses this port plus N."
        ),
        Setting("WEBSUB_HOST", "127.0.0.1", "local address").means(
            "Address on which WEBSUB_PORT listens; on loopback, a web server in front of it passes on the hubs' "
            "requests."
        ),
        Setting("WEBSUB_ADDRESS", None, "callback address").means(
            "The URL by which hubs reach the crawl; for drone N of a hive, /N is added."
        ),
    ),
    "The hive": (
        Setting("HIVE_DRONES", 0, WholeNumber(0, 65_535)).means(
            "Number of drones that share the crawl when it begins; 0: no hive."
        ),
        Setting("HIVE_DRONE", 0, "drone number").means(
            "The number of this drone, from 0; `auto` is the number that Kubernetes or Slurm gave it: "
            "JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID, or the one at the end of the host's name."
        ),
        Setting("HIVE_NAME", None, Maybe(Name())).means(
            "Name of the hive, by which its drones find each other in the server; by default the spider's."
        ),
        Setting("HIVE_PARTITION", "domain", "partition").means(
            "What stays together on one drone: a domain, a host, a top-level domain; or a file of regions and their "
            "drones."
        ),
        Setting("HIVE_LEASE", 30.0, Number(1, DAY)).means(
            "Seconds without a sign of life after which a drone counts as unreachable."
        ),
        Setting("HIVE_FENCE", None, Maybe(Number(1, DAY))).means(
            "Seconds without an answer from the server after which a drone stops fetching until "
            "it has one, because its hosts may belong to others by then. By default HIVE_LEASE."
        ),
        Setting("HIVE_BATCH_AGE", 15.0, Number(0.05, 600)).means(
            "Maximum number of seconds for which links for another drone wait for a full batch. A hive of 64 drones "
            "or fewer waits one second, and so does every hive for idle drones."
        ),
        Setting("HIVE_WHEN_DONE", "end", Choice(("end", "wait"))).means(
            "What a drone's process does when the crawl is finished: it ends, or it waits for a "
            "signal, for engines that restart a process that ends."
        ),
        Setting("REDIS_URL", None, Maybe(HeaderText())).means(
            "The Redis or Valkey server of the hive and of scrapy-redis' keys, such as rediss://user@host:6379/0."
        ),
        Setting("REDIS_PASSWORD_FILE", None, "file").means(
            "File with the password of the server that REDIS_URL names, to keep it out of the settings."
        ),
        Setting("REDIS_START_URLS_KEY", "%(name)s:start_urls", SeedsKey()).means(
            "The list, set or sorted set, on the server that REDIS_URL names, from which seeds are read as they "
            "arrive."
        ),
        Setting("MAX_IDLE_TIME_BEFORE_CLOSE", None, Maybe(WholeNumber(0, DAY * 365))).means(
            "Idle seconds after which a crawl that reads seeds from REDIS_START_URLS_KEY may end; 0: it never ends; "
            "none: it ends when nothing is left."
        ),
    ),
}
