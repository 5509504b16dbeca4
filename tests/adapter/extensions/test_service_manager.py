"""What systemd hears of a crawl."""

import socket

from tests.support.crawling import QUICK, Crawl


def test_a_crawl_under_systemd(tmp_path, simweb):
    """It hears that the crawl has begun, that its loop turns as often as the watchdog wants, and
    that it ends.
    """
    server = simweb(2, 40)
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        settings = {**QUICK, "DNS_NAMESERVERS": server.nameserver, "POLITENESS_MIN_DELAY": 0.05}
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
        crawl = Crawl(
            tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings, environment=environment
        )
        running = crawl.start()
        heard = [systemd.recv(100)]
        while heard[-1] != b"STOPPING=1":
            heard.append(systemd.recv(100))

        assert running.wait() == 0
    assert heard[0] == b"READY=1"
    assert {*heard[1:-1]} == {b"WATCHDOG=1"}
    assert len(heard) > 4
