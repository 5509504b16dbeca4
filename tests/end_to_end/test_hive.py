"""Three drones request together what the truth demands of one crawl, each host by the drone that
owns it.
"""

import gzip
from collections import Counter

import pytest

from tests.support.commands import command
from tests.support.crawling import PATIENT, QUICK, SETTINGS, wait_until
from tests.support.hives import (
    NAME,
    Hive,
    assert_whole,
    captured,
    drone_of,
    name_of,
    owners,
    shared,
)
from tests.support.named_sites import Typed, sites
from webcrawl.crawl.hive.redis_server.steps import Keys
from webcrawl.lab.simweb import World, even, hostile, trap_hits
from webcrawl.lab.simweb.mix import GROUPS
from webcrawl.lab.simweb.web_answers import WebRequest
from webcrawl.tools.verify_crawl import verify

SIZE, SLOW = (2000, 3000), 0.02
# only depth and page budgets bound them, or they are long
ENDLESS = {"trap_numbers", "trap_facets", "trap_growing"}
PAGE = [kind for kind in GROUPS["page"] if kind not in ENDLESS]
HOSTILE = {kind: share for kind, share in hostile().items() if kind not in ENDLESS} | even(
    GROUPS["scheme"], 0.3
)
TO_OTHERS = {"subdomain": 0.5} | even(
    ["redirect_elsewhere", "duplicate", "refresh", "robots_elsewhere", "robots_moved", "https"], 0.5
)
REGIONS = "# the nearest drones\nsite0.test 2\nsite1.test 0,1\ntest 1,2\n"


@pytest.fixture(scope="module", autouse=True)
def _bombs():
    """Makes each bomb once in advance: it takes half a second, during which the web could not
    answer.
    """
    world = World(1, 1)
    for kind in PAGE:
        world.answer(WebRequest(0, f"/x/{kind}/0"))


class TestTruth:
    @pytest.mark.parametrize(
        ("hosts", "pages", "mix"),
        [
            pytest.param(20, 300, {}, id="plain"),
            pytest.param(
                60, 120, even(GROUPS["robots"]) | even(GROUPS["scheme"], 0.3), id="robots"
            ),
            pytest.param(60, 120, even(GROUPS["dns"]) | even(GROUPS["name"]), id="dns"),
            pytest.param(250, 320, HOSTILE, id="hostile"),
        ],
    )
    def test_every_kind_of_world(self, simweb, redis, tmp_path, hosts, pages, mix):
        """Each required URL is requested once, no forbidden one; politely, and each page is in one
        archive.
        """
        web = simweb(hosts, pages, mix=mix, size=SIZE, slow=SLOW)
        hive = Hive(tmp_path / "hive", web, redis.url, settings=PATIENT).start_all()

        assert hive.wait() == [0, 0, 0]

        hits = hive.hits()
        assert hive.reasons == ["finished"] * 3
        owner = owners()
        assert {hit.host: drone_of(hit) for hit in hits} == {
            hit.host: owner(hit.host) for hit in hits
        }
        assert shared(hits) == {}
        assert len({drone_of(hit) for hit in hits}) == 3
        assert_whole(hive, hits)
        assert max(trap_hits(hits).values(), default=0) <= 30

    def test_a_drone_that_is_adopted(self, simweb, redis, tmp_path):
        """A drone that nobody starts any more is run once more, beside the others, until these have
        all it had.
        """
        web = simweb(20, 400)
        slowly = {"POLITENESS_MIN_DELAY": 0.4, "POLITENESS_MAX_DELAY": 0.5}
        hive = Hive(tmp_path / "hive", web, redis.url, settings=slowly).start_all()
        wait_until(lambda: web.log.count > 100)
        hive.kill(2)
        wait_until(lambda: not redis.client().exists(f"{Keys(NAME).leases}2"))
        words = [
            "adopt",
            redis.url,
            "--drone",
            2,
            "--jobdir",
            hive.jobdirs[2],
            "-a",
            f"seeds={hive.folder}/seeds.txt",
        ]
        given = {
            **SETTINGS,
            **slowly,
            "DNS_NAMESERVERS": web.nameserver,
            "HIVE_NAME": NAME,
            "HIVE_LEASE": 2,
        }
        options = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]

        adopted = command(
            "scrapy", "hive", *words, *options, "-s", "USER_AGENT=webcrawl/1 (drone 2, life 2)"
        )

        assert adopted.returncode == 0, adopted.stderr
        assert adopted.stdout.splitlines()[-1] == "the hive now has 2 drones"
        hive.wait()
        assert hive.reasons == ["finished"] * 3
        assert hive.crawls[2].stats["hive/slots"] == 0
        hive.left = True
        assert_whole(hive, hive.hits(), killed={(2, 1)})

    @pytest.mark.parametrize("way", ["host", "tld", "regions"])
    def test_every_other_partition(self, simweb, redis, tmp_path, way):
        """Whatever keeps hosts together, each is asked by its owner, and all pages are fetched."""
        if way == "regions":
            way = tmp_path / "regions.txt"
            way.write_text(REGIONS)
        web = simweb(30, 150, mix=TO_OTHERS, size=SIZE)
        hive = Hive(tmp_path / "hive", web, redis.url, settings={"HIVE_PARTITION": way}).start_all()

        assert hive.wait() == [0, 0, 0]

        hits, owner = hive.hits(), owners(3, way)
        assert {hit.host: drone_of(hit) for hit in hits} == {
            hit.host: owner(hit.host) for hit in hits
        }
        assert_whole(hive, hits)

    @pytest.mark.parametrize("scope", ["seeds", "host"])
    def test_scopes(self, simweb, redis, tmp_path, scope):
        """Each scope holds for the hive as for one crawl, although a drone keeps only its own
        seeds.
        """
        web = simweb(
            12, 80, mix={"subdomain": 0.5} | even(["redirect_elsewhere", "duplicate"]), size=SIZE
        )
        seeds = [f"{web.world.origin(host)}/" for host in (0, 1, 2)]
        hive = Hive(
            tmp_path / "hive", web, redis.url, arguments={"scope": scope}, seeds=seeds
        ).start_all()

        assert hive.wait() == [0, 0, 0]

        assert_whole(hive, hive.hits())

    def test_a_hive_of_one(self, simweb, redis, tmp_path):
        """A hive may have one drone."""
        web = simweb(6, 30, size=SIZE)
        hive = Hive(tmp_path / "hive", web, redis.url, drones=1).start_all()

        assert hive.wait() == [0]

        assert_whole(hive, hive.hits())

    def test_drones_may_come_late(self, simweb, redis, tmp_path):
        """Drones that are started when another has nothing left to do find all their links."""
        web = simweb(9, 60, size=SIZE)
        hive = Hive(tmp_path / "hive", web, redis.url)
        hive.start(1)
        mine = {name for name in map(web.world.name, range(9)) if owners()(name) == 1}
        wait_until(lambda: {hit.host for hit in web.log.hits} == mine)
        hive.start(0)
        hive.start(2)

        assert hive.wait() == [0, 0, 0]

        assert_whole(hive, hive.hits())

    def test_ctrl_c_on_all_and_again(self, simweb, redis, tmp_path):
        """Ctrl-C of all drones ends each with status 0; started again, they fetch the rest and
        nothing twice.
        """
        web = simweb(
            20, 120, mix=even(["redirect_elsewhere", "duplicate"]), size=SIZE, latency=0.01
        )
        hive = Hive(tmp_path / "hive", web, redis.url).start_all()
        wait_until(lambda: web.log.count > 50 and len(set(map(drone_of, list(web.log.hits)))) == 3)
        for running in hive.running.values():
            running.interrupt()

        assert hive.wait() == [0, 0, 0]
        assert hive.reasons == ["shutdown"] * 3
        assert hive.start_all().wait() == [0, 0, 0]

        hits = hive.hits()
        assert shared(hits) == {}
        assert max(Counter(hit.url for hit in hits).values()) == 1
        assert_whole(hive, hits)


class TestFromDroneToDrone:
    """What belongs together on a page's way may lie on several drones."""

    def test_a_chain_of_cookies(self, redis, tmp_path):
        """A site that sends to another drone's domain for a cookie, and wants one of its own, gives
        its page.
        """
        site, door = name_of(0), name_of(1)

        def answer(host, path, cookie):
            if host == door:
                return _moved(web.url(site, "/back"), "door=1") if path == "/enter" else None
            if path == "/back":
                return _moved("/", "ticket=1; Path=/")
            if path == "/":
                return b"<a href=/in>" if "ticket=1" in cookie else _moved(web.url(door, "/enter"))
            return b"inside" if path == "/in" else None

        with sites(answer) as web:
            hive = _hive(tmp_path, redis, web, [site], [site, door])
            assert hive.wait() == [0, 0, 0]

            requested = web.pages()
        assert requested == [
            (site, "/"),
            (door, "/enter"),
            (site, "/back"),
            (site, "/"),
            (site, "/in"),
        ]
        assert [list(verify(jobdir, Counter())) for jobdir in hive.jobdirs] == [[], [], []]

    def test_robots_txt_at_another_drones_host(self, redis, tmp_path):
        """Where a robots.txt redirects to, the owner of that host asks for it, and the rules hold."""
        site, other = name_of(0), name_of(1)

        def answer(host, path, _):
            if host == other:
                return (
                    Typed(b"User-agent: *\nDisallow: /secret\n", "text/plain")
                    if path == "/rules.txt"
                    else None
                )
            if path == "/robots.txt":
                return _moved(web.url(other, "/rules.txt"))
            return {"/": b"<a href=/secret><a href=/open>", "/open": b"o", "/secret": b"s"}.get(
                path
            )

        with sites(answer) as web:
            hive = _hive(tmp_path, redis, web, [site], [site, other], OUTPUTS="warc requests")
            assert hive.wait() == [0, 0, 0]

            assert {path for host, path in web.pages() if host == site} == {"/", "/open"}
        assert _hosts_requested(hive, 0) == {site}
        assert _hosts_requested(hive, 1) == {other}

    def test_sitemaps_of_other_drones(self, redis, tmp_path):
        """A sitemap at another drone's host, and what it lists of the first one, is read."""
        site, other = name_of(0), name_of(1)

        def answer(host, path, _):
            if host == site:
                listed = f"Sitemap: {web.url(other, '/map.xml.gz')}\n".encode()
                return {
                    "/robots.txt": Typed(listed, "text/plain"),
                    "/": b"home",
                    "/listed": b"l",
                }.get(path)
            found = f"<urlset><url><loc>{web.url(site, '/listed')}</loc></url></urlset>"
            return (
                Typed(gzip.compress(found.encode()), "application/gzip")
                if path == "/map.xml.gz"
                else None
            )

        with sites(answer) as web:
            hive = _hive(tmp_path, redis, web, [site], [site, other], SITEMAPS=True)
            assert hive.wait() == [0, 0, 0]

            assert Counter(web.pages()) == {
                (site, "/"): 1,
                (other, "/map.xml.gz"): 1,
                (site, "/listed"): 1,
            }

    def test_equal_bodies(self, redis, tmp_path):
        """Equal bodies on hosts of two drones are each kept, and their links followed."""
        hosts = [name_of(0), name_of(1)]
        same = f"<a href=http://{name_of(2)}:%d/deep>" + "same " * 100

        with sites(
            lambda host, path, _: (same % web.port).encode() if path == "/" else b"d"
        ) as web:
            hive = _hive(tmp_path, redis, web, hosts, [*hosts, name_of(2)])
            assert hive.wait() == [0, 0, 0]

            assert Counter(web.pages()) == {
                (hosts[0], "/"): 1,
                (hosts[1], "/"): 1,
                (name_of(2), "/deep"): 1,
            }
        archived = Counter(
            url for jobdir in hive.jobdirs for url in captured(jobdir) if "robots.txt" not in url
        )
        assert sorted(archived.values()) == [1, 1, 1]


def _hive(folder, redis, web, seeds, names, **settings):
    """A started hive over sites on one port."""
    (folder / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in names))
    values = {"HOSTS_FILE": folder / "hosts", **QUICK, **settings}
    return Hive(
        folder / "hive", None, redis.url, settings=values, seeds=list(map(web.url, seeds))
    ).start_all()


def _hosts_requested(hive, drone):
    lines = (hive.jobdirs[drone] / "logs/requests.log").read_text().splitlines()
    return {line.split("\t")[2].split("/")[2].partition(":")[0] for line in lines}


def _moved(location, *cookies):
    return 302, [("Location", location), *(("Set-Cookie", cookie) for cookie in cookies)], b""
