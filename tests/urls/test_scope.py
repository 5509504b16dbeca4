"""The scopes of a crawl."""

import pytest

from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.filters.scope import ScopeFilter, SeedDomains
from webcrawl.urls.host_names import RegisteredDomains

KEY = bytes(16)
HOME = Origin("http://www.home.example/page", 1)
BATCH = [
    "http://www.home.example/x",
    "https://www.home.example:8080/x",
    "http://home.example/",
    "http://seed.example/",
    "http://www.seed.example/",
    "http://far.example/",
]


@pytest.fixture(name="domains", scope="module")
def _domains():
    return RegisteredDomains()


class TestScopes:
    @pytest.mark.parametrize(("scope", "kept"), [("any", BATCH), ("host", BATCH[:2]), ("domain", BATCH[:3])])
    def test_a_page_limits_its_own_links(self, domains, scope, kept):
        """The scope `host` keeps links to the page's host on any port, `domain` those to its registered domain."""
        assert ScopeFilter(scope, domains, KEY).keep(BATCH, HOME) == kept

    def test_seeds_limit_the_whole_crawl(self, domains):
        """The scope `seeds` keeps links to the registered domain of any seed, and no others."""
        scope = ScopeFilter("seeds", domains, KEY)

        assert scope.keep(BATCH, HOME) == []
        assert scope.keep(["http://blog.seed.example/"], Origin()) == ["http://blog.seed.example/"]
        assert scope.keep(BATCH, HOME) == BATCH[3:5]

    @pytest.mark.parametrize("scope", ["any", "host", "domain", "seeds"])
    def test_seeds_are_always_in_scope(self, domains, scope):
        """A batch without a page consists of seeds, which always pass."""
        assert ScopeFilter(scope, domains, KEY).keep(BATCH, Origin()) == BATCH

    @pytest.mark.parametrize(
        ("scope", "inside"),
        [("any", [True] * 4), ("seeds", [True, True, True, False]), ("domain", [True, True, True, False]),
         ("host", [False, True, False, False])],
    )  # fmt: skip
    def test_a_page_shown_in_another_is_a_seeds_or_not(self, domains, scope, inside):
        """Whatever page shows it, it is within if a seed is of its host, or of its registered domain."""
        filtered = ScopeFilter(scope, domains, KEY, requisites=True)
        filtered.keep(["http://www.home.example/", "http://seed.example/"], Origin())
        twin = ScopeFilter(scope, domains, KEY, requisites=True)
        twin.restore(filtered.state())

        urls = ["http://home.example/y", "http://seed.example/y", "http://www.seed.example/", "http://far.example/"]
        assert [twin.within(url) for url in urls] == inside

    def test_an_unknown_scope_is_an_error(self, domains):
        """The message names the setting, the value and what is allowed."""
        with pytest.raises(ValueError, match="URL_SCOPE: 'planet' is not one of any, seeds, domain, host"):
            ScopeFilter("planet", domains, KEY)


class TestSeedDomains:
    def test_it_is_a_set(self):
        """It contains each added name once, across merges and a restore."""
        names, seeds = [f"d{i}.example" for i in range(150_000)], SeedDomains(KEY)
        for name in names + names[:1000]:
            seeds.add(name)
        twin = SeedDomains(KEY)
        twin.restore(seeds.state())

        assert len(seeds) == len(twin) == len(names)
        assert all(name in seeds and name in twin for name in names[::997])
        assert not any(f"e{i}.example" in twin for i in range(1000))
        assert len(twin.state()) == 8 * len(names)

    @pytest.mark.parametrize("state", [bytes(7), (2).to_bytes(8, "little") + (1).to_bytes(8, "little"), bytes(16)])
    def test_an_invalid_state_is_an_error(self, state):
        """Truncated, unordered or repeated fingerprints raise ValueError."""
        with pytest.raises(ValueError, match="seed domains"):
            SeedDomains(KEY).restore(state)
