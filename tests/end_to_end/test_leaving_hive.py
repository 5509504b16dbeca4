"""Sites that leave a hive: by proof of control, and while its drones come and go."""

import pytest

from tests.support.crawling import scrapy, wait_until
from tests.support.ordered_hive import two_drones
from tests.support.owners_form import form, zone
from tests.support.places import ROOT
from webcrawl.crawl.control.client import Client
from webcrawl.crawl.hive.partition import SlotMap, partition_of
from webcrawl.lab.simweb import World, running
from webcrawl.urls.host_names import RegisteredDomains

pytestmark = pytest.mark.xdist_group("leaving_hive")
HOSTS = 16


class Hive:
    """A hive on this machine, and the web that it crawls."""

    def __init__(self, jobdir, server):
        self.jobdir, self._server = jobdir, server
        self.names = [server.world.name(number) for number in range(HOSTS)]

    def drone(self, number):
        return Client(self.jobdir / f"drone-{number}")

    def excluded(self, drone):
        return self.drone(drone).ask("excluded")["excluded"]

    def hits(self, hosts):
        return sum(hit.host in hosts for hit in list(self._server.log.hits))

    def command(self, *words):
        output = self.jobdir.with_suffix(".said")
        status = scrapy([*map(str, words)], ROOT, output)
        assert status == 0, output.read_text()

    def stays_away(self, out):
        """Whether, once what was under way has ended, no request goes to these hosts while others are asked."""
        others = {*self.names} - {*out}
        begun = self.hits(others)
        wait_until(lambda: self.hits(others) > begun + 10)
        before, begun = self.hits(out), self.hits(others)
        wait_until(lambda: self.hits(others) > begun + 40)
        return self.hits(out) == before


@pytest.fixture(name="hive")
def _hive(tmp_path):
    """Two drones, of whose web nothing ends while a test lasts."""
    with (
        running(World(HOSTS, 16_000, port=0, tls_port=0, addresses=4), latency=0.05) as server,
        two_drones(tmp_path, server, server.world.seeds()),
    ):
        hive = Hive(tmp_path / "job", server)
        yield hive
        hive.command("hive", "stop", hive.jobdir)


def test_by_proof(hive):
    """What one proof asks for is in force on every drone at once, and so is its way back."""
    out = hive.names[3]
    with zone() as published, form(hive.jobdir, published) as page:
        wait_until(lambda: hive.hits([out]) > 2)
        published.publish(out, first := page.token(out))
        status, said = page.check(out)
        assert status == 200, (said, page.said())
        records = [hive.excluded(drone) for drone in (0, 1)]
        assert [(one["rule"], one["by"]) for one in records[0]] == [(out, "proof of control (TXT)")]
        assert records[0] == records[1]
        assert hive.stays_away([out])

        wait_until(lambda: page.token(out).split("-")[2] > first.split("-")[2])  # in a later second
        published.publish(out, page.token(out, "return"))
        assert page.check(out)[0] == 200
        assert [hive.excluded(drone) for drone in (0, 1)] == [[], []]


def test_a_hive_that_is_resized(hive):
    """Opt-outs hold while a drone joins, which gets hosts that have left, and when it leaves again."""
    partition = partition_of("domain", RegisteredDomains())
    two = SlotMap.fair((0, 1), partition.groups)
    three = two.resized((0, 1, 2), partition.groups)
    moves = [name for name in hive.names if three.owners[partition.slot(name)] == 2]
    stays = next(name for name in hive.names if name not in moves)
    assert len(moves) > 1  # one leaves, and the others give the new drone work
    out = [moves[0], stays]
    wait_until(lambda: min(hive.hits([name]) for name in out) > 2)
    hive.command("ctl", hive.jobdir, "exclude", out[0], "--by", "joe", "--until", "2999-12-31")
    hive.command("ctl", hive.jobdir, "exclude", out[1])
    records = hive.excluded(0)

    hive.command("hive", "resize", hive.jobdir, "-n", "3")
    wait_until(lambda: hive.drone(2).ask("status")["pages"] > 5)
    assert [hive.excluded(drone) for drone in (0, 1, 2)] == [records] * 3
    assert hive.stays_away(out)
    hive.command("ctl", hive.jobdir, "exclude", moves[1])
    out.append(moves[1])

    hive.command("hive", "resize", hive.jobdir, "-n", "2")
    assert hive.stays_away(out)
    first, second = (hive.excluded(drone) for drone in (0, 1))
    assert first == second
    assert first[:2] == records
    assert [one["rule"] for one in first] == out
