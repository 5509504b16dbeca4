"""What Prometheus is told, read by Prometheus' own library."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.crawl.metrics.figures import (
    DRONE,
    LABELS,
    REVISITS,
    collector,
    collector_of,
    look_of,
    read,
)
from webcrawl.crawl.bound import Cause


class TestText:
    def test_the_parser_reads_it(self, tmp_path):
        """The text is Prometheus' own, whatever stands in a label; every sample says which crawl it
        is of.
        """
        text = collector(tmp_path).text().decode()
        samples = [
            sample for family in text_string_to_metric_families(text) for sample in family.samples
        ]

        assert len(samples) > 60
        assert all(sample.labels["jobdir"] == LABELS["jobdir"] for sample in samples)

    def test_names_of_families_are_ours_and_differ(self, tmp_path):
        """All names begin with webcrawl_, counters end in _total, and no two families have the same
        name.
        """
        families = list(
            text_string_to_metric_families(collector(tmp_path, **DRONE).text().decode())
        )
        names = [family.name for family in families]

        assert all(name.startswith("webcrawl_") for name in names)
        assert len(names) == len(set(names))
        for family in families:
            if family.type == "counter":
                assert all(sample.name.endswith("_total") for sample in family.samples)

    def test_values(self, tmp_path):
        """Figures come as they are; counters that nobody has counted yet are 0."""
        found = read(collector(tmp_path).text())

        assert found["webcrawl_pages_total",] == 30
        assert found["webcrawl_queued_urls",] == 12
        assert found["webcrawl_outages_total",] == 0
        assert found["webcrawl_build_info", "1.2.3"] == 1
        assert found["webcrawl_process_resident_memory_bytes",] > 1e6

    def test_a_figure_that_is_not_there(self, tmp_path):
        """A gauge without a figure is left out: 0 would be a statement."""
        look = look_of()
        del look.figures["disk_free"]

        assert ("webcrawl_disk_free_bytes",) not in read(collector_of(tmp_path, look).text())

    def test_outcomes(self, tmp_path):
        """Answers are counted by status, failures by outcome; what is no status of HTTP is counted
        together.
        """
        found = read(collector(tmp_path).text())

        assert found["webcrawl_answers_total", "200"] == 20
        assert found["webcrawl_answers_total", "404"] == 6
        assert found["webcrawl_answers_total", "other"] == 4
        assert found["webcrawl_failures_total", "dns_failed"] == 1
        assert found["webcrawl_failures_total", "timeout"] == 2
        assert found["webcrawl_failures_total", "connect_failed"] == 0
        assert found["webcrawl_dropped_urls_total", "robots_forbidden"] == 5
        assert found["webcrawl_filtered_links_total", "scope"] == 9

    def test_what_bounds_it(self, tmp_path):
        """Seconds are counted by cause, those of causes that never were too; nothing else is a
        cause.
        """
        found = read(collector(tmp_path, **{"bound/politeness": 40, "bound/other": 9}).text())
        causes = {
            key[1]: value
            for key, value in found.items()
            if key[0] == "webcrawl_bound_seconds_total"
        }

        assert causes["politeness"] == 40
        assert causes.keys() == set(Cause)
        assert sum(causes.values()) == 40

    def test_any_status_is_bounded(self, tmp_path):
        """A server that answers with every number adds no more names than HTTP has statuses."""
        found = read(
            collector(tmp_path, **{f"status/{number}": 1 for number in range(1, 1000)}).text()
        )

        assert len([key for key in found if key[0] == "webcrawl_answers_total"]) < 80

    def test_hosts_are_counted_by_what_they_do(self, tmp_path):
        """Hosts are counted by what they do."""
        found = read(collector(tmp_path).text())

        states = {key[1]: value for key, value in found.items() if key[0] == "webcrawl_hosts"}
        assert states == {"active": 4, "ready": 1, "waiting": 5, "deferred": 2}

    @pytest.mark.parametrize(
        ("trouble", "paused", "kinds"),
        [
            ("", False, []),
            ("paused", False, ["paused"]),
            ("no network", False, ["no_network"]),
            ("no name server", True, ["no_name_server", "engine_paused"]),
            ("disk nearly full", True, ["disk", "engine_paused"]),
            ("waiting for the hive's server", False, ["cut_off"]),
        ],
    )
    def test_trouble(self, tmp_path, trouble, paused, kinds):
        """What keeps the crawl from fetching is 1, all else 0."""
        found = read(collector(tmp_path, trouble, paused=paused).text())

        troubles = {key[1]: value for key, value in found.items() if key[0] == "webcrawl_trouble"}
        assert len(troubles) == 6
        assert [kind for kind, value in troubles.items() if value] == kinds

    def test_durations(self, tmp_path):
        """Downloads are counted up to each power of two of milliseconds; the last bucket has all."""
        times = [1, 0, 2, 5, *[0] * 20, 3]
        found = read(collector(tmp_path, times=times).text())

        buckets = {
            key[1]: value for key, value in found.items() if key[0].endswith("_seconds_bucket")
        }
        assert [buckets[bound] for bound in ("0.001", "0.002", "0.004", "0.008", "131.072", "+Inf")] == [
            1, 1, 3, 8, 8, 11
        ]  # fmt: skip

    def test_a_drone(self, tmp_path):
        """Figures of a hive are there in a drone only."""
        drone, other = (read(collector(tmp_path, **more).text()) for more in (DRONE, {}))

        assert {key[0] for key in drone.keys() - other.keys()} >= {
            "webcrawl_hive_slots",
            "webcrawl_hive_sent_links_total",
        }
        assert not any(key[0].startswith("webcrawl_hive") for key in other)

    def test_counters_are_of_the_whole_crawl(self, tmp_path):
        """What one process has counted the next goes on from, so none of them is said to be of a
        process.
        """
        collector(tmp_path, **DRONE).text()
        text = collector(tmp_path, **{**DRONE, "hive/sent": 0}).text()
        families = text_string_to_metric_families(text.decode())

        assert read(text)["webcrawl_hive_sent_links_total",] == DRONE["hive/sent"]
        of_process = {
            one.name for one in families if one.type == "counter" and "process" in one.documentation
        }
        assert all(name.startswith("webcrawl_process_") for name in of_process)

    def test_a_store(self, tmp_path):
        """How much is in the store, and what waits, are there if the crawl has one."""
        stored = {"store/files": 3, "store/bytes": 600, "store/waiting": 1}
        crawl, other = (read(collector(tmp_path, **more).text()) for more in (stored, {}))

        assert crawl["webcrawl_store_waiting_files",] == 1
        assert not any(key[0].startswith("webcrawl_store") for key in other)

    def test_revisits(self, tmp_path):
        """What became of pages that are fetched again is there if any are."""
        crawl, other = (read(collector(tmp_path, **more).text()) for more in (REVISITS, {}))
        found = {
            key[1]: value for key, value in crawl.items() if key[0] == "webcrawl_revisits_total"
        }

        assert found == {
            "unchanged_304": 0,
            "unchanged_digest": 0,
            "changed_digest": 0,
            "changed_text": 0,
            "gone": 3,
        }
        assert crawl["webcrawl_revisit_signals_total", "true"] == 2
        assert crawl["webcrawl_revisit_freshness_ratio",] == 0.8
        assert not any(key[0].startswith("webcrawl_revisit") for key in other)

    def test_what_nobody_can_estimate_yet(self, tmp_path):
        """Before a page was looked at nobody knows how fresh copies are: 0 would say that none is."""
        found = read(
            collector(tmp_path, **{**REVISITS, "revisit/sampled": 0, "revisit/age": 0.0}).text()
        )

        assert found["webcrawl_revisit_pages",] == 500
        assert not found.keys() & {
            (f"webcrawl_revisit_{name}",) for name in ("freshness_ratio", "age_seconds")
        }


class TestAfterACrash:
    def test_counters_never_go_back(self, tmp_path):
        """A crawl that fell back to its last checkpoint goes on counting from what it had told."""
        before = read(collector(tmp_path, pages=1000).text())
        look = look_of(pages=900)
        fallen = collector_of(tmp_path, look)
        after = read(fallen.text())
        look.figures["pages"] = 910
        later = read(fallen.text())

        assert [found["webcrawl_pages_total",] for found in (before, after, later)] == [
            1000,
            1000,
            1010,
        ]

    def test_buckets_stay_in_order(self, tmp_path):
        """So do the buckets of the durations, and each has at least what the smaller ones have."""
        collector(tmp_path, times=[5, 5, 5]).text()
        found = read(collector(tmp_path, times=[1, 2, 3]).text())

        buckets = [value for key, value in found.items() if key[0].endswith("_seconds_bucket")]
        assert buckets == sorted(buckets)
        assert (buckets[0], buckets[-1]) == (5, 15)

    def test_gauges_do(self, tmp_path):
        """What may become less is told as it is."""
        collector(tmp_path, queued=1000).text()

        assert read(collector(tmp_path, queued=3).text())["webcrawl_queued_urls",] == 3

    def test_a_clean_resume_adds_nothing(self, tmp_path):
        """A resumed crawl tells its own counters, however often it was asked before."""
        for _ in range(3):
            collector(tmp_path, pages=1000).text()

        assert read(collector(tmp_path, pages=1001).text())["webcrawl_pages_total",] == 1001

    @pytest.mark.parametrize(
        "content", [b"", b"[1]", b"\xff", b'{"a": "b"}', b'{"webcrawl_pages_total": null}']
    )
    def test_a_file_that_is_none(self, tmp_path, content):
        """Without what was told before, counters are the crawl's own."""
        (tmp_path / "metrics.json").write_bytes(content)

        assert read(collector(tmp_path, pages=900).text())["webcrawl_pages_total",] == 900

    def test_no_room_for_the_file(self, tmp_path):
        """A disk that takes no more does not keep anybody from being told."""
        (tmp_path / "metrics.json.new").mkdir()

        assert read(collector(tmp_path, pages=900).text())["webcrawl_pages_total",] == 900
