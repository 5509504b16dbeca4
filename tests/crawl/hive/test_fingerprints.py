"""Fingerprints of a hive: the slot in front, the hash behind it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.hive.partition import SLOTS, SlotFingerprints, range_of
from webcrawl.urls.filters.filter_protocol import Chain
from webcrawl.urls.foldings import HostRules
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.url_fingerprint import Fingerprints

KEY = bytes(range(16))
HOSTS = ["a.test", "b.test", "[::1]", "127.0.0.1", "xn--bcher-kva.test"]
SLOT = {host: number * 700 for number, host in enumerate(HOSTS)}


def slot_of(host):
    return SLOT[host]


class TestSlotFingerprints:
    @pytest.mark.parametrize("scheme", ["http", "https", "ftp", "gopher"])
    @pytest.mark.parametrize("rest", ["/", ":8080/", "/a", "/a/b/c?d=/e"])
    @pytest.mark.parametrize("host", HOSTS)
    def test_the_slot_is_in_the_top_bits(self, scheme, rest, host):
        """Whatever the scheme, the port and the path, the top ten bits are those of the host's slot."""
        url = f"{scheme}://{host}{rest}"
        (number,) = SlotFingerprints(KEY, slot_of)([url], [url])

        low, high = range_of(SLOT[host])
        assert low <= number <= high
        assert number >> 54 == SLOT[host] % SLOTS

    @given(st.text("abc", max_size=5), st.text("abc", max_size=5))
    def test_the_rest_is_the_hash(self, one, other):
        """The lower bits are the upper ones of the ordinary fingerprint, so that distinct URLs differ."""
        urls = [f"http://a.test/{one}", f"http://a.test/{other}"]
        numbers = SlotFingerprints(KEY, slot_of)(urls, urls)

        assert [number & (1 << 54) - 1 for number in numbers] == [one >> 10 for one in Fingerprints(KEY)(urls)]

    def test_ranges_follow_each_other(self):
        """The ranges of all slots make up all fingerprints."""
        bounds = [range_of(slot) for slot in range(SLOTS)]

        assert bounds[0][0] == 0
        assert bounds[-1][1] == (1 << 64) - 1
        assert all(after[0] == before[1] + 1 for before, after in pairwise(bounds))
        assert range_of(SLOTS + 3) == range_of(3)

    def test_variants_and_comparison_forms_have_the_slot_of_the_url(self):
        """A variant of a URL, and one that counts as another host's, have the slot of the host that is asked."""
        folding = HostRules({}, {}, {"b.test": "a.test"})
        pipeline = LinkPipeline(Chain([]), folding, SlotFingerprints(KEY, slot_of))
        (number,) = pipeline.process("http://a.test/", 1, ["http://b.test/x"]).keys

        assert number == pipeline.key("http://b.test/x")
        assert number >> 54 == SLOT["b.test"]
        assert pipeline.key("http://b.test/x", "POST abc") >> 54 == SLOT["b.test"]
        assert pipeline.key("http://b.test/x", "POST abc") != number
        assert pipeline.key("http://a.test/x") & (1 << 54) - 1 == number & (1 << 54) - 1
