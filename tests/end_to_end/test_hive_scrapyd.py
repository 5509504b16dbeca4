"""Two real scrapyd daemons, as on two machines: a drone scheduled on each makes one hive."""

from contextlib import ExitStack

from tests.end_to_end import test_scrapyd
from tests.end_to_end.test_scrapyd import (
    deploy,
    pages,
    reason_of,
    scrapyd,
    seeds_of,
    settings_of,
    wait_until,
)
from tests.support.hives import owners

pytestmark = test_scrapyd.pytestmark


def test_a_drone_on_each(tmp_path, simweb, redis):
    """Each job is an ordinary crawl with HIVE_ settings; a cancelled one goes on when it is
    scheduled again.
    """
    web = simweb(8, 80, latency=0.02)
    eggs = tmp_path / "eggs"
    with ExitStack() as stack:
        one = stack.enter_context(scrapyd(tmp_path / "one", eggs))
        deploy(one, tmp_path / "one")
        # it looks for eggs when it starts
        two = stack.enter_context(scrapyd(tmp_path / "two", eggs))
        seeds = seeds_of(web, tmp_path / "seeds.txt")

        def schedule(daemon, drone):
            hive = {
                "HIVE_DRONES": 2,
                "HIVE_DRONE": drone,
                "HIVE_NAME": "deployed",
                "REDIS_URL": redis.url,
            }
            settings = settings_of(
                web, JOBDIR=tmp_path / f"job-{drone}", CHECKPOINT_INTERVAL=1, **hive
            )
            return daemon.schedule(settings, seeds=seeds)

        first, second = schedule(one, 0), schedule(two, 1)
        # the other drone may have had twenty pages before
        begun = tmp_path / "job-0/logs/crawl.log"
        wait_until(lambda: web.log.count > 20 and begun.exists())
        one.cancel(first)
        assert reason_of(tmp_path / "job-0") == "shutdown"
        first = schedule(one, 0)
        for daemon, job in ((one, first), (two, second)):
            wait_until(lambda daemon=daemon, job=job: daemon.state(job) == "finished")

    assert [reason_of(tmp_path / f"job-{drone}") for drone in (0, 1)] == ["finished", "finished"]
    assert len(pages(web)) == len(set(pages(web))) == 80
    owner = owners(2)
    for drone in (0, 1):
        lines = (tmp_path / f"job-{drone}/logs/crawl.log").read_text().splitlines()
        hosts = {line.split()[3].split("/")[2].partition(":")[0] for line in lines}
        assert hosts == {name for name in map(web.world.name, range(8)) if owner(name) == drone}
