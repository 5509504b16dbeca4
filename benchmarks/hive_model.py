"""What a hive of any size exchanges, holds and waits for, computed from what was measured of its
parts.

python -m benchmarks.hive_model --machines 100 --pages 10e9

Prints one JSON line per group of figures, then what breaks first, and at the end what bounds hives
of 100, 1,000 and 10,000 drones by the same assumptions. docs/hive-protocol.md shows some of its
figures.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, fields, replace

from benchmarks.support.report import report
from webcrawl.crawl.hive.outbox import MAX_ITEMS, batch_age
from webcrawl.crawl.hive.partition import SLOTS, SlotMap
from webcrawl.crawl.hive.transport import stream_memory

GB, MIB = 1e9, 1 << 20

# What was measured, in seconds of CPU or bytes
PAGE_CPU = 400e-6  # a page with 40 links, archive included
# Together 0.9 microseconds: a link is packed, put into the outbox and saved, and unpacked and saved
LINK_OUT, LINK_IN = 0.45e-6, 0.45e-6
BATCH_OUT, BATCH_IN = 24e-6, 13e-6  # XADD and XREAD by the client
BATCH_SERVER = 27e-6  # both of them in the server, and trimming
LINK_WIRE = 25  # compressed, in a batch of 256
BATCH_WIRE = 150  # head of a batch, commands and answers around it
LINK_IN_OUTBOX = 47  # on the sender's disk until it is acknowledged
BEAT_SERVER = 40e-6  # one heartbeat, without what grows with the drones
BEAT_CHANGE = 2e-6  # in each heartbeat for each drone that has taken a checkpoint since the last
# in the coordinator's for each drone: its lease, its report and its stream's size
BEAT_COORDINATOR = 5e-6
REPORT = 4000  # bytes of a heartbeat's report, which the coordinator reads of all
ARCHIVE, STATE = 10_000, 200  # bytes on disk per page
FINGERPRINT = 8  # bytes per URL seen
BASE_MEMORY = 350 * MIB  # Python, page parsing, DNS
MEMORY_PER_BILLION_URLS = 3 * MIB  # first keys of the fingerprint files' pages
MERGES_LARGE = 1.1e9  # URLs of one drone beyond which merges cost more
REQUESTS_PER_PAGE = 1.05  # requests per page
SIZES = (100, 1_000, 10_000)  # drones


@dataclass(frozen=True)
class Plan:
    """The hive, and the web that it crawls."""

    machines: int = 100
    drones: int = 4  # per machine
    pages: float = 10e9
    # of a core that a drone spends: the rest is waiting for hosts, disks and others
    share: float = 0.5
    links: float = 40.0  # per page
    offsite: float = 0.25  # of links that lead to another registered domain
    kept: float = 0.70  # of links to others that the URL cache keeps off the wire
    urls: float = 3.0  # known per page fetched
    body: float = 27_000.0  # bytes per page, as they come
    wire: float = 0.35  # of that over the network, for most servers compress
    network: float = 125e6  # bytes per second of a machine
    checkpoint: float = 60.0  # seconds
    batch: float = 15.0  # seconds that links wait at most for more: HIVE_BATCH_AGE
    shards: int = 1  # stream servers
    memory: float = 64e9  # bytes of each one's machine

    @property
    def hive(self) -> int:
        """Return the number of drones."""
        return self.machines * self.drones


def model(plan: Plan) -> dict[str, dict[str, float]]:
    """Return all figures of a hive, by group."""
    drones = plan.hive
    # links of a page that travel
    sent_links = plan.links * plan.offsite * (drones - 1) / drones * (1 - plan.kept)
    page_cpu = PAGE_CPU + sent_links * (LINK_OUT + LINK_IN)
    by_cpu = plan.share / page_cpu
    by_network = plan.network / plan.drones / (plan.body * plan.wire * REQUESTS_PER_PAGE)
    rate = min(by_cpu, by_network)  # pages per second of one drone
    fullest_times_mean = max(Counter(SlotMap.fair(range(drones)).owners).values()) * drones / SLOTS
    sent = rate * sent_links  # links per second of one drone, to all others
    sent_per_pair = sent / max(drones - 1, 1)
    batch_seconds = batch_age(drones, plan.batch)
    batches = (
        (drones - 1) * max(sent_per_pair / MAX_ITEMS, min(sent_per_pair, 1 / batch_seconds))
        if drones > 1
        else 0.0
    )
    seconds = plan.pages / (drones * rate) * fullest_times_mean
    links_per_batch = sent / batches if batches else 0.0
    batch_cpu = drones * batches * BATCH_SERVER
    # bytes that come in a second, and stay until a checkpoint of their reader has them; drones take
    # these early when the streams have half of what they may
    flow_bytes = drones * (sent * LINK_WIRE + batches * BATCH_WIRE)
    room_bytes = min(stream_memory(drones), plan.shards * plan.memory / 2)
    checkpoint_seconds = min(
        plan.checkpoint,
        max(batch_seconds, room_bytes / 2 / flow_bytes if flow_bytes else plan.checkpoint),
    )
    beat_cpu = drones * (BEAT_SERVER + drones / checkpoint_seconds * BEAT_CHANGE + BEAT_COORDINATOR)
    urls_per_drone = plan.pages * plan.urls / drones
    # bytes of a page over a machine's network
    page_bytes = plan.body * plan.wire * REQUESTS_PER_PAGE + 2 * sent_links * LINK_WIRE
    return {
        "speed": {
            "drones": drones,
            "pages_per_second": drones * rate / fullest_times_mean,
            "of_one_drone": rate,
            "bound_by_network": float(by_network < by_cpu),
            "fullest_drone_times_mean": fullest_times_mean,
            "days": seconds / 86_400,
            "cpu_per_page_times_single": (page_cpu + batches / rate * (BATCH_OUT + BATCH_IN))
            / PAGE_CPU,
        },
        "exchange": {
            "links_per_page": sent_links,
            "links_per_second": drones * sent,
            "batches_per_second": drones * batches,
            "links_per_batch": links_per_batch,
            "server_cores_for_batches": batch_cpu,
            "server_cores_for_beats": beat_cpu,
            "server_megabytes_per_second": 2 * flow_bytes / 1e6,
            "coordinator_reports_megabytes_per_second": drones * REPORT / 1e6,
        },
        "server": {
            "cores_of_the_busiest_shard": batch_cpu / plan.shards + beat_cpu,
            "cores_of_all_shards": batch_cpu + beat_cpu,
            "seconds_that_a_batch_waits": batch_seconds,
            "seconds_between_checkpoints": checkpoint_seconds,
            "stream_mib_between_checkpoints": flow_bytes * checkpoint_seconds / MIB,
            "stream_mib_that_may_be": room_bytes / MIB,
            "stream_mib_an_hour_of_one_dead_drone": sent * LINK_WIRE * 3600 / MIB,
            "outbox_gb_a_day_of_one_dead_drone": sent * LINK_IN_OUTBOX * 86_400 / GB,
        },
        "machine": {
            "network_megabits": 8 * plan.drones * rate * page_bytes / 1e6,
            "archive_tb": plan.pages * ARCHIVE / plan.machines / 1e12,
            "state_gb": (plan.pages * STATE + plan.pages * plan.urls * FINGERPRINT)
            / plan.machines
            / GB,
            "disk_megabytes_per_second": plan.drones * rate * ARCHIVE / 1e6,
            "ram_gib": plan.drones
            * (BASE_MEMORY + 384 * MIB + MEMORY_PER_BILLION_URLS * urls_per_drone / 1e9)
            / (1 << 30),
            "urls_known_by_a_drone": urls_per_drone,
        },
    }


def used_of_bounds(plan: Plan, groups: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return how much of each bound is used, the most used one first."""
    speed, server, machine = groups["speed"], groups["server"], groups["machine"]
    used = {
        "one core of the busiest stream server": server["cores_of_the_busiest_shard"],
        "memory of the streams": server["stream_mib_between_checkpoints"]
        / server["stream_mib_that_may_be"],
        "a machine's network": machine["network_megabits"] * 1e6 / 8 / plan.network,
        "URLs of a drone before merges cost more": machine["urls_known_by_a_drone"] / MERGES_LARGE,
        "slots for a fair share": 1 - 1 / speed["fullest_drone_times_mean"],
        "disk at 100 MB per second": machine["disk_megabytes_per_second"] / 100,
    }
    return dict(sorted(used.items(), key=lambda item: -item[1]))


def main_bounds(plan: Plan) -> dict[str, float]:
    """Return what bounds a hive: the servers, their memory, and the drone with the most to do."""
    groups = model(plan)
    return {
        "drones": plan.hive,
        "server_cores": groups["server"]["cores_of_all_shards"],
        "stream_mib": groups["server"]["stream_mib_between_checkpoints"],
        "fullest_drone_times_mean": groups["speed"]["fullest_drone_times_mean"],
    }


def main() -> None:
    """Print all figures of the hive that the command line describes, and the bounds of other
    sizes.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hive_model", description=__doc__)
    for field in fields(Plan):
        kind = int if isinstance(field.default, int) else float
        parser.add_argument(f"--{field.name}", type=kind, default=field.default)
    plan = Plan(**vars(parser.parse_args()))
    groups = model(plan)
    for group, figures in groups.items():
        report(f"hive model: {group}", **figures)
    report("hive model: used of each bound", **used_of_bounds(plan, groups))
    for drones in SIZES:
        machines = max(1, drones // plan.drones)
        report("hive model: sizes", **main_bounds(replace(plan, machines=machines)))


if __name__ == "__main__":
    main()
