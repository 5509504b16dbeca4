"""The settings of what a crawl writes, of what keeps it safe, of who is told, and of the hive."""

from __future__ import annotations

from webcrawl.base.settings.setting_kinds import (
    DAY,
    TEBIBYTE,
    Line,
    Maybe,
    Name,
    Number,
    Rate,
    RedisKey,
    Setting,
    Size,
    Switch,
    Whole,
)

OUTPUT_SETTINGS: dict[str, tuple[Setting, ...]] = {  # by section
    "The archive": (
        Setting("OUTPUTS", "warc cdxj", "outputs").means(
            "What the crawl writes beside its log, by the names in docs/outputs.md."
        ),
        Setting("WARC_PREFIX", "webcrawl", Name()).means("Prefix of the archive files' names."),
        Setting("WARC_MAX_SIZE", 1000, Whole(1, TEBIBYTE)).means(
            "Megabytes after which an archive file is closed and the next one started."
        ),
        Setting("OUTPUT_STORE", None, "output store").means(
            "The bucket or folder to which finished archive, index and table files are copied; in a hive, drone-N in "
            "it."
        ),
        Setting("OUTPUT_STORE_KEEP", True, Switch()).means(
            "Keep those files in JOBDIR, too; otherwise each is removed when its copy in the store was verified."
        ),
    ),
    "Safety": (
        Setting("CHECKPOINT_INTERVAL", 60, Number(0.1, DAY)).means("Seconds between checkpoints."),
        Setting("ERROR_BREAKER", "20/60", Rate()).means(
            "Stop the crawl after this many unexpected errors within this many seconds."
        ),
        Setting("MIN_FREE_DISK", 1024, Whole(0, TEBIBYTE)).means(
            "Pause fetching while the disk of JOBDIR has less than this many MiB free."
        ),
        Setting("BANDWIDTH_MAX", 0, Size(10_000, 10**12)).means(
            "Bytes per second to receive at most, of answers' heads and bodies; of each drone of a hive."
        ),
        Setting("CLOSESPIDER_BYTES", 0, Size(1, 10**18)).means(
            "Stop the crawl after this many bytes of answers, over all its runs; a larger number goes on."
        ),
        Setting("CONTROL", True, Switch()).means(
            "Take commands on a Unix socket in JOBDIR, which only the crawl's own user can reach (scrapy ctl, the "
            "dashboard)."
        ),
    ),
    "Metrics": (
        Setting("METRICS_PORT", None, "metrics port").means(
            "Port on which Prometheus may ask for the crawl's figures, at /metrics, on loopback, or after the "
            "address of another interface: who reaches it reads the figures. Of drone N of a hive: this port and N."
        ),
        Setting("METRICS_FILE", None, "metrics file").means(
            "File with the same figures for node_exporter, renewed every 15 seconds; of drone N of a hive, -N before "
            "its ending."
        ),
    ),
    "WebSub": (
        Setting("WEBSUB_PORT", None, Maybe(Whole(1, 65_535))).means(
            "Port on which hubs reach the crawl, which then subscribes to those that pages name; of drone N of a "
            "hive: this and N."
        ),
        Setting("WEBSUB_HOST", "127.0.0.1", "local address").means(
            "Where that port is; on loopback, a web server before it passes on what hubs send."
        ),
        Setting("WEBSUB_ADDRESS", None, "callback address").means(
            "The URL by which hubs know it; of drone N of a hive, /N follows."
        ),
    ),
    "The hive": (
        Setting("HIVE_DRONES", 0, Whole(0, 4096)).means(
            "How many drones share the crawl when it is founded; 0 for a crawl of its own (docs/hive.md)."
        ),
        Setting("HIVE_DRONE", 0, Whole(0, 4095)).means("The number of this drone, from 0."),
        Setting("HIVE_NAME", None, Maybe(Name())).means(
            "Name of the hive, by which its drones find each other in the server; by default the spider's."
        ),
        Setting("HIVE_PARTITION", "domain", "partition").means(
            "What stays together on one drone: a domain, a host, a top-level domain; or a file of regions and their "
            "drones."
        ),
        Setting("HIVE_LEASE", 30.0, Number(1, DAY)).means(
            "Seconds without a sign of life after which a drone counts as away."
        ),
        Setting("REDIS_URL", None, Maybe(Line())).means(
            "The Redis or Valkey server of the hive and of scrapy-redis' keys, such as rediss://user@host:6379/0."
        ),
        Setting("REDIS_PASSWORD_FILE", None, "file").means(
            "File with the server's password, which then stands in no setting."
        ),
        Setting("REDIS_START_URLS_KEY", "%(name)s:start_urls", RedisKey()).means(
            "The list, set or sorted set in that server from which seeds are taken as they come."
        ),
        Setting("MAX_IDLE_TIME_BEFORE_CLOSE", None, Maybe(Whole(0, DAY * 365))).means(
            "Idle seconds before a crawl that takes seeds from there may end; 0: it never does; none: when nothing is "
            "left."
        ),
    ),
}
