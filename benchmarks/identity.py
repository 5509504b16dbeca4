"""What signed requests cost: CPU time per request head, with fields that are sent again and without.

python -m benchmarks.identity [--authorities 4000] [--pages 4] [--rounds 5]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.support.report import report, timed
from webcrawl.net.http_request import RequestWriter, Target, parse_target, with_fields
from webcrawl.net.identity.request_signing import RequestSigning
from webcrawl.net.identity.signing_key import SigningKey

AGENT = "https://bot.example.org"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.identity", description=__doc__)
    parser.add_argument("--authorities", type=int, default=4000)
    parser.add_argument("--pages", type=int, default=4, help="requests per authority, interleaved")
    parser.add_argument("--rounds", type=int, default=5, help="the best one counts")
    given = parser.parse_args()
    hosts = [f"host-{number}.example.org" for number in range(given.authorities)]
    targets = [parse_target(f"http://{host}/{page}.html") for page in range(given.pages) for host in hosts]
    with TemporaryDirectory() as folder:
        key = SigningKey.new(Path(folder) / "key")
    plain = min(_plain(targets) for _ in range(given.rounds))
    report("identity, not signed", us_per_request=plain)
    for name, most in (("signed, fields sent again", len(hosts)), ("signed, each request anew", 0)):
        each = min(_signed(targets, RequestSigning(key, AGENT, most=most)) for _ in range(given.rounds))
        report(f"identity, {name}", us_per_request=each, us_added=each - plain)


def _plain(targets: list[Target]) -> float:
    writer = RequestWriter("benchmark/1.0 (+https://example.org/bot)")
    with timed() as clock:
        for target in targets:
            writer.head(target, keep=False)
    return clock.cpu / len(targets) * 1e6


def _signed(targets: list[Target], signing: RequestSigning) -> float:
    writer = RequestWriter("benchmark/1.0 (+https://example.org/bot)", signed=True)
    with timed() as clock:
        for target in targets:
            with_fields(writer.head(target, keep=False), signing.fields(target.authority))
    return clock.cpu / len(targets) * 1e6


if __name__ == "__main__":
    main()
